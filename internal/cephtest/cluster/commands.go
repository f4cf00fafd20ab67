package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// A command is what librados takes, with arguments named as in
// src/mon/MonCommands.h.
type command map[string]any

// statusCommand asks the mon for the cluster's status.
var statusCommand = []byte(`{"prefix":"status","format":"json"}`)

// tell sends a command to the mon whose answer does not matter.
func (k *commander) tell(ctx context.Context, c command) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("mon command: %w", err)
	}
	_, err = k.ask(ctx, "mon", text)
	return err
}

func (c *Cluster) mon(ctx context.Context, cmd command) error { return c.commander.tell(ctx, cmd) }

// commands lists what to tell the mon to create the pool.
func (p Pool) commands() []command {
	p = p.withDefaults()
	create := command{"prefix": "osd pool create", "pool": p.Name, "pg_num": p.PGs, "pgp_num": p.PGs}
	var all []command
	if p.EC {
		profile := p.Name + "-profile"
		all = append(all, command{
			"prefix": "osd erasure-code-profile set", "name": profile, "force": true,
			"profile": []string{"k=" + strconv.Itoa(p.K), "m=" + strconv.Itoa(p.M), "crush-failure-domain=osd"},
		})
		create["pool_type"], create["erasure_code_profile"] = "erasure", profile
		all = append(all, create)
	} else {
		create["pool_type"] = "replicated"
		all = append(all, create, command{
			"prefix": "osd pool set", "pool": p.Name, "var": "size", "val": strconv.Itoa(p.Size),
			"yes_i_really_mean_it": true,
		})
	}
	for _, option := range slices.Sorted(maps.Keys(p.Set)) {
		all = append(all, command{"prefix": "osd pool set", "pool": p.Name, "var": option, "val": p.Set[option]})
	}
	return append(all, command{"prefix": "osd pool application enable", "pool": p.Name, "app": "cephtest"})
}

// putObjects returns the command line that writes n objects to a pool.
func putObjects(conf, pool string, n, size int) []string {
	return []string{
		"rados", "-c", conf, "-p", pool, "bench", "600", "write",
		"-b", strconv.Itoa(size), "-O", strconv.Itoa(size), "-t", strconv.Itoa(min(16, n)),
		"--max-objects", strconv.Itoa(n), "--no-cleanup", "--run-name", "put-" + newUUID()[:8],
	}
}

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
)

// CreateKey makes a key such as client.risk with caps as pairs (mon, allow r,
// mgr, allow r) and returns the path of a keyring that holds it alone.
func (c *Cluster) CreateKey(ctx context.Context, name string, caps ...string) (string, error) {
	key, err := c.Ceph(ctx, append([]string{"auth", "get-or-create", name}, caps...)...)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, name+".keyring")
	if err := os.WriteFile(path, key, 0o600); err != nil {
		return "", fmt.Errorf("create key %s: %w", name, err)
	}
	return path, nil
}

// RemoveKey revokes a key.
func (c *Cluster) RemoveKey(ctx context.Context, name string) error {
	return c.mon(ctx, command{"prefix": "auth rm", "entity": name})
}

// CreatePool creates a pool. It does not wait for its PGs: see WaitClean.
func (c *Cluster) CreatePool(ctx context.Context, p Pool) error {
	for _, cmd := range p.commands() {
		if err := c.mon(ctx, cmd); err != nil {
			return fmt.Errorf("create pool %s: %w", p.Name, err)
		}
	}
	return nil
}

// DeletePool deletes a pool with its data.
func (c *Cluster) DeletePool(ctx context.Context, name string) error {
	return c.mon(ctx, command{"prefix": "osd pool rm", "pool": name, "pool2": name, "yes_i_really_really_mean_it": true})
}

// PutObjects writes n objects of size bytes to a pool with rados bench,
// sixteen at a time. They are named after the run, so a second call adds
// objects instead of overwriting those of the first.
func (c *Cluster) PutObjects(ctx context.Context, pool string, n, size int) error {
	argv := putObjects(c.ConfPath(), pool, n, size)
	_, err := c.Run(ctx, argv[0], argv[1:]...)
	return err
}

// DeepScrub asks for a deep scrub of every PG of a pool.
func (c *Cluster) DeepScrub(ctx context.Context, pool string) error {
	return c.mon(ctx, command{"prefix": "osd pool deep-scrub", "who": []string{pool}})
}

// SlowScrubs makes scrubs last long enough to be seen on tiny PGs: the wpq
// queue, which heeds sleeps, a sleep per chunk, and small chunks. OSDs take
// the queue at their start, so it restarts all of them and waits.
func (c *Cluster) SlowScrubs(ctx context.Context, sleepSeconds float64) error {
	chunk := map[string]string{"osd_scrub_chunk_min": "1", "osd_scrub_chunk_max": "5"}
	if c.release >= R18 {
		chunk["osd_shallow_scrub_chunk_min"], chunk["osd_shallow_scrub_chunk_max"] = "1", "5"
	}
	for option, value := range chunk {
		if err := c.SetConfig(ctx, "osd", option, value); err != nil {
			return err
		}
	}
	if err := c.SetConfig(ctx, "osd", "osd_scrub_sleep", strconv.FormatFloat(sleepSeconds, 'f', -1, 64)); err != nil {
		return err
	}
	if err := c.SetConfig(ctx, "osd", "osd_op_queue", "wpq"); err != nil {
		return err
	}
	n, err := c.OSDs(ctx)
	if err != nil {
		return err
	}
	for i := range n {
		if err := c.Restart(ctx, osdName(i)); err != nil {
			return err
		}
	}
	if err := c.AwaitUp(ctx); err != nil {
		return err
	}
	return c.WaitClean(ctx)
}

// Await calls look until it returns true or ctx is done; the error then
// carries the string or error that look returned last.
func (c *Cluster) Await(ctx context.Context, look func(context.Context) (done bool, saw string, err error)) error {
	return poll(ctx, look)
}

// WaitClean waits until every PG is active+clean (a scrub may run), as far as
// the mgr has heard, which is up to five seconds ago.
func (c *Cluster) WaitClean(ctx context.Context) error {
	return c.awaitStatus(ctx, pgsClean)
}

// WaitHealthy waits until the cluster says HEALTH_OK.
func (c *Cluster) WaitHealthy(ctx context.Context) error {
	return c.awaitStatus(ctx, func(status []byte) (bool, string, error) {
		var v struct {
			Health struct {
				Status string                     `json:"status"`
				Checks map[string]json.RawMessage `json:"checks"`
			} `json:"health"`
		}
		if err := json.Unmarshal(status, &v); err != nil {
			return false, "", fmt.Errorf("ceph status: %w", err)
		}
		return v.Health.Status == "HEALTH_OK", fmt.Sprintf("%s %s", v.Health.Status, v.Health.Checks), nil
	})
}

// AwaitUp waits until the mgr is active and every OSD that runs is up and
// says so itself: the map alone still has an OSD up that was killed and
// started again.
func (c *Cluster) AwaitUp(ctx context.Context) error {
	return c.awaitStatus(ctx, func(status []byte) (bool, string, error) {
		s, err := c.Status(ctx)
		if err != nil {
			return false, "", err
		}
		want := 0
		for i := range s.OSDs {
			name := osdName(i)
			if !slices.Contains(s.Running, name) {
				continue
			}
			want++
			if err := c.osdActive(ctx, name); err != nil {
				return false, "", err
			}
		}
		return allUp(status, want)
	})
}

// osdActive returns an error unless the OSD's process has joined the cluster.
func (c *Cluster) osdActive(ctx context.Context, name string) error {
	var client asok.Client
	answer, err := client.Ask(ctx, c.AsokPath(name), asok.Status)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var v struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal(answer, &v); err != nil {
		return fmt.Errorf("%s: status: %w", name, err)
	}
	if v.State != "active" {
		return fmt.Errorf("%s is %s", name, v.State)
	}
	return nil
}

func (c *Cluster) awaitStatus(ctx context.Context, judge func([]byte) (bool, string, error)) error {
	return poll(ctx, func(ctx context.Context) (bool, string, error) {
		// A mon that hangs must not outlast many looks.
		ctx, cancel := context.WithTimeout(ctx, lookLimit)
		defer cancel()
		out, err := c.MonCommand(ctx, statusCommand)
		if err != nil {
			return false, "", err
		}
		return judge(out)
	})
}

// EnsureRGWs starts gateways until the cluster has n, and returns when each
// new one answers. On a shared cluster it is safe to call from every test.
func (c *Cluster) EnsureRGWs(ctx context.Context, n int) error {
	_, err := do(ctx, c.dir, request{Op: opAddRGW, N: n})
	return err
}

// RGWEndpoint returns the URL of the i-th gateway (rgw.a is 0).
func (c *Cluster) RGWEndpoint(i int) string {
	return "http://127.0.0.1:" + strconv.Itoa(c.status.MonPort+rgwPortOffset+i)
}

// OpsLogPath returns the ops log file of the i-th gateway.
func (c *Cluster) OpsLogPath(i int) string { return opsLogPath(c.dir, i) }

// OpsSocketPath returns the ops log socket of the i-th gateway.
func (c *Cluster) OpsSocketPath(i int) string { return opsSocketPath(c.dir, i) }

// RadosgwAdmin runs radosgw-admin as client.admin.
func (c *Cluster) RadosgwAdmin(ctx context.Context, args ...string) ([]byte, error) {
	return c.Run(ctx, "radosgw-admin", append([]string{"-c", c.ConfPath()}, args...)...)
}

// CreateS3User makes a user and returns its keys.
func (c *Cluster) CreateS3User(ctx context.Context, uid string) (accessKey, secretKey string, err error) {
	out, err := c.RadosgwAdmin(ctx, "user", "create", "--uid", uid, "--display-name", uid)
	if err != nil {
		return "", "", err
	}
	var user struct {
		Keys []struct {
			Access string `json:"access_key"`
			Secret string `json:"secret_key"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(out, &user); err != nil {
		return "", "", fmt.Errorf("create user %s: %w", uid, err)
	}
	if len(user.Keys) == 0 {
		return "", "", fmt.Errorf("create user %s: no keys in the answer", uid)
	}
	return user.Keys[0].Access, user.Keys[0].Secret, nil
}

package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *supervisor) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

func (s *supervisor) confPath() string    { return s.path("ceph.conf") }
func (s *supervisor) keyringPath() string { return s.path("ceph.keyring") }

// bringUpLimit bounds the whole bring-up, so that a machine on which a
// daemon cannot start gets an error rather than silence.
const bringUpLimit = 6 * time.Minute

// bringUp makes the cluster and returns when all OSDs are up and the pools
// clean.
func (s *supervisor) bringUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bringUpLimit)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"folders", s.makeFolders},
		{"configuration", s.writeConf},
		{"keys", s.makeKeys},
		{"mon", s.startMon},
		{"osds", s.startOSDs},
		{"mgr and osds", s.awaitUp},
		{"pools", s.createPools},
		{"gateways", s.startRGWs},
		{"placement groups", s.awaitClean},
		{"objects", s.fillPools},
	}
	for _, step := range steps {
		begin := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("bring up ceph %v: %s: %w\n%s", s.Options.Release, step.what, err, s.stderrTails())
		}
		s.log.Info("brought up", "what", step.what, "took", time.Since(begin))
	}
	return nil
}

func (s *supervisor) makeFolders(context.Context) error {
	for _, name := range []string{"run", "log", "bin", "mon", "mgr/x", "mgr/y", "osd", "rgw"} {
		if err := os.MkdirAll(s.path(name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// writeConf writes ceph.conf. Options here are those that a small cluster
// needs to start fast and stay quiet; the rest is Ceph's own default.
func (s *supervisor) writeConf(context.Context) error {
	s.fsid = newUUID()
	conf := map[string]map[string]string{
		"global": {
			"fsid":                s.fsid,
			"mon_host":            fmt.Sprintf("[v2:127.0.0.1:%d/0,v1:127.0.0.1:%d/0]", s.MonPort, s.MonPort+1),
			"mon_initial_members": "a",
			"public_addr":         "127.0.0.1",
			"cluster_addr":        "127.0.0.1",
			"ms_bind_port_min":    strconv.Itoa(s.MonPort + bindOffset),
			"ms_bind_port_max":    strconv.Itoa(s.MonPort + portBlock - 1),
			"run_dir":             s.path("run"),
			"keyring":             s.keyringPath(),

			"osd_crush_chooseleaf_type":                "0",
			"osd_pool_default_pg_num":                  "8",
			"osd_pool_default_pg_autoscale_mode":       "off",
			"mon_max_pg_per_osd":                       "2000",
			"mon_allow_pool_delete":                    "true",
			"mon_allow_pool_size_one":                  "true",
			"mon_warn_on_pool_no_redundancy":           "false",
			"mon_warn_on_pool_pg_num_not_power_of_two": "false",
			"auth_allow_insecure_global_id_reclaim":    "false",
			"mon_data_avail_warn":                      "2",
			"mon_data_avail_crit":                      "1",
			"mgr_initial_modules":                      "iostat",
			"rgw_rados_pool_pg_num_min":                "4",
		},
		"mon": {"mon_data": s.path("mon", "$id"), "log_file": s.logFile(), "mon_cluster_log_file": s.path("log", "ceph.log"), "mon_cluster_log_to_file": "true",
			// A lone mon has nothing to gather proposals for; by default each
			// change of a map takes it a second.
			"paxos_propose_interval": "0.05", "paxos_min_wait": "0.01"},
		"mgr": {"mgr_data": s.path("mgr", "$id"), "log_file": s.logFile()},
		"osd": {
			"osd_data":                  s.path("osd", "$id"),
			"log_file":                  s.logFile(),
			"osd_objectstore":           "bluestore",
			"bluestore_block_size":      strconv.FormatInt(s.Options.OSDBytes, 10),
			"osd_memory_target":         "939524096", // the least that is allowed
			"osd_max_object_name_len":   "2048",
			"osd_mclock_skip_benchmark": "true",
			"osd_fast_shutdown":         "true",
			// Each OSD takes as many of the machine's fs.aio-max-nr, which a
			// dozen clusters would use up.
			"bdev_aio_max_queue_depth": "64",
		},
	}
	for i := range maxRGWs {
		conf["client."+rgwName(i)] = s.rgwConf(i)
	}
	for section, options := range s.Options.Conf {
		if conf[section] == nil {
			conf[section] = map[string]string{}
		}
		maps.Copy(conf[section], options)
	}
	var b strings.Builder
	for _, section := range slices.Sorted(maps.Keys(conf)) {
		fmt.Fprintf(&b, "[%s]\n", section)
		for _, option := range slices.Sorted(maps.Keys(conf[section])) {
			fmt.Fprintf(&b, "%s = %s\n", option, conf[section][option])
		}
	}
	return os.WriteFile(s.confPath(), []byte(b.String()), 0o644)
}

func (s *supervisor) logFile() string { return s.path("log", "$cluster-$name.log") }

// makeKeys makes one keyring with everybody's key. The mon takes them all in
// when its store is made, which spares a command each.
func (s *supervisor) makeKeys(ctx context.Context) error {
	type entity struct {
		name string
		caps []string
	}
	all := []entity{
		{"mon.", []string{"mon", "allow *"}},
		{"client.admin", []string{"mon", "allow *", "mgr", "allow *", "osd", "allow *", "mds", "allow *"}},
		{"mgr.x", []string{"mon", "allow profile mgr", "osd", "allow *", "mds", "allow *"}},
		{"mgr.y", []string{"mon", "allow profile mgr", "osd", "allow *", "mds", "allow *"}},
	}
	for i := range MaxOSDs {
		all = append(all, entity{osdName(i), []string{"mon", "allow profile osd", "mgr", "allow profile osd", "osd", "allow *"}})
	}
	for i := range maxRGWs {
		all = append(all, entity{"client." + rgwName(i), []string{"mon", "allow rw", "mgr", "allow rw", "osd", "allow rwx"}})
	}
	script := "set -e\n"
	for i, e := range all {
		create := ""
		if i == 0 {
			create = "--create-keyring"
		}
		script += fmt.Sprintf("ceph-authtool %s %s --gen-key -n %s", s.keyringPath(), create, e.name)
		for j := 0; j < len(e.caps); j += 2 {
			script += fmt.Sprintf(" --cap %s '%s'", e.caps[j], e.caps[j+1])
		}
		script += "\n"
	}
	return s.run(ctx, "sh", "-c", script)
}

func (s *supervisor) startMon(ctx context.Context) error {
	mon := fmt.Sprintf("[v2:127.0.0.1:%d,v1:127.0.0.1:%d]", s.MonPort, s.MonPort+1)
	if err := s.run(ctx, "monmaptool", "--create", "--fsid", s.fsid, "--addv", "a", mon, s.path("monmap")); err != nil {
		return err
	}
	if err := s.run(ctx, "ceph-mon", "--mkfs", "-i", "a", "-c", s.confPath(), "--monmap", s.path("monmap"), "--keyring", s.keyringPath()); err != nil {
		return err
	}
	s.daemons.define("mon.a", s.Options.env("mon.a"), "/usr/bin/ceph-mon", "-f", "-i", "a", "-c", s.confPath())
	mgrEnv, err := s.mgrEnv()
	if err != nil {
		return err
	}
	for _, id := range []string{"x", "y"} { // y waits to be started as a standby
		s.daemons.define("mgr."+id, slices.Concat(mgrEnv, s.Options.env("mgr."+id)), "/usr/bin/ceph-mgr", "-f", "-i", id, "-c", s.confPath())
	}
	if err := s.daemons.start("mon.a"); err != nil {
		return err
	}
	return s.daemons.start("mgr.x")
}

// mgrEnv works around a defect of Debian's 18.2.7: every mgr module imports
// bcrypt, whose extension refuses to load into a second interpreter, so all
// modules but one fail and the cluster warns for ever. No module that runs
// here hashes a password, so an empty stand-in is enough.
func (s *supervisor) mgrEnv() ([]string, error) {
	if s.Options.Release != R18 {
		return nil, nil
	}
	if err := os.WriteFile(s.path("mgr", "bcrypt.py"), nil, 0o644); err != nil {
		return nil, err
	}
	return []string{"PYTHONPATH=" + s.path("mgr")}, nil
}

func osdName(id int) string { return "osd." + strconv.Itoa(id) }

// startOSDs makes the OSDs' stores side by side, while the mon learns of them.
func (s *supervisor) startOSDs(ctx context.Context) error {
	errs := make(chan error, s.Options.OSDs)
	uuids := make([]string, s.Options.OSDs)
	for i := range uuids {
		uuids[i] = newUUID()
		go func() { errs <- s.makeStore(ctx, i, uuids[i]) }()
	}
	err := s.newOSDs(ctx, 0, uuids)
	for range uuids {
		if e := <-errs; err == nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	for i := range uuids {
		if err := s.startOSD(i); err != nil {
			return err
		}
	}
	return nil
}

// newOSDs tells the mon of OSDs with consecutive ids from first on.
func (s *supervisor) newOSDs(ctx context.Context, first int, uuids []string) error {
	for i, uuid := range uuids {
		if err := s.admin.tell(ctx, command{"prefix": "osd new", "uuid": uuid, "id": first + i}); err != nil {
			return err
		}
	}
	return nil
}

func (s *supervisor) makeStore(ctx context.Context, id int, uuid string) error {
	if err := os.MkdirAll(s.path("osd", strconv.Itoa(id)), 0o755); err != nil {
		return err
	}
	return s.run(ctx, "ceph-osd", "--mkfs", "--no-mon-config", "-i", strconv.Itoa(id), "-c", s.confPath(), "--osd-uuid", uuid)
}

func (s *supervisor) startOSD(id int) error {
	name := osdName(id)
	s.daemons.define(name, s.Options.env(name), "/usr/bin/ceph-osd", "-f", "-i", strconv.Itoa(id), "-c", s.confPath())
	if err := s.daemons.start(name); err != nil {
		return err
	}
	s.osds = max(s.osds, id+1)
	return nil
}

// addOSD makes and starts one more OSD.
func (s *supervisor) addOSD(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.osds
	if id >= MaxOSDs {
		return "", fmt.Errorf("add osd: %d is the most", MaxOSDs)
	}
	uuid := newUUID()
	if err := s.newOSDs(ctx, id, []string{uuid}); err != nil {
		return "", fmt.Errorf("add osd: %w", err)
	}
	if err := s.makeStore(ctx, id, uuid); err != nil {
		return "", fmt.Errorf("add osd: %w", err)
	}
	if err := s.startOSD(id); err != nil {
		return "", fmt.Errorf("add osd: %w", err)
	}
	return osdName(id), s.awaitUp(ctx)
}

// awaitUp waits until the mgr is active and every OSD up.
func (s *supervisor) awaitUp(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) (bool, string, error) {
		out, err := s.admin.ask(ctx, "mon", statusCommand)
		if err != nil {
			return false, "", err
		}
		return allUp(out, s.osds)
	})
}

// allUp says whether the answer to `status` has an active mgr and as many
// OSDs up as wanted.
func allUp(status []byte, want int) (bool, string, error) {
	var v struct {
		MgrMap struct {
			Available bool `json:"available"`
		} `json:"mgrmap"`
		OSDMap struct {
			Up int `json:"num_up_osds"`
		} `json:"osdmap"`
	}
	if err := json.Unmarshal(status, &v); err != nil {
		return false, "", fmt.Errorf("ceph status: %w", err)
	}
	saw := fmt.Sprintf("mgr available: %v, %d of %d osds up", v.MgrMap.Available, v.OSDMap.Up, want)
	return v.MgrMap.Available && v.OSDMap.Up == want, saw, nil
}

// awaitClean waits until every placement group of a new cluster is
// active+clean, which takes the mgr a few reports.
func (s *supervisor) awaitClean(ctx context.Context) error {
	if len(s.Options.Pools) == 0 && len(s.rgws) == 0 {
		return nil
	}
	return poll(ctx, func(ctx context.Context) (bool, string, error) {
		out, err := s.admin.ask(ctx, "mon", statusCommand)
		if err != nil {
			return false, "", err
		}
		return pgsClean(out)
	})
}

// pgsClean says whether the answer to `status` counts every PG as clean.
func pgsClean(status []byte) (bool, string, error) {
	var v struct {
		PGMap struct {
			PGs    int `json:"num_pgs"`
			States []struct {
				Name  string `json:"state_name"`
				Count int    `json:"count"`
			} `json:"pgs_by_state"`
		} `json:"pgmap"`
	}
	if err := json.Unmarshal(status, &v); err != nil {
		return false, "", fmt.Errorf("ceph status: %w", err)
	}
	clean, saw := 0, fmt.Sprintf("%d pgs:", v.PGMap.PGs)
	for _, s := range v.PGMap.States {
		saw += fmt.Sprintf(" %d %s", s.Count, s.Name)
		// A scrub adds +scrubbing or +scrubbing+deep to a clean PG.
		if strings.HasPrefix(s.Name, "active+clean") {
			clean += s.Count
		}
	}
	return clean == v.PGMap.PGs, saw, nil
}

func (s *supervisor) createPools(ctx context.Context) error {
	for _, p := range s.Options.Pools {
		for _, c := range p.commands() {
			if err := s.admin.tell(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillPools writes the objects of the options, when the PGs take them.
func (s *supervisor) fillPools(ctx context.Context) error {
	for _, p := range s.Options.Pools {
		if p.Objects == 0 {
			continue
		}
		if err := s.run(ctx, putObjects(s.confPath(), p.Name, p.Objects, p.ObjectBytes)...); err != nil {
			return err
		}
	}
	return nil
}

// stderrTails returns the last lines that each daemon wrote to stderr.
func (s *supervisor) stderrTails() string {
	files, err := filepath.Glob(s.path("log", "*.stderr"))
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil || len(data) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:\n%s\n", filepath.Base(name), data[max(0, len(data)-1000):])
	}
	return b.String()
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var u [16]byte
	rand.Read(u[:]) // never fails, says its documentation
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

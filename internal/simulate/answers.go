package simulate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

func (c *Cluster) fsid() string {
	h := hasher(c.seed)
	a, b := h.next(), h.next()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, b>>52, b&0xffffffffffff)
}

func (c *Cluster) fsidAnswer(*command) ([]byte, error) {
	return fmt.Appendf(nil, "{\"fsid\":%q}", c.fsid()), nil
}

func (c *Cluster) version(*command) ([]byte, error) {
	return fmt.Appendf(nil, "{\"version\":%q}", c.release.banner()), nil
}

func (c *Cluster) osdVersions(*command) ([]byte, error) {
	return fmt.Appendf(nil, "{%q:%d}", c.release.banner(), len(c.osds)), nil
}

func (c *Cluster) versions(*command) ([]byte, error) {
	v := c.release.banner()
	return fmt.Appendf(nil, `{"mon":{%q:3},"mgr":{%q:2},"osd":{%q:%d},"overall":{%q:%d}}`,
		v, v, v, len(c.osds), v, len(c.osds)+5), nil
}

func stampText(s ceph.Stamp) string { return string(appendStamp(nil, s)) }

// addrs writes the three forms in which Ceph prints a daemon's addresses.
func addrVec(host, port int) string {
	ip := fmt.Sprintf("10.%d.%d.%d", 20+host>>16, host>>8&255, host&255)
	return fmt.Sprintf(`{"addrvec":[{"type":"v2","addr":"%s:%d","nonce":%d},{"type":"v1","addr":"%s:%d","nonce":%d}]}`,
		ip, port, 1000+port, ip, port+1, 1000+port)
}

func addr(host, port int) string {
	return fmt.Sprintf(`"10.%d.%d.%d:%d/%d"`, 20+host>>16, host>>8&255, host&255, port+1, 1000+port)
}

// The one manager of the cluster.
const mgrName = "a"

func (c *Cluster) mgrDump(*command) ([]byte, error) {
	r := c.release
	b := fmt.Appendf(nil, `{"epoch":57,`)
	if r.number >= 20 {
		b = append(b, `"flags":0,`...)
	}
	b = fmt.Appendf(b, `"active_gid":4127,"active_name":%q,"active_addrs":%s,"active_addr":%s,"active_change":%q,`+
		`"active_mgr_features":4540701547738038271,"available":true,"standbys":[],`+
		`"modules":["iostat","nfs","prometheus"],"available_modules":[],"services":{},"always_on_modules":{%q:[%s]}`,
		mgrName, addrVec(0, 6800), addr(0, 6800), stampText(c.start-3*day), r.name,
		`"balancer","crash","devicehealth","orchestrator","pg_autoscaler","progress","rbd_support","status","telemetry","volumes"`)
	if r.number >= 20 {
		b = append(b, `,"force_disabled_modules":{}`...)
	}
	return append(b, `,"last_failure_osd_epoch":41,"active_clients":[]}`...), nil
}

func (c *Cluster) mgrMetadata(*command) ([]byte, error) {
	return fmt.Appendf(nil, `[{"name":%q,"addr":"10.20.0.0","arch":"x86_64","ceph_release":%q,"ceph_version":%q,"ceph_version_short":%q,"hostname":"host-000"}]`,
		mgrName, c.release.name, c.release.banner(), c.release.version), nil
}

// configDump answers with the one option that is set.
func (c *Cluster) configDump(*command) ([]byte, error) {
	return []byte(`[{"section":"global","name":"mon_max_pg_per_osd","value":"600","level":"advanced","can_update_at_runtime":true,"mask":""}]`), nil
}

// configShow answers with the defaults of a daemon.
func (c *Cluster) configShow(cmd *command) ([]byte, error) {
	var n int
	switch _, err := fmt.Sscanf(cmd.Who, "osd.%d", &n); {
	case cmd.Who == "mgr."+mgrName || strings.HasPrefix(cmd.Who, "mon."):
	case err != nil || n < 0 || n >= len(c.osds):
		return nil, fmt.Errorf("who %q: no config state for daemon", cmd.Who)
	}
	type entry struct {
		Name   string `json:"name"`
		Value  string `json:"value"`
		Source string `json:"source"`
	}
	entries := []entry{{"mon_max_pg_per_osd", "600", "mon"}}
	for _, o := range c.release.options() {
		if cmd.Key != "" && o.name == cmd.Key {
			return []byte(o.value + "\n"), nil
		}
		if cmd.Prefix == "config show-with-defaults" {
			entries = append(entries, entry{o.name, o.value, "default"})
		}
	}
	if cmd.Key != "" {
		return nil, fmt.Errorf("key %q: not simulated", cmd.Key)
	}
	return json.Marshal(entries)
}

package collector

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
)

// rgwGateway is what a gateway's admin socket says about its ops log.
type rgwGateway struct {
	daemon       string
	knowsEnabled bool
	enabled      bool
	puts         float64 // RGW's own count; -1: not known
}

// rgwSockets asks the gateways of this host.
type rgwSockets struct {
	deps   Deps
	client *asok.Client
	said   map[string]bool // gateways whose missing ops log was reported
}

func newRGWSockets(d Deps) rgwSockets {
	return rgwSockets{deps: d, client: &asok.Client{}, said: map[string]bool{}}
}

// ask returns the gateways that answered, by name. No gateway, no socket and no
// permission are all fine: the ops log is what counts.
func (s *rgwSockets) ask(ctx context.Context) []rgwGateway {
	if s.deps.Paths.Run == "" {
		return nil
	}
	sockets, _ := asok.Discover(s.deps.Paths.Run)
	sockets = slices.DeleteFunc(sockets, func(k asok.Socket) bool { return !k.IsGateway() })
	answers := make([]*rgwGateway, len(sockets))
	s.client.ForEach(ctx, sockets, func(ctx context.Context, i int, k asok.Socket) error {
		g, err := s.gateway(ctx, k)
		if err == nil {
			answers[i] = g
		}
		return err
	})
	var out []rgwGateway
	for _, g := range answers {
		known := func(o rgwGateway) bool { return o.daemon == g.daemon }
		if g == nil || slices.ContainsFunc(out, known) {
			continue // a killed gateway leaves its socket behind
		}
		out = append(out, *g)
		s.report(*g)
	}
	return out
}

func (s *rgwSockets) gateway(ctx context.Context, k asok.Socket) (*rgwGateway, error) {
	g := &rgwGateway{daemon: k.Name(), puts: -1}
	dump, err := s.client.Ask(ctx, k.Path, asok.PerfDump)
	if err != nil {
		return nil, err
	}
	if g.puts, err = rgwPuts(dump); err != nil {
		return nil, err
	}
	config, err := s.client.Ask(ctx, k.Path, asok.ConfigShow)
	if err != nil {
		return g, nil // the counter is worth having alone
	}
	g.enabled, g.knowsEnabled = rgwOpsLogEnabled(config)
	return g, nil
}

// rgwPuts finds RGW's own put counter: rgw.put to 18, rgw_op.put_obj_ops since.
func rgwPuts(dump []byte) (float64, error) {
	var d struct {
		RGW struct {
			Put *float64 `json:"put"`
		} `json:"rgw"`
		Op struct {
			Put *float64 `json:"put_obj_ops"`
		} `json:"rgw_op"`
	}
	if err := json.Unmarshal(dump, &d); err != nil {
		return -1, fmt.Errorf("decode perf dump: %w", err)
	}
	switch {
	case d.Op.Put != nil:
		return *d.Op.Put, nil
	case d.RGW.Put != nil:
		return *d.RGW.Put, nil
	}
	return -1, nil
}

// rgwOpsLogEnabled reads the running configuration.
func rgwOpsLogEnabled(config []byte) (enabled, known bool) {
	var c map[string]any
	if json.Unmarshal(config, &c) != nil {
		return false, false
	}
	on, ok := c["rgw_enable_ops_log"].(string)
	if !ok {
		return false, false
	}
	file, _ := c["rgw_ops_log_file_path"].(string)
	socket, _ := c["rgw_ops_log_socket_path"].(string)
	return on == "true" && strings.TrimSpace(file+socket) != "", true
}

// report says once how to enable an ops log that is off.
func (s *rgwSockets) report(g rgwGateway) {
	off := g.knowsEnabled && !g.enabled
	if off && !s.said[g.daemon] {
		s.deps.Log.Info("this gateway writes no ops log to a file, so its uploads are not counted; enable it and restart the gateway (some 700 bytes of disk per request)",
			"daemon", g.daemon, "commands", "ceph config set client."+g.daemon+" rgw_enable_ops_log true; ceph config set client."+g.daemon+
				" rgw_ops_log_rados false; ceph config set client."+g.daemon+" rgw_ops_log_file_path /var/log/ceph/ops-log-$cluster-$name.log")
	}
	s.said[g.daemon] = off
}

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
)

func (s *supervisor) rgwConf(i int) map[string]string {
	name := rgwName(i)
	conf := map[string]string{
		"log_file":      s.logFile(),
		"rgw_data":      s.path("rgw", name),
		"rgw_frontends": fmt.Sprintf("beast endpoint=127.0.0.1:%d", s.MonPort+rgwPortOffset+i),
		// Each sync thread is work that a loopback cluster has no use for.
		"rgw_run_sync_thread": "false",
	}
	if s.Options.RGWOpsLog || s.Options.RGWOpsSocket {
		conf["rgw_enable_ops_log"] = "true"
		conf["rgw_ops_log_rados"] = "false"
	}
	if s.Options.RGWOpsLog {
		conf["rgw_ops_log_file_path"] = opsLogPath(s.dir, i)
	} else {
		conf["rgw_ops_log_file_path"] = ""
	}
	if s.Options.RGWOpsSocket {
		conf["rgw_ops_log_socket_path"] = opsSocketPath(s.dir, i)
	}
	return conf
}

func opsLogPath(dir string, i int) string {
	return dir + "/log/ops-log-ceph-client." + rgwName(i) + ".log"
}

func opsSocketPath(dir string, i int) string { return dir + "/run/" + rgwName(i) + ".ops.sock" }

// startRGWs starts the gateways of the options. The caller holds s.mu.
func (s *supervisor) startRGWs(ctx context.Context) error {
	for len(s.rgws) < s.Options.RGWs {
		if err := s.startRGW(ctx); err != nil {
			return err
		}
	}
	return nil
}

// growRGWs starts gateways until there are n.
func (s *supervisor) growRGWs(ctx context.Context, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > maxRGWs {
		return fmt.Errorf("add gateway: %d is the most", maxRGWs)
	}
	for len(s.rgws) < n {
		if err := s.startRGW(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startRGW starts one more gateway and waits until it answers.
func (s *supervisor) startRGW(ctx context.Context) error {
	i := len(s.rgws)
	name := rgwName(i)
	if err := os.MkdirAll(s.path("rgw", name), 0o755); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	s.daemons.define(name, s.Options.env(name), "/usr/bin/radosgw", "-f", "-n", "client."+name, "-c", s.confPath())
	if err := s.daemons.start(name); err != nil {
		return err
	}
	port := s.MonPort + rgwPortOffset + i
	if err := awaitHTTP(ctx, "http://127.0.0.1:"+strconv.Itoa(port)+"/"); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	s.rgws = append(s.rgws, port)
	return nil
}

// awaitHTTP waits until url answers at all.
func awaitHTTP(ctx context.Context, url string) error {
	return poll(ctx, func(ctx context.Context) (bool, string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, "", err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err.Error(), nil
		}
		res.Body.Close()
		return true, "", nil
	})
}

package collector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v2"

	"github.com/ceph-risk/ceph_risk_exporter/internal/opslog"
)

// rgwListener takes records from log shippers.
type rgwListener struct {
	scheme, address, webConfig string
}

func newRGWListener(s, webConfig string) (rgwListener, error) {
	scheme, address, err := parseListen(s)
	if err != nil {
		return rgwListener{}, err
	}
	l := rgwListener{scheme: scheme, address: address, webConfig: webConfig}
	if err := web.Validate(webConfig); err != nil {
		return l, fmt.Errorf("--rgw.web-config-file: %w", err)
	}
	if scheme == "tcp" {
		if _, err := l.tlsConfig(); err != nil {
			return l, err
		}
	}
	return l, nil
}

// serve takes records until ctx is done.
func (l rgwListener) serve(ctx context.Context, socket net.Listener, engine *opslog.Engine, log *slog.Logger) error {
	if l.scheme == "tcp" {
		config, err := l.tlsConfig()
		if err != nil {
			return err
		}
		if config != nil {
			socket = tls.NewListener(socket, config)
		}
		return engine.ServeTCP(ctx, socket, log)
	}
	server := &http.Server{Handler: engine, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := web.Serve(socket, server, &web.FlagConfig{WebConfigFile: &l.webConfig}, log)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// tlsConfig reads the web config file for a TCP stream, which knows TLS and
// client certificates, but no passwords. It returns nil for plain TCP.
func (l rgwListener) tlsConfig() (*tls.Config, error) {
	if l.webConfig == "" {
		return nil, nil
	}
	text, err := os.ReadFile(l.webConfig)
	if err != nil {
		return nil, fmt.Errorf("--rgw.web-config-file: %w", err)
	}
	var c web.Config
	c.TLSConfig.MinVersion = tls.VersionTLS12
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return nil, fmt.Errorf("--rgw.web-config-file: %w", err)
	}
	c.TLSConfig.SetDirectory(filepath.Dir(l.webConfig))
	if len(c.Users) > 0 && c.TLSConfig.ClientAuth != "RequireAndVerifyClientCert" {
		return nil, fmt.Errorf("--rgw.listen-address=tcp://%s cannot ask for passwords as --rgw.web-config-file demands: use http://, or client certificates (client_auth_type: RequireAndVerifyClientCert)", l.address)
	}
	if !c.TLSConfig.IsEnabled() {
		return nil, nil
	}
	config, err := web.ConfigToTLSConfig(&c.TLSConfig)
	if err != nil {
		return nil, fmt.Errorf("--rgw.web-config-file: %w", err)
	}
	return config, nil
}

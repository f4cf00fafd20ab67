// Package prometheus runs a real Prometheus for a test.
package prometheus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// limit bounds every wait; all of them end as soon as what they wait for happens.
const limit = 5 * time.Minute

// ErrNotOne says that an expression yields no series, or several.
var ErrNotOne = errors.New("not one series")

// Options say how to run it.
type Options struct {
	Binary  string            // "prometheus" unless given
	Args    []string          // more arguments
	Address string            // host:port, any free one unless given
	Config  any               // what becomes its configuration; JSON is YAML
	Files   map[string]string // files beside the configuration, such as rules
}

// Server is a running Prometheus.
type Server struct {
	URL string // http://127.0.0.1:PORT

	config string
	ended  chan struct{}
}

// Start runs a Prometheus until the test ends. It has come up when Start returns.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Binary == "" {
		o.Binary = "prometheus"
		cephtest.RequireTool(t, o.Binary)
	}
	if o.Address == "" {
		o.Address = FreeAddress(t)
	}
	dir := t.TempDir()
	s := &Server{URL: "http://" + o.Address, config: filepath.Join(dir, "prometheus.json"), ended: make(chan struct{})}
	for name, text := range o.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.write(t, o.Config)
	var out bytes.Buffer
	cmd := exec.Command(o.Binary, append([]string{
		"--config.file=" + s.config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + o.Address, "--web.enable-lifecycle", "--log.level=warn",
	}, o.Args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // killed below, or its log tells
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-s.ended
		if t.Failed() {
			t.Logf("prometheus:\n%s", out.String())
		}
	})
	s.await(t, "Prometheus to be ready", func() error { return s.fetch("/-/ready", nil) })
	return s
}

func (s *Server) write(t testing.TB, config any) {
	t.Helper()
	text, err := json.MarshalIndent(config, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.config, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Reload makes it run with another configuration.
func (s *Server) Reload(t testing.TB, config any) {
	t.Helper()
	s.write(t, config)
	res, err := http.Post(s.URL+"/-/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("reload: %s", res.Status)
	}
}

// Get asks the API, as in Get("query", url.Values{"query": {"up"}}, &data), for
// the data of its answer.
func (s *Server) Get(path string, values url.Values, data any) error {
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := s.fetch("/api/v1/"+path+"?"+values.Encode(), &answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return nil
}

// fetch decodes a page of JSON; Prometheus has one for what it refuses, too.
func (s *Server) fetch(path string, v any) error {
	client := http.Client{Timeout: limit}
	res, err := client.Get(s.URL + path)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if v != nil {
		return json.NewDecoder(res.Body).Decode(v)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, res.Status)
	}
	return nil
}

// Sample is one series of an answer at one instant.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query returns what the expression yields now.
func (s *Server) Query(expr string) ([]Sample, error) {
	var data struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any // instant, text
		}
	}
	if err := s.Get("query", url.Values{"query": {expr}}, &data); err != nil {
		return nil, err
	}
	var out []Sample
	for _, r := range data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", expr, err)
		}
		out = append(out, Sample{Labels: r.Metric, Value: v})
	}
	return out, nil
}

// Number returns the value of the only series that the expression yields, or
// ErrNotOne.
func (s *Server) Number(expr string) (float64, error) {
	all, err := s.Query(expr)
	if err != nil {
		return 0, err
	}
	if len(all) != 1 {
		return 0, fmt.Errorf("%s: %w: %d", expr, ErrNotOne, len(all))
	}
	return all[0].Value, nil
}

// Await waits until the expression has the value.
func (s *Server) Await(t testing.TB, expr string, want float64) {
	t.Helper()
	s.await(t, expr, func() error {
		got, err := s.Number(expr)
		if err == nil && got != want {
			err = fmt.Errorf("it is %v, want %v", got, want)
		}
		return err
	})
}

func (s *Server) await(t testing.TB, what string, look func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		err := look()
		if err == nil {
			return
		}
		select {
		case <-s.ended:
			t.Fatalf("prometheus ended: %v", err)
		case <-ctx.Done():
			t.Fatalf("waited %s for %s: %v", limit, what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// FreeAddress is a host:port on loopback that nobody listens at.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

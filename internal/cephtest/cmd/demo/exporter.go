package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

func build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "ceph_risk_exporter")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/ceph_risk_exporter")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return binary, cmd.Run()
}

// exporter is the running exporter process.
type exporter struct {
	url   string
	cmd   *exec.Cmd
	ended chan error
	log   string
}

// startExporter gives it a key of its own with the documented capabilities and
// no more.
func startExporter(ctx context.Context, c *cluster.Cluster, binary, dir, address string) (*exporter, error) {
	keyring, err := c.CreateKey(ctx, "client.risk", "mon", "allow r", "mgr", "allow r")
	if err != nil {
		return nil, err
	}
	address, err = freeAddress(address)
	if err != nil {
		return nil, err
	}
	e := &exporter{url: "http://" + address, ended: make(chan error, 1), log: filepath.Join(dir, "exporter.log")}
	log, err := os.Create(e.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own copy
	e.cmd = exec.Command(binary, "--role=all", "--ceph.config="+c.ConfPath(), "--ceph.keyring="+keyring,
		"--path.run="+c.AsokDir(), "--state-dir="+filepath.Join(dir, "state"),
		"--collector.pg.interval=10s", "--collector.pg.fast-interval=2s", "--web.listen-address="+address)
	e.cmd.Stdout, e.cmd.Stderr = log, log
	// A group of its own, so that Ctrl-C reaches it through us, once.
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { e.ended <- e.cmd.Wait() }()
	return e, nil
}

// freeAddress returns the address, or one with a free port where it is taken.
func freeAddress(address string) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		host, _, splitErr := net.SplitHostPort(address)
		if splitErr != nil {
			return "", splitErr
		}
		if l, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
			return "", err
		}
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (e *exporter) stop() {
	_ = e.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-e.ended:
	case <-time.After(15 * time.Second):
		_ = e.cmd.Process.Kill()
	}
}

func (e *exporter) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(body))
	}
	return string(body), err
}

// telling are the series to show, and what must be seen before they are worth
// showing: a PG that is late and a scrub that runs.
var (
	telling = regexp.MustCompile(`^cephrisk_(cluster_info|pool_pgs_late|pool_pgs_late_within|pool_oldest_scrub_timestamp_seconds|scrubs_running|osd_scrubs_running|scrub_completions_total|health_check_items|pool_flag|pg_last_deep_scrub_age_seconds|collector_success)\{`)
	late    = regexp.MustCompile(`(?m)^cephrisk_pool_pgs_late\{[^}]*deep[^}]*\} [1-9]`)
	running = regexp.MustCompile(`(?m)^cephrisk_scrubs_running\{[^}]*\} [1-9]`)
)

// awaitTelling waits until there is something to see, at most three minutes.
func (e *exporter) awaitTelling(ctx context.Context) error {
	say("waiting until PGs are late and scrubs run (Ceph needs a minute or two)")
	deadline := time.NewTimer(3 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last error
	for {
		body, err := e.get(ctx, "/metrics")
		if last = err; err == nil && late.MatchString(body) && running.MatchString(body) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-e.ended:
			log, _ := os.ReadFile(e.log)
			return fmt.Errorf("the exporter ended: %w\n%s", err, log)
		case <-deadline.C:
			return last // show what there is
		case <-tick.C:
		}
	}
}

// show prints the most telling sample of each of the telling families.
func (e *exporter) show(ctx context.Context) error {
	body, err := e.get(ctx, "/metrics")
	if err != nil {
		return err
	}
	fmt.Printf("\nThe exporter serves %s/metrics, for instance:\n\n", e.url)
	best := map[string]string{}
	var order []string
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		m := telling.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if _, seen := best[m[1]]; !seen {
			order = append(order, m[1])
			best[m[1]] = lines.Text()
		} else if strings.HasSuffix(best[m[1]], " 0") {
			best[m[1]] = lines.Text() // something that is not zero says more
		}
	}
	for _, name := range order {
		fmt.Println("  " + best[name])
	}
	fmt.Println()
	return nil
}

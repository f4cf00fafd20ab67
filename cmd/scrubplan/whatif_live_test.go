//go:build cgo

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// planner is scrubplan itself, run in a cluster's root and so against that
// release's librados, with a key that may do no more than it says it needs.
type planner struct {
	c      *cephtest.Cluster
	binary string
	args   []string
}

func buildPlanner(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "scrubplan")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	return binary
}

func newPlanner(t *testing.T, ctx context.Context, c *cephtest.Cluster, binary string) *planner {
	t.Helper()
	const user = "client.scrubplan"
	keyring, err := c.CreateKey(ctx, user, "mon", "allow r", "mgr", "allow r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
		defer cancel()
		if err := c.RemoveKey(ctx, user); err != nil {
			t.Log(err)
		}
	})
	return &planner{c, binary, []string{"--ceph.config=" + c.ConfPath(), "--ceph.id=scrubplan", "--ceph.keyring=" + keyring, "--timezone=UTC"}}
}

// plan runs it and returns what it printed, decoded.
func (p *planner) plan(t *testing.T, ctx context.Context, args ...string) (out jsonReport, code int) {
	t.Helper()
	cmd := p.c.Command(ctx, p.binary, append(append(p.args, "--json"), args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if err != nil && code != exitLate {
		t.Fatalf("scrubplan %s: %v: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v: %s", err, stdout.Bytes())
	}
	return out, code
}

// scrubplan asks a cluster of each release through librados, with a key that
// may read only, and says of it what Ceph says.
func TestPlansThroughLibradosWithAKeyThatMayOnlyRead(t *testing.T) {
	binary := buildPlanner(t)
	for _, r := range cephtest.Releases() {
		t.Run(r.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			c := cephtest.Shared(t, r)
			if err := c.WaitClean(ctx); err != nil {
				t.Fatal(err)
			}
			out, _ := newPlanner(t, ctx, c, binary).plan(t, ctx, "--seeds=2", "--horizon=1h")
			m, err := (&ceph.Client{Commander: c}).OSDDump(ctx)
			if err != nil {
				t.Fatal(err)
			}
			pgs := 0
			for _, p := range m.Pools {
				pgs += p.PGNum
			}
			if out.PGs+out.Unknown != pgs || !strings.HasPrefix(out.Release, r.String()+".") || len(out.Before.OSDs) == 0 {
				t.Errorf("%d PGs and %d unknown of %d, release %s, OSDs %+v", out.PGs, out.Unknown, pgs, out.Release, out.Before.OSDs)
			}
		})
	}
}

// On a cluster whose scrubs do not fit, the change that --solve puts first is
// made by the commands it printed. Nobody is late any more within the time it
// said, the upper one, and a third.
func TestSolutionClearsTheBacklogInTheTimeItSaid(t *testing.T) {
	if !cephtest.Long() {
		t.Log("only with CEPHRISK_LONG=1: it takes half an hour")
		return
	}
	binary := buildPlanner(t)
	for _, r := range cephtest.Releases() {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
			defer cancel()
			b := backtest{release: r, opens: time.Hour, sleep: "2"}
			c, _, _ := b.start(t, ctx)
			p := newPlanner(t, ctx, c, binary)
			// A PG is due after 400 s, then for a deep scrub, and late after 600.
			// One slot gets round in some 850 s.
			b.set(t, ctx, c, map[string]string{
				"osd_scrub_sleep": b.sleep, "osd_scrub_min_interval": "400", "osd_scrub_interval_randomize_ratio": "0",
				"osd_scrub_max_interval": "3600", "osd_deep_scrub_interval": "300",
				"mon_warn_pg_not_scrubbed_ratio": "0.5", "mon_warn_pg_not_deep_scrubbed_ratio": "1",
			})
			b.tell(t, ctx, c, "osd", "unset", "noscrub")
			b.tell(t, ctx, c, "osd", "unset", "nodeep-scrub")
			client := &ceph.Client{Commander: c}
			if z := kept(t, "what-if-"+r.String()); z != nil {
				client.Commander = ceph.Record(c, z, 1<<32, time.Now, func(err error) { t.Error(err) })
			}
			awaitLate(t, ctx, client, 20*time.Minute, func(n int) bool { return n >= 20 })
			b.settings(t, ctx, client)
			args := []string{"--solve", "--horizon=20m", "--seeds=20"}
			if r == cephtest.R16 { // it does not tell how long scrubs take
				args = append(args, "--observe=5m")
			}
			out, code := p.plan(t, ctx, args...)
			if code != exitLate || len(out.Solutions) == 0 {
				t.Fatalf("exit code %d, %d solutions", code, len(out.Solutions))
			}
			s := out.Solutions[0]
			if s.ClearBy == nil {
				t.Fatalf("the first solution helps at once, which proves nothing: %+v", s.Changes)
			}
			middle := 0.0
			for l, o := range s.Forecast.Total {
				if o.ClearAfter != nil {
					middle = max(middle, *o.ClearAfter)
				}
				t.Logf("%s: %d late now", l, o.LateNow)
			}
			for _, change := range s.Changes {
				t.Log(change.Command)
				if _, err := c.Ceph(ctx, strings.Fields(strings.TrimPrefix(change.Command, "ceph "))...); err != nil {
					t.Fatal(err)
				}
			}
			applied := time.Now()
			b.settings(t, ctx, client)
			most := time.Duration(*s.ClearBy * 4 / 3 * float64(time.Second))
			t.Logf("nobody late after %.0f s, it says, by %.0f s with scrubs that take a quarter longer", middle, *s.ClearBy)
			took := awaitLate(t, ctx, client, max(10*time.Minute, 3*most), func(n int) bool { return n == 0 }).Sub(applied)
			t.Logf("nobody late after %.0f s", took.Seconds())
			if took > most {
				t.Errorf("nobody late after %s; %s would be what was said and a third", took, most)
			}
		})
	}
}

// awaitLate waits for a number of late PGs, of either level, by Ceph's own count.
func awaitLate(t *testing.T, ctx context.Context, client *ceph.Client, limit time.Duration, want func(int) bool) time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	saw := -1
	for {
		h, err := client.HealthDetail(ctx)
		if err == nil {
			n := 0
			for _, name := range []string{"PG_NOT_SCRUBBED", "PG_NOT_DEEP_SCRUBBED"} {
				if v := h.Checks[name].Count; v != nil {
					n += int(*v)
				}
			}
			if n != saw {
				t.Logf("%s: %d late", time.Now().UTC().Format(time.TimeOnly), n)
			}
			if saw = n; want(n) {
				return time.Now()
			}
			if _, recorded := client.Commander.(*ceph.Tap); recorded {
				if _, err := client.PGDump(ctx); err != nil {
					t.Log(err)
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%v: last seen were %d late PGs, error %v", ctx.Err(), saw, err)
		}
	}
}

// kept opens a recording in the directory that CEPHRISK_BACKTEST_DIR names, for
// a look at what went wrong; nil without it.
func kept(t *testing.T, name string) *gzip.Writer {
	t.Helper()
	dir := os.Getenv("CEPHRISK_BACKTEST_DIR")
	if dir == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(dir, name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	z.Comment = "0" // the plan is made for OSDs in UTC; hours do not matter
	t.Cleanup(func() {
		if err := errors.Join(z.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	})
	return z
}

// settings puts into the recording what forecasts need besides the PGs.
func (b *backtest) settings(t *testing.T, ctx context.Context, client *ceph.Client) {
	t.Helper()
	if _, err := client.Versions(ctx); err != nil {
		t.Fatal(err)
	}
	mgr, err := client.MgrDump(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.askSettings(t, ctx, client, mgr.Active)
}

package mixin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-jsonnet"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"go.yaml.in/yaml/v3"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/prometheus"
)

// liveLimit is how long a busy machine may take until all that can be seen is seen.
const liveLimit = 10 * time.Minute

// silent is a query that returns nothing, or may, on a healthy cluster of three
// OSDs and a gateway without shelves and arrays.
type silent struct {
	Dashboard, Panel, Query, Why string
	Maybe                        bool // it depends on chance
}

func (s silent) key() string { return s.Dashboard + ": " + s.Panel + ": " + s.Query }

// Every query of every dashboard is answered by a real Prometheus that scrapes a
// pair of exporters beside a real cluster with clients, scrubs and uploads. Those
// that return nothing there are exactly those of testdata/silent.yaml.
func TestEveryQueryIsAnsweredOnALiveCluster(t *testing.T) {
	cephtest.RequireTool(t, "prometheus")
	var list []silent
	data, err := os.ReadFile("testdata/silent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	may, must := map[string]bool{}, map[string]bool{}
	for _, s := range list {
		if s.Why == "" || may[s.key()] {
			t.Errorf("%s: without a reason, or listed twice", s.key())
		}
		may[s.key()], must[s.key()] = true, !s.Maybe
	}

	ctx, cancel := context.WithTimeout(t.Context(), liveLimit)
	defer cancel()
	l := startLiveBoards(ctx, t)
	queries := boardQueries(t)
	known := map[string]bool{}
	for _, q := range queries {
		known[q.key] = true
	}
	for key := range may {
		if !known[key] {
			t.Errorf("%s is listed and does not exist", key)
		}
	}
	for {
		l.use(ctx, t)
		var wrong []string
		for _, q := range queries {
			n, err := l.prometheus.ask(q)
			switch {
			case err != nil:
				t.Fatalf("%s: %v", q.key, err)
			case n == 0 && !may[q.key]:
				wrong = append(wrong, q.key+" returns nothing and is not listed")
			case n > 0 && must[q.key]:
				wrong = append(wrong, q.key+" returns something and is listed")
			}
		}
		if len(wrong) == 0 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("after %v:\n%s", liveLimit, strings.Join(wrong, "\n"))
		}
	}
	// The pair counts once.
	want := l.exporter.Scrape().Sum("cephrisk_pool_pgs")
	if got, err := l.prometheus.Number(`sum(cephrisk:pool_pgs)`); err != nil || got != want {
		t.Errorf("PGs of all pools: %v, %v, want %v", got, err, want)
	}
}

// boardQuery is a query as a dashboard sends it.
type boardQuery struct {
	key     string
	expr    string // or the series of which a variable lists a label
	label   string
	instant bool
}

func boardQueries(t *testing.T) []boardQuery {
	t.Helper()
	var out []boardQuery
	p := mustEvaluate(t, "{}")
	for name, b := range boards(t, p) {
		name = strings.TrimSuffix(name, ".json")
		for _, panel := range b.Panels {
			for _, target := range panel.Targets {
				out = append(out, boardQuery{key: name + ": " + panel.Title + ": " + target.RefID, expr: b.chosen(target.Expr), instant: target.Instant})
			}
		}
		for _, a := range b.Annotations.List {
			out = append(out, boardQuery{key: name + ": annotation: " + a.Name, expr: b.chosen(a.Expr)})
		}
		for _, v := range b.Templating.List {
			if m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Query); m != nil {
				out = append(out, boardQuery{key: name + ": variable: " + v.Name, expr: b.chosen(m[1]), label: m[2]})
			}
		}
	}
	slices.SortFunc(out, func(a, b boardQuery) int { return strings.Compare(a.key, b.key) })
	return out
}

// liveBoards is a cluster with clients, an exporter beside it and a Prometheus.
type liveBoards struct {
	cluster    *cephtest.Cluster
	exporter   *exporter.Exporter
	prometheus livePrometheus
	s3         *minio.Core
	rounds     int
}

const livePool = "clients"

func startLiveBoards(ctx context.Context, t *testing.T) *liveBoards {
	t.Helper()
	l := &liveBoards{cluster: cephtest.New(t, cephtest.Options{
		Release: cephtest.R18, RGWs: 1, RGWOpsLog: true,
		// Scrubs of a few objects that clients have the time to meet.
		Conf: map[string]map[string]string{"osd": {
			"osd_op_queue": "wpq", "osd_scrub_sleep": "0.3", "osd_scrub_load_threshold": "1000",
			"osd_scrub_chunk_max": "5", "osd_shallow_scrub_chunk_max": "5",
		}},
		Pools: []cephtest.Pool{{Name: livePool, PGs: 8, Objects: 200}},
	})}
	l.exporter = exporter.Start(t, l.cluster, "boards", "--collector.daemon", "--collector.bluestore", "--collector.rgw", "--collector.enclosure", "--rgw.ops-log="+l.cluster.OpsLogPath(0), "--rgw.view=complete",
		"--collector.pg.interval=2s", "--collector.pg.fast-interval=1s", "--collector.osd.interval=2s", "--collector.forecast.interval=5s", "--collector.rgw.interval=1s")
	l.prometheus = startLivePrometheus(t, l.exporter.URL)

	access, secret, err := l.cluster.CreateS3User(ctx, "boards")
	if err != nil {
		t.Fatal(err)
	}
	l.s3, err = minio.NewCore(strings.TrimPrefix(l.cluster.RGWEndpoint(0), "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(access, secret, ""), Region: "default", BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.s3.MakeBucket(ctx, "bucket", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return l
}

// use lets clients read and write while everything is scrubbed, and uploads an
// object in one and one in parts; one more stays open.
func (l *liveBoards) use(ctx context.Context, t *testing.T) {
	t.Helper()
	steps := []func() error{
		func() error { _, err := l.cluster.Ceph(ctx, "osd", "deep-scrub", "all"); return err },
		func() error { return l.bench(ctx, "write", "--no-cleanup") },
		func() error { return l.bench(ctx, "rand") },
		func() error {
			_, err := l.s3.Client.PutObject(ctx, "bucket", "object", strings.NewReader("data"), 4, minio.PutObjectOptions{})
			return err
		},
		func() error {
			id, err := l.s3.NewMultipartUpload(ctx, "bucket", "parts", minio.PutObjectOptions{})
			if err != nil || l.rounds == 0 {
				return err
			}
			part, err := l.s3.PutObjectPart(ctx, "bucket", "parts", id, 1, bytes.NewReader([]byte("data")), 4, minio.PutObjectPartOptions{})
			if err != nil {
				return err
			}
			_, err = l.s3.CompleteMultipartUpload(ctx, "bucket", "parts", id, []minio.CompletePart{{PartNumber: 1, ETag: part.ETag}}, minio.PutObjectOptions{})
			return err
		},
	}
	for _, step := range steps {
		if err := step(); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
	}
	l.rounds++
}

func (l *liveBoards) bench(ctx context.Context, what string, more ...string) error {
	args := append([]string{"-c", l.cluster.ConfPath(), "-p", livePool, "bench", "2", what, "-t", "1", "--run-name", "boards"}, more...)
	if what == "write" {
		args = append(args, "-b", "4096", "--max-objects", "100")
	}
	_, err := l.cluster.Run(ctx, "rados", args...)
	return err
}

// livePrometheus answers what dashboards ask.
type livePrometheus struct{ *prometheus.Server }

// startLivePrometheus runs a Prometheus that scrapes the exporter as a pair and
// evaluates the rules each second, until the test ends.
func startLivePrometheus(t *testing.T, target string) livePrometheus {
	t.Helper()
	rules, err := jsonnet.MakeVM().EvaluateAnonymousSnippet("live.jsonnet", `
		local m = (import 'mixin.libsonnet') + { _config+:: { interval: '1s', slowInterval: '1s' } };
		{ groups: m.prometheusRules.groups + m.prometheusAlerts.groups }`)
	if err != nil {
		t.Fatal(err)
	}
	port := target[strings.LastIndex(target, ":"):]
	return livePrometheus{prometheus.Start(t, prometheus.Options{
		Files: map[string]string{"rules.yml": rules}, // JSON is YAML
		Config: map[string]any{
			"global":     map[string]string{"scrape_interval": "1s", "scrape_timeout": "1s"},
			"rule_files": []string{"rules.yml"},
			"scrape_configs": []any{map[string]any{
				"job_name": "ceph_risk_exporter",
				"static_configs": []any{map[string]any{
					"targets": []string{"127.0.0.1" + port, "localhost" + port}, "labels": map[string]string{"cluster": "live"},
				}},
			}},
		},
	})}
}

// ask returns how many series the query yields, in the last minute where it is a
// range, or how many values a variable has.
func (p livePrometheus) ask(q boardQuery) (int, error) {
	now := time.Now()
	start := strconv.FormatInt(now.Add(-time.Minute).Unix(), 10)
	end := strconv.FormatInt(now.Unix(), 10)
	var data []json.RawMessage
	if q.label != "" {
		err := p.Get("label/"+q.label+"/values", url.Values{"match[]": {q.expr}, "start": {start}, "end": {end}}, &data)
		return len(data), err
	}
	var result struct{ Result []json.RawMessage }
	path, values := "query_range", url.Values{"query": {q.expr}, "start": {start}, "end": {end}, "step": {"5"}}
	if q.instant {
		path, values = "query", url.Values{"query": {q.expr}}
	}
	err := p.Get(path, values, &result)
	return len(result.Result), err
}

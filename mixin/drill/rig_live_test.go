package drill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-jsonnet"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/prometheus"
)

// limit bounds every wait; all of them end as soon as what they wait for happens.
const limit = 5 * time.Minute

// await polls until look returns nil.
func await(t testing.TB, what string, look func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := look()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s: %v", limit, what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// monitoring is a Prometheus with the shortened pack, an Alertmanager and
// somebody who is paged.
type monitoring struct {
	*prometheus.Server
	*receiver
}

// severities are who hears of an alert.
var severities = []string{"critical", "warning", "info"}

// startMonitoring scrapes the targets (host:port) as the cluster `drill`.
func startMonitoring(t *testing.T, targets []string) *monitoring {
	t.Helper()
	cephtest.RequireTool(t, "prometheus-alertmanager")
	dir := t.TempDir()
	m := &monitoring{receiver: newReceiver(t)}
	alertmanager := prometheus.FreeAddress(t)

	var routes, receivers []any
	for _, s := range severities {
		routes = append(routes, map[string]any{"receiver": s, "matchers": []string{"severity=" + s}})
		receivers = append(receivers, map[string]any{"name": s, "webhook_configs": []any{map[string]any{"url": m.url + "/" + s, "send_resolved": true}}})
	}
	writeJSON(t, filepath.Join(dir, "alertmanager.json"), map[string]any{
		"route": map[string]any{
			"receiver": "info", "group_by": []string{"..."}, "group_wait": "1s", "group_interval": "1s", "repeat_interval": "12h", "routes": routes,
		},
		"receivers": receivers,
	})
	vm := jsonnet.MakeVM()
	files, err := vm.EvaluateFileMulti("drill.jsonnet")
	if err != nil {
		t.Fatal(err)
	}
	runAlertmanager(t, dir, "--config.file=alertmanager.json", "--storage.path=alerts", "--web.listen-address="+alertmanager, "--cluster.listen-address=")
	m.Server = prometheus.Start(t, prometheus.Options{Files: files, Config: map[string]any{
		"global":     map[string]any{"scrape_interval": "3s", "scrape_timeout": "3s"},
		"rule_files": slices.Sorted(maps.Keys(files)),
		"alerting":   map[string]any{"alertmanagers": []any{map[string]any{"static_configs": []any{map[string]any{"targets": []string{alertmanager}}}}}},
		"scrape_configs": []any{map[string]any{
			"job_name":       "ceph_risk_exporter",
			"static_configs": []any{map[string]any{"targets": targets, "labels": map[string]string{"cluster": "drill"}}},
		}},
	}})
	await(t, "Alertmanager", func() error { return get("http://"+alertmanager+"/-/ready", nil) })
	await(t, "every target to be scraped", func() error {
		n, err := m.Number(`sum(cephrisk:exporter_up) or vector(0)`)
		if err == nil && n != float64(len(targets)) {
			err = fmt.Errorf("%v of %d answer", n, len(targets))
		}
		return err
	})
	return m
}

// runAlertmanager starts Debian's Alertmanager, which reads its templates from an
// absolute path. Where it is unpacked and not installed (scripts/install-deps)
// it gets a mount namespace in which they are there.
func runAlertmanager(t *testing.T, dir string, args ...string) {
	t.Helper()
	const name = "prometheus-alertmanager"
	if _, err := os.Stat("/usr/share/prometheus/alertmanager/default.tmpl"); err == nil {
		run(t, dir, name, args...)
		return
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	share := filepath.Join(filepath.Dir(path), "..", "share")
	run(t, dir, "unshare", append([]string{"--mount", "sh", "-c", `mount --bind "$0" /usr/share && exec "$@"`, share, path}, args...)...)
}

// run starts a program that ends with the test.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(name, append(args, "--log.level=warn")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", name, out.String())
		}
	})
}

// writeJSON writes a configuration: JSON is YAML.
func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(url string, v any) error {
	client := http.Client{Timeout: 30 * time.Second}
	res, err := client.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	if v == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(v)
}

// notice is one message of Alertmanager about one alert.
type notice struct {
	Status      string            `json:"status"` // firing, resolved
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	at          time.Time         // when it came in
	to          string            // whom it was for
}

func (n notice) name() string { return n.Labels["alertname"] }

func (n notice) String() string {
	return fmt.Sprintf("%s to %s: %s %v: %s", n.Status, n.to, n.name(), n.Labels, n.Annotations["summary"])
}

// receiver is the webhook that Alertmanager calls.
type receiver struct {
	url string

	mu      sync.Mutex
	notices []notice
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body struct {
			Alerts []notice `json:"alerts"`
		}
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		now := time.Now()
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, n := range body.Alerts {
			n.at, n.to = now, strings.TrimPrefix(req.URL.Path, "/")
			r.notices = append(r.notices, n)
		}
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// since returns the notices after the first n.
func (r *receiver) since(n int) []notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notices[n:])
}

func (r *receiver) count() int { return len(r.since(0)) }

// find returns the first notice about a page after the first n.
func (r *receiver) find(n int, status string, p page) (notice, error) {
	all := r.since(n)
	for _, x := range all {
		if x.Status == status && p.is(x) {
			return x, nil
		}
	}
	return notice{}, fmt.Errorf("none is %s with %v among %v", status, p.all(), all)
}

// firing returns the last notices of alerts that were not taken back.
func (r *receiver) firing() []notice {
	last := map[string]notice{}
	for _, n := range r.since(0) {
		last[fmt.Sprint(n.Labels)] = n
	}
	return slices.DeleteFunc(slices.Collect(maps.Values(last)), func(n notice) bool { return n.Status != "firing" })
}

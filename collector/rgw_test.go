package collector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/ceph-risk/ceph_risk_exporter/internal/opslog"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

var rgwNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// newTestRGW makes the poller from flags as main does.
func newTestRGW(t *testing.T, d Deps, args ...string) (*rgwPoller, []*Row) {
	t.Helper()
	spec := rgwSpec()
	app := kingpin.New("test", "")
	construct := spec.Configure(app)
	if _, err := app.Parse(args); err != nil {
		t.Fatal(err)
	}
	p, err := construct(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.(Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	return p.(*rgwPoller), spec.Rows()
}

func rgwRecord(at time.Time, op, uri, status string, size, ms int) string {
	return fmt.Sprintf(`{"bucket":"photos","time":"%s","user":"alice","operation":"%s","uri":"%s","http_status":"%s","error_code":"","bytes_sent":0,"bytes_received":%d,"object_size":%d,"total_time":%d,"user_agent":"x","trans_id":"tx%d"}`,
		at.Format("2006-01-02T15:04:05.000000Z"), op, uri, status, size, size, ms, at.UnixNano())
}

func TestRGWGolden(t *testing.T) {
	dir := t.TempDir()
	at := func(s int) time.Time { return rgwNow.Add(time.Duration(s-600) * time.Second) }
	const x = "2~AbcDef"
	logs := rgwRecord(at(0), "put_obj", "PUT /photos/a.jpg HTTP/1.1", "200", 70000, 12) +
		rgwRecord(at(1), "put_obj", "PUT /photos/b.jpg HTTP/1.1", "403", 0, 1) +
		rgwRecord(at(2), "init_multipart", "POST /photos/film?uploads HTTP/1.1", "200", 0, 3) +
		rgwRecord(at(3), "put_obj", "PUT /photos/film?partNumber=1&uploadId="+x+" HTTP/1.1", "200", 5<<20, 80) + "\n" +
		rgwRecord(at(4), "put_obj", "PUT /photos/film?partNumber=2&uploadId="+x+" HTTP/1.1", "200", 1<<20, 20) +
		rgwRecord(at(5), "complete_multipart", "POST /photos/film?uploadId="+x+" HTTP/1.1", "200", 0, 40) +
		rgwRecord(at(6), "complete_multipart", "POST /photos/film?uploadId="+x+" HTTP/1.1", "200", 0, 4) + "\n" +
		"torn" +
		rgwRecord(at(7), "copy_obj", "PUT /photos/c.jpg HTTP/1.1", "200", 0, 9) +
		rgwRecord(at(8), "post_obj", "POST /photos HTTP/1.1", "204", 300, 8) +
		rgwRecord(at(9), "init_multipart", "POST /photos/other?uploads HTTP/1.1", "200", 0, 3) + "\n"
	name := filepath.Join(dir, "ops-log-ceph-client.rgw.store.host1.hrgsea.log")
	if err := os.WriteFile(name, []byte(logs), 0o600); err != nil {
		t.Fatal(err)
	}
	d := testDeps(t, rgwNow)
	d.State = state.Open(filepath.Join(dir, "state"), d.Log)
	p, rows := newTestRGW(t, d, "--rgw.ops-log="+filepath.Join(dir, "ops-log-*.log"), "--rgw.view=complete", "--rgw.bucket-labels", "--rgw.user-labels")
	golden(t, "rgw.metrics", pollText(t, rows, p, rgwNow))
}

func TestRGWWithoutLogsIsNoError(t *testing.T) {
	d := testDeps(t, rgwNow)
	p, rows := newTestRGW(t, d, "--rgw.ops-log="+filepath.Join(t.TempDir(), "*.log"))
	golden(t, "rgw_none.metrics", pollText(t, rows, p, rgwNow))
}

func TestRGWThatCannotSaveShowsNothingNew(t *testing.T) {
	dir := t.TempDir()
	d := testDeps(t, rgwNow)
	file := filepath.Join(dir, "state") // a file where the directory should be
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.State = state.Open(file, d.Log)
	p, _ := newTestRGW(t, d, "--rgw.ops-log="+filepath.Join(dir, "*.log"))
	s, err := p.Poll(context.Background(), rgwNow)
	if s != nil || err == nil {
		t.Errorf("got %v, %v; want an error and no snapshot", s, err)
	}
}

func TestRGWFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{
		{"--rgw.listen-address=:10284"},
		{"--rgw.listen-address=udp://:1"},
		{"--rgw.web-config-file=/nonexistent"},
		{"--rgw.listen-address=http://:1", "--rgw.web-config-file=/nonexistent"},
		{"--rgw.label-limit=0"},
		{"--rgw.forget-after=1d"},
	} {
		spec, app := rgwSpec(), kingpin.New("test", "")
		construct := spec.Configure(app)
		if _, err := app.Parse(args); err != nil {
			continue
		}
		if _, err := construct(testDeps(t, rgwNow)); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}

func TestRGWPutsOfEveryRelease(t *testing.T) {
	for dump, want := range map[string]float64{
		`{"rgw":{"req":9,"put":7}}`:                                    7,
		`{"rgw":{"req":9},"rgw_op":{"put_obj_ops":5,"get_obj_ops":1}}`: 5,
		`{"objecter":{}}`:                                              -1,
	} {
		if got, err := rgwPuts([]byte(dump)); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", dump, got, err, want)
		}
	}
	if _, err := rgwPuts([]byte(`{`)); err == nil {
		t.Error("half an answer was taken")
	}
}

func TestRGWOpsLogEnabled(t *testing.T) {
	type answer struct{ Enabled, Known bool }
	for config, want := range map[string]answer{
		`{"rgw_enable_ops_log":"true","rgw_ops_log_file_path":"/x","rgw_ops_log_socket_path":""}`: {true, true},
		`{"rgw_enable_ops_log":"true","rgw_ops_log_file_path":"","rgw_ops_log_socket_path":"/s"}`: {true, true},
		`{"rgw_enable_ops_log":"true","rgw_ops_log_file_path":"","rgw_ops_log_rados":"true"}`:     {false, true},
		`{"rgw_enable_ops_log":"false","rgw_ops_log_file_path":"/x"}`:                             {false, true},
		`{}`:   {},
		`junk`: {},
	} {
		enabled, known := rgwOpsLogEnabled([]byte(config))
		if diff := cmp.Diff(want, answer{enabled, known}); diff != "" {
			t.Errorf("%s: %s", config, diff)
		}
	}
}

func TestNativeBucketsAreSpansAndDeltas(t *testing.T) {
	h := &dto.Histogram{}
	addNative(h, map[int32]uint64{-2: 3, -1: 5, 4: 1})
	want := &dto.Histogram{
		PositiveSpan:  []*dto.BucketSpan{{Offset: proto.Int32(-2), Length: proto.Uint32(2)}, {Offset: proto.Int32(4), Length: proto.Uint32(1)}},
		PositiveDelta: []int64{3, 2, -4},
	}
	if !proto.Equal(h, want) {
		t.Errorf("got %v, want %v", h, want)
	}
}

func TestRGWBucketCalledOtherJoinsTheRest(t *testing.T) {
	table := newRGWTable()
	e := newEmitter(table.Rows())
	one := opslog.Tally{Completed: [opslog.NumKinds]uint64{1}, Bytes: 2}
	emitTallies(e, table.bucketUploads, table.bucketBytes, map[string]opslog.Tally{"other": one}, one)
	if len(e.problems) > 0 {
		t.Error(errors.Join(e.problems...))
	}
	var got strings.Builder
	for _, f := range e.result() {
		for _, m := range f.Metric {
			if v := m.GetCounter().GetValue(); v > 0 {
				fmt.Fprintln(&got, f.GetName(), v)
			}
		}
	}
	if want := "cephrisk_rgw_bucket_uploaded_bytes_total 4\ncephrisk_rgw_bucket_uploads_completed_total 2\n"; got.String() != want {
		t.Errorf("got %s, want %s", got.String(), want)
	}
}

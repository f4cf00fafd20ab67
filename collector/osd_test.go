package collector

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

func newTestOSDPoller(a answers) *osdPoller {
	return &osdPoller{client: &ceph.Client{Commander: a}, table: newOSDTable()}
}

func TestOSDCollectorOnCapturedAnswers(t *testing.T) {
	for _, release := range []string{"16", "18", "20"} {
		t.Run(release, func(t *testing.T) {
			a := captured(t, release)
			for command, file := range map[string]string{"osd df": "osd_df", "osd metadata": "osd_metadata"} {
				data, err := os.ReadFile(filepath.Join("..", "internal", "ceph", "testdata", release, file+".json"))
				if err != nil {
					t.Fatal(err)
				}
				a[command] = string(data)
			}
			p := newTestOSDPoller(a)
			golden(t, "osd_"+release+".txt", pollText(t, p.table.Rows(), p, testNow))
		})
	}
}

// osdSeries polls once and returns what there is of the osd families.
func osdSeries(t *testing.T, p *osdPoller, wantErr bool) map[string]float64 {
	t.Helper()
	s, err := p.Poll(context.Background(), testNow)
	if (err != nil) != wantErr {
		t.Fatalf("error %v, want one: %v", err, wantErr)
	}
	if s == nil {
		return map[string]float64{}
	}
	e := newEmitter(p.table.Rows())
	s.Emit(e)
	for _, problem := range e.problems {
		t.Errorf("sample dropped: %v", problem)
	}
	return values(t, e.result())
}

const (
	twoUp      = `{"epoch":9,"fsid":"f","flags":"","flags_set":[],"require_osd_release":"reef","pools":[],"osds":[{"osd":2,"up":1,"in":1,"weight":1},{"osd":4,"up":0,"in":0,"weight":0}]}`
	upAndIn    = "cephrisk_osd_up{ceph_daemon=osd.2} cephrisk_osd_in{ceph_daemon=osd.2}"
	downAndOut = "cephrisk_osd_up{ceph_daemon=osd.4} cephrisk_osd_in{ceph_daemon=osd.4} cephrisk_osd_noout{ceph_daemon=osd.2} cephrisk_osd_noout{ceph_daemon=osd.4}"
)

// mapSeries adds what twoUp says.
func mapSeries(more map[string]float64) map[string]float64 {
	for _, name := range strings.Fields(upAndIn) {
		more[name] = 1
	}
	for _, name := range strings.Fields(downAndOut) {
		more[name] = 0
	}
	return more
}

func TestOSDBytesAreCephsOwnAndWhatIsUnknownIsAbsent(t *testing.T) {
	const (
		all     = `[{"id":2,"osd_objectstore":"bluestore"},{"id":3,"osd_objectstore":"bluestore"},{"id":4,"osd_objectstore":"bluestore"},{"id":0,"osd_objectstore":"bluestore"},{"id":1}]`
		noInfo  = "cephrisk_osd_info{ceph_daemon=osd.%,ceph_version=,device_class=,hostname=,objectstore=bluestore}"
		hddInfo = "cephrisk_osd_info{ceph_daemon=osd.%,ceph_version=,device_class=hdd,hostname=,objectstore=bluestore}"
	)
	is := func(row, id string) string { return strings.ReplaceAll(row, "%", id) }
	info := func(m map[string]float64) map[string]float64 {
		for _, id := range []string{"0", "2", "3", "4"} {
			if _, hdd := m[is(hddInfo, id)]; !hdd {
				m[is(noInfo, id)] = 1
			}
		}
		return mapSeries(m)
	}
	for file, wanted := range map[string]map[string]float64{
		"osd_df_m5_unaccounted.json": info(map[string]float64{
			is(hddInfo, "2"): 1, is(hddInfo, "3"): 1,
			"cephrisk_osd_size_bytes{ceph_daemon=osd.2}":                  7814037000 << 10,
			"cephrisk_osd_bluestore_meta_bytes{ceph_daemon=osd.2}":        22398777 << 10,
			"cephrisk_osd_bluestore_omap_bytes{ceph_daemon=osd.2}":        21690 << 10,
			"cephrisk_osd_bluestore_data_bytes{ceph_daemon=osd.2}":        4860545996 << 10,
			"cephrisk_osd_bluestore_unaccounted_bytes{ceph_daemon=osd.2}": 1456157168640,
			"cephrisk_osd_size_bytes{ceph_daemon=osd.4}":                  1000 << 10,
			"cephrisk_osd_bluestore_meta_bytes{ceph_daemon=osd.4}":        -3 << 10,
			"cephrisk_osd_bluestore_omap_bytes{ceph_daemon=osd.4}":        0,
			"cephrisk_osd_bluestore_data_bytes{ceph_daemon=osd.4}":        8 << 10,
			"cephrisk_osd_bluestore_unaccounted_bytes{ceph_daemon=osd.4}": 5 << 10,
			"cephrisk_osd_size_unknown{ceph_daemon=osd.2}":                0,
			"cephrisk_osd_size_unknown{ceph_daemon=osd.3}":                1,
			"cephrisk_osd_size_unknown{ceph_daemon=osd.4}":                0,
			"cephrisk_osd_stray{}":                                        0,
		}),
		"osd_df_m6_rows.json": info(map[string]float64{
			"cephrisk_osd_size_bytes{ceph_daemon=osd.0}":   100 << 10,
			"cephrisk_osd_size_unknown{ceph_daemon=osd.0}": 0,
			"cephrisk_osd_size_unknown{ceph_daemon=osd.1}": 1,
			"cephrisk_osd_stray{}":                         1,
		}),
		"osd_df_j1_nan.json": info(map[string]float64{
			is(hddInfo, "3"): 1,
			"cephrisk_osd_size_bytes{ceph_daemon=osd.3}":   52403200 << 10,
			"cephrisk_osd_size_unknown{ceph_daemon=osd.3}": 0,
			"cephrisk_osd_size_unknown{ceph_daemon=osd.4}": 1,
			"cephrisk_osd_stray{}":                         0,
		}),
	} {
		data, err := os.ReadFile(filepath.Join("..", "internal", "ceph", "testdata", "fieldcases", file))
		if err != nil {
			t.Fatal(err)
		}
		got := osdSeries(t, newTestOSDPoller(answers{"osd dump": twoUp, "osd df": string(data), "osd metadata": all}), false)
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

const oneOSD = `{"nodes":[{"id":2,"device_class":"fast","name":"osd.2","type":"osd","kb":100,"kb_used":10,"kb_used_data":4,"kb_used_omap":0,"kb_used_meta":0,"status":"up"}],"stray":[]}`

// Only BlueStore has META: the zeros of others, and of an OSD of which nothing
// is known, are none. Devices that read the same once made valid UTF-8 are one.
func TestOSDMetadataDecidesWhatHasMETAAndWhatJoins(t *testing.T) {
	sized := func(more map[string]float64) map[string]float64 {
		more["cephrisk_osd_size_bytes{ceph_daemon=osd.2}"] = 100 << 10
		more["cephrisk_osd_size_unknown{ceph_daemon=osd.2}"] = 0
		more["cephrisk_osd_stray{}"] = 0
		return mapSeries(more)
	}
	bytes := map[string]float64{
		"cephrisk_osd_bluestore_meta_bytes{ceph_daemon=osd.2}": 0, "cephrisk_osd_bluestore_omap_bytes{ceph_daemon=osd.2}": 0,
		"cephrisk_osd_bluestore_data_bytes{ceph_daemon=osd.2}": 4 << 10, "cephrisk_osd_bluestore_unaccounted_bytes{ceph_daemon=osd.2}": 6 << 10,
	}
	with := func(more map[string]float64) map[string]float64 {
		for k, v := range bytes {
			more[k] = v
		}
		return sized(more)
	}
	const device = "cephrisk_osd_device_info{ceph_daemon=osd.2,device="
	for name, c := range map[string]struct {
		metadata string
		want     map[string]float64
	}{
		"FileStore": {`[{"id":2,"osd_objectstore":"filestore","hostname":"a","ceph_version_short":"16.2.15","default_device_class":"hdd"}]`,
			sized(map[string]float64{"cephrisk_osd_info{ceph_daemon=osd.2,ceph_version=16.2.15,device_class=fast,hostname=a,objectstore=filestore}": 1})},
		"never booted": {`[{"id":2}]`, sized(map[string]float64{})},
		"no metadata":  {`[]`, sized(map[string]float64{})},
		"BlueStore with DB and WAL": {`[{"id":2,"osd_objectstore":"bluestore","hostname":"a\u00e9","ceph_version_short":"20.2.4","device_ids":"sda=ATA_DISK_S1,nvme0n1=ACME_N2","bluestore_bdev_devices":"sda,sdb","bluefs_db_devices":"nvme0n1","bluefs_wal_devices":"nvme0n1"}]`,
			with(map[string]float64{
				"cephrisk_osd_info{ceph_daemon=osd.2,ceph_version=20.2.4,device_class=fast,hostname=aé,objectstore=bluestore}": 1,
				device + "sda,role=block,serial=S1}":   1,
				device + "sdb,role=block,serial=}":     1,
				device + "nvme0n1,role=db,serial=N2}":  1,
				device + "nvme0n1,role=wal,serial=N2}": 1,
			})},
		"names that are no UTF-8": {"[{\"id\":2,\"osd_objectstore\":\"bluestore\",\"hostname\":\"\xff\",\"bluestore_bdev_devices\":\"sd\xff,sd\xfe\"}]",
			with(map[string]float64{
				"cephrisk_osd_info{ceph_daemon=osd.2,ceph_version=,device_class=fast,hostname=\uFFFD,objectstore=bluestore}": 1,
				device + "sd\uFFFD,role=block,serial=}": 1,
			})},
	} {
		t.Run(name, func(t *testing.T) {
			got := osdSeries(t, newTestOSDPoller(answers{"osd dump": twoUp, "osd df": oneOSD, "osd metadata": c.metadata}), false)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

// Each command that fails costs its own series only; metadata, which changes
// with a boot alone, is remembered.
func TestOSDCollectorKeepsWhatEachCommandAnswers(t *testing.T) {
	const metadata = `[{"id":2,"osd_objectstore":"bluestore","hostname":"a"}]`
	a := answers{"osd dump": twoUp, "osd df": oneOSD, "osd metadata": metadata}
	p := newTestOSDPoller(a)
	whole := osdSeries(t, p, false)
	failure := errors.New("timed out")
	p.client.Commander = a.with("osd metadata", failure)
	if diff := cmp.Diff(whole, osdSeries(t, p, true)); diff != "" {
		t.Errorf("without metadata (-before +after):\n%s", diff)
	}
	without := func(parts ...string) map[string]float64 {
		out := map[string]float64{}
		for name, v := range whole {
			keep := true
			for _, part := range parts {
				keep = keep && !strings.HasPrefix(name, "cephrisk_osd_"+part)
			}
			if keep {
				out[name] = v
			}
		}
		return out
	}
	p.client.Commander = a.with("osd dump", failure)
	if diff := cmp.Diff(without("up", "in{", "noout"), osdSeries(t, p, true)); diff != "" {
		t.Errorf("without the map (-want +got):\n%s", diff)
	}
	p.client.Commander = a.with("osd df", failure)
	if diff := cmp.Diff(without("bluestore", "size", "stray"), osdSeries(t, p, true)); diff != "" {
		t.Errorf("without osd df (-want +got):\n%s", diff)
	}
	p.client.Commander = answers{}
	if got := osdSeries(t, p, true); len(got) != 0 {
		t.Errorf("with no answer at all: %v", got)
	}
}

// A flag of the whole cluster, of the OSD, of its device class or of its host
// keeps it from being marked out; that of another does not.
func TestNooutHoldsForTheOSDsItIsSetFor(t *testing.T) {
	const (
		metadata = `[{"id":2,"hostname":"h1.example","osd_objectstore":"bluestore"},{"id":4,"hostname":"h2","osd_objectstore":"bluestore"}]`
		df       = `{"nodes":[{"id":2,"device_class":"hdd","name":"osd.2","type":"osd","kb":0},{"id":4,"device_class":"ssd","name":"osd.4","type":"osd","kb":0}],"stray":[]}`
	)
	for name, c := range map[string]struct {
		cluster, state, nodes, classes string
		two, four                      float64
	}{
		"none":              {},
		"cluster":           {cluster: `"noout"`, two: 1, four: 1},
		"another flag":      {cluster: `"noscrub"`, state: `"noin"`, nodes: `"h1":["noin"]`, classes: `"hdd":["noup"]`},
		"one OSD":           {state: `"noout"`, two: 1},
		"device class":      {classes: `"ssd":["noout"]`, four: 1},
		"host, short name":  {nodes: `"h1":["noout","noin"]`, two: 1},
		"host, whole name":  {nodes: `"h1.example":["noout"]`, two: 1},
		"a host beside":     {nodes: `"h3":["noout"]`},
		"a rack is unknown": {nodes: `"rack1":["noout"]`},
	} {
		t.Run(name, func(t *testing.T) {
			state := c.state
			if state == "" {
				state = `"exists","up"`
			}
			osds := `{"epoch":9,"fsid":"f","flags":"","flags_set":[` + c.cluster + `],"require_osd_release":"reef","pools":[],"osds":[` +
				`{"osd":2,"up":1,"in":1,"weight":1,"state":[` + state + `]},{"osd":4,"up":1,"in":1,"weight":1,"state":["exists","up"]}],` +
				`"crush_node_flags":{` + c.nodes + `},"device_class_flags":{` + c.classes + `}}`
			got := osdSeries(t, newTestOSDPoller(answers{"osd dump": osds, "osd df": df, "osd metadata": metadata}), false)
			if two, four := got["cephrisk_osd_noout{ceph_daemon=osd.2}"], got["cephrisk_osd_noout{ceph_daemon=osd.4}"]; two != c.two || four != c.four {
				t.Errorf("osd.2 %v, osd.4 %v, want %v and %v", two, four, c.two, c.four)
			}
		})
	}
}

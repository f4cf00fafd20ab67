package capture

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

func TestCleanerReplacesWhatNamesTheMachine(t *testing.T) {
	const fsid, osd = "11111111-2222-4333-8444-555555555555", "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	k := newCleaner("/run/here/16-1", "/cache/roots/16", fsid, "vm")
	for _, tt := range []struct{ in, want string }{
		{`{"osd_fsid":"` + osd + `","fsid":"` + fsid + `"}`,
			`{"osd_fsid":"00000000-0000-4000-8000-000000000002","fsid":"00000000-0000-4000-8000-000000000001"}`},
		{`again ` + osd, `again 00000000-0000-4000-8000-000000000002`},
		{`"addr":"127.0.0.1:6800/77","path":"/run/here/16-1/osd/0/block","bin":"/cache/roots/16/usr"`,
			`"addr":"192.0.2.1:6800/77","path":"/srv/ceph/osd/0/block","bin":"/usr"`},
		{`"hostname":"vm","name":"vmware","hostname": "vm"`, `"hostname":"node1","name":"vmware","hostname": "node1"`},
		{`key = AQBvaX1lAAAAABAAL6Qp2t1aXrJXNQ3F0vJ9Kg==`, `key = KEY`},
		{`"cpu":"Real CPU","kernel_version": "6.6.6","devices":"","mem_total_kb":"1"`,
			`"cpu":"Some CPU @ 2.00GHz","kernel_version": "6.1.0","devices":"sda","mem_total_kb":"25000000"`},
	} {
		if got := string(k.clean([]byte(tt.in))); got != tt.want {
			t.Errorf("clean(%s)\n got %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

// TestFixturesAreCompleteAndClean looks at what `cephcluster capture` wrote
// for the decoders.
func TestFixturesAreCompleteAndClean(t *testing.T) {
	for _, r := range cluster.Releases() {
		t.Run(r.String(), func(t *testing.T) {
			dir := filepath.Join("../../ceph/testdata", r.String())
			for _, q := range questions() {
				if _, err := os.Stat(filepath.Join(dir, q.file+".json")); err != nil {
					t.Error(err)
				}
			}
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				checkFixture(t, path, data)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func checkFixture(t *testing.T, path string, data []byte) {
	t.Helper()
	const most = 400 << 10
	if len(data) > most {
		t.Errorf("%s: %d bytes, more than %d", path, len(data), most)
	}
	if filepath.Ext(path) == ".json" && !json.Valid(data) {
		t.Errorf("%s: not JSON", path)
	}
	if bytes.Contains(data, []byte("127.0.0.")) {
		t.Errorf("%s: has a loopback address", path)
	}
	real := func(id []byte) bool { return !strings.HasPrefix(string(id), "00000000-0000-4") }
	if ids := uuidPattern.FindAll(data, -1); slices.ContainsFunc(ids, real) {
		t.Errorf("%s: has a real identity", path)
	}
	if key := keyPattern.Find(data); key != nil {
		t.Errorf("%s: has a key: %s", path, key)
	}
}

package collector

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/ceph-risk/ceph_risk_exporter/internal/msa"
	"github.com/ceph-risk/ceph_risk_exporter/internal/msa/msatest"
)

// msaNoon is the time of the first poll of a test.
var msaNoon = time.Date(2026, 6, 2, 12, 0, 0, 0, time.UTC)

// syncBuffer is a log that several goroutines write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// msaFixture is a collector with the made-up arrays it asks.
type msaFixture struct {
	t      *testing.T
	peers  []*msatest.Array
	poller *msaPoller
	table  *msaTable
	log    *syncBuffer
	now    time.Time
}

func newMSAFixture(t *testing.T, peers ...*msatest.Array) *msaFixture {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var b strings.Builder
	b.WriteString("arrays:\n")
	for i, peer := range peers {
		t.Cleanup(peer.Close)
		fmt.Fprintf(&b, "- name: array%d\n  controllers: [%q, %q]\n  user: %s\n  password_file: %s\n  timeout: 30s\n  tls: {ca_file: %s}\n",
			i+1, peer.A.Address(), peer.B.Address(), peer.User(),
			write(fmt.Sprint("password", i), peer.Password()), write(fmt.Sprint("ca", i), string(peer.CertificatePEM())))
	}
	config, err := msa.LoadConfig(write("msa.yml", b.String()))
	if err != nil {
		t.Fatal(err)
	}
	f := &msaFixture{t: t, peers: peers, table: newMSATable(), log: &syncBuffer{}, now: msaNoon}
	deps := testDeps(t, msaNoon)
	deps.Log = slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	f.poller = newMSAPoller(f.table, config, deps)
	t.Cleanup(func() { _ = f.poller.Close() })
	return f
}

// poll polls a minute after the last time and renders, with the controllers'
// addresses replaced by names.
func (f *msaFixture) poll() (string, error) {
	f.t.Helper()
	s, err := f.poller.Poll(context.Background(), f.now)
	f.now = f.now.Add(time.Minute)
	return f.named(exposition(f.t, f.table.Rows(), s)), err
}

func (f *msaFixture) named(text string) string {
	for i, peer := range f.peers {
		text = strings.NewReplacer(peer.A.Address(), fmt.Sprintf("array%d-a", i+1), peer.B.Address(), fmt.Sprintf("array%d-b", i+1)).Replace(text)
	}
	// Series are in label order, and ports are chosen by chance: bring those
	// that name an address into the order of its new name.
	lines := strings.SplitAfter(text, "\n")
	for begin := 0; begin < len(lines); begin++ {
		end := begin
		for end < len(lines) && strings.Contains(lines[end], `{address="array`) {
			end++
		}
		slices.Sort(lines[begin:end])
		begin = max(begin, end-1)
	}
	return strings.Join(lines, "")
}

func (f *msaFixture) mustPoll() string {
	f.t.Helper()
	text, err := f.poll()
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// msaFamilies returns the lines of those families.
func msaFamilies(text string, names ...string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for _, name := range names {
			if strings.HasPrefix(line, "cephrisk_msa_"+name+"{") {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

func TestMSAHealthyArrayOfEveryGeneration(t *testing.T) {
	for name, generation := range map[string]msatest.Generation{
		"p2000": msatest.P2000, "msa2040": msatest.MSA2040, "msa2060": msatest.MSA2060,
	} {
		t.Run(name, func(t *testing.T) {
			f := newMSAFixture(t, msatest.New(msatest.Options{Model: msatest.NewModel(generation)}))
			golden(t, "msa/"+name+".txt", f.mustPoll())
		})
	}
}

// msaBreak makes everything ill that the model has.
func msaBreak(m *msatest.Model) {
	m.Health = 2
	m.Enclosures[1].Health, m.Enclosures[1].Status = 2, 2
	m.Controllers[1].Health, m.Controllers[1].Status = 2, 1
	m.Groups[0].Status, m.Groups[0].Health, m.Groups[0].Job, m.Groups[0].Percent = 2, 1, "RCON", 12
	m.Groups[1].Status, m.Groups[1].Health = 3, 2
	m.PSUs[1].Health, m.PSUs[1].Status, m.PSUs[1].DC12V = 2, 2, 0
	m.Fans[0].Health, m.Fans[0].Status, m.Fans[0].RPM = 2, 1, 0
	m.Fans[1].Health, m.Fans[1].Status = 2, 3
	m.Disks[0].Health, m.Disks[0].Temperature, m.Disks[0].TemperatureStatus = 2, "N/A", 4
	m.Disks[1].Health, m.Disks[1].Temperature, m.Disks[1].TemperatureStatus = 1, "142 F", 2
	m.Sensors[0].Value, m.Sensors[0].Status = "85 C", "Critical"
	m.Sensors[1].Value, m.Sensors[1].Status = "N/A", "Not Available"
	m.Sensors[2].Value, m.Sensors[2].Status = "0.00", "Unknown"
	m.Sensors[3].Status = "Warning"
	m.StartScrub("A", "dgA01", msatest.Start.Add(24*time.Hour))
	m.EndScrub("A", "dgA01", msatest.Start.Add(25*time.Hour), "INFORMATIONAL", "completed. 1 parity mismatch was found and corrected.")
	m.StartScrub("B", "dgB01", msatest.Start.Add(26*time.Hour))
	m.EndScrub("B", "dgB01", msatest.Start.Add(27*time.Hour), "WARNING", "did not complete because of a failed disk.")
}

func TestMSAFaultyArray(t *testing.T) {
	model := msatest.NewModel(msatest.MSA2040)
	msaBreak(model)
	f := newMSAFixture(t, msatest.New(msatest.Options{Model: model}))
	golden(t, "msa/faulty.txt", f.mustPoll())
}

func TestMSAArrayThatIsGoneLeavesTheReasonAndItsCounters(t *testing.T) {
	f := newMSAFixture(t, msatest.New(msatest.Options{}), msatest.New(msatest.Options{Model: msatest.NewModel(msatest.P2000)}))
	f.mustPoll()
	f.peers[0].A.SetFault(msatest.Fault{Kind: msatest.Reset})
	f.peers[0].B.SetFault(msatest.Fault{Kind: msatest.Junk})
	text := f.mustPoll()
	var first strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, `array="array1"`) {
			first.WriteString(line)
		}
	}
	golden(t, "msa/gone.txt", first.String())
	if got := msaFamilies(text, "up"); got != "cephrisk_msa_up{array=\"array1\"} 0\ncephrisk_msa_up{array=\"array2\"} 1\n" {
		t.Error(got)
	}
	f.peers[1].A.SetFault(msatest.Fault{Kind: msatest.Reset})
	f.peers[1].B.SetFault(msatest.Fault{Kind: msatest.Reset})
	if _, err := f.poll(); err == nil {
		t.Error("no error although no array answers")
	}
	for _, peer := range f.peers {
		peer.A.SetFault(msatest.Fault{})
	}
	f.now = f.now.Add(time.Hour)
	if got := msaFamilies(f.mustPoll(), "up"); got != "cephrisk_msa_up{array=\"array1\"} 1\ncephrisk_msa_up{array=\"array2\"} 1\n" {
		t.Error("after recovery: " + got)
	}
}

func TestMSARunningScrubCountsOnceNotPerDisk(t *testing.T) {
	for name, byDisk := range map[string]bool{"shown by the group": false, "shown by its disks only": true} {
		t.Run(name, func(t *testing.T) {
			model := msatest.NewModel(msatest.MSA2040)
			model.Groups, model.Disks = nil, nil
			for i, group := range []struct {
				name    string
				percent int
			}{{"dgA02", 72}, {"dgA03", 49}, {"dgB02", 85}} {
				g := msatest.Group{Name: group.name, RAID: "RAID6"}
				if !byDisk {
					g.Job, g.Percent = "VRSC", group.percent
				}
				model.Groups = append(model.Groups, g)
				for slot := range 10 {
					d := msatest.Disk{Enclosure: i + 1, Slot: slot + 1, Group: group.name, LifeLeft: 255, DiskJob: "VRSC", DiskPercent: group.percent}
					model.Disks = append(model.Disks, d)
				}
			}
			for slot := range 52 {
				model.Disks = append(model.Disks, msatest.Disk{Enclosure: 9, Slot: slot + 1, LifeLeft: 255})
			}
			f := newMSAFixture(t, msatest.New(msatest.Options{Model: model}))
			want := `cephrisk_msa_job_progress_ratio{array="array1",disk_group="dgA02",task="VRSC"} 0.72
cephrisk_msa_job_progress_ratio{array="array1",disk_group="dgA03",task="VRSC"} 0.49
cephrisk_msa_job_progress_ratio{array="array1",disk_group="dgB02",task="VRSC"} 0.85
cephrisk_msa_jobs_running{array="array1",task="RCON"} 0
cephrisk_msa_jobs_running{array="array1",task="VRSC"} 3
`
			if got := msaFamilies(f.mustPoll(), "jobs_running", "job_progress_ratio"); got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

func TestMSACommandThatFailsTakesItsSeriesAlong(t *testing.T) {
	f := newMSAFixture(t, msatest.New(msatest.Options{}))
	f.mustPoll()
	for _, c := range []*msatest.Endpoint{f.peers[0].A, f.peers[0].B} {
		c.SetFault(msatest.Fault{Kind: msatest.Refuse, Command: "show disk-groups"})
	}
	text := f.mustPoll()
	if got := msaFamilies(text, "jobs_running", "disk_group_status_code", "disk_group_info"); got != "" {
		t.Errorf("series of groups that were not read:\n%s", got)
	}
	// What the event log says stays: it was read.
	want := `cephrisk_msa_scrub_last_finding{array="array1",disk_group="dgA01"} 0
cephrisk_msa_scrub_last_finding{array="array1",disk_group="dgB01"} 0
cephrisk_msa_up{array="array1"} 1
`
	if got := msaFamilies(text, "scrub_last_finding", "up"); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	if !strings.Contains(text, `cephrisk_msa_command_success{array="array1",command="show disk-groups"} 0`) {
		t.Error("the failure is not shown")
	}
}

func TestMSAEventsStartAtZeroAndCountOnce(t *testing.T) {
	f := newMSAFixture(t, msatest.New(msatest.Options{}))
	total := func() string { return msaFamilies(f.mustPoll(), "events_total") }
	line := func(code, severity string, n int) string {
		return fmt.Sprintf("cephrisk_msa_events_total{array=\"array1\",event_code=%q,severity=%q} %d\n", code, severity, n)
	}
	old := line("206", "informational", 0) + line("207", "informational", 0)
	if got := total(); got != old {
		t.Errorf("at the start:\n%s", got)
	}
	// A kind that was not there: 0 once, then its event.
	f.peers[0].Change(func(m *msatest.Model) { m.Log("B", 8, "WARNING", "A disk failed.", f.now) })
	if got, want := total(), old+line("8", "warning", 0); got != want {
		t.Errorf("in the poll of the event:\n%s", got)
	}
	for range 2 {
		if got, want := total(), old+line("8", "warning", 1); got != want {
			t.Errorf("in later polls:\n%s", got)
		}
	}
	// More than one read of the tail holds: nothing is lost.
	f.peers[0].Change(func(m *msatest.Model) {
		for i := range 250 {
			m.Log([]string{"A", "B"}[i%2], 8, "WARNING", "A disk failed.", f.now)
		}
	})
	if got, want := total(), old+line("8", "warning", 251); got != want {
		t.Errorf("after a storm:\n%s", got)
	}
	// The numbers start again.
	f.peers[0].Change(func(m *msatest.Model) {
		m.Events = []msatest.Event{{Controller: "A", Number: 1, Code: 8, Severity: "WARNING", Time: f.now.Add(time.Minute)}}
	})
	for range 2 {
		if got, want := total(), old+line("8", "warning", 252); got != want {
			t.Errorf("after the log was cleared:\n%s", got)
		}
	}
}

func TestMSAScrubStateIsRebuiltAtStart(t *testing.T) {
	peer := msatest.New(msatest.Options{})
	f := newMSAFixture(t, peer)
	families := []string{"scrub_last_start_timestamp_seconds", "scrub_last_finish_timestamp_seconds", "scrub_last_finding", "scrub_last_errors"}
	before := msaFamilies(f.mustPoll(), families...)
	peer.Change(func(m *msatest.Model) {
		m.StartScrub("A", "dgA01", f.now)
		m.EndScrub("A", "dgA01", f.now.Add(time.Second), "INFORMATIONAL", "completed. 3 errors were found.")
		for range 300 { // further back than one read of the tail
			m.Log("A", 523, "INFORMATIONAL", "Details associated with a scrub-disk-group job.", f.now.Add(2*time.Second))
		}
	})
	followed := msaFamilies(f.mustPoll(), families...)
	if followed == before || !strings.Contains(followed, `scrub_last_errors{array="array1",disk_group="dgA01"} 3`) {
		t.Errorf("not followed:\n%s", followed)
	}
	if rebuilt := msaFamilies(newMSAFixture(t, peer).mustPoll(), families...); rebuilt != followed {
		t.Errorf("rebuilt:\n%sfollowed:\n%s", rebuilt, followed)
	}
}

func TestMSASlowArrayDelaysNoOther(t *testing.T) {
	f := newMSAFixture(t, msatest.New(msatest.Options{}), msatest.New(msatest.Options{}))
	f.mustPoll()
	for _, c := range []*msatest.Endpoint{f.peers[0].A, f.peers[0].B} {
		c.SetFault(msatest.Fault{Kind: msatest.Slow, Delay: 3 * time.Second})
	}
	f.poller.grace = 1500 * time.Millisecond
	// The slow one keeps its last report while that is young enough.
	if got := msaFamilies(f.mustPoll(), "up"); got != "cephrisk_msa_up{array=\"array1\"} 1\ncephrisk_msa_up{array=\"array2\"} 1\n" {
		t.Error(got)
	}
	f.now = f.now.Add(5 * time.Minute)
	text := f.mustPoll()
	if got := msaFamilies(text, "up"); got != "cephrisk_msa_up{array=\"array1\"} 0\ncephrisk_msa_up{array=\"array2\"} 1\n" {
		t.Error(got)
	}
	if strings.Contains(msaFamilies(text, "health_code"), "array1") {
		t.Error("old health is still served")
	}
	// It ends in the background and is picked up.
	for _, c := range []*msatest.Endpoint{f.peers[0].A, f.peers[0].B} {
		c.SetFault(msatest.Fault{})
	}
	f.poller.grace = msaGrace
	f.mustPoll() // takes the poll that was begun minutes ago
	if got := msaFamilies(f.mustPoll(), "up"); got != "cephrisk_msa_up{array=\"array1\"} 1\ncephrisk_msa_up{array=\"array2\"} 1\n" {
		t.Error(got)
	}
	if wait, interval := f.poller.Pace(); interval != time.Minute || wait > interval {
		t.Errorf("pace %s, %s: a slow array must not stretch the interval", wait, interval)
	}
}

func TestMSAFaultIsSaidOnce(t *testing.T) {
	f := newMSAFixture(t, msatest.New(msatest.Options{}))
	f.mustPoll()
	f.peers[0].SetPassword("changed")
	f.peers[0].ExpireSessions()
	for range 20 {
		_, _ = f.poll()
	}
	if n := strings.Count(f.log.String(), "login refused"); n != 3 { // the array, and each controller
		t.Errorf("said %d times:\n%s", n, f.log)
	}
	refused := f.peers[0].A.Counts().Refused + f.peers[0].B.Counts().Refused
	if refused > 12 { // 3 attempts in 20 minutes, of at most 4 ways each
		t.Errorf("%d logins were tried with the wrong password in 20 minutes", refused)
	}
}

func TestMSASecretsReachNoLogAndNoMetric(t *testing.T) {
	f := newMSAFixture(t, msatest.New(msatest.Options{}), msatest.New(msatest.Options{Model: msatest.NewModel(msatest.P2000)}))
	var said strings.Builder
	note := func() {
		text, err := f.poll()
		fmt.Fprintln(&said, text, err)
	}
	note()
	for kind := msatest.Junk; kind <= msatest.Refuse; kind++ {
		if kind == msatest.Huge { // 16 MiB each; its error is that of any other read
			continue
		}
		for _, command := range []string{"", "login", "show system", "show disks"} {
			for _, peer := range f.peers {
				peer.ExpireSessions()
				peer.A.SetFault(msatest.Fault{Kind: kind, Command: command})
				peer.B.SetFault(msatest.Fault{Kind: kind, Command: command})
			}
			note()
			f.now = f.now.Add(2 * time.Hour)
		}
	}
	for _, peer := range f.peers {
		peer.A.SetFault(msatest.Fault{})
		peer.B.SetFault(msatest.Fault{})
		peer.A.RefuseSessions("all")
	}
	note()
	f.peers[0].SetPassword("another one")
	f.peers[0].ExpireSessions()
	note()
	_ = f.poller.Close()
	all := said.String() + f.log.String()
	for _, must := range []string{"login refused", "connection", "fails", "cephrisk_msa_up"} {
		if !strings.Contains(all, must) {
			t.Errorf("%q was never said: the faults do not work", must)
		}
	}
	secrets := []string{"a password: 17"}
	for _, peer := range f.peers {
		secrets = append(secrets, peer.Secrets()...)
	}
	if len(secrets) < 50 {
		t.Fatalf("only %d secrets went over the wire", len(secrets))
	}
	for _, secret := range secrets {
		if strings.Contains(all, secret) {
			t.Errorf("%q was shown", secret)
		}
	}
}

func TestMSANeedsItsConfiguration(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yml")
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "--collector.msa needs --msa.config=FILE"},
		{[]string{"--msa.config=" + missing}, "read msa configuration: open " + missing + ": no such file or directory"},
	} {
		app := kingpin.New("test", "")
		construct := msaSpec().Configure(app)
		if _, err := app.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		if _, err := construct(testDeps(t, msaNoon)); err == nil || err.Error() != test.want {
			t.Errorf("%q: error %v, want %s", test.args, err, test.want)
		}
	}
}

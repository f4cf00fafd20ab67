package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// machine is a Debian root in which systemd runs, in namespaces of its own. It
// has no network but loopback.
type machine struct {
	t    *testing.T
	root string
	init string // pid of its systemd, as seen from here
}

// patience bounds every wait for something to happen in a machine.
const patience = 5 * time.Minute

// bootScript makes the root a machine's: own /dev, /run, /tmp, and a cgroup2
// hierarchy that begins at its own cgroup. Then systemd takes over.
const bootScript = `
mount --make-rprivate /
mount --bind "$0" "$0" && cd "$0"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for d in null zero full random urandom tty; do cp -a /dev/$d dev/; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx && ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
mkdir -p .old && pivot_root . .old && umount -l .old
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
`

// boot starts systemd in a root, until the test ends.
func boot(t *testing.T, root string) *machine {
	t.Helper()
	cgroup := filepath.Join(cgroup2(t), fmt.Sprintf("cephrisk-deploy-%d", os.Getpid()))
	if err := os.MkdirAll(cgroup, 0o755); err != nil {
		cephtest.SkipOrFail(t, err.Error())
	}
	cmd := exec.Command("sh", "-c", `echo $$ >"$1/cgroup.procs" && exec unshare --pid --mount --uts --ipc --net --cgroup --fork --kill-child sh -euc "$2" "$0"`,
		root, cgroup, bootScript)
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // and with it the machine's init and all below
		<-ended
		for range 50 { // a cgroup goes when its last process has been reaped
			if exec.Command("find", cgroup, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run() == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	m := &machine{t: t, root: root}
	m.await("systemd runs", func() bool {
		select {
		case <-ended:
			t.Fatalf("the machine did not boot: %s", log)
		default:
		}
		out, _ := exec.Command("pgrep", "-P", fmt.Sprint(cmd.Process.Pid)).Output()
		m.init = strings.TrimSpace(string(out))
		state, _ := m.try("systemctl is-system-running")
		return state == "running" || state == "degraded"
	})
	m.in("ip link set lo up")
	return m
}

// cgroup2 returns where the unified hierarchy is mounted.
func cgroup2(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("findmnt", "--noheadings", "--output", "TARGET", "--types", "cgroup2").Output()
	if err != nil || len(out) == 0 {
		cephtest.SkipOrFail(t, "no cgroup2 is mounted")
	}
	return strings.Fields(string(out))[0]
}

// try runs a shell command inside.
func (m *machine) try(command string) (string, error) {
	out, err := exec.Command("nsenter", "--target", m.init, "--all", "--root", "--wd", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
		"bash", "-c", command).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// in runs a shell command inside, which must succeed.
func (m *machine) in(command string) string {
	m.t.Helper()
	out, err := m.try(command)
	if err != nil {
		journal, _ := m.try("journalctl --no-pager -n 30 -o cat")
		m.t.Fatalf("%s: %v\n%s\njournal:\n%s", command, err, out, journal)
	}
	return out
}

// is compares what a command prints, whatever its exit code.
func (m *machine) is(command, want string) {
	m.t.Helper()
	if got, _ := m.try(command); got != want {
		m.t.Errorf("%s: %q, want %q", command, got, want)
	}
}

func (m *machine) await(what string, done func() bool) {
	m.t.Helper()
	for limit := time.Now().Add(patience); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(limit) {
			journal, _ := m.try("journalctl --no-pager -n 60 -o cat")
			m.t.Fatalf("not within %s: %s\njournal:\n%s", patience, what, journal)
		}
	}
}

// scrape returns the exposition, or nothing while nobody answers.
func (m *machine) scrape() string {
	out, _ := m.try(`exec 3<>/dev/tcp/127.0.0.1/10283 && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3`)
	return out
}

// metric waits for a sample and returns its value.
func (m *machine) metric(series string) string {
	m.t.Helper()
	var value string
	m.await(series, func() bool {
		for line := range strings.Lines(m.scrape()) {
			if rest, ok := strings.CutPrefix(line, series+" "); ok {
				value = strings.TrimSpace(rest)
				return true
			}
		}
		return false
	})
	return value
}

// confined checks the running process of a unit.
func (m *machine) confined(unit, user string) {
	m.t.Helper()
	pid := m.in("systemctl show -P MainPID " + unit)
	m.is("stat -c %U /proc/"+pid, user)
	m.is("grep -E '^(CapEff|CapPrm|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/"+pid+"/status | tr -s '\\t\\n' ' '",
		"CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1 Seccomp: 2")
}

// realPackages makes the packages of two versions with the real programs.
func realPackages(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	build := t.TempDir()
	output(t, "go", "build", "-C", "..", "-trimpath", "-buildvcs=false", "-o", build+"/", "./cmd/...")
	output(t, "env", "CGO_ENABLED=0", "go", "build", "-C", "..", "-trimpath", "-buildvcs=false", "-o", build+"/ceph_risk_exporter-static", "./cmd/ceph_risk_exporter")
	for _, version := range []string{"1.2.3", "1.2.4"} {
		output(t, "../scripts/packages", version, build)
		output(t, "sh", "-c", "mv "+build+"/packages/*.deb "+dir)
	}
	return dir
}

func TestPackagesLiveInCleanDebian(t *testing.T) {
	cephtest.SkipUnlessLong(t)
	if os.Getuid() != 0 {
		cephtest.SkipOrFail(t, "roots need root")
	}
	cephtest.RequireTool(t, "debootstrap", "unshare", "nsenter", "findmnt", "pgrep")
	dir := realPackages(t)
	for _, suite := range []string{"bookworm", "trixie"} {
		t.Run(suite, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			mirror := strings.Fields(output(t, "apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"))[0]
			output(t, "debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv,dbus,udev,iproute2,librados2", suite, root, mirror)
			output(t, "sh", "-c", "cp "+dir+"/*.deb "+root+"/srv/")
			m := boot(t, root)
			t.Run("cluster role", func(t *testing.T) { m.t = t; clusterRole(m) })
			t.Run("host role", func(t *testing.T) { m.t = t; hostRole(m) })
			t.Run("static package", func(t *testing.T) { m.t = t; staticPackage(m) })
		})
	}
}

// clusterRole installs and starts the cluster role, first without a key.
func clusterRole(m *machine) {
	m.in("dpkg -i /srv/ceph-risk-exporter_1.2.3-1_amd64.deb")
	m.is("systemctl is-enabled ceph_risk_exporter ceph_risk_exporter-host", "disabled\ndisabled")
	m.is("getent passwd ceph-risk | cut -d: -f5-", "Ceph risk exporter:/nonexistent:/usr/sbin/nologin")
	m.is("ceph_risk_exporter --version | grep -o 'with librados'; scrubplan --simulate -q >/dev/null; echo $?", "with librados\n2")

	if out, err := m.try("systemctl start ceph_risk_exporter"); err == nil {
		m.t.Errorf("it starts without a key: %s", out)
	}
	m.in("journalctl --no-pager -o cat -u ceph_risk_exporter | grep -qi credential")
	m.in("systemctl stop ceph_risk_exporter; systemctl reset-failed ceph_risk_exporter || true")

	m.in(`mkdir -p /etc/ceph && echo '[global]' >/etc/ceph/ceph.conf && (umask 077; echo '[client.risk]' >/etc/ceph/ceph.client.risk.keyring)
sed -i 's/^ARGS=.*/ARGS="--simulate --simulate.pgs=64"/' /etc/default/ceph_risk_exporter
systemctl enable --now ceph_risk_exporter`)
	if got := m.metric("cephrisk_simulated"); got != "1" {
		m.t.Errorf("cephrisk_simulated %s", got)
	}
	m.confined("ceph_risk_exporter", "ceph-risk")
	m.is("stat -c '%U %a' /var/lib/ceph_risk_exporter; find /var/lib/ceph_risk_exporter -type f -not -perm 600", "ceph-risk 700")
	m.is("stat -c '%U %a' /etc/ceph/ceph.client.risk.keyring", "root 600")
	m.in("journalctl --no-pager -o cat -u ceph_risk_exporter | grep -q msg=starting")

	before := m.in("systemctl show -P MainPID ceph_risk_exporter")
	m.in("kill -KILL " + before)
	m.await("it comes back after a kill", func() bool {
		pid, _ := m.try("systemctl show -P MainPID ceph_risk_exporter")
		return pid != before && pid != "0" && strings.Contains(m.scrape(), "cephrisk_simulated 1")
	})
	m.in("systemctl stop ceph_risk_exporter")
	m.is("systemctl show -P Result ceph_risk_exporter", "success")
}

// uploads is an ops log of two uploads.
const uploads = `{"bucket":"b","time":"2026-01-01T00:00:0%[1]d.000000Z","time_local":"2026-01-01T00:00:0%[1]d.000000+0000","remote_addr":"127.0.0.1","user":"u","operation":"put_obj","uri":"PUT /b/o%[1]d HTTP/1.1","http_status":"200","error_code":"","bytes_sent":0,"bytes_received":100,"object_size":100,"total_time":5,"user_agent":"test","referrer":"","trans_id":"tx0000000000000000000%[1]d-0000000001-1-default","authentication_type":"Local","access_key_id":"k","temp_url":false}
`

// left finds what a purge has left.
const left = "find / -xdev -name '*ceph?risk?exporter*' -not -path '/srv/*' -not -path '/var/lib/systemd/*'"

// hostRole runs the host role through an upgrade, removal and purge.
func hostRole(m *machine) {
	const completed = `cephrisk_rgw_uploads_completed_total{ceph_daemon="rgw.a",instance_id="",kind="put"}`
	m.in("useradd --system --uid 64045 --home-dir /var/lib/ceph --shell /usr/sbin/nologin ceph; install -d -o ceph -g ceph -m 2770 /var/log/ceph /var/lib/ceph /run/ceph")
	log := filepath.Join(m.root, "var/log/ceph/ops-log-ceph-client.rgw.a.log")
	if err := os.WriteFile(log, []byte(fmt.Sprintf(uploads, 1)+fmt.Sprintf(uploads, 2)), 0o640); err != nil {
		m.t.Fatal(err)
	}
	m.in("chown ceph:ceph /var/log/ceph/*; systemctl enable --now ceph_risk_exporter-host")
	if got := m.metric(completed); got != "2" {
		m.t.Errorf("uploads %s", got)
	}
	m.confined("ceph_risk_exporter-host", "ceph")
	m.is("id -nG ceph; getent group cephrisk-ses | cut -d: -f1", "ceph\ncephrisk-ses")
	m.is("stat -c '%U %a' /var/lib/ceph_risk_exporter-host; find /var/lib/ceph_risk_exporter-host -type f -not -perm 600", "ceph 700")
	// OSD directories of packages are mounts that come after the start.
	m.in("mkdir -p /var/lib/ceph/osd/ceph-0 && mount -t tmpfs tmpfs /var/lib/ceph/osd/ceph-0 && touch /var/lib/ceph/osd/ceph-0/whoami")
	m.in("nsenter --mount --target $(systemctl show -P MainPID ceph_risk_exporter-host) test -e /var/lib/ceph/osd/ceph-0/whoami")

	m.in("echo '# mine' >>/etc/default/ceph_risk_exporter-host")
	before := m.in("systemctl show -P MainPID ceph_risk_exporter-host")
	m.in("dpkg -i /srv/ceph-risk-exporter_1.2.4-1_amd64.deb")
	m.is("systemctl is-active ceph_risk_exporter ceph_risk_exporter-host; systemctl is-enabled ceph_risk_exporter-host", "inactive\nactive\nenabled")
	if after := m.in("systemctl show -P MainPID ceph_risk_exporter-host"); after == before {
		m.t.Error("the upgrade did not restart it")
	}
	if got := m.metric(completed); got != "2" {
		m.t.Errorf("uploads after the upgrade %s", got)
	}
	m.is("tail -n 1 /etc/default/ceph_risk_exporter-host; tail -n 1 /etc/default/ceph_risk_exporter", "# mine\nARGS=\"--simulate --simulate.pgs=64\"")

	m.in("dpkg -r ceph-risk-exporter")
	m.is("systemctl is-active ceph_risk_exporter-host; ls /proc/*/exe -l 2>/dev/null | grep -c ceph_risk; systemctl list-unit-files --no-legend 'ceph_risk*'", "inactive\n0")
	m.in("test -d /var/lib/ceph_risk_exporter-host && test -e /etc/default/ceph_risk_exporter-host")
	m.in("dpkg -P ceph-risk-exporter")
	m.is(left, "")
}

// staticPackage replaces one package by the other and back, then runs the one
// without librados where there is none.
func staticPackage(m *machine) {
	const installed = "dpkg-query -W -f '${Package} ${db:Status-Status}\\n' 'ceph-risk*' | grep ' installed'"
	m.in("dpkg -i /srv/ceph-risk-exporter-host_1.2.4-1_amd64.deb && systemctl enable --now ceph_risk_exporter-host && echo '# mine' >>/etc/default/ceph_risk_exporter-host")
	m.is(installed, "ceph-risk-exporter-host installed")
	m.in("dpkg -i /srv/ceph-risk-exporter_1.2.4-1_amd64.deb")
	m.is(installed, "ceph-risk-exporter installed")
	m.is("systemctl is-active ceph_risk_exporter-host; tail -n 1 /etc/default/ceph_risk_exporter-host", "inactive\n# mine")
	m.in("dpkg -i /srv/ceph-risk-exporter-host_1.2.4-1_amd64.deb")
	m.is(installed, "ceph-risk-exporter-host installed")

	m.in("dpkg -P librados2 && systemctl enable --now ceph_risk_exporter-host")
	m.is("ceph_risk_exporter --version | grep -o 'without librados'", "without librados")
	if got := m.metric(`cephrisk_collector_success{collector="rgw"}`); got != "1" {
		m.t.Errorf("rgw: %s", got)
	}
	m.confined("ceph_risk_exporter-host", "ceph")
	m.in("dpkg -P ceph-risk-exporter ceph-risk-exporter-host")
	m.is(left, "")
}

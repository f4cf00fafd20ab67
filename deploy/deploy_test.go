// Package deploy checks what the exporter is deployed with, by the tools that
// read it: units, packages, manifests, example configurations. The manifests of
// Kubernetes have a module of their own, in schema/.
package deploy

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// output runs a program and returns what it prints, on both streams.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// golden compares with a file below testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test ./deploy -update):\n%s", path, diff)
	}
}

// packages makes all packages with stand-ins for the programs, which take long
// to link and are not what these tests look at. It returns their directory.
func packages(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ceph_risk_exporter", "ceph_risk_exporter-static", "scrubplan"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	output(t, "../scripts/packages", version, dir)
	return filepath.Join(dir, "packages")
}

func TestPackagesHoldExactlyThis(t *testing.T) {
	cephtest.RequireTool(t, "dpkg-deb", "rpm")
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	t.Setenv("GOARCH", "amd64")
	dir := packages(t, "1.2.3")
	var debs, rpms strings.Builder
	for _, p := range []string{"ceph-risk-exporter", "ceph-risk-exporter-host"} {
		deb := filepath.Join(dir, p+"_1.2.3-1_amd64.deb")
		fmt.Fprintf(&debs, "== %s\n%s", p, control(output(t, "dpkg-deb", "--field", deb)))
		fmt.Fprintf(&debs, "-- configuration\n%s", output(t, "dpkg-deb", "--info", deb, "conffiles"))
		fmt.Fprintf(&debs, "-- files\n%s", listing(output(t, "dpkg-deb", "--contents", deb)))
		rpm := filepath.Join(dir, p+"-1.2.3-1.x86_64.rpm")
		fmt.Fprintf(&rpms, "== %s\n", p)
		for _, q := range []string{"--requires", "--conflicts", "--configfiles"} {
			fmt.Fprintf(&rpms, "-- %s\n%s", q, output(t, "rpm", "--query", "--package", "--nosignature", q, rpm))
		}
		fmt.Fprintf(&rpms, "-- files\n%s", output(t, "rpm", "--query", "--package", "--nosignature",
			"--queryformat", `[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]`, rpm))
	}
	golden(t, "deb.golden", dashboards(t, debs.String()))
	golden(t, "rpm.golden", dashboards(t, rpms.String()))
}

// dashboards takes the dashboards out of a list, which must have all that there
// are: they come and go without the packages being told.
func dashboards(t *testing.T, list string) string {
	t.Helper()
	all, err := filepath.Glob("../dashboards/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var rest, found strings.Builder
	for line := range strings.Lines(list) {
		if i := strings.Index(line, "/dashboards/"); i >= 0 && strings.HasPrefix(line, "-rw-r--r-- root/root") {
			found.WriteString(line[i+1:])
			continue
		}
		rest.WriteString(line)
	}
	if want := strings.ReplaceAll(strings.Join(all, "\n"), "../", "") + "\n"; found.String() != want {
		t.Errorf("dashboards: %s", cmp.Diff(want, found.String()))
	}
	return rest.String()
}

// control leaves out what depends on sizes.
func control(fields string) string {
	return regexp.MustCompile(`(?m)^Installed-Size:.*\n`).ReplaceAllString(fields, "")
}

// listing keeps mode, owner and name of what dpkg-deb lists.
func listing(contents string) string {
	var out strings.Builder
	for line := range strings.Lines(contents) {
		// Of directories only those that not everybody may enter.
		if f := strings.Fields(line); len(f) >= 6 && f[0] != "drwxr-xr-x" {
			fmt.Fprintf(&out, "%s %s %s\n", f[0], f[1], f[5])
		}
	}
	return out.String()
}

// The .rpm's files and scripts, as far as a Debian machine can run them: into an
// empty root, where the scripts find no service manager.
func TestRPMInstallsUpgradesAndLeavesNothingButState(t *testing.T) {
	cephtest.RequireTool(t, "rpm")
	if os.Getuid() != 0 {
		cephtest.SkipOrFail(t, "installing into a root needs root")
	}
	root := t.TempDir()
	first, second := packages(t, "1.2.3"), packages(t, "1.2.4")
	for _, p := range []string{"ceph-risk-exporter", "ceph-risk-exporter-host"} {
		rpm := func(args ...string) string {
			return output(t, "rpm", append([]string{"--root", root, "--nosignature"}, args...)...)
		}
		rpm("--install", "--nodeps", "--noscripts", filepath.Join(first, p+"-1.2.3-1.x86_64.rpm"))
		conf := filepath.Join(root, "etc/default/ceph_risk_exporter-host")
		if err := os.WriteFile(conf, []byte("ARGS=--once\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		rpm("--upgrade", "--nodeps", "--noscripts", filepath.Join(second, p+"-1.2.4-1.x86_64.rpm"))
		if got := output(t, "cat", conf); got != "ARGS=--once\n" {
			t.Errorf("%s: the upgrade took the configuration: %q", p, got)
		}
		if got := strings.TrimSpace(rpm("--query", "--all")); got != p+"-1.2.4-1.x86_64" {
			t.Errorf("installed: %q", got)
		}
		// It says that a file has been changed, and ends with 1 for it.
		verified, _ := exec.Command("rpm", "--root", root, "--verify", "--nodeps", p).CombinedOutput()
		if got := strings.Join(strings.Fields(string(verified)), " "); got != "S.5....T. c /etc/default/ceph_risk_exporter-host" {
			t.Errorf("%s: verification says %q", p, got)
		}
		rpm("--erase", "--nodeps", "--noscripts", p)
		if left := output(t, "find", root, "-type", "f", "-not", "-path", "*/.rpmdb/*", "-not", "-path", "*/lib/rpm/*"); strings.TrimSpace(left) != conf+".rpmsave" {
			t.Errorf("%s leaves %s", p, left)
		}
		if err := os.Remove(conf + ".rpmsave"); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("packages/postinstall")
		if err != nil {
			t.Fatal(err)
		}
		scripts := output(t, "rpm", "--query", "--package", "--nosignature", "--queryformat", "%{POSTIN}", filepath.Join(first, p+"-1.2.3-1.x86_64.rpm"))
		if strings.TrimSpace(scripts) != strings.TrimSpace(string(want)) {
			t.Errorf("%s: script after installation: %s", p, scripts)
		}
	}
}

// The scripts of the packages as both families call them, against stand-ins that
// write down how they are called.
func TestPackageScriptsDoWhatTheirArgumentsSay(t *testing.T) {
	if os.Getuid() != 0 {
		cephtest.SkipOrFail(t, "a root needs root")
	}
	cephtest.RequireTool(t, "unshare")
	var got strings.Builder
	for _, call := range []string{
		"postinstall configure ''", "postinstall 1", "postinstall configure 1.2.3", "postinstall 2", "postinstall abort-upgrade 1.2.3",
		"preremove upgrade 1.2.4", "preremove 1", "preremove remove", "preremove 0",
		"postremove upgrade 1.2.4", "postremove 1", "postremove remove", "postremove 0", "postremove purge",
	} {
		script := `mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/bin /run/lib/sysusers.d /run/lib/systemd/system && cd /run/bin
for t in systemctl systemd-sysusers udevadm rm; do printf '#!/bin/sh\necho "  %s $*"\n' $t >$t; chmod +x $t; done
touch /run/lib/sysusers.d/ceph-risk-exporter.conf /run/lib/systemd/system/ceph_risk_exporter.service
sed "s|/usr/lib/|/run/lib/|g; s|>/dev/null|>/dev/null|" "$0/` + strings.Fields(call)[0] + `" >/run/script
PATH=/run/bin:$PATH exec sh /run/script ` + call[strings.Index(call, " "):]
		here, err := filepath.Abs("packages")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s\n%s", call, output(t, "unshare", "--mount", "sh", "-euc", script, here))
	}
	golden(t, "scripts.golden", got.String())
}

var exposure = regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`)

func TestUnitsAreGoodAndAsConfinedAsTheDocsSay(t *testing.T) {
	cephtest.RequireTool(t, "systemd-analyze", "dpkg-deb")
	dir := packages(t, "1.2.3")
	root := t.TempDir()
	output(t, "dpkg-deb", "--extract", one(t, filepath.Join(dir, "ceph-risk-exporter_*.deb")), root)
	var got strings.Builder
	docs, err := os.ReadFile("../docs/packages.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{"ceph_risk_exporter.service", "ceph_risk_exporter-host.service"} {
		path := filepath.Join(root, "usr/lib/systemd/system", unit)
		// The program that it starts, and whatever else it names, is looked at
		// where this machine has it.
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		here := filepath.Join(t.TempDir(), unit)
		text := strings.ReplaceAll(string(data), "/usr/bin/ceph_risk_exporter", filepath.Join(root, "usr/bin/ceph_risk_exporter"))
		text = regexp.MustCompile(`(?m)^Documentation=.*\n`).ReplaceAllString(text, "")
		if err := os.WriteFile(here, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out := output(t, "systemd-analyze", "verify", "--man=no", here); strings.Contains(out, unit) {
			t.Errorf("%s: %s", unit, out)
		}
		m := exposure.FindStringSubmatch(output(t, "systemd-analyze", "security", "--offline=true", "--no-pager", path))
		if m == nil {
			t.Fatalf("%s: no exposure level", unit)
		}
		fmt.Fprintf(&got, "| `%s` | %s |\n", unit, m[1])
	}
	if !strings.Contains(string(docs), got.String()) {
		t.Errorf("docs/packages.md does not have:\n%s", got.String())
	}
}

func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: found %q (%v)", pattern, found, err)
	}
	return found[0]
}

func TestPrometheusAndAlertmanagerReadTheExamples(t *testing.T) {
	cephtest.RequireTool(t, "promtool", "amtool")
	for _, f := range []string{"prometheus.yml", "prometheus_tls.yml"} {
		// The files that it names are the reader's own.
		output(t, "promtool", "check", "config", "--syntax-only", "prometheus/"+f)
	}
	output(t, "promtool", "check", "rules", "../alerts/rules.yaml", "../alerts/alerts_before_2.42.yaml")
	output(t, "amtool", "check-config", "prometheus/alertmanager.yml")
	for alert, want := range map[string]string{
		"alertname=CephRiskPGsLate severity=warning":        "storage",
		"alertname=CephRiskEnclosureGone severity=critical": "on-duty",
	} {
		args := append([]string{"config", "routes", "test", "--config.file=prometheus/alertmanager.yml"}, strings.Fields(alert)...)
		// The last line: some versions warn of the flag that they were given.
		out := strings.Split(strings.TrimSpace(output(t, "amtool", args...)), "\n")
		if got := out[len(out)-1]; got != want {
			t.Errorf("%s goes to %q, want %q", alert, got, want)
		}
	}
}

// The alerts that the example silences others by exist.
func TestAlertmanagerExampleNamesAlertsThatExist(t *testing.T) {
	example, err := os.ReadFile("prometheus/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile("../alerts/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`alert: "?CephRisk(\w+)`).FindAllStringSubmatch(string(alerts), -1)
	known := map[string]bool{}
	for _, n := range names {
		known[n[1]] = true
	}
	n := 0
	for _, m := range regexp.MustCompile(`CephRisk(?:(\w+)|\(([\w|]+)\))`).FindAllStringSubmatch(string(example), -1) {
		for _, name := range strings.Split(m[1]+m[2], "|") {
			n++
			if !known[name] {
				t.Errorf("no alert CephRisk%s", name)
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d names were found", n)
	}
}

// cephadm's own parser, of each release, reads the specs, and writes out again
// what they say.
const parseSpec = `
import sys, yaml
from ceph.deployment.service_spec import ServiceSpec
spec = ServiceSpec.from_json(yaml.safe_load(sys.stdin))
spec.validate()
again = ServiceSpec.from_json(spec.to_json())
assert again == spec
c = spec.config_json()
print(spec.service_name(), c['ports'], c['uid'], len(c['volume_mounts']), str(spec.to_json()['extra_entrypoint_args'][0]), c['args'][-2])
`

func TestCephadmOfEachReleaseReadsTheSpecs(t *testing.T) {
	if os.Getuid() != 0 {
		cephtest.SkipOrFail(t, "roots need root")
	}
	for _, release := range cephtest.Releases() {
		root, err := cluster.EnsureRoot(context.Background(), release, io.Discard)
		if err != nil {
			cephtest.SkipOrFail(t, err.Error())
		}
		for file, want := range map[string]string{
			"cluster.yaml": "container.ceph-risk-exporter [10283] 64045 2 --role=cluster --security-opt=no-new-privileges",
			"host.yaml":    "container.ceph-risk-exporter-host [10283] 167 8 --role=host --device-cgroup-rule=c 21:* r",
		} {
			spec, err := os.Open(filepath.Join("cephadm", file))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("chroot", root, "python3", "-c", parseSpec)
			cmd.Stdin = spec
			out, err := cmd.CombinedOutput()
			_ = spec.Close()
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("Ceph %v, %s: %v\n%s", release, file, err, got)
			}
		}
	}
}

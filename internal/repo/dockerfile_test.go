package repo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// instruction is one line of the Dockerfile, continuations joined.
type instruction struct{ name, args string }

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(top(t), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(data), "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	var out []instruction
	for line := range strings.Lines(text) {
		if name, args, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out = append(out, instruction{name, strings.Join(strings.Fields(args), " ")})
		}
	}
	return out
}

func TestDockerfileTakesItsBaseAsAnArgumentAndRunsAsNobodySpecial(t *testing.T) {
	var stages, args []string
	var last map[string]string
	for _, i := range dockerfile(t) {
		switch i.name {
		case "FROM":
			stages, last = append(stages, i.args), map[string]string{}
		case "ARG":
			args = append(args, i.args)
		}
		if last != nil {
			last[i.name] = i.args
		}
	}
	if want := "${GO} AS go|${BASE} AS build|${BASE}"; strings.Join(stages, "|") != want {
		t.Errorf("stages %q, want %q", stages, want)
	}
	if len(args) < 2 || !strings.HasPrefix(args[0], "BASE=debian:") || !strings.HasPrefix(args[1], "GO=golang:") {
		t.Errorf("arguments %q", args)
	}
	if user := last["USER"]; user == "" || strings.HasPrefix(user, "0") || strings.HasPrefix(user, "root") {
		t.Errorf("the image runs as %q", user)
	}
	if last["ENTRYPOINT"] != `["/usr/bin/ceph_risk_exporter"]` || last["EXPOSE"] != "10283" {
		t.Errorf("entry point %q, port %q", last["ENTRYPOINT"], last["EXPOSE"])
	}
}

// There is no container engine in a test, so the Dockerfile's own steps run one
// by one in roots of the Debian release that it names.
func TestDockerfileStepsRunInARootOfTheirRelease(t *testing.T) {
	if !cephtest.Long() {
		t.Log("the long form runs the steps")
		return
	}
	if os.Getuid() != 0 {
		cephtest.SkipOrFail(t, "roots need root")
	}
	cephtest.RequireTool(t, "debootstrap", "unshare", "git")
	b := &imageBuild{t: t, dir: t.TempDir(), args: map[string]string{}, roots: map[string]string{}}
	for _, i := range dockerfile(t) {
		b.do(i)
	}
	user, group, _ := strings.Cut(b.user, ":")
	for _, args := range []string{"--version", "--help", "--simulate --simulate.pgs=64 --once"} {
		out := b.run(fmt.Sprintf("exec setpriv --reuid=%s --regid=%s --clear-groups %s %s", user, group, b.entry, args))
		if args != "--version" && len(out) < 1000 {
			t.Errorf("%s printed %s", args, out)
		}
		if args == "--version" && !strings.Contains(out, "with librados") {
			t.Errorf("version: %s", out)
		}
	}
}

// imageBuild interprets the instructions that our Dockerfile has.
type imageBuild struct {
	t     *testing.T
	dir   string
	args  map[string]string // ARG
	roots map[string]string // by stage
	base  string            // a bootstrapped root to copy for each stage
	root  string            // of the stage under way
	work  string
	env   []string
	user  string
	entry string
}

func (b *imageBuild) do(i instruction) {
	t := b.t
	t.Logf("%s %.100s", i.name, i.args)
	switch i.name {
	case "ARG":
		name, value, _ := strings.Cut(i.args, "=")
		b.args[name] = value
	case "FROM":
		image, stage, _ := strings.Cut(i.args, " AS ")
		image = os.Expand(image, func(name string) string { return b.args[name] })
		b.work, b.env, b.root = "/", nil, filepath.Join(b.dir, "stage-"+fmt.Sprint(len(b.roots)))
		b.roots[stage] = b.root
		if strings.HasPrefix(image, "golang:") {
			goroot, err := exec.Command("go", "env", "GOROOT").Output()
			if err != nil {
				t.Fatal(err)
			}
			b.copyTree(strings.TrimSpace(string(goroot)), filepath.Join(b.root, "usr/local/go"))
			return
		}
		b.debian(image)
	case "RUN":
		b.run(i.args)
	case "WORKDIR":
		b.run("mkdir -p " + i.args)
		b.work = i.args
	case "ENV":
		b.env = append(b.env, strings.Fields(i.args)...)
	case "COPY":
		b.copy(strings.Fields(i.args))
	case "USER":
		b.user = i.args
	case "ENTRYPOINT":
		b.entry = strings.Trim(i.args, `["]`)
	case "EXPOSE", "VOLUME":
	default:
		t.Fatalf("the test does not know %s", i.name)
	}
}

var debianImage = regexp.MustCompile(`^debian:([a-z]+)-slim$`)

func (b *imageBuild) debian(image string) {
	b.t.Helper()
	m := debianImage.FindStringSubmatch(image)
	if m == nil {
		b.t.Fatalf("base image %q", image)
	}
	if b.base == "" {
		b.base = filepath.Join(b.dir, "base")
		mirror, err := exec.Command("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").Output()
		if err != nil {
			b.t.Fatal(err)
		}
		b.must("debootstrap", "--variant=minbase", m[1], b.base, strings.Fields(string(mirror))[0])
		b.must("cp", "-rL", "/etc/apt/apt.conf.d", "/etc/resolv.conf", "/etc/hosts", b.base+"/etc/")
		b.must("sh", "-c", "rm -rf "+b.base+"/etc/apt/apt.conf.d && mv "+b.base+"/etc/apt.conf.d "+b.base+"/etc/apt/")
	}
	b.copyTree(b.base, b.root)
	// The authorities that this machine trusts, for its way to the proxy.
	b.must("cp", "-L", "/etc/ssl/certs/ca-certificates.crt", filepath.Join(b.root, hostAuthorities))
}

const hostAuthorities = "/etc/host-authorities.crt"

func (b *imageBuild) copy(args []string) {
	b.t.Helper()
	if stage, ok := strings.CutPrefix(args[0], "--from="); ok {
		b.copyTree(filepath.Join(b.roots[stage], args[1]), filepath.Join(b.root, args[2]))
		return
	}
	to := filepath.Join(b.root, b.work, args[len(args)-1])
	for _, f := range args[:len(args)-1] {
		if f != "." {
			b.must("cp", filepath.Join(top(b.t), f), to)
			continue
		}
		b.must("sh", "-c", fmt.Sprintf("git -C %s archive HEAD | tar -x -C %s", top(b.t), to))
	}
}

// run runs a command in the stage's root, with mounts that end with it.
func (b *imageBuild) run(command string) string {
	b.t.Helper()
	script := fmt.Sprintf(`mount -t proc proc %[1]s/proc && mount --rbind /dev %[1]s/dev && cd %[1]s && exec chroot %[1]s sh -euc 'cd "$0" && %[2]s' %[3]s`,
		b.root, strings.ReplaceAll(command, "'", `'\''`), b.work)
	cmd := exec.Command("unshare", "--pid", "--mount", "--fork", "--kill-child", "sh", "-euc", script)
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent-home", "GOCACHE=/tmp/gocache", "GOPATH=/tmp/gopath", "SSL_CERT_FILE=" + hostAuthorities}, moduleAccess()...)
	for _, e := range b.env {
		cmd.Env = append(cmd.Env, os.Expand(e, func(name string) string {
			return map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}[name]
		}))
	}
	for k, v := range b.args {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// moduleAccess is how this machine reaches the module proxy.
func moduleAccess() []string {
	var out []string
	for _, name := range []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GOFLAGS"} {
		if v, err := exec.Command("go", "env", name).Output(); err == nil {
			out = append(out, name+"="+strings.TrimSpace(string(v)))
		}
	}
	for _, name := range []string{"http_proxy", "https_proxy"} {
		if v := os.Getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

func (b *imageBuild) copyTree(from, to string) {
	b.t.Helper()
	b.must("sh", "-c", fmt.Sprintf("mkdir -p %[2]s && cp -a %[1]s/. %[2]s/", from, to))
}

func (b *imageBuild) must(name string, args ...string) {
	b.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		b.t.Fatalf("%s %s: %v\n%.2000s", name, strings.Join(args, " "), err, out)
	}
}

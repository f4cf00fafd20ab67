package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

//go:embed root.sh
var rootScript string

// ErrUnavailable is wrapped by errors that say this machine cannot run
// clusters at all: not root, no debootstrap, no apt. Tests skip on it.
var ErrUnavailable = errors.New("clusters are not available here")

// rootStamp is the file that a root gets when it is complete.
const rootStamp = "cephtest-root.json"

type stamp struct {
	Release Release `json:"release"`
	Suite   string  `json:"suite"`
	Version string  `json:"version"`
}

// rootDir names the folder of r's root. The name changes with the script
// that makes it, so a root of another script is never taken for this one's.
func rootDir(r Release) string {
	sum := sha256.Sum256([]byte(rootScript))
	return filepath.Join(CacheDir(), "roots", r.String()+"-"+hex.EncodeToString(sum[:4]))
}

// rootPrograms must be in every root.
var rootPrograms = [...]string{
	"ceph", "ceph-authtool", "ceph-mgr", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin", "rados",
}

// verifyRoot says what is wrong with the root in dir, if anything.
func verifyRoot(r Release, dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, rootStamp))
	if err != nil {
		return fmt.Errorf("root of ceph %v: %w", r, err)
	}
	var s stamp
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("root of ceph %v: stamp: %w", r, err)
	}
	if s.Release != r {
		return fmt.Errorf("root of ceph %v: stamp: holds ceph %v", r, s.Release)
	}
	for _, name := range rootPrograms {
		path := filepath.Join(dir, "usr/bin", name)
		if err := unix.Access(path, unix.X_OK); err != nil {
			return fmt.Errorf("root of ceph %v: %s: %w", r, path, err)
		}
	}
	return nil
}

// CheckHost says whether this machine can run clusters: Linux namespaces
// need root. It returns an error that wraps ErrUnavailable.
func CheckHost() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: not root", ErrUnavailable)
	}
	return nil
}

// EnsureRoot returns the folder of r's root and makes the root first if it
// is missing or damaged. Progress goes to log. Of several processes that
// want the same root one makes it while the others wait.
func EnsureRoot(ctx context.Context, r Release, log io.Writer) (string, error) {
	if err := CheckHost(); err != nil {
		return "", err
	}
	dir := rootDir(r)
	if verifyRoot(r, dir) == nil {
		return dir, nil
	}
	lock, err := lockRoots(ctx, r)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if verifyRoot(r, dir) == nil {
		return dir, nil
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return "", fmt.Errorf("%w: root of ceph %v: %w", ErrUnavailable, r, err)
	}
	mirror := os.Getenv(MirrorEnv)
	if mirror == "" {
		if mirror, err = debianMirror("/etc/apt"); err != nil {
			return "", fmt.Errorf("%w: root of ceph %v: %w", ErrUnavailable, r, err)
		}
	}
	removeDeadRoots(r)
	var failed error
	for _, suite := range r.suites() {
		err := makeRoot(ctx, r, suite, mirror, dir, log)
		if err == nil {
			return dir, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

// lockRoots takes the lock under which r's root is made.
func lockRoots(ctx context.Context, r Release) (*os.File, error) {
	dir := filepath.Join(CacheDir(), "roots", "."+r.String()+".lock")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("root of ceph %v: %w", r, err)
	}
	return lockDir(ctx, dir, unix.LOCK_EX)
}

// removeDeadRoots removes r's unfinished, damaged and outdated roots, unless
// a cluster runs from one. The caller holds the lock of lockRoots.
func removeDeadRoots(r Release) {
	roots, err := filepath.Glob(filepath.Join(CacheDir(), "roots", r.String()+"-*"))
	if err != nil {
		return
	}
	for _, dir := range roots {
		if lock := tryLockDir(dir); lock != nil {
			removeTree(dir)
			lock.Close()
		}
	}
}

// makeRoot makes the root beside dir and moves it to dir when it is complete.
func makeRoot(ctx context.Context, r Release, suite, mirror, dir string, log io.Writer) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), r.String()+"-new")
	if err != nil {
		return fmt.Errorf("root of ceph %v: %w", r, err)
	}
	defer removeTree(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("root of ceph %v: %w", r, err)
	}
	fmt.Fprintf(log, "making a root of ceph %v: debian %s from %s\n", r, suite, mirror)
	var tail tailBuffer
	cmd := exec.CommandContext(ctx, "unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc",
		"sh", "-c", rootScript, "root.sh", suite, mirror, keyring(), tmp)
	cmd.Stdout = io.MultiWriter(log, &tail)
	cmd.Stderr = cmd.Stdout
	cmd.Env = append(os.Environ(), aptProxies(ctx)...)
	// A maker that is killed takes the half-made root's processes with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("root of ceph %v: debian %s from %s: %w\n%s", r, suite, mirror, err, tail.Bytes())
	}
	version, err := exec.CommandContext(ctx, "chroot", tmp, "ceph", "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("root of ceph %v: ceph --version: %w: %s", r, err, version)
	}
	got, err := releaseOf(string(version))
	if err != nil {
		return fmt.Errorf("root of ceph %v: %w", r, err)
	}
	if got != r {
		return fmt.Errorf("root of ceph %v: debian %s has ceph %v", r, suite, got)
	}
	data, err := json.Marshal(stamp{Release: r, Suite: suite, Version: strings.TrimSpace(string(version))})
	if err != nil {
		return fmt.Errorf("root of ceph %v: stamp: %w", r, err)
	}
	if err := os.WriteFile(filepath.Join(tmp, rootStamp), data, 0o644); err != nil {
		return fmt.Errorf("root of ceph %v: stamp: %w", r, err)
	}
	if err := verifyRoot(r, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("root of ceph %v: %w", r, err)
	}
	return nil
}

// keyring returns the machine's keyring of Debian's archive, or "" where
// debootstrap's own default has to do.
func keyring() string {
	const path = "/usr/share/keyrings/debian-archive-keyring.gpg"
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// aptProxies turns apt's proxy settings into the environment variables that
// debootstrap and the root's own apt know.
func aptProxies(ctx context.Context) []string {
	var env []string
	for _, scheme := range []string{"http", "https"} {
		out, err := exec.CommandContext(ctx, "apt-config", "shell", "p", "Acquire::"+scheme+"::Proxy").Output()
		if err != nil {
			continue
		}
		// The answer is nothing or p='URL'.
		value := strings.Trim(strings.TrimPrefix(strings.TrimSpace(string(out)), "p="), "'")
		if value != "" && value != "DIRECT" {
			env = append(env, scheme+"_proxy="+value)
		}
	}
	return env
}

// A tailBuffer keeps the last few kilobytes written to it.
type tailBuffer struct{ buf []byte }

const tailSize = 4096

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailSize {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailSize:]...)
	}
	return len(p), nil
}

func (t *tailBuffer) Bytes() []byte {
	b := t.buf
	if len(b) > tailSize {
		b = b[len(b)-tailSize:]
	}
	return bytes.TrimSpace(b)
}

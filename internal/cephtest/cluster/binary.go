package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const commandPackage = "github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cmd/cephcluster"

// Binary returns the path of the cephcluster command, which supervises
// clusters and enters them: this process's own, or for a test binary one
// that the Go toolchain builds from the same tree. The build is cached by
// tree and costs little when it is current.
func Binary(ctx context.Context) (string, error) {
	self, err := os.Executable()
	if err == nil && filepath.Base(self) == "cephcluster" {
		return self, nil
	}
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("%w: build cephcluster: %w", ErrUnavailable, err)
	}
	tree := filepath.Dir(strings.TrimSpace(string(gomod)))
	if tree == "." || tree == filepath.Dir(os.DevNull) {
		return "", fmt.Errorf("%w: build cephcluster: not in the module's tree", ErrUnavailable)
	}
	sum := sha256.Sum256([]byte(tree))
	dir := filepath.Join(CacheDir(), "bin", hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build cephcluster: %w", err)
	}
	lock, err := lockDir(ctx, dir, unix.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	path := filepath.Join(dir, "cephcluster")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, commandPackage)
	cmd.Dir = tree
	// Static, so that it also runs inside every root.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("build cephcluster: %w\n%s", err, out)
		}
		return "", fmt.Errorf("%w: build cephcluster: %w", ErrUnavailable, err)
	}
	return path, nil
}

// writeProgram writes a file that can be run at once. A child that another
// goroutine starts meanwhile would have the file open for writing until it runs
// its own program, and until then nobody can run the file ("text file busy",
// https://go.dev/issue/22315): so none is started meanwhile.
func writeProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}

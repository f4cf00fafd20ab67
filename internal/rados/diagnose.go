package rados

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const opConnect = "connect"

// What to do about it. The user's name and the paths are in the causes.
const (
	cureNoConf = "copy ceph.conf from a monitor's host (`ceph config generate-minimal-conf` prints one), " +
		"or name it with --ceph.config"
	cureConf       = "correct the file, or let the exporter's user read it"
	cureNoMonitors = "put `mon host = ADDRESS,...` into ceph.conf (`ceph config generate-minimal-conf` prints one)"
	cureKeyTooNew  = "use a librados of the cluster's own release or newer: install that release's librados2 on this " +
		"host, or run the container image that is built for it"
	cureNoQuorum = "check with `ceph quorum_status` and `ceph mon stat`, and that this host reaches the monitors' " +
		"addresses in ceph.conf, ports 3300 and 6789"
	cureNoActiveMgr = "start a ceph-mgr; `ceph mgr stat` shows the active one"
	cureMgrHung     = "see its log and load; `ceph mgr fail` hands over to a standby; if it is merely slow, raise --ceph.timeout"
	cureBlocklisted = "`ceph osd blocklist ls` shows it, `ceph osd blocklist rm ADDRESS` lifts it; the next call uses a new connection"
	cureTooMany     = "the calls come back when the daemons answer again or are replaced; if they never do, restart the exporter"
	cureNoCgo       = "use a binary built with cgo and librados (CGO_ENABLED=1 and librados-dev), or only collectors that need no librados"
)

func cureKey(cfg Config) string {
	return fmt.Sprintf("`ceph auth get-or-create %s mon 'allow r' mgr 'allow r' -o FILE` writes a keyring; "+
		"name it with --ceph.keyring and let the exporter's user read it", cfg.user())
}

func cureCaps(cfg Config) string {
	return fmt.Sprintf("`ceph auth caps %s mon 'allow r' mgr 'allow r'`", cfg.user())
}

func unavailable() error {
	return &Error{Op: "settings", Kind: ErrUnavailable, Cure: cureNoCgo}
}

// resolved is what librados made of ceph.conf and the settings.
type resolved struct {
	keyring string // a list of paths, separated by commas, or the like
	monHost string
	dnsSRV  string
	auth    string // auth_client_required
}

// checkConf tells whether ceph.conf can be read at all, more clearly than
// librados does.
func checkConf(cfg Config) error {
	f, err := os.Open(cfg.ConfFile)
	if err == nil {
		defer f.Close()
		_, err = f.Read(make([]byte, 1))
		if err == nil || err.Error() == "EOF" {
			return nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{Op: opConnect, Kind: ErrNoConf, Cause: err, Cure: cureNoConf}
	}
	return &Error{Op: opConnect, Kind: ErrConfUnreadable, Cause: err, Cure: cureConf}
}

// diagnoseConnect explains why librados could not connect, from its error
// number and from the files that it used.
func diagnoseConnect(cfg Config, errno syscall.Errno, r resolved) error {
	cause := fmt.Errorf("librados: %w", errno)
	switch errno {
	case syscall.ETIMEDOUT:
		return &Error{Op: opConnect, Kind: ErrNoQuorum, Cause: cause, Cure: cureNoQuorum}
	case syscall.ESHUTDOWN:
		return &Error{Op: opConnect, Kind: ErrBlocklisted, Cause: cause, Cure: cureBlocklisted}
	}
	if err := checkKeyring(cfg, r, errno); err != nil {
		var own *Error
		if errors.As(err, &own) {
			own.Cause = fmt.Errorf("%w; %w", own.Cause, cause)
		}
		return err
	}
	switch errno {
	case syscall.EACCES, syscall.EPERM:
		return &Error{
			Op: opConnect, Kind: ErrWrongKey,
			Cause: fmt.Errorf("%s: %w", cfg.user(), cause),
			Cure: "`ceph auth get " + cfg.user() + "` must show the key that is in the keyring, and at least " +
				"mon 'allow r', without which nobody is let in; " + cureKey(cfg),
		}
	case syscall.ENOENT:
		if r.monHost == "" {
			cause = fmt.Errorf("neither in %s nor in DNS as service %s: %w", cfg.ConfFile, r.dnsSRV, cause)
			return &Error{Op: opConnect, Kind: ErrNoMonitors, Cause: cause, Cure: cureNoMonitors}
		}
	}
	return &Error{Op: opConnect, Cause: cause}
}

// commandError explains the error number of a command that came back.
func commandError(cfg Config, errno syscall.Errno, text string) error {
	var cause error = errno
	if text = status(text); text != "" {
		cause = fmt.Errorf("%w: %s", errno, text)
	}
	switch errno {
	case syscall.EACCES, syscall.EPERM:
		return &Error{Kind: ErrNoCaps, Cause: fmt.Errorf("%s: %w", cfg.user(), cause), Cure: cureCaps(cfg)}
	case syscall.ESHUTDOWN:
		return &Error{Kind: ErrBlocklisted, Cause: cause, Cure: cureBlocklisted}
	case syscall.ETIMEDOUT:
		return fmt.Errorf("%w: %w", errNoAnswer, cause)
	}
	return &Error{Cause: cause}
}

// broken tells whether a connection is of no more use after this error. One
// that was refused something is among them: capabilities are those of the time
// when it was made, and may have been granted since.
func broken(err error) bool {
	for _, errno := range []syscall.Errno{
		syscall.ESHUTDOWN, syscall.ENOTCONN, syscall.ETIMEDOUT, syscall.EACCES, syscall.EPERM,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

package rados

import (
	"errors"
	"regexp"
	"strings"
)

// What can be wrong, to be asked for with errors.Is. The error itself is an
// *Error, whose text names the cause and the cure. None of them ever holds a
// key.
var (
	// ErrUnavailable: this binary was built without librados.
	ErrUnavailable = errors.New("built without librados")
	// ErrConfig: the settings contradict themselves or each other.
	ErrConfig = errors.New("invalid ceph settings")
	// ErrNoConf: there is no ceph.conf where it was looked for.
	ErrNoConf = errors.New("no ceph.conf")
	// ErrConfUnreadable: ceph.conf is there, but cannot be read or parsed.
	ErrConfUnreadable = errors.New("ceph.conf cannot be read")
	// ErrNoMonitors: ceph.conf names no monitors.
	ErrNoMonitors = errors.New("no monitors named")
	// ErrNoKeyring: no keyring where it was looked for, or none with this user.
	ErrNoKeyring = errors.New("no keyring")
	// ErrKeyringUnreadable: the keyring is there, but cannot be read or parsed.
	ErrKeyringUnreadable = errors.New("keyring cannot be read")
	// ErrKeyTooNew: the key is of a kind that this librados does not know.
	ErrKeyTooNew = errors.New("key is newer than librados")
	// ErrWrongKey: the monitors do not accept the user or its key.
	ErrWrongKey = errors.New("user or key not accepted")
	// ErrNoCaps: the user lacks a capability.
	ErrNoCaps = errors.New("capability missing")
	// ErrNoQuorum: no monitor answered in time.
	ErrNoQuorum = errors.New("monitors do not answer")
	// ErrNoActiveMgr: the cluster has no active mgr.
	ErrNoActiveMgr = errors.New("no active mgr")
	// ErrMgrHung: there is an active mgr, but it did not answer in time.
	ErrMgrHung = errors.New("active mgr does not answer")
	// ErrBlocklisted: the cluster has blocklisted this client's address.
	ErrBlocklisted = errors.New("blocklisted by the cluster")
	// ErrGivenUp: the call did not come back in time; it is also wrapped by
	// the more telling ErrNoQuorum, ErrNoActiveMgr and ErrMgrHung.
	ErrGivenUp = errors.New("given up")
	// ErrTooManyAbandoned: so many calls are waiting inside librados, with
	// nobody waiting for them, that no further one is made.
	ErrTooManyAbandoned = errors.New("too many given-up calls still inside librados")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("client closed")
)

// Error is a failure to connect or to carry out a command. It unwraps to its
// Kind, one of the errors above, and to its Cause. An answer with an error
// number has the syscall.Errno as its cause, so that
// errors.Is(err, syscall.ENOENT) tells that a pool is gone.
type Error struct {
	Op    string // "connect", "settings" or "close"; empty for a command, which the caller knows
	Kind  error  // nil for a command that was refused for a reason of its own
	Cause error  // may be nil
	Cure  string // what to do about it; may be empty
}

// Error gives operation, kind, cause and cure in one line.
func (e *Error) Error() string {
	var parts []string
	if e.Op != "" {
		parts = append(parts, "ceph "+e.Op)
	}
	if e.Kind != nil {
		parts = append(parts, e.Kind.Error())
	}
	if e.Cause != nil {
		parts = append(parts, e.Cause.Error())
	}
	text := strings.Join(parts, ": ")
	if e.Cure != "" {
		text += " (" + e.Cure + ")"
	}
	return text
}

// Unwrap makes errors.Is see both the kind and the cause.
func (e *Error) Unwrap() []error {
	var both []error
	for _, err := range []error{e.Kind, e.Cause} {
		if err != nil {
			both = append(both, err)
		}
	}
	return both
}

// Unanswered tells that the command got no answer at all, not even a refusal: to
// ask for more at once would be in vain.
func (e *Error) Unanswered() bool {
	for _, kind := range []error{ErrGivenUp, ErrNoQuorum, ErrNoActiveMgr, ErrMgrHung, ErrTooManyAbandoned, ErrClosed} {
		if errors.Is(e, kind) {
			return true
		}
	}
	return false
}

// asError returns err as an *Error, of this operation unless it has its own.
func asError(op string, err error) error {
	own, ok := err.(*Error)
	switch {
	case !ok:
		return &Error{Op: op, Cause: err}
	case own.Op != "":
		return own
	}
	named := *own
	named.Op = op
	return &named
}

// secret matches what a cephx key looks like: base64 of a type (1 or 2), a
// time, a length and 16 or 32 bytes.
var secret = regexp.MustCompile(`\bA[QgAw][A-Za-z0-9+/]{36,}={0,2}`)

const maxStatus = 300

// status makes the text that came with an answer fit for one line of a log:
// short, without line breaks, and without anything that looks like a key.
func status(text string) string {
	text = secret.ReplaceAllString(text, "(key)")
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > maxStatus {
		text = strings.ToValidUTF8(text[:maxStatus], "") + "..."
	}
	return text
}

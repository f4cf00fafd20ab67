package rados

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// madeUpKey is a key of the given kind that was never anyone's.
func madeUpKey(kind uint16, size int) string {
	raw := make([]byte, 12+size)
	binary.LittleEndian.PutUint16(raw, kind)
	binary.LittleEndian.PutUint16(raw[10:], uint16(size))
	for i := range size {
		raw[12+i] = byte(i * 7)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func keyringOf(user, key string) string { return "[" + user + "]\n\tkey = " + key + "\n" }

func TestConnectErrorsNameCauseAndCure(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", keyringOf("client.risk", madeUpKey(1, 16)))
	tests := []struct {
		name    string
		errno   syscall.Errno
		keyring string
		monHost string
		auth    string
		kind    error // nil: no more than the number is known
		cause   string
	}{
		{"no answer", syscall.ETIMEDOUT, good, "h", "", ErrNoQuorum, "librados: connection timed out"},
		{"blocklisted", syscall.ESHUTDOWN, good, "h", "", ErrBlocklisted, "librados: cannot send after transport endpoint shutdown"},
		{"not accepted", syscall.EACCES, good, "h", "", ErrWrongKey, "client.risk: librados: permission denied"},
		{"not permitted", syscall.EPERM, good, "h", "", ErrWrongKey, "client.risk: librados: operation not permitted"},
		{"no keyring", syscall.EACCES, dir + "/a," + dir + "/b", "h", "", ErrNoKeyring,
			"client.risk: none of DIR/a, DIR/b exists; librados: permission denied"},
		{"second keyring of the list", syscall.EACCES, dir + "/a, " + good, "h", "", ErrWrongKey, "client.risk: librados: permission denied"},
		{"user not in keyring", syscall.EACCES, file("other", keyringOf("client.other", madeUpKey(1, 16))), "h", "", ErrNoKeyring,
			"DIR/other: no key for client.risk in it; librados: permission denied"},
		{"keyring is a folder", syscall.EACCES, dir, "h", "", ErrKeyringUnreadable, "DIR: not a regular file; librados: permission denied"},
		{"key newer than librados", syscall.EIO, file("new", keyringOf("client.risk", madeUpKey(2, 32))), "h", "", ErrKeyTooNew,
			"DIR/new: client.risk has an AES-256 key of 60 characters, which only librados 20.2 and newer knows; librados: input/output error"},
		{"new key that this librados could read", syscall.EACCES, dir + "/new", "h", "", ErrWrongKey, "client.risk: librados: permission denied"},
		{"key of an unknown kind", syscall.EIO, file("unknown", keyringOf("client.risk", madeUpKey(9, 16))), "h", "", ErrKeyTooNew,
			"DIR/unknown: client.risk has a key of the unknown kind 9, of 40 characters; librados: input/output error"},
		{"key cut off", syscall.EIO, file("cut", keyringOf("client.risk", madeUpKey(1, 16)[:32])), "h", "", ErrKeyringUnreadable,
			"DIR/cut: the key of client.risk, 32 characters, is cut off or damaged; librados: input/output error"},
		{"key is no base64", syscall.EIO, file("text", keyringOf("client.risk", "hidden!")), "h", "", ErrKeyringUnreadable,
			"DIR/text: the key of client.risk, 7 characters, is not base64; librados: input/output error"},
		{"no monitors", syscall.ENOENT, good, "", "", ErrNoMonitors,
			"neither in /etc/ceph/ceph.conf nor in DNS as service ceph-mon: librados: no such file or directory"},
		{"no keyring needed", syscall.EINVAL, dir + "/a", "h", "none", nil, "librados: invalid argument"},
	}
	cfg, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := diagnoseConnect(cfg, test.errno, resolved{test.keyring, test.monHost, "ceph-mon", test.auth})
			wantKind(t, err, test.errno)
			own := err.(*Error)
			if own.Kind != test.kind {
				t.Errorf("kind %v, want %v", own.Kind, test.kind)
			}
			if got := strings.ReplaceAll(own.Cause.Error(), dir, "DIR"); got != test.cause {
				t.Errorf("got cause %q\nwant      %q", got, test.cause)
			}
			if own.Kind != nil && own.Cure == "" {
				t.Error("no cure")
			}
		})
	}
}

func TestConfErrors(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{dir + "/none": ErrNoConf, dir: ErrConfUnreadable, empty: nil} {
		if err := checkConf(Config{ConfFile: path}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
}

func TestCommandErrorsNameCauseAndCure(t *testing.T) {
	cfg := Config{ID: "risk"}
	tests := []struct {
		errno syscall.Errno
		text  string
		kinds []error
		want  string
	}{
		{syscall.EACCES, "access denied", []error{ErrNoCaps, syscall.EACCES},
			"capability missing: client.risk: permission denied: access denied (" + cureCaps(cfg) + ")"},
		{syscall.ENOENT, "pool nix\ndoes not exist\n", []error{syscall.ENOENT},
			"no such file or directory: pool nix does not exist"},
		{syscall.EINVAL, "", []error{syscall.EINVAL}, "invalid argument"},
		{syscall.ESHUTDOWN, "", []error{ErrBlocklisted},
			"blocklisted by the cluster: cannot send after transport endpoint shutdown (" + cureBlocklisted + ")"},
		{syscall.EPERM, "got key = " + madeUpKey(1, 16) + " and " + madeUpKey(2, 32) + ".", []error{ErrNoCaps},
			"capability missing: client.risk: operation not permitted: got key = (key) and (key). (" + cureCaps(cfg) + ")"},
		{syscall.EIO, strings.Repeat("ä", 400), []error{syscall.EIO},
			"input/output error: " + strings.Repeat("ä", 150) + "..."},
	}
	for _, test := range tests {
		err := asError("", commandError(cfg, test.errno, test.text))
		wantKind(t, err, test.kinds...)
		if err.Error() != test.want {
			t.Errorf("got  %s\nwant %s", err, test.want)
		}
	}
}

func TestConfigIsCheckedAndCompleted(t *testing.T) {
	got, err := Config{}.withDefaults()
	if err != nil || got.ConfFile != "/etc/ceph/ceph.conf" || got.user() != "client.risk" ||
		got.Timeout != 15*time.Second || got.mountTimeout() != 12 || got.MaxAbandoned != 8 {
		t.Errorf("defaults: %+v, %v", got, err)
	}
	_, err = newClient(Config{
		Cluster: "a/b", ID: "client.risk", Timeout: time.Millisecond, MaxAbandoned: -1,
		Options: map[string]string{"rados mon op-timeout": "3", "keyring": "x"},
	}, nil)
	wantKind(t, err, ErrConfig)
	const want = `ceph settings: invalid ceph settings: bound for given-up calls -1: must be at least 1; ` +
		`cluster name "a/b": must not hold slashes or blanks; id "client.risk": leave out "client.", use "risk"; ` +
		`option keyring: use the keyring setting; option rados_mon_op_timeout: it makes librados crash the process ` +
		`when a hung mgr answers late; use the timeout instead; timeout 1ms: must be at least 1s`
	if err != nil && err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestMgrStat(t *testing.T) {
	for answer, want := range map[string]error{
		`{"epoch":3,"available":true,"active_name":"x","num_standby":0}`: ErrMgrHung,
		`{"epoch":3,"available":false,"active_name":""}`:                 ErrNoActiveMgr,
	} {
		if err := judgeMgrStat([]byte(answer)); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", answer, err, want)
		}
	}
	for _, answer := range []string{"", "{", "{}", `{"available":7}`} {
		var own *Error
		if err := judgeMgrStat([]byte(answer)); err == nil || errors.As(err, &own) {
			t.Errorf("%q was understood: %v", answer, err)
		}
	}
}

// keyErrors is all that may be said about a key: its kind, its length, and in
// which manner it is damaged.
var keyErrors = regexp.MustCompile(`^ceph connect: (` +
	`no keyring: FILE: no key for client\.risk in it|` +
	`keyring cannot be read: FILE: the key of client\.risk, \d+ characters, is (not base64|too short|cut off or damaged)|` +
	`key is newer than librados: FILE: client\.risk has (` +
	`an AES-256 key of \d+ characters, which only librados 20\.2 and newer knows|` +
	`a key of the unknown kind \d+, of \d+ characters)` +
	`) \([^()]*\)$`)

func FuzzKeyring(f *testing.F) {
	f.Add([]byte(keyringOf("client.risk", madeUpKey(1, 16))))
	f.Add([]byte(keyringOf("client.risk", madeUpKey(2, 32))))
	f.Add([]byte(keyringOf("client.risk", "hidden!hidden!")))
	f.Add([]byte("[client.risk]\nkey=\"x\"\n[client.risk\nkey = y"))
	cfg, err := Config{}.withDefaults()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, keyring []byte) {
		for _, errno := range []syscall.Errno{0, syscall.EIO} {
			if err := judgeKey(cfg, "FILE", keyring, errno); err != nil && !keyErrors.MatchString(err.Error()) {
				t.Errorf("said too much: %q", err)
			}
		}
	})
}

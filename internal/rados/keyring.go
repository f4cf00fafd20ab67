package rados

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Kinds of cephx keys: the first two bytes of a decoded key, little-endian.
// The newer one came with 20.2 and makes a key of 60 characters instead of 40.
const (
	keyAES    = 1
	keyAES256 = 2
)

// maxKeyring is far more than a keyring of a thousand users needs.
const maxKeyring = 1 << 20

// checkKeyring looks for what is wrong with the keyring that librados uses; nil
// when nothing is. errno is what librados said, 0 when it was not asked yet: a
// key is too new for it only where it failed to load one. It tells what kind of
// key it found, never the key.
func checkKeyring(cfg Config, r resolved, errno syscall.Errno) error {
	if r.auth == "none" {
		return nil
	}
	paths := strings.FieldsFunc(r.keyring, func(c rune) bool { return strings.ContainsRune(",; \t", c) })
	if len(paths) == 0 {
		return nil
	}
	var unreadable []string
	for _, path := range paths { // librados takes the first that it can read
		data, err := readKeyring(path)
		if err == nil {
			return judgeKey(cfg, path, data, errno)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			unreadable = append(unreadable, err.Error())
		}
	}
	if len(unreadable) > 0 {
		cause := errors.New(strings.Join(unreadable, "; "))
		return &Error{Op: opConnect, Kind: ErrKeyringUnreadable, Cause: cause, Cure: cureKey(cfg)}
	}
	return &Error{
		Op: opConnect, Kind: ErrNoKeyring,
		Cause: fmt.Errorf("%s: none of %s exists", cfg.user(), strings.Join(paths, ", ")),
		Cure:  cureKey(cfg),
	}
}

func readKeyring(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", path)
	case info.Size() > maxKeyring:
		return nil, fmt.Errorf("%s: %d bytes are no keyring", path, info.Size())
	}
	return os.ReadFile(path)
}

func judgeKey(cfg Config, path string, data []byte, errno syscall.Errno) error {
	bad := func(kind error, format string, args ...any) error {
		cause := fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...))
		cure := cureKey(cfg)
		if kind == ErrKeyTooNew {
			cure = cureKeyTooNew
		}
		return &Error{Op: opConnect, Kind: kind, Cause: cause, Cure: cure}
	}
	key, found := findKey(data, cfg.user())
	if !found {
		return bad(ErrNoKeyring, "no key for %s in it", cfg.user())
	}
	kind, size, err := keyKind(key)
	switch {
	case err != nil:
		return bad(ErrKeyringUnreadable, "the key of %s, %d characters, %v", cfg.user(), len(key), err)
	case kind == keyAES, errno != syscall.EIO:
		return nil
	case kind == keyAES256:
		return bad(ErrKeyTooNew, "%s has an AES-256 key of %d characters, which only librados 20.2 and newer knows", cfg.user(), size)
	}
	return bad(ErrKeyTooNew, "%s has a key of the unknown kind %d, of %d characters", cfg.user(), kind, size)
}

// findKey returns the key of user in a keyring.
func findKey(keyring []byte, user string) (key string, found bool) {
	inUser := false
	lines := bufio.NewScanner(bytes.NewReader(keyring))
	lines.Buffer(nil, maxKeyring+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if name, ok := strings.CutPrefix(line, "["); ok {
			inUser = strings.TrimSuffix(name, "]") == user
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if inUser && ok && strings.TrimSpace(name) == "key" {
			key, found = strings.Trim(strings.TrimSpace(value), `"`), true
		}
	}
	return key, found
}

// keyKind returns the kind of a key and its number of characters.
func keyKind(key string) (kind uint16, size int, err error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return 0, len(key), errors.New("is not base64") // the cause names a byte of the key
	}
	const header = 2 + 8 + 2 // kind, time of creation, length
	if len(raw) < header {
		return 0, len(key), errors.New("is too short")
	}
	if length := int(binary.LittleEndian.Uint16(raw[10:])); length != len(raw)-header {
		return 0, len(key), errors.New("is cut off or damaged")
	}
	return binary.LittleEndian.Uint16(raw), len(key), nil
}

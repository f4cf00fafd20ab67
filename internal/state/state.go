// Package state keeps what a collector must remember over a restart: one file
// per name below one directory, replaced atomically and synced.
//
// A file is a one-line JSON header, {"name":...,"version":...,"crc32c":...},
// followed by the record itself. The checksum tells a torn or foreign file from
// a good one.
package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"time"
)

// ErrDisabled is returned by Save where no state directory was configured.
var ErrDisabled = errors.New("no state directory")

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// Dir is the state directory. A nil *Dir remembers nothing.
type Dir struct {
	path     string
	log      *slog.Logger
	now      func() time.Time
	setAside atomic.Uint64
}

// Open returns the directory. It is created (0700) when first written to.
func Open(path string, log *slog.Logger) *Dir {
	return &Dir{path: path, log: log, now: time.Now}
}

// SetAside counts the files that could not be read and were set aside.
func (d *Dir) SetAside() uint64 {
	if d == nil {
		return 0
	}
	return d.setAside.Load()
}

// Load decodes the record of that name and version into v. It returns false
// where there is none. One that is torn, foreign, of another version or not
// decodable is set aside as <name>.state.bad-<time>, reported in the log and
// counted, and Load returns false: state is never a reason not to start.
// The error is about the directory itself, for instance missing permission.
func (d *Dir) Load(name string, version int, v any) (bool, error) {
	if d == nil {
		return false, nil
	}
	data, err := d.LoadBytes(name, version)
	if err != nil || data == nil {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		d.aside(name, err)
		return false, nil
	}
	return true, nil
}

// LoadBytes is Load for a caller that decodes by itself. It returns nil where
// there is no usable record.
func (d *Dir) LoadBytes(name string, version int) ([]byte, error) {
	if d == nil {
		return nil, nil
	}
	raw, err := os.ReadFile(d.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load state %s: %w", name, err)
	}
	data, err := open(raw, name, version)
	if err != nil {
		d.aside(name, err)
		return nil, nil
	}
	return data, nil
}

// Save replaces the record: written to a temporary file (0600), synced,
// renamed over the old one, directory synced. When it returns nil the record
// survives a power cut; when it does not, the old record is still there.
func (d *Dir) Save(name string, version int, v any) error {
	if d == nil {
		return ErrDisabled
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("save state %s: %w", name, err)
	}
	return d.SaveBytes(name, version, data)
}

// SaveBytes is Save for a caller that encodes by itself.
func (d *Dir) SaveBytes(name string, version int, data []byte) error {
	if d == nil {
		return ErrDisabled
	}
	if !validName.MatchString(name) {
		return fmt.Errorf("save state %q: not a name", name)
	}
	if err := d.save(name, seal(name, version, data)); err != nil {
		return fmt.Errorf("save state %s: %w", name, err)
	}
	return nil
}

func (d *Dir) save(name string, data []byte) (err error) {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(d.path, name+".tmp-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), d.file(name)); err != nil {
		return err
	}
	return syncDir(d.path)
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func (d *Dir) file(name string) string { return filepath.Join(d.path, name+".state") }

// aside moves an unusable record out of the way and says so.
func (d *Dir) aside(name string, cause error) {
	d.setAside.Add(1)
	bad := d.file(name) + ".bad-" + d.now().UTC().Format("20060102T150405.000")
	if err := os.Rename(d.file(name), bad); err != nil {
		d.log.Error("state file cannot be used and cannot be set aside", "file", d.file(name), "cause", cause, "err", err)
		return
	}
	d.log.Error("state file cannot be used, starting without it", "file", d.file(name), "kept_as", bad, "cause", cause)
}

type header struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	CRC32C  uint32 `json:"crc32c"`
}

func checksum(data []byte) uint32 {
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}

func seal(name string, version int, data []byte) []byte {
	head, err := json.Marshal(header{Name: name, Version: version, CRC32C: checksum(data)})
	if err != nil {
		panic(err) // a struct of a string and two integers always encodes
	}
	return append(append(head, '\n'), data...)
}

func open(raw []byte, name string, version int) ([]byte, error) {
	line, data, ok := bytes.Cut(raw, []byte("\n"))
	if !ok {
		return nil, errors.New("no header line")
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	switch {
	case h.Name != name:
		return nil, fmt.Errorf("record of %q, not of %q", h.Name, name)
	case h.CRC32C != checksum(data):
		return nil, errors.New("checksum does not match")
	case h.Version != version:
		return nil, fmt.Errorf("version %d, not %d", h.Version, version)
	}
	return data, nil
}

package collector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
	"github.com/ceph-risk/ceph_risk_exporter/internal/osdboot"
	"github.com/ceph-risk/ceph_risk_exporter/internal/osdperf"
)

// bluestoreReading is what one poll read of one OSD.
type bluestoreReading struct {
	process string
	began   time.Time
	at      time.Time // of the state
	active  bool
	// What follows is read of an active OSD, where it was due.
	version  osdperf.Version
	counters *osdperf.Counters
	boot     *osdboot.Boot // nil: the log does not tell, for bootErr
	bootErr  error
}

// read asks one OSD what is due. It only reads known (nil for a new OSD), which
// no one changes meanwhile.
func (p *bluestorePoller) read(ctx context.Context, s asok.Socket, known *bluestoreOSD, now time.Time) (*bluestoreReading, error) {
	r := &bluestoreReading{}
	var err error
	if r.process, err = processOf(s.Path); err != nil {
		return nil, err
	}
	info, err := os.Stat(s.Path)
	if err != nil {
		return nil, fmt.Errorf("admin socket: %w", err)
	}
	r.began = info.ModTime()
	status, err := p.status(ctx, s)
	if err != nil {
		return nil, err
	}
	r.at, r.active = p.deps.Now(), status.State == "active"
	if !r.active {
		return r, nil
	}
	same := known != nil && known.process == r.process
	if !same || known.counters == nil || now.Sub(known.countersAt) >= p.deps.Interval {
		if r.version, err = ask(ctx, p.client, s, asok.Version, osdperf.DecodeVersion); err != nil {
			return nil, err
		}
		r.counters, err = ask(ctx, p.client, s, asok.PerfDump, func(answer []byte) (*osdperf.Counters, error) {
			return osdperf.DecodePerfDump(answer, "bluefs", "rocksdb", "bluestore")
		})
		if err != nil {
			return nil, err
		}
	}
	if settled := same && known.settled; !settled && p.record.Last[s.Name()].Process != r.process {
		r.boot, r.bootErr = p.readLog(ctx, s, status.ClusterFSID, r.began)
	}
	return r, nil
}

// osdStatus is the answer to `status`, as far as it is of interest.
type osdStatus struct {
	State       string `json:"state"`
	ClusterFSID string `json:"cluster_fsid"`
}

// status asks for the state. Until the store is open an OSD does not know the
// command yet.
func (p *bluestorePoller) status(ctx context.Context, s asok.Socket) (osdStatus, error) {
	status, err := ask(ctx, p.client, s, asok.Status, func(answer []byte) (osdStatus, error) {
		var status osdStatus
		if err := json.Unmarshal(answer, &status); err != nil {
			return status, fmt.Errorf("decode status: %w", err)
		}
		if status.State == "" {
			return status, errors.New("decode status: no state")
		}
		return status, nil
	})
	var refusal *asok.DaemonError
	if errors.As(err, &refusal) {
		return osdStatus{State: "initializing"}, nil
	}
	return status, err
}

// logTail is how much of a log is read: a boot writes some hundred kB, most of
// them RocksDB's options.
const logTail = 8 << 20

// readLog looks the boot up in the OSD's log, where that is a file.
func (p *bluestorePoller) readLog(ctx context.Context, s asok.Socket, fsid string, began time.Time) (*osdboot.Boot, error) {
	options, err := ask(ctx, p.client, s, asok.ConfigShow, osdperf.DecodeOptions)
	if err != nil {
		return nil, err
	}
	name := options["log_file"]
	if name == "" || options["log_to_file"] == "false" {
		return nil, errors.New("the OSD writes no log file")
	}
	f, err := p.openLog(name, fsid)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(max(0, size-logTail), io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("OSD log: %w", err)
	}
	b, err := osdboot.ScanLog(f, began)
	if err != nil {
		return nil, fmt.Errorf("OSD log %s: %w", f.Name(), err)
	}
	return &b, nil
}

// openLog opens the log of a daemon: at the path the daemon has for it, or where
// cephadm puts the log folder of its containers on the host.
func (p *bluestorePoller) openLog(name, fsid string) (*os.File, error) {
	dir, base := filepath.Split(name)
	paths := []string{name}
	if fsid != "" {
		paths = append(paths, filepath.Join(dir, fsid, base))
	}
	var problems []error
	for _, path := range paths {
		f, err := os.Open(filepath.Join(p.deps.Paths.Rootfs, path))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			problems = append(problems, errors.Join(err, f.Close(), fmt.Errorf("%s is no plain file", path)))
			continue
		}
		return f, nil
	}
	return nil, fmt.Errorf("OSD log: %w", errors.Join(problems...))
}

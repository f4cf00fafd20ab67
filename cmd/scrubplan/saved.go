package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// savedFiles are answers that somebody has saved.
type savedFiles struct {
	pgDump, osdDump, osdConfig, mgrConfig, at string
	release                                   int
}

func (f *savedFiles) flags(app *kingpin.Application) {
	app.Flag("pg-dump", "Plan from a saved `ceph pg dump -f json` instead of a live cluster.").PlaceHolder("FILE").StringVar(&f.pgDump)
	app.Flag("osd-dump", "The saved `ceph osd dump -f json` that goes with it.").PlaceHolder("FILE").StringVar(&f.osdDump)
	app.Flag("osd-config", "The saved `ceph config show-with-defaults osd.0 -f json` that goes with it, taken for all OSDs.").PlaceHolder("FILE").StringVar(&f.osdConfig)
	app.Flag("mgr-config", "The saved `ceph config show-with-defaults mgr.NAME -f json`; without it the mgr is taken to have the intervals of the OSD.").PlaceHolder("FILE").StringVar(&f.mgrConfig)
	app.Flag("at", "When the dump was taken, as in 2026-11-30T12:00:00Z; without it, when its file was last written.").PlaceHolder("TIME").StringVar(&f.at)
	app.Flag("release", "The OSDs' release, such as 18; without it, as the saved osd dump requires.").Default("0").IntVar(&f.release)
}

func (f *savedFiles) given() bool {
	return f.pgDump != "" || f.osdDump != "" || f.osdConfig != "" || f.mgrConfig != ""
}

// releases are the names that an osd dump requires its OSDs by.
var releases = map[string]int{"pacific": 16, "quincy": 17, "reef": 18, "squid": 19, "tentacle": 20}

func (f *savedFiles) read() (*state, error) {
	if f.pgDump == "" || f.osdDump == "" || f.osdConfig == "" {
		return nil, errors.New("a saved cluster takes all of --pg-dump, --osd-dump and --osd-config")
	}
	s := &state{own: map[int32]ceph.Config{}}
	var err error
	if s.table, err = decodeFile(f.pgDump, ceph.DecodePGs); err != nil {
		return nil, err
	}
	if !s.table.Ready {
		return nil, fmt.Errorf("%s: %w", f.pgDump, ceph.ErrNotReady)
	}
	if s.osds, err = decodeFile(f.osdDump, ceph.DecodeOSDMap); err != nil {
		return nil, err
	}
	if s.osd, err = decodeFile(f.osdConfig, ceph.DecodeConfigShow); err != nil {
		return nil, err
	}
	s.mgr = s.osd
	if f.mgrConfig != "" {
		if s.mgr, err = decodeFile(f.mgrConfig, ceph.DecodeConfigShow); err != nil {
			return nil, err
		}
	}
	s.version.Major = f.release
	if f.release == 0 {
		if s.version.Major = releases[s.osds.RequireOSDRelease]; s.version.Major == 0 {
			return nil, fmt.Errorf("%s: it requires release %q of its OSDs; say which that is with --release", f.osdDump, s.osds.RequireOSDRelease)
		}
	}
	return s, f.date(s)
}

// date sets when the dump was taken: ages count from then.
func (f *savedFiles) date(s *state) error {
	if f.at != "" {
		at, err := time.Parse(time.RFC3339, f.at)
		if err != nil {
			return fmt.Errorf("--at: %w", err)
		}
		s.at = at
		return nil
	}
	info, err := os.Stat(f.pgDump)
	if err != nil {
		return err
	}
	s.at = info.ModTime()
	return nil
}

func decodeFile[T any](path string, decode func([]byte) (T, error)) (T, error) {
	var none T
	data, err := os.ReadFile(path)
	if err != nil {
		return none, err
	}
	v, err := decode(data)
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

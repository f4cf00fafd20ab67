package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
)

// maxOSDs bounds how many OSDs are asked for options of their own. Beyond it
// the rest is taken to run with what the first one runs with.
const maxOSDs = 300

// state is a cluster as it was read.
type state struct {
	at      time.Time
	table   *ceph.PGTable
	osds    *ceph.OSDMap
	version ceph.Version // of the OSDs; the oldest where they differ
	mixed   bool
	mgr     ceph.Config
	osd     ceph.Config           // defaults included, of one OSD
	own     map[int32]ceph.Config // what differs from the defaults, by OSD
	asked   int                   // OSDs that were asked, of upOSDs
	upOSDs  int
	// measured are scrubs that were watched, where the release does not tell.
	measured forecast.Measured
}

// observeEvery is how often a cluster is asked while its scrubs are watched;
// less often where it takes long to answer.
const observeEvery = 5 * time.Second

// observe watches a cluster's scrubs for some time and returns how long those
// took that ended meanwhile, as far as the cluster itself does not tell.
func observe(ctx context.Context, c *ceph.Client, length time.Duration, p *progress) (forecast.Measured, error) {
	if length == 0 {
		return nil, nil
	}
	out := forecast.Measured{}
	tracker := scrub.NewTracker()
	begin := time.Now()
	for {
		asked := time.Now()
		table, err := c.PGDump(ctx)
		if err != nil {
			return nil, err
		}
		if table.Ready {
			for _, done := range tracker.Full(table, asked) {
				if pg := table.Find(done.PG); done.Seconds > 0 && pg != nil && pg.LastScrubSeconds < 0 {
					v := out[done.PG]
					v[done.Level] = done.Seconds
					out[done.PG] = v
				}
			}
		}
		past := time.Since(begin)
		p.begin("watching scrubs, seconds", int(length.Seconds()))
		p.set(int(past.Seconds()))
		if past >= length {
			return out, nil
		}
		wait := time.NewTimer(min(length-past, max(observeEvery, 9*time.Since(asked))))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil, ctx.Err()
		}
	}
}

// read asks a cluster for everything. progress is told of every answer.
func read(ctx context.Context, c *ceph.Client, now func() time.Time, progress func(done, all int)) (*state, error) {
	s := &state{own: make(map[int32]ceph.Config)}
	var err error
	if s.osds, err = c.OSDDump(ctx); err != nil {
		return nil, err
	}
	versions, err := c.Versions(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.setVersion(versions["osd"]); err != nil {
		return nil, err
	}
	m, err := c.MgrDump(ctx)
	if err != nil {
		return nil, err
	}
	if s.mgr, err = c.ConfigShowWithDefaults(ctx, "mgr."+m.Active); err != nil {
		return nil, err
	}
	if err := s.readOSDs(ctx, c, progress); err != nil {
		return nil, err
	}
	// The dump last, so that it is as young as can be.
	if s.table, err = c.PGDump(ctx); err != nil {
		return nil, err
	}
	if !s.table.Ready {
		return nil, fmt.Errorf("mgr pg dump: %w", ceph.ErrNotReady)
	}
	s.at = now()
	return s, nil
}

func (s *state) setVersion(osds map[ceph.Version]int) error {
	if len(osds) == 0 {
		return errors.New("mon versions: it names no OSD")
	}
	s.version = slices.SortedFunc(maps.Keys(osds), ceph.Version.Compare)[0]
	s.mixed = len(osds) > 1
	return nil
}

// release is as much of the version as is known.
func (s *state) release() string {
	if s.version.Minor > 0 {
		return s.version.String()
	}
	return strconv.Itoa(s.version.Major)
}

func (s *state) readOSDs(ctx context.Context, c *ceph.Client, progress func(done, all int)) error {
	var up []int32
	for _, o := range s.osds.OSDs {
		if o.Up {
			up = append(up, o.ID)
		}
	}
	if len(up) == 0 {
		return errors.New("osd dump: no OSD is up, so nothing can be scrubbed")
	}
	s.upOSDs, s.asked = len(up), min(len(up), maxOSDs)
	var err error
	if s.osd, err = c.ConfigShowWithDefaults(ctx, fmt.Sprintf("osd.%d", up[0])); err != nil {
		return err
	}
	for i, id := range up[:s.asked] {
		own, err := c.ConfigShow(ctx, fmt.Sprintf("osd.%d", id))
		if err != nil {
			return err
		}
		s.own[id] = own
		progress(i+1, s.asked)
	}
	return nil
}

// input turns what was read into the forecast's input.
func (s *state) input(loc *time.Location) (*forecast.Input, error) {
	in := &forecast.Input{
		Now: s.at, Table: s.table, Map: s.osds, Release: s.version.Major, Location: loc,
		Options: make(map[int32]forecast.Options, len(s.own)), Measured: s.measured,
	}
	var err error
	if in.Mgr, err = scrub.IntervalsFrom(s.mgr); err != nil {
		return nil, fmt.Errorf("the mgr's options: %w", err)
	}
	if in.DefaultOptions, err = forecast.OptionsFrom(s.osd); err != nil {
		return nil, fmt.Errorf("an OSD's options: %w", err)
	}
	for id, own := range s.own {
		// What `config show` leaves out is a default, as s.osd has it unless
		// that OSD itself runs with something else.
		if in.Options[id], err = forecast.OptionsFrom(own, s.osd); err != nil {
			return nil, fmt.Errorf("options of osd.%d: %w", id, err)
		}
	}
	return in, nil
}

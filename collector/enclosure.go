package collector

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

func enclosureSpec() Spec {
	table := newEnclosureTable()
	return Spec{
		Name:     "enclosure",
		Help:     "shelves: health of all parts over SES, which disk and OSD is in which slot, paths per OSD",
		Roles:    RoleHost,
		Interval: 30 * time.Second,
		Timeout:  25 * time.Second,
		Rows:     table.Rows,
		Configure: func(flags FlagSet) Constructor {
			timeout := flags.Flag("enclosure.timeout", "How long one SES device may take in one poll.").Default("10s").Duration()
			low := flags.Flag("enclosure.low-thresholds", "Also export the lower temperature limits of every sensor.").Bool()
			forget := flags.Flag("enclosure.forget", "Drop this enclosure with all its OSDs, or this OSD (osd.12), from the remembered map. Repeatable.").PlaceHolder("ID").Strings()
			return func(d Deps) (Poller, error) {
				if *timeout < time.Second || *timeout > 20*time.Second {
					return nil, fmt.Errorf("--enclosure.timeout=%s: want 1s to 20s, within the poll's own limit", *timeout)
				}
				open := d.SES
				if open == nil {
					open = func(dev enclosure.Device) enclosure.Transport {
						return &enclosure.SG{Path: filepath.Join(d.Paths.Dev, dev.SG), Timeout: *timeout}
					}
				}
				options := enclosure.Options{
					Tree:    enclosure.Tree{Sysfs: d.Paths.Sysfs, Dev: d.Paths.Dev, Rootfs: d.Paths.Rootfs},
					Timeout: *timeout,
					Open:    open,
					Store:   stateStore{d.State},
					Pause:   pause,
					Log:     d.Log,
				}
				for _, id := range *forget {
					id, err := enclosure.ParseForget(id)
					if err != nil {
						return nil, fmt.Errorf("--enclosure.forget: %w", err)
					}
					options.Forget = append(options.Forget, id)
				}
				if d.Ceph != nil {
					options.Cluster = clusterOSDs(d.Ceph)
				}
				return &enclosurePoller{table: table, watcher: enclosure.NewWatcher(options), low: *low}, nil
			}
		},
	}
}

// enclosurePoller polls a Watcher.
type enclosurePoller struct {
	table   *enclosureTable
	watcher *enclosure.Watcher
	low     bool
}

// Poll returns a snapshot also where it returns an error: what was read is true,
// and the remembered map is needed most when shelves do not answer.
func (p *enclosurePoller) Poll(ctx context.Context, now time.Time) (Snapshot, error) {
	survey, err := p.watcher.Poll(ctx, now)
	if survey == nil {
		return nil, err
	}
	return &enclosureSnapshot{table: p.table, survey: survey, low: p.low}, err
}

// clusterOSDs asks the mon which OSDs there are.
func clusterOSDs(c ceph.Commander) func(context.Context) (*enclosure.OSDMap, error) {
	return func(ctx context.Context) (*enclosure.OSDMap, error) {
		m, err := (&ceph.Client{Commander: c}).OSDDump(ctx)
		if err != nil {
			return nil, err
		}
		out := &enclosure.OSDMap{Cluster: m.FSID, OSDs: make(map[string]string, len(m.OSDs))}
		for _, o := range m.OSDs {
			out.OSDs[fmt.Sprintf("osd.%d", o.ID)] = o.UUID
		}
		return out, nil
	}
}

// stateStore keeps the map in the state directory. Without one the map lives as
// long as the process, which is no error of a poll.
type stateStore struct {
	dir *state.Dir
}

func (s stateStore) Load(name string, version int, v any) (bool, error) {
	return s.dir.Load(name, version, v)
}

func (s stateStore) Save(name string, version int, v any) error {
	if err := s.dir.Save(name, version, v); !errors.Is(err, state.ErrDisabled) {
		return err
	}
	return nil
}

// pause waits for d, or for ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

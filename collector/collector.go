// Package collector turns what the sources say into Prometheus series. It has
// one file and one table of rows per collector, the poll wrapper that runs
// them in the background, and the table that lists them all.
package collector

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

// Role is a set of defaults for which collectors run.
type Role uint8

// The roles of --role. They can be combined: all is both.
const (
	RoleCluster Role = 1 << iota
	RoleHost
)

// Paths are the roots below which a collector of the host role reads.
type Paths struct {
	Run    string // --path.run, admin sockets
	Sysfs  string // --path.sysfs
	Dev    string // --path.dev
	Rootfs string // --path.rootfs, the host's root as seen by this process
}

// Deps is what the program hands to every collector.
type Deps struct {
	Log   *slog.Logger
	State *state.Dir // what must survive a restart
	Paths Paths
	// Ceph asks the cluster; nil where no collector of this process was
	// declared to need it.
	Ceph ceph.Commander
	// PGs is where the pg collector leaves its last full dump for others; nil
	// where nobody shares it.
	PGs *PGFeed
	// SES opens a SES device; nil: through the kernel, below Paths.Dev.
	SES func(enclosure.Device) enclosure.Transport
	// Now is the clock. It is read once per poll by the wrapper; a collector
	// uses it only for what happens between polls.
	Now func() time.Time
	// Interval is the collector's configured poll interval.
	Interval time.Duration
}

// A Poller asks its source once per poll. Polls of one Poller never overlap.
//
// A poll that failed returns an error and no snapshot; one that is usable in
// spite of an error returns both. ctx carries the poll's time limit.
// Where a Poller implements io.Closer, it is closed once polling has ended.
type Poller interface {
	Poll(ctx context.Context, now time.Time) (Snapshot, error)
}

// Closer is what a Poller with something to release implements.
type Closer = io.Closer

// A Snapshot is what one poll learned. It is immutable once returned. Emit is
// called once, right after the poll; scrapes serve what it emitted.
type Snapshot interface {
	Emit(e *Emitter)
}

// Constructor makes the poller from validated flags. It must not ask the
// source anything: it also serves --config.check.
type Constructor func(Deps) (Poller, error)

// Spec is a collector's line in the registry table.
type Spec struct {
	Name     string        // as in --collector.<name>
	Help     string        // one line for --help and the README
	Roles    Role          // roles in which it is on by default; 0: only by flag
	Interval time.Duration // default poll interval
	// Timeout bounds one poll.
	Timeout time.Duration
	// NeedsCeph: asks mon or mgr, so it needs librados and a key.
	NeedsCeph bool
	// Rows lists the families it can export.
	Rows func() []*Row
	// Configure defines the collector's own flags and returns a constructor
	// that reads them once they have been parsed.
	Configure func(flags FlagSet) Constructor
}

// FlagSet is where a collector defines its flags (kingpin's Application).
type FlagSet interface {
	Flag(name, help string) *kingpin.FlagClause
}

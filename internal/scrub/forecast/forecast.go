// Package forecast tells who will be late before they are: a discrete-event
// simulation of the scrub scheduler of Ceph 16 to 20, from what mon and mgr say
// of a cluster. It is pure: no clock, no input or output, no Prometheus; the
// same input and seed give the same result, in whatever order PGs come.
//
// docs/forecast.md says what is modelled and what cannot be known.
package forecast

import (
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

// Input is a cluster at one moment.
type Input struct {
	// Now is the instant of the table, by the clock of whoever asked.
	Now time.Time
	// Table is a full dump: ready, sorted by PGID, as the decoder returns it.
	Table *ceph.PGTable
	// Map names the pools with their own intervals, and the flags.
	Map *ceph.OSDMap
	// Release is the OSDs' major release: it decides which scheduler runs.
	Release int
	// Mgr is the mgr's view of the intervals, by which Ceph calls PGs late.
	Mgr scrub.Intervals
	// Options are what OSDs run with; DefaultOptions what those do that are
	// not in the map.
	DefaultOptions Options
	Options        map[int32]Options
	// Location is the OSDs' local time zone, in which hours and week days of
	// the scrub window are meant. Nil is UTC.
	Location *time.Location
	// Measured are durations that have been seen, beyond those that the table
	// itself tells (17 and newer).
	Measured Measured
}

// Measured holds how long a scrub of a PG took, in seconds, by level; 0 is
// unknown.
type Measured map[ceph.PGID][2]float64

// Run says what to compute.
type Run struct {
	// Horizons are the times ahead for which late PGs are counted, ascending.
	// The simulation ends with the last.
	Horizons []time.Duration
	// Seeds is the number of simulations, with seeds Seed, Seed+1 and so on.
	Seeds int
	Seed  uint64
	// RecoveryEnds is when recovery is over and every PG is clean; below zero
	// things stay as they are in the table.
	RecoveryEnds time.Duration
	// LoadHigh: the OSDs' hosts are loaded above osd_scrub_load_threshold all
	// the time, so that only what passed its deadline is scrubbed.
	LoadHigh bool
	// Slower lets every scrub take longer than expected by this share: whether
	// a change has something to spare.
	Slower float64
	// Progress, if set, is told of every simulation that has ended.
	Progress func(done int)
}

// Forecast is what came out.
type Forecast struct {
	Now      time.Time
	Horizons []time.Duration
	Seeds    int
	// Pools holds one entry per pool with PGs, by pool id.
	Pools map[int32]*[2]Outlook
	// Total is over all pools.
	Total [2]Outlook
	// OSDs are all OSDs that take part, the most occupied first.
	OSDs []OSDUse
	// MissingDurations counts PGs, by level, for which nothing was measured in
	// their pool, so that stated defaults were used.
	MissingDurations [2]int
	// PGs counts those that were simulated, Blocked those of them that cannot
	// be scrubbed as they are (not active and clean), Unknown those of which
	// the mgr has no report; the latter are in no figure.
	PGs, Blocked, Unknown int
}

// Outlook is the future of a pool's PGs at one level.
type Outlook struct {
	PGs int
	// LateNow counts PGs that are late already.
	LateNow int
	// Late counts late PGs by horizon.
	Late []Spread
	// First tells when the next PG becomes late.
	First First
	// Backlog tells how long PGs are late.
	Backlog Backlog
	// ScrubsPerDay and BytesPerSecond are what the scheduler gets done.
	ScrubsPerDay, BytesPerSecond float64
	// Running is the mean number of scrubs that run at a time.
	Running float64
}

// Spread is a mean over the seeds, with its standard deviation.
type Spread struct{ Mean, SD float64 }

// First is the first PG to become late after now.
type First struct {
	// Seeds counts the simulations in which one does.
	Seeds int
	// At and PG are of the median simulation among those.
	At ceph.Stamp
	PG ceph.PGID
}

// Backlog is how long it takes until no PG is late any more.
type Backlog struct {
	// Seeds counts the simulations in which nobody is late at the end.
	Seeds int
	// Clear is the median, over those, of the last instant at which a PG was
	// late; NoStamp where none ever was.
	Clear ceph.Stamp
	// By is the instant after which nobody is late in nine of ten simulations;
	// NoStamp where there is none before the end, or none ever was late.
	By ceph.Stamp
}

// OSDUse is how much of an OSD's scrub slots is taken, as means over the seeds.
type OSDUse struct {
	ID int32
	// Slots is osd_max_scrubs. Before 19 primary and replica share them, later
	// each role has as many.
	Slots int
	// Busy is the share of slot time that is taken while the window is open;
	// above 1 where scrubs run on outside of it.
	Busy float64
	// Waited is the share of time in which the OSD had a PG due and slots of
	// its own, and waited for another OSD's.
	Waited float64
}

// Simulate runs the scheduler. The horizons must ascend and be above zero.
func Simulate(in *Input, run Run) (*Forecast, error) {
	if err := run.validate(); err != nil {
		return nil, err
	}
	m, err := newModel(in, run)
	if err != nil {
		return nil, err
	}
	c := newCollect(m, run)
	s := newSim(m)
	for k := range run.Seeds {
		s.reset(run.Seed + uint64(k))
		s.run(c)
		c.endSeed(s)
		if run.Progress != nil {
			run.Progress(k + 1)
		}
	}
	return c.forecast(in, s), nil
}

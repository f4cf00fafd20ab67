package collector

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/ceph-risk/ceph_risk_exporter/internal/osdperf"
)

// daemonSnapshot is what the polls so far have learned of this host's OSDs.
type daemonSnapshot struct {
	table      *daemonTable
	hostname   string
	histograms bool
	osds       []daemonView
	host       map[hostKey]osdperf.Account
}

// daemonView is a copy of what is known of one OSD.
type daemonView struct {
	name   string
	up     bool
	ledger osdperf.Ledger

	// What follows is of the last poll, and means nothing unless up.
	version  osdperf.Version
	counters *osdperf.Counters
	scrub    osdperf.ScrubReservations
	recovery osdperf.RecoveryReservations
	options  map[string]string
	disks    []osdDisk
}

func (p *daemonPoller) snapshot() *daemonSnapshot {
	s := &daemonSnapshot{table: p.table, hostname: p.hostname, histograms: p.histograms, host: map[hostKey]osdperf.Account{}}
	for _, osd := range p.sorted() {
		s.osds = append(s.osds, daemonView{
			name: osd.name, up: osd.up, ledger: osd.ledger,
			version: osd.version, counters: osd.counters, scrub: osd.scrub, recovery: osd.recovery,
			options: osd.options, disks: osd.disks,
		})
		// A class has its histograms from the first look at it.
		if osd.up && p.host[hostKey{osd.class(), osdperf.None}] == nil {
			p.openHost(osd.class())
		}
	}
	for key, account := range p.host {
		s.host[key] = *account
	}
	return s
}

// Emit implements Snapshot.
func (s *daemonSnapshot) Emit(e *Emitter) {
	t := s.table
	for _, key := range slices.SortedFunc(maps.Keys(s.host), hostKey.compare) {
		account := s.host[key]
		for op := range osdperf.NumOps {
			e.EmitHistogram(t.hostLatency, latencyHistogram(&account, op), s.hostname, key.class, op.String(), key.activity.String())
		}
	}
	for i := range s.osds {
		osd := &s.osds[i]
		e.EmitBool(t.up, osd.up, osd.name)
		if osd.ledger.Intervals == [osdperf.NumOutcomes]uint64{} {
			continue // never read: nothing is known, not even zeros
		}
		s.emitLedger(e, osd)
		if !osd.up {
			continue
		}
		s.emitNow(e, osd)
		s.emitScrubs(e, osd.name, osdperf.ScrubsOf(osd.counters))
		s.emitSettings(e, osd)
	}
	s.emitOptions(e)
}

// emitOptions counts the host's OSDs by what they run with: a Prometheus of a
// thousand OSDs need not, from a series for each of their options.
func (s *daemonSnapshot) emitOptions(e *Emitter) {
	type setting struct{ option, value string }
	osds := map[setting]int{}
	for i := range s.osds {
		osd := &s.osds[i]
		if !osd.up {
			continue
		}
		for _, name := range runningOptions() {
			if v, ok := optionValue(osd.options[name]); ok && !strings.HasPrefix(name, measuredOptions) {
				osds[setting{name, strconv.FormatFloat(v, 'f', -1, 64)}]++
			}
		}
	}
	for k, n := range osds {
		e.Emit(s.table.hostOption, float64(n), s.hostname, k.option, k.value)
	}
}

// emitLedger writes what this program itself has counted.
func (s *daemonSnapshot) emitLedger(e *Emitter, osd *daemonView) {
	t := s.table
	for a := range osdperf.NumActivities {
		account, activity := &osd.ledger.Accounts[a], a.String()
		for op := range osdperf.NumOps {
			e.EmitSummary(t.opLatency, account.Ops[op].Count, account.Ops[op].Seconds(), osd.name, op.String(), activity)
			if s.histograms {
				e.EmitHistogram(t.distribution, latencyHistogram(account, op), osd.name, op.String(), activity)
			}
		}
		e.EmitSummary(t.subopLatency, account.Subops.Count, account.Subops.Seconds(), osd.name, activity)
		e.Emit(t.activityTime, account.Time.Seconds(), osd.name, activity)
	}
	for _, reason := range []osdperf.Outcome{osdperf.First, osdperf.Gap, osdperf.Reset} {
		e.Emit(t.unattributedTime, float64(osd.ledger.Intervals[reason]), osd.name, reason.String())
		if reason != osdperf.First {
			e.Emit(t.unattributed, float64(osd.ledger.Unattributed[reason].Operations()), osd.name, reason.String())
		}
	}
}

// emitNow writes what the OSD is doing.
func (s *daemonSnapshot) emitNow(e *Emitter, osd *daemonView) {
	t := s.table
	if osd.ledger.Intervals[osdperf.Booked] > 0 {
		for a := range osdperf.NumActivities {
			e.EmitBool(t.activity, a == osd.ledger.Last, osd.name, a.String())
		}
	}
	e.Emit(t.scrubReservations, float64(osd.scrub.Local), osd.name, "primary")
	e.Emit(t.scrubReservations, float64(osd.scrub.Remote), osd.name, "replica")
	e.Emit(t.recoveryReservations, float64(osd.recovery.Recovery), osd.name)
	if c := osd.counters.Get("trackedop", "slow_ops_count"); c.OK() {
		e.Emit(t.slowOps, float64(c.N), osd.name)
	}
}

func (s *daemonSnapshot) emitScrubs(e *Emitter, daemon string, scrubs osdperf.Scrubs) {
	t := s.table
	for p, pool := range osdperf.PoolTypes() {
		number := func(row *Row, which osdperf.ScrubCounter, labels ...string) {
			if c := scrubs[p][which]; c.OK() {
				e.Emit(row, float64(c.N), append([]string{daemon, pool}, labels...)...)
			}
		}
		seconds := func(which osdperf.ScrubCounter, result string) {
			if c := scrubs[p][which]; c.OK() && c.Avg {
				e.Emit(t.scrubTime, float64(c.SumNS)/1e9, daemon, pool, result)
			}
		}
		number(t.scrubsStarted, osdperf.ScrubsStarted)
		number(t.scrubsFinished, osdperf.ScrubsSucceeded, "succeeded")
		number(t.scrubsFinished, osdperf.ScrubsFailed, "failed")
		seconds(osdperf.ScrubSecondsSucceeded, "succeeded")
		seconds(osdperf.ScrubSecondsFailed, "failed")
		number(t.reservationAttempts, osdperf.ScrubReservationsCompleted, "completed")
		number(t.reservationAttempts, osdperf.ScrubReservationsFailed, "failed")
		number(t.reservationAttempts, osdperf.ScrubReservationsAborted, "aborted")
		number(t.reservationAttempts, osdperf.ScrubReservationsSkipped, "skipped")
		number(t.preemptions, osdperf.ScrubPreemptions)
		number(t.chunks, osdperf.ScrubChunksSelected, "selected")
		number(t.chunks, osdperf.ScrubChunksBusy, "busy")
		number(t.writesBlocked, osdperf.ScrubWritesBlocked)
		number(t.lockedObjects, osdperf.ScrubLockedObject)
	}
}

// emitSettings writes what sets the cost of background work.
func (s *daemonSnapshot) emitSettings(e *Emitter, osd *daemonView) {
	t := s.table
	e.Emit(t.runningInfo, 1, osd.name, osd.version.Version, osd.version.Release, osd.options[opQueueOption], osd.options[mclockProfileOption])
	for _, name := range runningOptions() {
		if text, there := osd.options[name]; there {
			if v, ok := optionValue(text); ok {
				e.Emit(t.runningOption, v, osd.name, name)
			}
		}
	}
	for _, d := range osd.disks {
		labels := []string{osd.name, d.role, d.name}
		e.Emit(t.diskInfo, 1, append(labels, d.queue.Scheduler)...)
		switch d.queue.WriteCache {
		case "write back":
			e.EmitBool(t.diskWriteCache, true, labels...)
		case "write through":
			e.EmitBool(t.diskWriteCache, false, labels...)
		}
		if d.queue.Rotational != nil {
			e.EmitBool(t.diskRotational, *d.queue.Rotational, labels...)
		}
		if d.queue.Requests != nil {
			e.Emit(t.diskRequests, float64(*d.queue.Requests), labels...)
		}
		if d.queue.Depth != nil {
			e.Emit(t.diskQueueDepth, float64(*d.queue.Depth), labels...)
		}
	}
}

// latencyHistogram renders an account. The count is the buckets' own; the sum
// comes from the counter beside the histogram, which may be an operation ahead
// of it or behind until the OSD is idle.
func latencyHistogram(account *osdperf.Account, op osdperf.Op) *dto.Histogram {
	below, count := account.Steps[op].Cumulative()
	h := &dto.Histogram{SampleCount: proto.Uint64(count), SampleSum: proto.Float64(account.Ops[op].Seconds())}
	for i, edge := range osdperf.Edges() {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: proto.Float64(edge), CumulativeCount: proto.Uint64(below[i])})
	}
	return h
}

func (k hostKey) compare(l hostKey) int {
	return cmp.Or(cmp.Compare(k.class, l.class), cmp.Compare(k.activity, l.activity))
}

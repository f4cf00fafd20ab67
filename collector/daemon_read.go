package collector

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
	"github.com/ceph-risk/ceph_risk_exporter/internal/osdperf"
	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

// daemonReading is what one poll read of one OSD.
type daemonReading struct {
	osdperf.Reading
	version  osdperf.Version
	counters *osdperf.Counters
	scrub    osdperf.ScrubReservations
	recovery osdperf.RecoveryReservations
	options  map[string]string // nil where they were not due
}

// read asks one OSD everything. It only reads known (nil for a new OSD), which
// no one changes meanwhile. The first question that fails is the last, so a
// socket that hangs costs one timeout.
func (p *daemonPoller) read(ctx context.Context, s asok.Socket, known *daemonOSD, now time.Time) (*daemonReading, error) {
	r := &daemonReading{}
	var err error
	if r.Process, err = processOf(s.Path); err != nil {
		return nil, err
	}
	if known != nil && known.process == r.Process {
		r.version = known.version
	} else if r.version, err = ask(ctx, p.client, s, asok.Version, osdperf.DecodeVersion); err != nil {
		return nil, err
	}
	if r.scrub, err = ask(ctx, p.client, s, asok.DumpScrubReservations, osdperf.DecodeScrubReservations); err != nil {
		return nil, err
	}
	if r.recovery, err = ask(ctx, p.client, s, asok.DumpRecoveryReservations, osdperf.DecodeRecoveryReservations); err != nil {
		return nil, err
	}
	if r.counters, err = p.readCounters(ctx, s, r.version); err != nil {
		return nil, err
	}
	steps, err := ask(ctx, p.client, s, asok.PerfHistogramDump, osdperf.DecodeHistograms)
	if err != nil {
		return nil, err
	}
	r.At = p.deps.Now()
	var ok bool
	if r.Total, ok = osdperf.GrowthOf(r.counters, steps); !ok {
		return nil, fmt.Errorf("admin socket %s: latency counters are missing", s.Path)
	}
	r.Work = osdperf.WorkOf(r.counters)
	r.Held = osdperf.Deleting(r.counters).Add(r.scrub, r.recovery)
	if known == nil || known.options == nil || known.process != r.Process || !now.Before(known.settingsAt) {
		if r.options, err = ask(ctx, p.client, s, asok.ConfigShow, osdperf.DecodeOptions); err != nil {
			return nil, err
		}
		r.options = keepOptions(r.options)
	}
	return r, nil
}

// readCounters asks for the counters by the command that has them all: `perf
// dump` leaves out those with labels, which begin to matter with 19.
func (p *daemonPoller) readCounters(ctx context.Context, s asok.Socket, v osdperf.Version) (*osdperf.Counters, error) {
	sections := []string{"osd", "osd_scrub_*", "recoverystate_perf", "trackedop"}
	if v.Major < 19 {
		return ask(ctx, p.client, s, asok.PerfDump, func(answer []byte) (*osdperf.Counters, error) {
			return osdperf.DecodePerfDump(answer, sections...)
		})
	}
	return ask(ctx, p.client, s, asok.CounterDump, func(answer []byte) (*osdperf.Counters, error) {
		return osdperf.DecodeCounterDump(answer, sections...)
	})
}

// ask sends a command and decodes the answer.
func ask[T any](ctx context.Context, c *asok.Client, s asok.Socket, cmd asok.Command, decode func([]byte) (T, error)) (T, error) {
	var none T
	answer, err := c.Ask(ctx, s.Path, cmd)
	if err != nil {
		return none, err
	}
	v, err := decode(answer)
	if err != nil {
		polltrace.Begin(ctx, s.Path, cmd.String()+": decode").End("", err)
		return none, fmt.Errorf("admin socket %s: %w", s.Path, err)
	}
	return v, nil
}

// processOf tells one run of a daemon from the next by its socket, which each
// makes anew.
func processOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("admin socket: %w", err)
	}
	var inode uint64
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = stat.Ino
	}
	return fmt.Sprintf("%s %d %d", path, inode, info.ModTime().UnixNano()), nil
}

// startSampling begins to look at reservations between polls.
func (p *daemonPoller) startSampling() {
	ctx, cancel := context.WithCancel(context.Background())
	p.sampling.cancel, p.sampling.done = cancel, make(chan struct{})
	go func() {
		defer close(p.sampling.done)
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := Guard(func() error { p.sample(ctx); return nil }); err != nil {
				p.deps.Log.Error("sampling reservations", "err", err)
			}
		}
	}()
}

// Close implements Closer.
func (p *daemonPoller) Close() error {
	if p.sampling.cancel != nil {
		p.sampling.cancel()
		<-p.sampling.done
	}
	return nil
}

// watch tells the sampler whom to look at: OSDs that answer, of releases whose
// counters do not show what a replica does for a scrub.
func (p *daemonPoller) watch() {
	var watched []watchedOSD
	for _, osd := range p.osds {
		if osd.up && osd.version.Major < countersShowScrubs {
			watched = append(watched, watchedOSD{osd, osd.socket})
		}
	}
	p.mu.Lock()
	p.watched = watched
	p.mu.Unlock()
}

// sample looks once at the scrub reservations of the OSDs watched. One that
// fails is left alone until the next poll.
func (p *daemonPoller) sample(ctx context.Context) {
	p.mu.Lock()
	var osds []*daemonOSD
	var sockets []asok.Socket
	for _, w := range p.watched {
		w.osd.mu.Lock()
		if !w.osd.deaf {
			osds, sockets = append(osds, w.osd), append(sockets, w.socket)
		}
		w.osd.mu.Unlock()
	}
	p.mu.Unlock()
	client := &asok.Client{Timeout: sampleEvery, MaxAnswer: 64 << 10}
	client.ForEach(ctx, sockets, func(ctx context.Context, i int, s asok.Socket) error {
		held, err := ask(ctx, client, s, asok.DumpScrubReservations, osdperf.DecodeScrubReservations)
		osd := osds[i]
		osd.mu.Lock()
		defer osd.mu.Unlock()
		osd.deaf = err != nil
		osd.seen = osd.seen.Add(held, osdperf.RecoveryReservations{})
		return err
	})
}

package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/msa"
	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

const (
	// msaGrace is how long a poll waits for slow arrays: about ten commands,
	// each of which takes a management controller a second or more. An array
	// that is slower is picked up by a later poll and delays no other.
	msaGrace = 45 * time.Second
	// msaLimit ends the poll of one array.
	msaLimit = 3 * time.Minute
	// msaLogout is how long logging out may take at the end.
	msaLogout = 3 * time.Second
)

func msaSpec() Spec {
	table := newMSATable()
	return Spec{
		Name:     "msa",
		Help:     "HPE MSA arrays: health of all parts, jobs, results of scrubs; needs --msa.config",
		Interval: time.Minute,
		Timeout:  msaGrace + 10*time.Second,
		Rows:     table.Rows,
		Configure: func(flags FlagSet) Constructor {
			path := flags.Flag("msa.config", "YAML file with the HPE MSA arrays of --collector.msa.").PlaceHolder("FILE").String()
			return func(d Deps) (Poller, error) {
				if *path == "" {
					return nil, errors.New("--collector.msa needs --msa.config=FILE")
				}
				config, err := msa.LoadConfig(*path)
				if err != nil {
					return nil, err
				}
				return newMSAPoller(table, config, d), nil
			}
		},
	}
}

// msaPoller polls all arrays, each on its own.
type msaPoller struct {
	table    *msaTable
	log      *slog.Logger
	interval time.Duration
	grace    time.Duration
	arrays   []*msaArray
	took     time.Duration

	ctx    context.Context // of the arrays' polls, which may outlive one of ours
	cancel context.CancelFunc
}

// msaArray is one array and what its last poll said.
type msaArray struct {
	*msa.Array
	running bool
	begun   time.Time
	done    chan *msa.Report // of the poll that runs

	report      *msa.Report // nil: none yet
	at          time.Time   // of the report's poll
	lastSuccess time.Time
	said        map[string]bool // what fails, for the log
}

func newMSAPoller(table *msaTable, config *msa.Config, d Deps) *msaPoller {
	p := &msaPoller{table: table, log: d.Log, interval: d.Interval, grace: msaGrace}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for _, c := range config.Arrays() {
		p.arrays = append(p.arrays, &msaArray{Array: msa.NewArray(c), done: make(chan *msa.Report, 1), said: map[string]bool{}})
	}
	return p
}

// Poll asks all arrays at once. It fails when none of them answers; one that
// does not is a matter of cephrisk_msa_up.
func (p *msaPoller) Poll(ctx context.Context, now time.Time) (Snapshot, error) {
	begin := time.Now()
	defer func() { p.took = time.Since(begin) }()
	for _, a := range p.arrays {
		if !a.running {
			a.start(polltrace.Carry(p.ctx, ctx), now)
		}
	}
	grace := time.NewTimer(p.grace)
	defer grace.Stop()
	over := false
	s := &msaSnapshot{table: p.table}
	var errs []error
	for _, a := range p.arrays {
		a.await(ctx, grace.C, &over)
		p.tell(a)
		state := a.state(now, p.interval)
		s.arrays = append(s.arrays, state)
		if state.err != nil {
			errs = append(errs, fmt.Errorf("array %s: %w", a.Name(), state.err))
		}
	}
	if len(errs) == len(p.arrays) {
		return s, errors.Join(errs...)
	}
	return s, nil
}

// Pace keeps the configured interval: an array that hangs must not slow down
// the others.
func (p *msaPoller) Pace() (wait, interval time.Duration) {
	return max(p.interval-p.took, 0), p.interval
}

// Close ends what runs and logs out.
func (p *msaPoller) Close() error {
	p.cancel()
	for _, a := range p.arrays {
		if a.running {
			<-a.done // soon, as its context has ended
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), msaLogout)
	defer cancel()
	var wg sync.WaitGroup
	for _, a := range p.arrays {
		wg.Go(func() { a.Array.Close(ctx) })
	}
	wg.Wait()
	return nil
}

func (a *msaArray) start(ctx context.Context, now time.Time) {
	a.running, a.begun = true, now
	go func() {
		var report *msa.Report
		err := Guard(func() error {
			limit, cancel := context.WithTimeout(ctx, msaLimit)
			defer cancel()
			report = a.Array.Poll(limit, now)
			return nil
		})
		if err != nil {
			report = &msa.Report{Err: err}
		}
		a.done <- report
	}()
}

// await takes the report, if it comes before the grace is over.
func (a *msaArray) await(ctx context.Context, grace <-chan time.Time, over *bool) {
	if !*over {
		select {
		case r := <-a.done:
			a.take(r)
			return
		case <-grace:
		case <-ctx.Done():
		}
		*over = true
	}
	select {
	case r := <-a.done:
		a.take(r)
	default:
	}
}

func (a *msaArray) take(r *msa.Report) {
	if a.report != nil && len(r.Controllers) == 0 { // it panicked: counters stay
		r.Events, r.Logins = a.report.Events, a.report.Logins
	}
	a.running, a.report, a.at = false, r, a.begun
	if r.Err == nil {
		a.lastSuccess = a.begun
	}
}

// msaState is what is emitted of one array.
type msaState struct {
	name        string
	report      *msa.Report // nil: nothing is known
	err         error
	lastSuccess time.Time
}

var (
	errMSAFirst = errors.New("its first poll has not ended yet")
	errMSASlow  = errors.New("none of its polls has ended for three intervals")
)

// state drops a report that is too old, as the wrapper does with snapshots.
func (a *msaArray) state(now time.Time, interval time.Duration) msaState {
	s := msaState{name: a.Name(), report: a.report, lastSuccess: a.lastSuccess}
	switch {
	case a.report == nil:
		s.err = errMSAFirst
	case now.Sub(a.at) > expireAfter*interval:
		s.err = errMSASlow
		s.report = &msa.Report{Err: s.err, Events: a.report.Events, Logins: a.report.Logins}
	default:
		s.err = a.report.Err
	}
	return s
}

// tell logs what changed since the report before: a fault once, and its end.
func (p *msaPoller) tell(a *msaArray) {
	if a.report == nil {
		return
	}
	log := p.log.With("array", a.Name())
	a.note(log, "array", a.report.Err)
	for _, c := range a.report.Controllers {
		a.note(log, "controller "+c.Address, c.Err)
	}
	for _, c := range a.report.Commands {
		a.note(log, "command "+strconv.Quote(c.Command), c.Err)
	}
}

func (a *msaArray) note(log *slog.Logger, what string, err error) {
	fails := err != nil
	if fails == a.said[what] {
		return
	}
	a.said[what] = fails
	if fails {
		log.Warn("msa: "+what+" fails", "err", err)
		return
	}
	log.Info("msa: " + what + " works again")
}

package collector

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

// fastStates are what moves: asked for often, and 17 bytes when nothing does.
// `pg ls` matches any of them.
var fastStates = []string{"scrubbing", "recovering", "backfilling", "snaptrim", "inconsistent"}

// pgConfig is the pg collector's flags.
type pgConfig struct {
	fastInterval time.Duration
	dumpTimeout  time.Duration
	stuckAfter   time.Duration
	seriesLimit  int
	seriesTop    int
	worst        int
	timestamps   bool
}

func pgSpec() Spec {
	return Spec{
		Name:      "pg",
		Help:      "scrub age and lateness of every PG by Ceph's own rule, running and completed scrubs, flags, options",
		Roles:     RoleCluster,
		Interval:  time.Minute,
		Timeout:   15 * time.Minute, // a backstop: each command has a limit of its own
		NeedsCeph: true,
		Rows:      func() []*Row { return newPGTable().Rows() },
		Configure: func(flags FlagSet) Constructor {
			c := &pgConfig{}
			flags.Flag("collector.pg.fast-interval", "Interval for asking what is being scrubbed and recovered; the full dump comes every --collector.pg.interval.").Default("15s").DurationVar(&c.fastInterval)
			flags.Flag("collector.pg.dump-timeout", "Time after which a full dump is given up.").Default("2m").DurationVar(&c.dumpTimeout)
			flags.Flag("collector.pg.stuck-after", "A scrub without progress for that long counts as stuck.").Default("3h").DurationVar(&c.stuckAfter)
			flags.Flag("collector.pg.series-limit", "Number of PGs up to which each has series of its own; 0: none has.").Default("50000").IntVar(&c.seriesLimit)
			flags.Flag("collector.pg.series-top", "Above the limit, PGs per pool with the highest age that keep their series.").Default("500").IntVar(&c.seriesTop)
			flags.Flag("collector.pg.worst", "PGs per pool and level with the oldest scrubs that are named with their age and what blocks them, whatever the limit. Alerts and dashboards show five.").Default("5").IntVar(&c.worst)
			flags.Flag("collector.pg.timestamps", "Add the instants of each PG's last scrubs.").BoolVar(&c.timestamps)
			return func(d Deps) (Poller, error) { return newPGPoller(*c, d) }
		},
	}
}

// pgPoller polls at two speeds: what moves often and small, everything rarely.
// Its fields belong to the polling goroutine.
type pgPoller struct {
	cfg     pgConfig
	deps    Deps
	client  *ceph.Client
	table   *pgTable
	tracker *scrub.Tracker
	limit   scrub.SeriesLimit
	options *pgOptions
	counts  *pgCounts

	feeding *pgFeeding

	fast   *pgFast
	full   *pgFull
	health *pgHealth

	interval  time.Duration // between full dumps, in force
	nextFull  time.Time
	fullFails bool // the last attempt failed: try again once the mgr answers
}

// pgFast is the answer to the frequent question.
type pgFast struct {
	at    time.Time
	table *ceph.PGTable
}

// pgFull is the last full dump and what it was judged with.
type pgFull struct {
	at      time.Time
	table   *ceph.PGTable
	osds    *ceph.OSDMap
	mgr     *scrub.Rule // nil: the mgr's options are not known
	summary map[int32]*scrub.PoolSummary
	late    scrub.Late
	objects map[int32]int64 // by OSD
	// objectsUnknown are the OSDs of which they are not known.
	objectsUnknown map[int32]bool

	gates   bool    // OSDs' options are known: reasons that need them can be told
	chosen  []int32 // PGs with series of their own
	dropped int
	bulk    *Bulk // the per-PG rows once they have been emitted
}

// pgHealth is Ceph's own word.
type pgHealth struct {
	at     time.Time
	health *ceph.Health
}

func newPGPoller(cfg pgConfig, d Deps) (*pgPoller, error) {
	var problems []error
	for name, v := range map[string]time.Duration{"fast-interval": cfg.fastInterval, "dump-timeout": cfg.dumpTimeout, "stuck-after": cfg.stuckAfter} {
		if v < time.Second {
			problems = append(problems, fmt.Errorf("--collector.pg.%s: %s is below one second", name, v))
		}
	}
	if cfg.seriesLimit < 0 || cfg.seriesTop < 0 || cfg.worst < 0 {
		problems = append(problems, errors.New("--collector.pg.series-limit, --collector.pg.series-top, --collector.pg.worst: negative"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	client := &ceph.Client{Commander: d.Ceph}
	d.PGs.expect()
	return &pgPoller{
		cfg: cfg, deps: d, client: client, table: newPGTable(),
		tracker:  scrub.NewTracker(),
		limit:    scrub.SeriesLimit{Limit: cfg.seriesLimit, Top: cfg.seriesTop},
		options:  newPGOptions(client, d.Now),
		counts:   newPGCounts(),
		interval: d.Interval,
	}, nil
}

// Pace implements Paced. Snapshots are measured by the interval of full dumps.
func (p *pgPoller) Pace() (wait, interval time.Duration) {
	return min(p.cfg.fastInterval, p.interval), p.interval
}

// errNotReady: the mgr has been restarted and has not heard from all OSDs yet.
var errNotReady = errors.New("mgr has no reports of the OSDs yet (pg_ready is false)")

// Poll implements Poller. The big dump is asked for only where the small
// question has just been answered: a mgr that hangs is not given more to do. It
// needs the monitors, too; what moves is read without them.
func (p *pgPoller) Poll(ctx context.Context, now time.Time) (Snapshot, error) {
	healthErr := p.pollHealth(ctx)
	err := p.pollFast(ctx)
	switch {
	case err != nil:
		p.fullFails = true
	case unanswered(healthErr):
		p.fullFails = true
		p.deps.PGs.fail(healthErr)
	case p.fullFails || !now.Before(p.nextFull):
		err = p.pollFull(ctx)
		p.fullFails = err != nil
	}
	if err != nil {
		p.deps.PGs.fail(err)
	}
	s := p.snapshot(p.deps.Now())
	if s == nil {
		return nil, errors.Join(err, healthErr)
	}
	return s, errors.Join(err, healthErr)
}

// unanswered tells whether nobody answered a command.
func unanswered(err error) bool {
	var e interface{ Unanswered() bool }
	return errors.As(err, &e) && e.Unanswered()
}

func (p *pgPoller) pollHealth(ctx context.Context) error {
	h, err := p.client.HealthDetail(ctx)
	if err != nil {
		return err
	}
	p.health = &pgHealth{at: p.deps.Now(), health: h}
	return nil
}

func (p *pgPoller) pollFast(ctx context.Context) error {
	t, err := p.client.PGLs(ctx, fastStates...)
	if err != nil {
		return err
	}
	if !t.Ready {
		return fmt.Errorf("mgr pg ls: %w", errNotReady)
	}
	at := p.deps.Now()
	p.tracker.Running(t, at)
	p.fast = &pgFast{at: at, table: t}
	return nil
}

// pollFull takes the map and the options first, so that the rule is the one
// that held when the dump was made, then the dump itself.
func (p *pgPoller) pollFull(ctx context.Context) error {
	begin := time.Now()
	osds, err := p.client.OSDDump(ctx)
	if err != nil {
		p.nextFull = p.deps.Now().Add(p.deps.Interval)
		return err
	}
	optionsErr := p.options.poll(ctx, osds)
	t, err := p.client.PGDump(ceph.WithCallLimit(ctx, p.cfg.dumpTimeout))
	at := p.deps.Now()
	if err == nil && !t.Ready {
		err = fmt.Errorf("mgr pg dump: %w", errNotReady)
	}
	if err != nil {
		// The mgr may still be working on the dump that was given up. Never
		// send a second one while a first is running.
		if took := time.Since(begin); took >= p.cfg.dumpTimeout {
			p.nextFull = at.Add(took)
		}
		return errors.Join(err, optionsErr)
	}
	p.judge(t, osds, at)
	p.interval = max(p.deps.Interval, pollShare*time.Since(begin))
	p.nextFull = at.Add(p.interval - time.Since(begin))
	return optionsErr
}

// judge applies the rules to a dump and counts what has completed.
func (p *pgPoller) judge(t *ceph.PGTable, osds *ceph.OSDMap, at time.Time) {
	f := &pgFull{at: at, table: t, osds: osds}
	rules := p.options.rules(scrub.PoolsFrom(osds))
	f.mgr = rules.Mgr
	if rules.Mgr == nil {
		rules.Mgr = scrub.NewRule(scrub.Intervals{}, nil) // judges nobody
	}
	f.summary = scrub.Summarise(t, rules, at)
	f.late = scrub.FindLate(t, rules.Mgr, scrub.NewGates(osds, p.options.gates()), at, p.cfg.worst)
	f.objects, f.objectsUnknown = t.ObjectsByOSD()
	f.gates = len(p.options.osd) > 0
	f.chosen, f.dropped = p.limit.Select(t)
	p.counts.exist(f.summary)
	done := p.tracker.Full(t, at)
	for _, c := range done {
		p.counts.add(c)
	}
	p.full = f
	p.feed(done)
}

// snapshot puts together what is young enough; nil when nothing is.
func (p *pgPoller) snapshot(now time.Time) Snapshot {
	s := &pgSnapshot{table: p.table, timestamps: p.cfg.timestamps}
	young := func(at time.Time, interval time.Duration) bool { return now.Sub(at) <= expireAfter*interval }
	if p.full != nil && young(p.full.at, p.interval) {
		s.full = p.full
		s.options = p.options.view(p.full.osds, now, expireAfter*p.interval)
		s.counts = p.counts
	}
	if p.fast != nil && young(p.fast.at, p.cfg.fastInterval) {
		s.fast = p.fast
		s.progress = p.tracker.Progress(now, p.cfg.stuckAfter)
	}
	if p.health != nil && young(p.health.at, p.cfg.fastInterval) {
		s.health = p.health.health
	}
	if s.full == nil && s.fast == nil && s.health == nil {
		return nil
	}
	return s
}

func poolLabel(id int32) string { return strconv.FormatInt(int64(id), 10) }

func osdLabel(id int32) string { return "osd." + strconv.FormatInt(int64(id), 10) }

package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ceph-risk/ceph_risk_exporter/internal/opslog"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

const (
	rgwStateName    = "rgw"
	rgwStateVersion = 1
	// rgwSettle is how long a completed multipart upload waits for records of
	// its parts from other logs: gateways write theirs at once, shippers send
	// theirs in batches.
	rgwSettle        = 10 * time.Second
	rgwSettleStreams = 2 * time.Minute
	// rgwFirst bounds how long the first poll waits for the logs to be read.
	rgwFirst = 5 * time.Second
)

// rgwFlags are the collector's flags.
type rgwFlags struct {
	logs, sockets, listen []string
	webConfig             string
	abandoned, forget     model.Duration
	view                  string
	buckets, users        bool
	labels                int
}

func (f *rgwFlags) define(flags FlagSet) {
	flags.Flag("rgw.ops-log", "Ops log files of RADOS gateways to follow (glob, repeatable).").
		Default("/var/log/ceph/ops-log-*.log", "/var/log/ceph/*/ops-log-*.log").PlaceHolder("GLOB").StringsVar(&f.logs)
	flags.Flag("rgw.ops-log-socket", "Ops log sockets of RADOS gateways to read (glob, repeatable). A gateway feeds one reader only, and what was read and not saved is lost when the exporter is killed: prefer files.").
		PlaceHolder("GLOB").StringsVar(&f.sockets)
	flags.Flag("rgw.listen-address", "Take ops log records from log shippers: tcp://HOST:PORT for a stream of JSON, http://HOST:PORT for POSTs (repeatable).").
		PlaceHolder("URL").StringsVar(&f.listen)
	flags.Flag("rgw.web-config-file", "TLS and authentication of --rgw.listen-address, in the format of --web.config.file.").
		PlaceHolder("FILE").StringVar(&f.webConfig)
	flags.Flag("rgw.abandoned-after", "Age from which an open multipart upload counts as abandoned.").Default("7d").SetValue(&f.abandoned)
	flags.Flag("rgw.forget-after", "Age at which an open multipart upload is no longer tracked. Longer than the lifecycle rules that abort such uploads, which the log does not show.").Default("30d").SetValue(&f.forget)
	flags.Flag("rgw.view", "Whether the logs seen here are those of all gateways that clients reach: complete, partial, or auto, which decides by what it sees.").
		Default("auto").EnumVar(&f.view, "auto", "complete", "partial")
	flags.Flag("rgw.bucket-labels", "Count uploads by bucket, too.").BoolVar(&f.buckets)
	flags.Flag("rgw.user-labels", "Count uploads by user, too.").BoolVar(&f.users)
	flags.Flag("rgw.label-limit", "Buckets, and users, that get series of their own; the rest is \"other\".").Default("100").IntVar(&f.labels)
}

func rgwSpec() Spec {
	table := newRGWTable()
	return Spec{
		Name:     "rgw",
		Help:     "S3 uploads from the RGW ops log: completions, each once, bytes, time, open and abandoned multipart uploads",
		Roles:    RoleHost,
		Interval: 15 * time.Second,
		Timeout:  15 * time.Second,
		Rows:     table.Rows,
		Configure: func(flags FlagSet) Constructor {
			f := &rgwFlags{}
			f.define(flags)
			return func(d Deps) (Poller, error) { return newRGWPoller(table, f, d) }
		},
	}
}

// rgwPoller runs the engine that reads the logs, and hands out what its last
// checkpoint holds.
type rgwPoller struct {
	table     *rgwTable
	deps      Deps
	config    opslog.Config
	sockets   []string
	listeners []rgwListener
	asok      rgwSockets

	engine *opslog.Engine // nil: not running
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	done   chan error // what ended the engine
}

func newRGWPoller(table *rgwTable, f *rgwFlags, d Deps) (*rgwPoller, error) {
	p := &rgwPoller{table: table, deps: d, sockets: f.sockets, asok: newRGWSockets(d)}
	for _, l := range f.listen {
		listener, err := newRGWListener(l, f.webConfig)
		if err != nil {
			return nil, err
		}
		p.listeners = append(p.listeners, listener)
	}
	if f.webConfig != "" && len(f.listen) == 0 {
		return nil, errors.New("--rgw.web-config-file needs --rgw.listen-address")
	}
	if f.labels < 1 {
		return nil, fmt.Errorf("--rgw.label-limit=%d: want at least 1", f.labels)
	}
	if f.forget < f.abandoned {
		return nil, fmt.Errorf("--rgw.forget-after=%v is less than --rgw.abandoned-after=%v", f.forget, f.abandoned)
	}
	p.config = opslog.Config{
		Globs: f.logs,
		Counter: opslog.CounterConfig{
			Limits:         opslog.Limits{Labels: f.labels},
			Settle:         rgwSettle,
			AbandonedAfter: time.Duration(f.abandoned),
			ForgetAfter:    time.Duration(f.forget),
			Buckets:        f.buckets,
			Users:          f.users,
		},
		View:  map[string]opslog.View{"complete": opslog.CompleteView, "partial": opslog.PartialView}[f.view],
		Store: &rgwStore{dir: d.State, log: d.Log},
		Log:   d.Log,
		Now:   d.Now,
	}
	if p.streams() {
		p.config.Counter.Settle = rgwSettleStreams
	}
	return p, nil
}

func (p *rgwPoller) streams() bool { return len(p.sockets)+len(p.listeners) > 0 }

// Poll implements Poller.
func (p *rgwPoller) Poll(ctx context.Context, _ time.Time) (Snapshot, error) {
	if err := p.ensure(ctx); err != nil {
		return nil, err
	}
	books, readErr, saveErr := p.engine.Snapshot()
	if saveErr != nil {
		// What was published before stays until it is too old: a restart would
		// go back to it, so nothing newer may be shown.
		return nil, fmt.Errorf("save the books of uploads: %w", saveErr)
	}
	if books == nil {
		return nil, errors.New("reading the ops logs that were there at the first start")
	}
	return &rgwSnapshot{table: p.table, books: books, gateways: p.asok.ask(ctx), streams: p.streams()}, readErr
}

// ensure starts the engine, and starts it anew from its last checkpoint when it
// has ended.
func (p *rgwPoller) ensure(ctx context.Context) error {
	if p.engine != nil {
		select {
		case err := <-p.done:
			p.stop()
			return fmt.Errorf("ops log: %w", err)
		default:
			return nil
		}
	}
	engine, err := opslog.NewEngine(p.config)
	if err != nil {
		return err
	}
	first := time.Now()
	for !engine.Step() && time.Since(first) < rgwFirst && ctx.Err() == nil {
	}
	_ = engine.Save() // Snapshot tells
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.engine, p.done = engine, make(chan error, 1)
	p.wg.Go(func() { p.done <- engine.Run(p.ctx) })
	if len(p.sockets) > 0 {
		p.wg.Go(func() { engine.ReadSockets(p.ctx, p.sockets, p.deps.Log) })
	}
	for _, l := range p.listeners {
		socket, err := net.Listen("tcp", l.address)
		if err != nil {
			p.stop()
			return fmt.Errorf("--rgw.listen-address: %w", err)
		}
		p.wg.Go(func() {
			if err := Guard(func() error { return l.serve(p.ctx, socket, engine, p.deps.Log) }); err != nil {
				p.deps.Log.Error("ops log listener ended", "address", l.address, "err", err)
			}
		})
	}
	return nil
}

func (p *rgwPoller) stop() {
	if p.engine == nil {
		return
	}
	p.cancel()
	p.wg.Wait()
	p.engine = nil
}

// Close implements Closer. The engine saves its books a last time.
func (p *rgwPoller) Close() error {
	p.stop()
	return nil
}

// rgwStore keeps the checkpoint in the state directory.
type rgwStore struct {
	dir  *state.Dir
	log  *slog.Logger
	said bool
}

// Load implements opslog.Store.
func (s *rgwStore) Load() ([]byte, error) { return s.dir.LoadBytes(rgwStateName, rgwStateVersion) }

// Save implements opslog.Store. Without a state directory nothing is durable,
// which is said once: all counts begin anew with the process then.
func (s *rgwStore) Save(data []byte) error {
	err := s.dir.SaveBytes(rgwStateName, rgwStateVersion, data)
	if !errors.Is(err, state.ErrDisabled) {
		return err
	}
	if !s.said {
		s.said = true
		s.log.Warn("no --state-dir: after a restart uploads are counted anew from the beginning of the logs")
	}
	return nil
}

// parseListen reads tcp://HOST:PORT or http://HOST:PORT.
func parseListen(s string) (scheme, address string, err error) {
	u, err := url.Parse(s)
	if err != nil || u.Port() == "" || u.Path != "" || u.Scheme != "tcp" && u.Scheme != "http" {
		return "", "", fmt.Errorf("--rgw.listen-address=%s: want tcp://HOST:PORT or http://HOST:PORT", s)
	}
	return u.Scheme, u.Host, nil
}

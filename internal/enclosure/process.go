package enclosure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

// Pauses and limits of reading one SES process.
const (
	maxTries       = 3
	retryPause     = 100 * time.Millisecond
	structureEvery = time.Hour       // pages 01, 05, 07 and 0A
	failedEvery    = 5 * time.Minute // those of them that could not be read
)

// PageState is how the last attempt to read a page ended.
type PageState struct {
	Page byte
	OK   bool
}

// process reads one SES process: the status page on every poll, the others
// rarely. It belongs to one goroutine at a time.
type process struct {
	name      string // of its device, for traces
	transport Transport
	pause     func(ctx context.Context, d time.Duration) error

	report    Report
	structure time.Time      // when the structure pages are due
	retry     time.Time      // when the failed ones among them are
	failed    map[byte]error // structure pages that could not be read
	absent    map[byte]bool  // pages that the shelf does not have
	short     bool           // the last status page ended early
	bays      []byte         // first status byte of every slot, to see disks come and go
	states    map[byte]bool  // last attempt per page
}

func newProcess(t Transport, pause func(context.Context, time.Duration) error) *process {
	return &process{
		transport: t, pause: pause,
		failed: map[byte]error{}, absent: map[byte]bool{}, states: map[byte]bool{},
	}
}

// due says whether the structure pages should be read again.
func (p *process) due(now time.Time) bool {
	return p.report.Config == nil || !now.Before(p.structure)
}

// read asks for the status page, and for the structure pages where they were
// never read, where refresh says so, or where the shelf has changed. The report
// it returns is a copy; on error it is nil.
func (p *process) read(ctx context.Context, now time.Time, refresh bool) (*Report, error) {
	if p.report.Config == nil || refresh {
		err := p.readStructure(ctx, now)
		if p.report.Config == nil {
			return nil, err
		}
		if err != nil { // what was read an hour ago will do until it can be read
			p.structure = now.Add(failedEvery)
		}
		refresh = err == nil
	} else if len(p.failed) > 0 && !now.Before(p.retry) {
		p.retryFailed(ctx, now)
	}
	reply, err := p.page(ctx, PageStatus)
	if err != nil {
		return nil, err
	}
	status, err := DecodeStatus(p.report.Config, reply)
	if err == nil && !refresh && (status.Short && !p.short || status.Generation != p.report.Config.Generation) {
		// Another configuration than the one at hand: read that, and the same
		// status anew in its light.
		if err := p.readStructure(ctx, now); err != nil {
			return nil, err
		}
		status, err = DecodeStatus(p.report.Config, reply)
	}
	if err == nil && status.Generation != p.report.Config.Generation {
		err = fmt.Errorf("decode status page: generation %d, configuration has %d", status.Generation, p.report.Config.Generation)
	}
	if err != nil {
		p.states[PageStatus] = false
		return nil, err
	}
	p.report.Status, p.short = status, status.Short
	if p.disksChanged() && !refresh {
		p.readOptional(ctx, now, PageDescriptor, PageAdditional)
	}
	report := p.report
	return &report, nil
}

// readStructure reads the configuration page and everything that follows from
// it.
func (p *process) readStructure(ctx context.Context, now time.Time) error {
	reply, err := p.page(ctx, PageConfiguration)
	if err != nil {
		return err
	}
	config, err := DecodeConfig(reply)
	if err != nil {
		p.states[PageConfiguration] = false
		return err
	}
	if old := p.report.Config; old == nil || old.Generation != config.Generation || !slices.Equal(old.Types, config.Types) {
		p.report = Report{}
	}
	p.report.Config = config
	p.structure = now.Add(structureEvery)
	clear(p.absent)
	clear(p.failed)
	p.readOptional(ctx, now, PageThreshold, PageDescriptor, PageAdditional)
	return nil
}

// retryFailed reads again what could not be read.
func (p *process) retryFailed(ctx context.Context, now time.Time) {
	for _, page := range []byte{PageThreshold, PageDescriptor, PageAdditional} {
		if p.failed[page] != nil {
			p.readOptional(ctx, now, page)
		}
	}
}

// readOptional reads pages that a shelf may do without. A page that fails keeps
// nobody from using the others, and is asked for again after a while.
func (p *process) readOptional(ctx context.Context, now time.Time, pages ...byte) {
	for _, page := range pages {
		if p.absent[page] {
			continue
		}
		reply, err := p.page(ctx, page)
		if err == nil {
			err = p.keep(page, reply)
			p.states[page] = err == nil
		}
		switch {
		case err == nil:
			delete(p.failed, page)
		case errors.Is(err, ErrUnsupported), errors.Is(err, ErrShortStatus):
			p.absent[page] = true
			delete(p.states, page)
			delete(p.failed, page)
		default:
			p.failed[page] = err
			p.retry = now.Add(failedEvery)
		}
	}
}

// keep decodes an optional page into the report. One that belongs to another
// configuration is an error, since its order would be wrong.
func (p *process) keep(page byte, reply []byte) error {
	c := p.report.Config
	var generation uint32
	var err error
	switch page {
	case PageThreshold:
		var t *ThresholdPage
		if t, err = DecodeThresholds(c, reply); err == nil {
			p.report.Thresholds, generation = t, t.Generation
		}
	case PageDescriptor:
		var d *DescriptorPage
		if d, err = DecodeDescriptors(c, reply); err == nil {
			p.report.Descriptors, generation = d, d.Generation
		}
	case PageAdditional:
		var a *AdditionalPage
		if a, err = DecodeAdditional(c, reply); err == nil {
			p.report.Additional, generation = a, a.Generation
		}
	}
	if err == nil && generation != c.Generation {
		p.forget(page)
		err = fmt.Errorf("decode %s page: generation %d, configuration has %d", PageName(page), generation, c.Generation)
	}
	return err
}

func (p *process) forget(page byte) {
	switch page {
	case PageThreshold:
		p.report.Thresholds = nil
	case PageDescriptor:
		p.report.Descriptors = nil
	case PageAdditional:
		p.report.Additional = nil
	}
}

// disksChanged says whether a slot's status changed since the last poll: then
// the addresses and serial numbers read before may be those of another disk.
func (p *process) disksChanged() bool {
	var bays []byte
	for i, h := range p.report.Config.Types {
		if h.Type.IsSlot() {
			for _, e := range p.report.Status.Types[i].Elements {
				bays = append(bays, e[0]&0x1f) // status and SWAP
			}
		}
	}
	changed := p.bays != nil && string(bays) != string(p.bays)
	p.bays = bays
	return changed
}

// page asks for one page, again where the shelf wants time.
func (p *process) page(ctx context.Context, page byte) (reply []byte, err error) {
	for try := 1; ; try++ {
		step := polltrace.Begin(ctx, p.name, PageName(page)+" page")
		reply, err = p.transport.ReceiveDiagnostic(ctx, page)
		if err == nil {
			step.Answered(len(reply))
		}
		step.End("", err)
		if err == nil && len(reply) >= 4 {
			if codeErr := checkCode(page, reply); codeErr != nil {
				err = fmt.Errorf("receive %s page: %w", PageName(page), codeErr)
			}
		}
		if err == nil || try == maxTries || !retryable(err) {
			break
		}
		if waitErr := p.pause(ctx, time.Duration(try)*retryPause); waitErr != nil {
			break
		}
	}
	p.states[page] = err == nil
	return reply, err
}

// pageStates lists the pages that the shelf has, in the order of their codes.
func (p *process) pageStates() []PageState {
	var out []PageState
	for _, page := range []byte{PageConfiguration, PageStatus, PageThreshold, PageDescriptor, PageAdditional} {
		if ok, tried := p.states[page]; tried {
			out = append(out, PageState{page, ok})
		}
	}
	return out
}

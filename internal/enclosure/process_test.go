package enclosure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
)

// script answers from a shelf, after what it was told to say first.
type script struct {
	shelf  *enclosuretest.Shelf
	before map[byte][]any // per page: []byte or error, in order
	asked  []byte
}

func (s *script) ReceiveDiagnostic(_ context.Context, page byte) ([]byte, error) {
	s.asked = append(s.asked, page)
	if q := s.before[page]; len(q) > 0 {
		s.before[page] = q[1:]
		switch a := q[0].(type) {
		case error:
			return nil, a
		case []byte:
			return a, nil
		}
	}
	if b := s.shelf.Page(page); b != nil {
		return b, nil
	}
	return nil, &SenseError{Key: 5, ASC: 0x24}
}

// take returns what was asked since the last time.
func (s *script) take() string {
	out := fmt.Sprintf("% x", s.asked)
	s.asked = nil
	return out
}

// reading is a process under test and its clock.
type reading struct {
	*process
	*script
	t      *testing.T
	now    time.Time
	pauses []time.Duration
}

func newReading(t *testing.T, s *enclosuretest.Shelf) *reading {
	r := &reading{script: &script{shelf: s, before: map[byte][]any{}}, t: t, now: time.Unix(1_800_000_000, 0)}
	r.process = newProcess(r.script, func(ctx context.Context, d time.Duration) error {
		r.pauses = append(r.pauses, d)
		return ctx.Err()
	})
	return r
}

// poll reads as the Watcher does, and expects those pages to be asked for.
func (r *reading) poll(after time.Duration, wantPages string, wantErr string) *Report {
	r.t.Helper()
	r.now = r.now.Add(after)
	report, err := r.read(context.Background(), r.now, r.report.Config != nil && r.due(r.now))
	if got := r.take(); got != wantPages {
		r.t.Errorf("pages asked for: %s, want %s", got, wantPages)
	}
	if fmt.Sprint(err) != wantErr && (err != nil || wantErr != "") {
		r.t.Errorf("%v, want %s", err, wantErr)
	}
	return report
}

func (r *reading) states() string {
	var out []string
	for _, p := range r.pageStates() {
		out = append(out, fmt.Sprintf("%s %v", PageName(p.Page), p.OK))
	}
	return fmt.Sprint(out)
}

func TestStatusEachPollTheRestHourly(t *testing.T) {
	r := newReading(t, enclosuretest.SlotsLastShelf())
	r.poll(0, "01 05 07 0a 02", "")
	r.poll(time.Minute, "02", "")
	r.poll(58*time.Minute, "02", "")
	r.poll(time.Minute, "01 05 07 0a 02", "")
	r.poll(time.Minute, "02", "")
	if got := r.states(); got != "[configuration true status true threshold true descriptor true additional true]" {
		t.Error(got)
	}
}

func TestPagesThatAShelfDoesNotHave(t *testing.T) {
	r := newReading(t, enclosuretest.PlainShelf())
	report := r.poll(0, "01 05 07 0a 02", "")
	if report.Thresholds != nil || report.Additional != nil || report.Descriptors == nil {
		t.Errorf("%+v", report)
	}
	if got := r.states(); got != "[configuration true status true descriptor true]" {
		t.Error(got)
	}
	r.poll(10*time.Minute, "02", "")
}

func TestAPageThatFailsIsAskedForAgainAfterAWhile(t *testing.T) {
	r := newReading(t, enclosuretest.SlotsLastShelf())
	r.before[PageThreshold] = []any{errors.New("SCSI status 0x0, host error, driver 0x0")}
	report := r.poll(0, "01 05 07 0a 02", "")
	if report.Thresholds != nil || r.states() != "[configuration true status true threshold false descriptor true additional true]" {
		t.Errorf("%s", r.states())
	}
	r.poll(4*time.Minute, "02", "")
	report = r.poll(time.Minute, "05 02", "")
	if report.Thresholds == nil || r.states() != "[configuration true status true threshold true descriptor true additional true]" {
		t.Errorf("%s", r.states())
	}
	r.poll(time.Minute, "02", "")
}

func TestABusyOrRestartedShelfIsTriedAgain(t *testing.T) {
	busy := []byte{9, 1, 0, 0}
	for name, c := range map[string]struct {
		answers []any
		pages   string
		pauses  int
		err     string
	}{
		"busy once":        {[]any{busy}, "02 02", 1, ""},
		"reset, busy":      {[]any{&SenseError{Key: 6, ASC: 0x29}, busy}, "02 02 02", 2, ""},
		"not ready always": {[]any{&SenseError{Key: 2, ASC: 4}, &SenseError{Key: 2, ASC: 4}, &SenseError{Key: 2, ASC: 4}}, "02 02 02", 2, "sense key 0x2, code 04h/00h"},
		"busy always":      {[]any{busy, busy, busy}, "02 02 02", 2, "receive status page: enclosure busy"},
		"failure":          {[]any{&SenseError{Key: 4, ASC: 0x35}}, "02", 0, "enclosure services failure (sense key 0x4, code 35h/00h)"},
		"short status":     {[]any{[]byte{8, 0, 0, 0}}, "02", 0, "receive status page: only the short enclosure status page is supported"},
		"nothing":          {[]any{[]byte{}}, "02", 0, "decode status page: 0 bytes, want at least 4"},
		"another page":     {[]any{[]byte{1, 0, 0, 4, 0, 0, 0, 0}}, "02", 0, "receive status page: got page 0x01"},
	} {
		r := newReading(t, enclosuretest.SlotsLastShelf())
		r.poll(0, "01 05 07 0a 02", "")
		r.before[PageStatus] = c.answers
		if report := r.poll(time.Minute, c.pages, c.err); (report == nil) != (c.err != "") {
			t.Errorf("%s: report %v", name, report)
		}
		if len(r.pauses) != c.pauses {
			t.Errorf("%s: paused %v", name, r.pauses)
		}
	}
}

func TestAChangedConfigurationIsReadAtOnce(t *testing.T) {
	s := enclosuretest.SlotsLastShelf()
	r := newReading(t, s)
	r.poll(0, "01 05 07 0a 02", "")
	s.Generation++
	s.Types[0].Elements = append(s.Types[0].Elements, Raw{1})
	report := r.poll(time.Minute, "02 01 05 07 0a", "")
	if len(report.Status.Types[0].Elements) != 3 || report.Config.Generation != 8 {
		t.Errorf("%d supplies, generation %d", len(report.Status.Types[0].Elements), report.Config.Generation)
	}
	r.poll(time.Minute, "02", "")

	// The same where the generation code never changes, but the page is shorter.
	s.Types[0].Elements = s.Types[0].Elements[:1]
	report = r.poll(time.Minute, "02 01 05 07 0a", "")
	if len(report.Status.Types[0].Elements) != 1 || report.Status.Short {
		t.Errorf("%d supplies", len(report.Status.Types[0].Elements))
	}
}

// A status page that always ends early is taken as it is.
func TestAStatusPageThatAlwaysEndsEarly(t *testing.T) {
	s := enclosuretest.PlainShelf()
	cut := s.Page(PageStatus)
	cut = cut[:len(cut)-8]
	r := newReading(t, s)
	r.before[PageStatus] = []any{cut, cut, cut}
	r.poll(0, "01 05 07 0a 02", "")
	r.poll(time.Minute, "02", "")
	if report := r.poll(time.Minute, "02", ""); !report.Status.Short || len(report.Status.Types[2].Elements) != 0 {
		t.Errorf("%+v", report.Status)
	}
}

func TestPagesOfAnotherGenerationAreNotUsed(t *testing.T) {
	s, next := enclosuretest.SlotsLastShelf(), enclosuretest.SlotsLastShelf()
	next.Generation++
	r := newReading(t, s)
	r.before[PageAdditional] = []any{next.Page(PageAdditional)}
	if report := r.poll(0, "01 05 07 0a 02", ""); report.Additional != nil {
		t.Error("page 0Ah of another generation was used")
	}
	r.before[PageStatus] = []any{next.Page(PageStatus)}
	r.poll(time.Minute, "02 01 05 07 0a", "decode status page: generation 8, configuration has 7")
	if got := r.states(); got != "[configuration true status false threshold true descriptor true additional true]" {
		t.Error(got)
	}
}

// When a disk comes or goes, the addresses and names read before may be
// another's.
func TestADiskThatComesOrGoesHasItsAddressRead(t *testing.T) {
	s := enclosuretest.SlotsLastShelf()
	r := newReading(t, s)
	r.poll(0, "01 05 07 0a 02", "")
	slots := &s.Types[len(s.Types)-1]
	slots.Elements[5] = Raw{1}
	slots.Additional[5] = enclosuretest.SlotSAS(20, 6, 1, 0x5000cca0000000ff, 1)
	report := r.poll(time.Minute, "02 07 0a", "")
	if slot := Merge([]*Report{report}).SlotOf(0x5000cca0000000ff); slot == nil || slot.Label != "6" {
		t.Errorf("the new disk is in %+v", slot)
	}
	slots.Elements[5] = Raw{1, 0, 0x02, 0} // a LED is no news
	r.poll(time.Minute, "02", "")
}

// An hourly look that fails takes nothing away that was known before.
func TestWhatWasReadAnHourAgoIsKeptWhileItCannotBeRead(t *testing.T) {
	failure := errors.New("SCSI status 0x0, host error, driver 0x0")
	r := newReading(t, enclosuretest.SlotsLastShelf())
	r.poll(0, "01 05 07 0a 02", "")
	r.before[PageConfiguration] = []any{failure}
	report := r.poll(time.Hour, "01 02", "")
	if report.Thresholds == nil || r.states() != "[configuration false status true threshold true descriptor true additional true]" {
		t.Errorf("%+v, %s", report, r.states())
	}
	r.poll(4*time.Minute, "02", "")
	r.before[PageAdditional] = []any{failure}
	report = r.poll(time.Minute, "01 05 07 0a 02", "")
	if report.Additional == nil || r.states() != "[configuration true status true threshold true descriptor true additional false]" {
		t.Errorf("%+v, %s", report, r.states())
	}
	r.poll(5*time.Minute, "0a 02", "")
}

func TestADeadShelfAtStart(t *testing.T) {
	dead := errors.New("SCSI status 0x0, host no connection, driver 0x0")
	r := newReading(t, enclosuretest.SlotsLastShelf())
	r.before[PageConfiguration] = []any{dead, slices.Clone(enclosuretest.SlotsLastShelf().Page(PageConfiguration)[:30])}
	r.poll(0, "01", dead.Error())
	r.poll(time.Minute, "01", "decode configuration page: subenclosure 0 of 1: descriptor of 40 bytes in 22")
	r.poll(time.Minute, "01 05 07 0a 02", "")
}

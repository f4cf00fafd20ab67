package collector

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

const (
	// osdsPerPoll bounds how many OSDs are asked for their options in one full
	// poll; on larger clusters they take turns.
	osdsPerPoll = 200
	// maxOptionValues bounds the values per option that have a series.
	maxOptionValues = 20
)

// pgOptions knows the options that scrubbing depends on: as they are set, as
// the mgr has them, as the OSDs have them.
type pgOptions struct {
	client *ceph.Client
	now    func() time.Time

	at       time.Time // of the last complete poll of set and mgr
	set      []ceph.ConfigEntry
	mgr      ceph.Config
	defaults ceph.Config           // an OSD's, defaults included
	osd      map[int32]ceph.Config // what differs from the defaults, by OSD
	next     int                   // whose turn it is, an index into the OSDs that are up
}

func newPGOptions(c *ceph.Client, now func() time.Time) *pgOptions {
	return &pgOptions{client: c, now: now, osd: make(map[int32]ceph.Config)}
}

func (o *pgOptions) poll(ctx context.Context, osds *ceph.OSDMap) error {
	set, err := o.client.ConfigDump(ctx)
	if err != nil {
		return err
	}
	mgr, err := o.client.MgrDump(ctx)
	if err != nil {
		return err
	}
	if mgr.Active == "" {
		return errors.New("mon mgr dump: there is no active mgr")
	}
	config, err := o.client.ConfigShowWithDefaults(ctx, "mgr."+mgr.Active)
	if err != nil {
		return err
	}
	o.set, o.mgr, o.at = set, config, o.now()
	return o.pollOSDs(ctx, osds)
}

// pollOSDs asks one OSD for all its options and the next osdsPerPoll of them
// for what differs from the defaults.
func (o *pgOptions) pollOSDs(ctx context.Context, osds *ceph.OSDMap) error {
	var up []int32
	for _, osd := range osds.OSDs {
		if osd.Up {
			up = append(up, osd.ID)
		}
	}
	known := make(map[int32]ceph.Config, len(up))
	for _, id := range up {
		if c, ok := o.osd[id]; ok {
			known[id] = c
		}
	}
	o.osd = known // forget OSDs that are down: they run with nothing
	if len(up) == 0 {
		return nil
	}
	var problems []error
	for i := range min(osdsPerPoll, len(up)) {
		id := up[(o.next+i)%len(up)]
		if i == 0 {
			d, err := o.client.ConfigShowWithDefaults(ctx, osdLabel(id))
			if err != nil {
				return err
			}
			o.defaults = d
		}
		c, err := o.client.ConfigShow(ctx, osdLabel(id))
		if err != nil {
			// One OSD that the mgr has not heard of yet is no failed poll.
			delete(o.osd, id)
			problems = append(problems, err)
			continue
		}
		o.osd[id] = c
	}
	o.next = (o.next + osdsPerPoll) % len(up)
	if len(problems) == min(osdsPerPoll, len(up)) {
		return problems[0]
	}
	return nil
}

// value returns the text of an option that an OSD runs with.
func (o *pgOptions) value(osd int32, name string) (string, bool) {
	own, known := o.osd[osd]
	if !known {
		return "", false
	}
	if v, ok := own[name]; ok {
		return v, true
	}
	v, ok := o.defaults[name]
	return v, ok
}

// rules returns the lateness rule as the mgr has it and as each OSD has it.
// What is not known is nil.
func (o *pgOptions) rules(pools map[int32]scrub.PoolIntervals) scrub.Rules {
	var rules scrub.Rules
	mgr, err := scrub.IntervalsFrom(o.mgr)
	if err != nil {
		return rules
	}
	rules.Mgr = scrub.NewRule(mgr, pools)
	// OSDs mostly agree: one rule per distinct pair of intervals.
	byIntervals := make(map[[2]float64]*scrub.Rule)
	byOSD := make(map[int32]*scrub.Rule, len(o.osd))
	for id := range o.osd {
		view := mgr // the ratios are the mgr's business
		ok := true
		for _, l := range scrub.Levels {
			text, known := o.value(id, scrub.IntervalOption(l))
			v, err := ceph.ParseFloat(text)
			ok = ok && known && err == nil
			view.Interval[l] = v
		}
		if !ok {
			continue
		}
		if byIntervals[view.Interval] == nil {
			byIntervals[view.Interval] = scrub.NewRule(view, pools)
		}
		byOSD[id] = byIntervals[view.Interval]
	}
	rules.OSD = func(osd int32) *scrub.Rule { return byOSD[osd] }
	return rules
}

// gates returns what lets each OSD begin a scrub; nil for an OSD of which one of
// the options is not known. The options of an OSD are read once.
func (o *pgOptions) gates() func(osd int32) *scrub.OSDGates {
	read := make(map[int32]*scrub.OSDGates, len(o.osd))
	return func(osd int32) *scrub.OSDGates {
		g, done := read[osd]
		if !done {
			g, _ = scrub.OSDGatesFrom(func(name string) (string, bool) { return o.value(osd, name) })
			read[osd] = g
		}
		return g
	}
}

// pgOptionsView is what is exported of the options.
type pgOptionsView struct {
	set        []ceph.ConfigEntry
	mgr        map[string]float64        // the rule's options as the mgr has them
	osds       map[string]map[string]int // OSDs by option and value
	mismatch   map[string]int            // OSDs whose interval is not the mgr's
	slots      map[int32]float64
	osdUnknown int
}

// view returns nil when nothing young enough is known.
func (o *pgOptions) view(osds *ceph.OSDMap, now time.Time, maxAge time.Duration) *pgOptionsView {
	if o.mgr == nil || now.Sub(o.at) > maxAge {
		return nil
	}
	v := &pgOptionsView{
		set: o.set, mgr: make(map[string]float64), osds: make(map[string]map[string]int),
		mismatch: make(map[string]int), slots: make(map[int32]float64),
	}
	for _, l := range scrub.Levels {
		for _, name := range []string{scrub.IntervalOption(l), scrub.RatioOption(l)} {
			if f, err := o.mgr.Float(name); err == nil {
				v.mgr[name] = f
			}
		}
	}
	for _, osd := range osds.OSDs {
		if !osd.Up {
			continue
		}
		if _, known := o.osd[osd.ID]; !known {
			v.osdUnknown++
			continue
		}
		o.addOSD(v, osd.ID)
	}
	return v
}

func (o *pgOptions) addOSD(v *pgOptionsView, id int32) {
	for _, option := range scrub.Options() {
		text, ok := o.value(id, option.Name)
		if !ok {
			continue
		}
		f, err := option.Value(text)
		if err == nil {
			text = strconv.FormatFloat(f, 'f', -1, 64)
		}
		if v.osds[option.Name] == nil {
			v.osds[option.Name] = make(map[string]int)
		}
		v.osds[option.Name][text]++
		if option.Name == scrub.MaxScrubsOption && err == nil {
			v.slots[id] = f
		}
		for _, l := range scrub.Levels {
			if mgr, known := v.mgr[option.Name]; option.Name == scrub.IntervalOption(l) && known && err == nil {
				if _, ok := v.mismatch[option.Name]; !ok {
					v.mismatch[option.Name] = 0
				}
				if f != mgr {
					v.mismatch[option.Name]++
				}
			}
		}
	}
}

func (v *pgOptionsView) emit(t *pgTable, e *Emitter) {
	kinds := make(map[string]scrub.Option)
	for _, o := range scrub.Options() {
		kinds[o.Name] = o
	}
	for _, s := range v.set {
		option, ours := kinds[s.Name]
		if !ours {
			continue
		}
		who := s.Section
		if s.Mask != "" {
			who += "/" + s.Mask
		}
		if f, err := option.Value(s.Value); err == nil {
			e.Emit(t.option, f, s.Name, who)
		} else {
			e.Emit(t.optionInfo, 1, s.Name, who, s.Value)
		}
	}
	for name, values := range v.osds {
		for i, value := range slices.Sorted(maps.Keys(values)) {
			if i < maxOptionValues {
				e.Emit(t.optionOSDs, float64(values[value]), name, value)
			}
		}
	}
	for name, f := range v.mgr {
		e.Emit(t.optionMgr, f, name)
	}
	for name, n := range v.mismatch {
		e.Emit(t.optionMismatch, float64(n), name)
	}
	for id, n := range v.slots {
		e.Emit(t.osdSlots, n, osdLabel(id))
	}
	e.Emit(t.optionOSDsUnknown, float64(v.osdUnknown))
}

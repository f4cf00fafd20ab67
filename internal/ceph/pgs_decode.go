package ceph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNotPGs: the answer is a JSON document, and not one that lists PGs.
var ErrNotPGs = errors.New("no pg_ready in the answer")

// DecodePGs decodes the answer of `pg dump`, `pg dump pgs`, `pg dump
// pgs_brief`, `pg ls` or `pg ls-by-pool` in format json.
//
// An entry that cannot be used, or of which a field cannot, is in the table's
// Bad list and fails nothing else; an answer that is not one whole JSON
// document, or that does not say whether the mgr is ready, is an error. The
// keys may come in any order. Nothing of data is referenced afterwards, so it
// may be memory that C frees.
func DecodePGs(data []byte) (*PGTable, error) {
	d := pgDecoder{scanner: scanner{data: data}, table: &PGTable{}}
	d.pgKeys.lookup, d.sumKeys.lookup = pgField, sumField
	if err := d.document(); err != nil {
		return nil, fmt.Errorf("decode pgs: %w", err)
	}
	d.sort()
	d.table.Sets = d.sets.all()
	d.table.SanitisedTokens = d.nonFinite
	d.table.LayoutMisses = d.misses
	return d.table, nil
}

type pgDecoder struct {
	scanner
	table   *PGTable
	sets    setPool
	osds    []int32 // scratch
	pgKeys  layout  // of a PG
	sumKeys layout  // of its stat_sum
	order   []pgOrder
	entry   pgEntry
	pgsFrom int // where pg_stats begins

	hasReady, hasPGs, reserved bool

	stateText []byte // the state of the PG before, and what it means
	state     State
}

// pgEntry is what decoding one PG needs beside the PG itself.
type pgEntry struct {
	pg       PG
	pgid     []byte // as written
	hasState bool
	bad      string // the first field that could not be used, "" if none
	badRaw   []byte
	badErr   error
}

// pgOrder sorts PGs without moving them: by id, then by place in the answer.
type pgOrder struct {
	key uint64
	at  int
}

// document walks the outer object. Both forms are known: pg_stats beside
// pg_ready, and inside pg_map (the full `pg dump`).
func (d *pgDecoder) document() error {
	start, err := documentStart(d.data)
	if err != nil {
		return err
	}
	d.pos = start
	if d.data[d.pos] != '{' {
		return ErrNotPGs
	}
	if err := d.outer(true); err != nil {
		return err
	}
	if err := checkTail(d.data[d.pos:]); err != nil {
		return err
	}
	if !d.hasReady {
		return ErrNotPGs
	}
	return nil
}

// outer walks the document, or its pg_map.
func (d *pgDecoder) outer(top bool) error {
	keys := layout{lookup: outerField}
	for f := d.firstMember(&keys); f != noMember; f = d.nextMember(&keys) {
		if !top && f != outerPGs {
			f = 0
		}
		c := d.peek()
		switch {
		case f == outerReady:
			d.table.Ready = d.word("true")
			d.hasReady = d.table.Ready || d.word("false")
			if !d.hasReady && d.value() {
				return errors.New("pg_ready: neither true nor false")
			}
		case f == outerMap && c == '{':
			if err := d.outer(false); err != nil {
				return err
			}
		case f == outerPGs && c == '[':
			if d.hasPGs {
				return errors.New("pg_stats: more than one")
			}
			d.hasPGs = true
			d.pgs()
		case d.value() && f == outerMap:
			return errors.New("pg_map: not an object")
		case f == outerPGs && d.err == nil:
			return errors.New("pg_stats: not an array")
		}
		if d.err != nil {
			return d.err
		}
	}
	return d.err
}

// pgs walks the array of PGs.
func (d *pgDecoder) pgs() {
	d.pgsFrom = d.pos
	if !d.enter() {
		return
	}
	if d.peek() == ']' {
		d.leave()
		return
	}
	for {
		if d.peek() == '{' {
			d.pg()
		} else if from := d.pos; d.value() {
			d.addBad(nil, "", d.data[from:d.pos], errNotObject)
		}
		if d.err != nil {
			return
		}
		switch d.peek() {
		case ',':
			d.pos++
		case ']':
			d.leave()
			return
		default:
			d.fail("no comma or end behind a PG")
			return
		}
	}
}

// reserve makes room for the PGs to come, judged by the size of those that
// were: growing by doubling would leave twice the table behind as garbage.
func (d *pgDecoder) reserve() {
	const sample, smallest = 32, 256 // bytes of JSON no real PG is below
	if d.reserved || len(d.table.PGs) < sample {
		return
	}
	d.reserved = true
	each := max((d.pos-d.pgsFrom)/len(d.table.PGs), smallest)
	more := (len(d.data)-d.pos)/each + sample
	more += more / 32
	d.table.PGs = slices.Grow(d.table.PGs, more)
	d.order = slices.Grow(d.order, more)
}

func (d *pgDecoder) pg() {
	e := &d.entry
	*e = pgEntry{pg: PG{
		LastScrub: NoStamp, LastDeepScrub: NoStamp, LastCleanScrub: NoStamp, LastChange: NoStamp, ScheduleAt: NoStamp,
		Bytes: -1, Objects: -1, ObjectsScrubbed: -1, ShallowErrors: -1, DeepErrors: -1,
		LastScrubSeconds: -1, ScrubDuration: -1, SnapTrimQueue: -1, UpPrimary: -1, ActingPrimary: -1,
	}}
	for f := d.firstMember(&d.pgKeys); f != noMember; f = d.nextMember(&d.pgKeys) {
		d.field(f)
		if d.err != nil {
			return
		}
	}
	if d.err != nil {
		return
	}
	if e.bad == "" && !e.hasState {
		e.bad, e.badErr = "state", errMissing
	}
	var ok bool
	if e.pg.ID, ok = parsePGID(e.pgid); !ok {
		e.bad, e.badRaw, e.badErr = "pgid", e.pgid, errBadPGID
		if e.pgid == nil {
			e.badErr = errMissing
		}
	}
	if e.bad != "" {
		d.addBad(e.pgid, e.bad, e.badRaw, e.badErr)
	}
	if !ok {
		return
	}
	d.reserve()
	d.order = append(d.order, pgOrder{uint64(uint32(e.pg.ID.Pool))<<32 | uint64(e.pg.ID.Seed), len(d.table.PGs)})
	d.table.PGs = append(d.table.PGs, e.pg)
}

// addBad records an entry that could not be used, in copies: what of it (""
// for all of it), as written (nil if it is missing), and why.
func (d *pgDecoder) addBad(pgid []byte, what string, raw []byte, why error) {
	d.table.BadCount++
	if len(d.table.Bad) >= MaxBadPGs {
		return
	}
	if raw != nil {
		why = fmt.Errorf("%q: %w", clip(raw), why)
	}
	if what != "" {
		why = fmt.Errorf("%s: %w", what, why)
	}
	d.table.Bad = append(d.table.Bad, BadPG{PGID: strings.ToValidUTF8(string(clip(pgid)), "\uFFFD"), Err: why})
}

// clip bounds what an error message quotes.
func clip(raw []byte) []byte { return raw[:min(len(raw), 64)] }

// sort puts the PGs into the order of their ids and drops those whose id came
// before. Moving each PG once, along the cycles of the permutation, needs no
// second table.
func (d *pgDecoder) sort() {
	less := func(a, b pgOrder) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at))
	}
	pgs, order := d.table.PGs, d.order
	if !slices.IsSortedFunc(order, less) {
		slices.SortFunc(order, less)
		for i := range order {
			if order[i].at == i {
				continue
			}
			held, to := pgs[i], i
			for from := order[to].at; from != i; from = order[to].at {
				pgs[to], order[to].at = pgs[from], to
				to = from
			}
			pgs[to], order[to].at = held, to
		}
	}
	kept := 0
	for i := range pgs {
		if i > 0 && pgs[i].ID == pgs[kept-1].ID {
			d.addBad([]byte(pgs[i].ID.String()), "", nil, errDuplicate)
			continue
		}
		if kept != i {
			pgs[kept] = pgs[i]
		}
		kept++
	}
	d.table.PGs = slices.Clip(pgs[:kept])
}

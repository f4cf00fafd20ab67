package scrub

import (
	"cmp"
	"slices"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// Worst is one of the PGs of a pool whose scrub of one level is the oldest. All
// PGs of a pool have the same interval, so they are the next to be late, too.
type Worst struct {
	PG    *ceph.PG
	Level Level
	// Blocked says that the PG is late and cannot be scrubbed now, for Reason.
	Blocked bool
	Reason  Reason
}

// oldest keeps, per level, up to n PGs of one pool with the oldest stamps, the
// oldest first. PGs without a date have no place among them.
type oldest struct {
	n    int
	kept [2][]*ceph.PG
}

func (o *oldest) add(pg *ceph.PG) {
	for _, l := range Levels {
		if o.n == 0 || !l.Stamp(pg).Dated() || pg.State.Has(ceph.StateUnknown) {
			continue
		}
		kept := o.kept[l]
		older := func(a, b *ceph.PG) int {
			return cmp.Or(cmp.Compare(l.Stamp(a), l.Stamp(b)), a.ID.Compare(b.ID))
		}
		if len(kept) == o.n {
			if older(pg, kept[o.n-1]) > 0 {
				continue
			}
			kept = kept[:o.n-1]
		}
		i, _ := slices.BinarySearchFunc(kept, pg, older)
		o.kept[l] = slices.Insert(kept, i, pg)
	}
}

// take returns what was kept and begins anew.
func (o *oldest) take(blocked func(*ceph.PG, Level) (Reason, bool)) []Worst {
	var out []Worst
	for _, l := range Levels {
		for _, pg := range o.kept[l] {
			w := Worst{PG: pg, Level: l}
			w.Reason, w.Blocked = blocked(pg, l)
			out = append(out, w)
		}
		o.kept[l] = o.kept[l][:0]
	}
	return out
}

package forecast

// event is something that happens to an OSD or a PG.
type event struct {
	at  int64
	key uint64 // kind, then what it happens to: the order within one instant
}

// The kinds, in the order in which they happen within one instant.
const (
	scrubEnds   uint64 = iota << 56 // of a PG
	cleanAgain                      // recovery is over
	mayBegin                        // an OSD looks for a scrub to begin
	kindBits    uint64 = 0xff << 56
	subjectBits        = ^kindBits
)

// events is a heap with four children per node: as deep as half a binary one.
type events []event

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.key < o.key }

func (q *events) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
	*q = h
}

func (q *events) pop() event {
	h := *q
	top := h[0]
	n := len(h) - 1
	e := h[n]
	h = h[:n]
	*q = h
	if n == 0 {
		return top
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for k := child + 1; k < min(child+4, n); k++ {
			if h[k].before(h[least]) {
				least = k
			}
		}
		if !h[least].before(e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
	return top
}

// job is one entry of an OSD's queue: a PG, or one target of a PG.
type job struct {
	at    int64 // when it is due
	pg    int32
	level int8 // of a target; of a job that decides at its start, 0
}

// jobs is sorted by at, then deep before shallow, then by PG.
type jobs []job

func (j job) before(o job) bool {
	switch {
	case j.at != o.at:
		return j.at < o.at
	case j.level != o.level:
		return j.level > o.level
	}
	return j.pg < o.pg
}

func (q *jobs) insert(j job) {
	h := append(*q, j)
	from, to := 0, len(h)-1
	for from < to {
		if mid := (from + to) / 2; j.before(h[mid]) {
			to = mid
		} else {
			from = mid + 1
		}
	}
	copy(h[from+1:], h[from:])
	h[from] = j
	*q = h
}

func (q *jobs) remove(i int) job {
	h := *q
	j := h[i]
	copy(h[i:], h[i+1:])
	*q = h[:len(h)-1]
	return j
}

// removePG takes out the PG's entry, if there is one.
func (q *jobs) removePG(pg int32) {
	for i := range *q {
		if (*q)[i].pg == pg {
			q.remove(i)
			return
		}
	}
}

// hash is splitmix64 over its arguments: random draws depend on what they are
// for and on nothing else, so that the order of PGs does not matter.
func hash(seed uint64, what, which, count uint64) uint64 {
	z := seed
	for _, v := range [3]uint64{what, which, count} {
		z = (z + v + 1) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return z
}

// unit turns a hash into a number from 0 to below 1.
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

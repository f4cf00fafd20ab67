package page

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// nameParam is the parameter that names the family: no label can be called so.
const nameParam = "__name__"

// Num is a number and the series it comes from.
type Num struct {
	Text string
	Href string
	Bad  bool // it calls for attention
}

// series returns the address at which a family's series with these labels, names
// and values in turn, are shown.
func series(name string, labels ...string) string {
	q := url.Values{nameParam: {name}}
	for i := 0; i+1 < len(labels); i += 2 {
		q.Set(labels[i], labels[i+1])
	}
	return "metric?" + q.Encode()
}

func num(text, name string, labels ...string) *Num {
	return &Num{Text: text, Href: series(name, labels...)}
}

// bad marks the number when it is above 0.
func (n *Num) bad(value float64) *Num {
	n.Bad = value > 0
	return n
}

// Instant is a point in time with its distance from now.
type Instant struct {
	ISO, Text, Ago string
	Age            string // Ago without its direction
}

func at(t, now time.Time) Instant {
	if t.IsZero() {
		return Instant{}
	}
	t = t.UTC()
	return Instant{ISO: t.Format(time.RFC3339), Text: t.Format("2 Jan 2006 15:04:05"), Ago: distance(t.Sub(now)), Age: span(t.Sub(now).Abs())}
}

// instant turns seconds since the epoch into a time.
func instant(seconds float64) time.Time {
	if math.IsNaN(seconds) || math.Abs(seconds) > 1e11 {
		return time.Time{}
	}
	return time.UnixMilli(int64(seconds * 1000)).UTC()
}

// distance says how far away an instant is: "in 2 d 5 h", "3 min ago".
func distance(d time.Duration) string {
	switch {
	case d >= time.Second:
		return "in " + span(d)
	case d > -time.Second:
		return "now"
	}
	return span(-d) + " ago"
}

// span writes a duration in its two largest units.
func span(d time.Duration) string {
	type unit struct {
		name string
		size time.Duration
	}
	units := []unit{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}}
	for i, u := range units {
		if d < u.size {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.size, u.name)
		if i+1 < len(units) {
			if rest := d % u.size / units[i+1].size; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// count writes a whole number with thin groups, and a fraction to three digits.
func count(v float64) string {
	if v != math.Trunc(v) {
		return short(v)
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	var out []byte
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, s[i])
	}
	if v < 0 {
		return "-" + string(out)
	}
	return string(out)
}

// short writes a number to three digits.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return count(math.Round(v))
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.095:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// compact writes a count for a narrow place: 12.3k.
func compact(v float64) string {
	switch {
	case v >= 1e6:
		return short(v/1e6) + "M"
	case v >= 1e4:
		return short(v/1e3) + "k"
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// size writes bytes in binary units.
func size(v float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for math.Abs(v) >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return count(v) + " B"
	}
	return short(v) + " " + units[i]
}

// clip bounds a text that comes from outside.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func join(list []string) string { return strings.Join(list, ", ") }

// natural compares names with numbers in them as people do: osd.9 before osd.10.
func natural(a, b string) int {
	for a != "" && b != "" {
		i, j := digits(a), digits(b)
		if i > 0 && j > 0 {
			x, y := strings.TrimLeft(a[:i], "0"), strings.TrimLeft(b[:j], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

// first returns the first n of a list and how many more there are.
func first[T any](list []T, n int) ([]T, int) {
	if len(list) <= n {
		return list, 0
	}
	return list[:n], len(list) - n
}

// order sorts by several criteria in turn, the first that differs deciding.
func order[T any](list []T, by ...func(a, b T) int) {
	slices.SortStableFunc(list, func(a, b T) int {
		for _, f := range by {
			if c := f(a, b); c != 0 {
				return c
			}
		}
		return 0
	})
}

// seconds turns a number of seconds into a duration.
func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

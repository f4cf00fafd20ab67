package label

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestOrdinaryNamesStayAsTheyAre(t *testing.T) {
	for _, v := range []string{
		"", "osd.12", "default.rgw.buckets.data", "tenant/bucket", `a"b\c`, "Kühlung über Slot 3", "磁盘", "\uFFFD",
		strings.Repeat("x", MaxBytes), "~", "name~0123",
	} {
		if got := Clean(v); got != v {
			t.Errorf("%q became %q", v, got)
		}
	}
}

func TestNamesThatHadToBeChangedStayApart(t *testing.T) {
	long := strings.Repeat("x", MaxBytes)
	seen := map[string]string{}
	for _, v := range []string{
		long + "1", long + "2", strings.Repeat("x", 1<<20), strings.Repeat("ü", 1<<19), strings.Repeat("\xff", 1<<20), "a\xffb", "a\xfeb", "a\uFFFDb",
		"a\nb", "a\x00b", "a\x1b[31mb", "a\u202eb", "a\u2028b", "a\u0085b", "\xe2\x82", "ab",
	} {
		got := Clean(v)
		if len(got) > MaxBytes || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%.40q became %q", v, got)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%.40q and %.40q both became %q", v, other, got)
		}
		seen[got] = v
		if Clean(got) != got {
			t.Errorf("%q is changed again", got)
		}
		if Changed(got) != (got != v) {
			t.Errorf("%q: changed %v", got, Changed(got))
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "osd.1", "\xff", "a\nb", strings.Repeat("ü", 200), "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		got := Clean(v)
		if len(got) > MaxBytes || !utf8.ValidString(got) || Clean(got) != got || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q became %q", v, got)
		}
		if got != v && !Changed(got) {
			t.Errorf("%q became %q without a digest", v, got)
		}
	})
}

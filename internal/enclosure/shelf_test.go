package enclosure

import (
	"slices"
	"strconv"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
)

// report decodes all pages of a made-up shelf.
func report(t testing.TB, s *enclosuretest.Shelf) *Report {
	t.Helper()
	c, err := DecodeConfig(s.Page(PageConfiguration))
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Config: c}
	if r.Status, err = DecodeStatus(c, s.Page(PageStatus)); err != nil {
		t.Fatal(err)
	}
	if p := s.Page(PageThreshold); p != nil {
		if r.Thresholds, err = DecodeThresholds(c, p); err != nil {
			t.Fatal(err)
		}
	}
	if p := s.Page(PageDescriptor); p != nil {
		if r.Descriptors, err = DecodeDescriptors(c, p); err != nil {
			t.Fatal(err)
		}
	}
	if p := s.Page(PageAdditional); p != nil {
		if r.Additional, err = DecodeAdditional(c, p); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// One shelf behind two IOMs has 8 fans, not 16, and each IOM's 30 inaccessible
// slots take the other's word.
func TestTwoIOMsAreOneShelf(t *testing.T) {
	const id = 0x5000ccab01000000
	for _, order := range [][]byte{{1, 2}, {2, 1}} {
		s := Merge([]*Report{report(t, enclosuretest.DenseShelf(id, order[0])), report(t, enclosuretest.DenseShelf(id, order[1]))})
		if s.ID != id || s.Vendor != "ACME" || s.Product != "DENSE60" || s.Revision != "0401" {
			t.Errorf("shelf %x %s %s %s", s.ID, s.Vendor, s.Product, s.Revision)
		}
		counts := map[ElementType]int{}
		for _, e := range s.Elements {
			if e.Index != counts[e.Type] {
				t.Fatalf("%v %d stands at place %d", e.Type, e.Index, counts[e.Type])
			}
			counts[e.Type]++
			if e.Raw.Status() != StatusOK {
				t.Errorf("%v %d: %v", e.Type, e.Index, e.Raw.Status())
			}
		}
		if counts[TypeCooling] != 8 || counts[TypeArrayDeviceSlot] != 60 || len(s.Elements) != 194 || len(s.Overall) != 11 {
			t.Errorf("%d elements, %d overall, by type %v", len(s.Elements), len(s.Overall), counts)
		}
		for i := range 60 {
			slot := s.SlotAt(i)
			if slot == nil || slot.Label != strconv.Itoa(i) || len(slot.Addresses) != 2 {
				t.Fatalf("slot %d: %+v", i, slot)
			}
			for _, iom := range []byte{1, 2} {
				if s.SlotOf(enclosuretest.DenseDisk(id, i, iom)) != slot {
					t.Errorf("the disk in slot %d is not found by its port behind IOM %d", i, iom)
				}
			}
		}
		if name := s.Elements[7].Name; name != "SLOT 007" {
			t.Errorf("slot 7 is called %q", name)
		}
	}
}

func TestOfTwoIOMsTheOneThatSeesMoreIsBelieved(t *testing.T) {
	ok, noAccess, absent := Raw{1}, Raw{8}, Raw{5}
	unknown, critical, sensed := Raw{6}, Raw{2}, Raw{1, 0, 0, 0x40}
	for _, c := range []struct{ a, b, want Raw }{
		{noAccess, ok, ok}, {noAccess, critical, critical}, {noAccess, noAccess, noAccess}, {noAccess, unknown, unknown},
		{unknown, absent, absent}, {absent, ok, ok}, {ok, critical, critical}, {ok, sensed, sensed},
		{Raw{1, 0, 49}, Raw{1, 0, 50}, Raw{1, 0, 49}},
	} {
		if got := better(TypeArrayDeviceSlot, c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	for _, c := range []struct{ a, b Raw }{{noAccess, ok}, {absent, ok}, {ok, critical}, {ok, sensed}} {
		if got := better(TypeArrayDeviceSlot, c.b, c.a); got != c.b {
			t.Errorf("%v and %v: %v", c.b, c.a, got)
		}
	}
}

// IOMs with different firmware may list different Elements: both count.
func TestIOMsThatListDifferentElements(t *testing.T) {
	a, b := enclosuretest.PlainShelf(), enclosuretest.PlainShelf()
	b.Types = append(b.Types, enclosuretest.Type{Kind: byte(TypeCooling), Elements: enclosuretest.Repeat(2, Raw{1})})
	b.Types[0].Elements = enclosuretest.Repeat(10, Raw{2})
	s := Merge([]*Report{report(t, a), report(t, b)})
	var got []string
	for _, e := range s.Elements {
		got = append(got, e.Type.String()+" "+strconv.Itoa(e.Index)+" "+e.Raw.Status().String())
	}
	var want []string
	for i := range 12 {
		status := "critical"
		if i >= 10 {
			status = "ok"
		}
		want = append(want, "device_slot "+strconv.Itoa(i)+" "+status)
	}
	want = append(want, "vendor_80 0 ok", "voltage 0 ok", "cooling 0 ok", "cooling 1 ok")
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestSlotNumbers(t *testing.T) {
	labels := func(s *enclosuretest.Shelf) []string {
		var out []string
		for _, e := range Merge([]*Report{report(t, s)}).Elements {
			if e.Slot != nil {
				out = append(out, e.Slot.Label)
			}
		}
		return out
	}
	sequence := func(from, n int) []string {
		var out []string
		for i := range n {
			out = append(out, strconv.Itoa(from+i))
		}
		return out
	}
	shelf := func(slots ...[]byte) *enclosuretest.Shelf {
		return &enclosuretest.Shelf{Types: []enclosuretest.Type{
			{Kind: byte(TypeArrayDeviceSlot), Elements: enclosuretest.Repeat(len(slots), Raw{1}), Additional: slots},
		}}
	}
	for name, c := range map[string]struct {
		shelf *enclosuretest.Shelf
		want  []string
	}{
		"from 1, an empty slot follows from its neighbours": {enclosuretest.SlotsLastShelf(), sequence(1, 24)},
		"without an index, over all subenclosures":          {enclosuretest.ManySubenclosures(), sequence(0, 102)},
		"no page 0Ah":                {enclosuretest.PlainShelf(), sequence(0, 12)},
		"two alike":                  {shelf(enclosuretest.SlotSAS(0, 3, 0, 1, 9), enclosuretest.SlotSAS(1, 3, 0, 2, 9), enclosuretest.SlotSAS(2, 3, 0, 3, 9)), []string{"3", "3-1", "3-2"}},
		"255 is none, order unknown": {shelf(enclosuretest.SlotSAS(0, 7, 0, 1, 9), enclosuretest.SlotSAS(1, 4, 0, 2, 9), enclosuretest.SlotSAS(2, 255, 0, 3, 9)), []string{"7", "4", "2"}},
	} {
		if got := labels(c.shelf); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	twice := Merge([]*Report{report(t, shelf(enclosuretest.SlotSAS(0, 3, 0, 1, 9), enclosuretest.SlotSAS(1, 3, 0, 2, 9)))})
	if twice.SlotAt(3) != nil || twice.SlotAt(4) != nil || twice.SlotOf(2).Label != "3-1" {
		t.Error("a number that two slots have does not say which")
	}
}

package enclosure

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
)

// A part that was swapped at some time is fine: SWAP stands beside the status.
func TestSwappedIsNotAFault(t *testing.T) {
	r := Raw{0x11}
	if r.Status() != StatusOK || !r.Swapped() || r.Flags(TypeArrayDeviceSlot) != nil {
		t.Errorf("status %v, swapped %v, flags %v", r.Status(), r.Swapped(), r.Flags(TypeArrayDeviceSlot))
	}
}

// A false critical of an idle sensor is passed on as the shelf says it; what
// the shelf says nothing about is neither good nor bad and has no reading.
func TestUnreadableElementsAreNeitherGoodNorBad(t *testing.T) {
	idle := Raw{0x02, 0x40, 0, 0}
	if a, ok := idle.Amperes(); idle.Status() != StatusCritical || !ok || a != 0 {
		t.Errorf("idle sensor: %v, %v A, %v", idle.Status(), a, ok)
	}
	if got := idle.Flags(TypeCurrent); !reflect.DeepEqual(got, []string{"fail"}) {
		t.Errorf("idle sensor: flags %v", got)
	}
	for _, code := range []StatusCode{StatusUnsupported, StatusNotInstalled, StatusUnknown, StatusNotAvailable, StatusNoAccess, 9, 15} {
		r := Raw{byte(code) | 0x40, 0x4f, 0x50, 0xff}
		_, c := r.Celsius()
		_, v := r.Volts()
		_, a := r.Amperes()
		_, rpm := r.RPM()
		if c || v || a || rpm || r.Flags(TypePowerSupply) != nil {
			t.Errorf("%v (%d): readings %v %v %v %v, flags %v", code, code, c, v, a, rpm, r.Flags(TypePowerSupply))
		}
	}
	if _, ok := (Raw{1, 0, 0, 0}).Celsius(); ok {
		t.Error("a reserved temperature has a reading")
	}
	if _, ok := (Raw{1, 0x18, 1, 0}).RPM(); ok {
		t.Error("a reserved fan factor has a speed")
	}
}

func TestElementNameDropsTheSerialNumber(t *testing.T) {
	for _, c := range []struct {
		kind             ElementType
		descriptor, want string
	}{
		{TypeArrayDeviceSlot, "SLOT 000,3FGXXXXX", "SLOT 000"},
		{TypeDeviceSlot, "SLOT 00,T5G93KUD             ", "SLOT 00"},
		{TypePowerSupply, "PSU A,SN0012345", "PSU A"},
		{TypeTemperature, "TEMP, IOM A", "TEMP, IOM A"},
		{TypeVoltage, "12V, 5V", "12V, 5V"},
		{TypeCooling, "", ""},
	} {
		if got := ElementName(c.kind, c.descriptor); got != c.want {
			t.Errorf("%v %q: %q, want %q", c.kind, c.descriptor, got, c.want)
		}
	}
}

func TestLabelsAreTrimmedValidAndBounded(t *testing.T) {
	for in, want := range map[string]string{
		"slot00       ":                  "slot00",
		"A\x00\x00\x00":                  "A",
		"\x00\xff\xfeB\x07C ":            "\uFFFDB C",
		strings.Repeat("é", 4*maxLabel):  strings.Repeat("é", maxLabel/2),
		"x" + strings.Repeat("é", 1<<15): "x" + strings.Repeat("é", maxLabel/2-1),
	} {
		if got := label([]byte(in)); got != want {
			t.Errorf("%.40q: %q, want %q", in, got, want)
		}
	}
}

func TestRepliesThatAreNotThePage(t *testing.T) {
	good := enclosuretest.PlainShelf().Page(PageConfiguration)
	for name, c := range map[string]struct {
		reply []byte
		want  error
		text  string
	}{
		"busy":         {[]byte{9, 1, 0, 0}, ErrBusy, "decode configuration page: enclosure busy"},
		"short status": {[]byte{8, 0, 0, 0}, ErrShortStatus, "decode configuration page: only the short enclosure status page is supported"},
		"other page":   {[]byte{2, 0, 0, 4, 0, 0, 0, 0}, nil, "decode configuration page: got page 0x02"},
		"nothing":      {nil, nil, "decode configuration page: 0 bytes, want at least 4"},
		"header only":  {[]byte{1, 0, 0, 0}, nil, "decode configuration page: no generation code in 4 of 4 bytes"},
		"cut header":   {good[:20], nil, "decode configuration page: subenclosure 0 of 1: descriptor of 40 bytes in 12"},
		"cut types":    {good[:50], nil, "decode configuration page: 3 type headers in 2 bytes"},
	} {
		_, err := DecodeConfig(c.reply)
		if err == nil || err.Error() != c.text || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.text)
		}
	}
}

func TestConfigurationOfTooManyElementsIsRefused(t *testing.T) {
	s := enclosuretest.PlainShelf()
	s.Types = nil
	for range 65 {
		s.Types = append(s.Types, enclosuretest.Type{Kind: byte(TypeTemperature), Elements: enclosuretest.Repeat(255, Raw{1})})
	}
	_, err := DecodeConfig(s.Page(PageConfiguration))
	if want := "decode configuration page: 16640 elements, more than a status page can hold"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A status page that ends early gives what is there; the rest is absent.
func TestStatusPageThatEndsEarly(t *testing.T) {
	s := enclosuretest.PlainShelf()
	c := mustConfig(t, s)
	full := s.Page(PageStatus)
	p, err := DecodeStatus(c, full[:8+4*5+2])
	if err != nil {
		t.Fatal(err)
	}
	overall := Raw{}
	want := &StatusPage{Short: true, Types: []TypeStatus{{Overall: &overall, Elements: []Raw{{1}, {1}, {1}, {1}}}, {}, {}}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, want %+v", p, want)
	}
	if p, err := DecodeStatus(c, full); err != nil || p.Short {
		t.Errorf("whole page: short %v, %v", p.Short, err)
	}
}

// Shelves leave out descriptors of controllers and expanders, with or without
// an element index, and the slots must still find their own.
func TestSlotsFindTheirDescriptorsWhateverIsLeftOut(t *testing.T) {
	const disk = 0x5000cca000000010
	s := &enclosuretest.Shelf{Types: []enclosuretest.Type{
		{Kind: byte(TypeController), Elements: enclosuretest.Repeat(2, Raw{1})},
		{Kind: byte(TypeExpander), Elements: enclosuretest.Repeat(2, Raw{1})},
		{Kind: byte(TypeArrayDeviceSlot), Elements: enclosuretest.Repeat(2, Raw{1})},
		{Kind: byte(TypeInitiatorPort), Elements: enclosuretest.Repeat(1, Raw{1})},
	}}
	c := mustConfig(t, s)
	slots := func(eiioe byte, first int) [][]byte {
		if first < 0 {
			return [][]byte{enclosuretest.SlotSAS(-1, -1, 0, disk, 1), enclosuretest.SlotSAS(-1, -1, 0, disk+1, 1)}
		}
		return [][]byte{enclosuretest.SlotSAS(first, 1, eiioe, disk, 1), enclosuretest.SlotSAS(first+1, 2, eiioe, disk+1, 1)}
	}
	expanders := [][]byte{enclosuretest.ExpanderSAS(2, 0, 7, 4), enclosuretest.ExpanderSAS(3, 0, 8, 4)}
	for name, c2 := range map[string]struct{ expanders, slots [][]byte }{
		"slots only, index":               {nil, slots(0, 4)},
		"slots only, index with overall":  {nil, slots(1, 7)},
		"slots only, no index":            {nil, slots(0, -1)},
		"expanders and slots":             {expanders, slots(0, 4)},
		"expanders and slots, no index":   {expanders, slots(0, -1)},
		"index off by one":                {nil, slots(0, 5)},
		"first slot empty and invalid":    {nil, [][]byte{enclosuretest.SlotInvalid(4, 0), slots(0, 4)[1]}},
		"everything, with the controller": {append([][]byte{enclosuretest.ExpanderSAS(0, 0, 5, 1), enclosuretest.ExpanderSAS(1, 0, 6, 1)}, expanders...), slots(0, 4)},
	} {
		s.Types[1].Additional, s.Types[2].Additional = c2.expanders, c2.slots
		p, err := DecodeAdditional(c, s.Page(PageAdditional))
		if err != nil {
			t.Fatal(err)
		}
		second := p.Types[2][1]
		if p.Types[2][0] == nil || second == nil || len(second.Phys) != 1 || second.Phys[0].Address != disk+1 {
			t.Errorf("%s: slots got %+v and %+v", name, p.Types[2][0], second)
		}
	}
}

func FuzzConfiguration(f *testing.F) {
	for _, s := range enclosuretest.Shelves() {
		f.Add(s.Page(PageConfiguration))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		c, err := DecodeConfig(reply)
		if err != nil {
			return
		}
		checkLabels(t, c.Subenclosures[0].Vendor, c.Subenclosures[0].Product, c.Types[0].Text, c.Types[0].Type.String())
	})
}

func FuzzStatus(f *testing.F) {
	fuzzPage(f, PageStatus, func(t *testing.T, c *Config, reply []byte) {
		p, err := DecodeStatus(c, reply)
		if err != nil {
			return
		}
		for i, ty := range p.Types {
			if len(ty.Elements) > c.Types[i].Count {
				t.Fatalf("%d elements of %d", len(ty.Elements), c.Types[i].Count)
			}
			for _, e := range ty.Elements {
				checkLabels(t, e.Status().String(), strings.Join(e.Flags(c.Types[i].Type), ""))
			}
		}
	})
}

func FuzzThreshold(f *testing.F) {
	fuzzPage(f, PageThreshold, func(t *testing.T, c *Config, reply []byte) {
		p, err := DecodeThresholds(c, reply)
		if err != nil {
			return
		}
		for i, ty := range p.Types {
			if len(ty) > c.Types[i].Count {
				t.Fatalf("%d entries for %d elements", len(ty), c.Types[i].Count)
			}
		}
	})
}

func FuzzDescriptor(f *testing.F) {
	fuzzPage(f, PageDescriptor, func(t *testing.T, c *Config, reply []byte) {
		p, err := DecodeDescriptors(c, reply)
		if err != nil {
			return
		}
		for i, ty := range p.Types {
			if len(ty.Elements) > c.Types[i].Count {
				t.Fatalf("%d names for %d elements", len(ty.Elements), c.Types[i].Count)
			}
			for _, name := range ty.Elements {
				if n := ElementName(c.Types[i].Type, name); len(n) > maxLabel || !utf8.ValidString(n) {
					t.Fatalf("name %q", n)
				}
			}
		}
	})
}

func FuzzAdditional(f *testing.F) {
	fuzzPage(f, PageAdditional, func(t *testing.T, c *Config, reply []byte) {
		p, err := DecodeAdditional(c, reply)
		if err != nil {
			return
		}
		for i, ty := range p.Types {
			if len(ty) != c.Types[i].Count {
				t.Fatalf("%d entries for %d elements", len(ty), c.Types[i].Count)
			}
			for _, d := range ty {
				if d != nil && (d.Slot < -1 || d.Slot > 254) {
					t.Fatalf("slot %d", d.Slot)
				}
			}
		}
	})
}

// fuzzPage fuzzes a page together with the configuration that orders it.
func fuzzPage(f *testing.F, code byte, check func(*testing.T, *Config, []byte)) {
	for _, s := range enclosuretest.Shelves() {
		if p := s.Page(code); p != nil {
			f.Add(s.Page(PageConfiguration), p)
		}
	}
	f.Fuzz(func(t *testing.T, config, reply []byte) {
		c, err := DecodeConfig(config)
		if err != nil {
			return
		}
		check(t, c, reply)
	})
}

func checkLabels(t *testing.T, values ...string) {
	t.Helper()
	for _, v := range values {
		if len(v) > 2*maxLabel || !utf8.ValidString(v) {
			t.Fatalf("label value %q", v)
		}
	}
}

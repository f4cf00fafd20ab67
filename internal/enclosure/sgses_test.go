package enclosure

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
)

// The tests of this file hold the decoders against a program that shares no
// code with them: they hand the same bytes to sg_ses and read its text. Only
// version 1.46 counts; later ones misread thresholds and condition bits.

func TestConfigurationIsWhatSgSesPrints(t *testing.T) {
	requireSgSES(t)
	for _, s := range enclosuretest.Shelves() {
		t.Run(s.Name, func(t *testing.T) {
			c := mustConfig(t, s)
			var b strings.Builder
			fmt.Fprintf(&b, "Configuration diagnostic page:\n  number of secondary subenclosures: %d\n", len(c.Subenclosures)-1)
			fmt.Fprintf(&b, "  generation code: 0x%x\n  enclosure descriptor list\n", c.Generation)
			for _, e := range c.Subenclosures {
				primary, headers := "", 0
				if e.ID == 0 {
					primary = " [primary]"
				}
				for _, h := range c.Types {
					if h.Subenclosure == e.ID {
						headers++
					}
				}
				fmt.Fprintf(&b, "    Subenclosure identifier: %d%s\n", e.ID, primary)
				fmt.Fprintf(&b, "      relative ES process id: %d, number of ES processes: %d\n", e.ProcessID, e.Processes)
				fmt.Fprintf(&b, "      number of type descriptor headers: %d\n", headers)
				fmt.Fprintf(&b, "      enclosure logical identifier (hex): %016x\n", e.LogicalID)
				fmt.Fprintf(&b, "      enclosure vendor: %-8s  product: %-16s  rev: %-4s\n", e.Vendor, e.Product, e.Revision)
			}
			b.WriteString("  type descriptor header and text list\n")
			for _, h := range c.Types {
				fmt.Fprintf(&b, "    Element type: %s, subenclosure id: %d\n", sgTypeName(h.Type), h.Subenclosure)
				fmt.Fprintf(&b, "      number of possible elements: %d\n", h.Count)
				if h.Text != "" {
					fmt.Fprintf(&b, "      text: %s\n", h.Text)
				}
			}
			if got, want := b.String(), sgSES(t, s, "cf"); got != want {
				t.Errorf("decoded:\n%s\nsg_ses:\n%s", got, want)
			}
		})
	}
}

func TestStatusIsWhatSgSesPrints(t *testing.T) {
	requireSgSES(t)
	for _, s := range enclosuretest.Shelves() {
		t.Run(s.Name, func(t *testing.T) {
			c := mustConfig(t, s)
			p, err := DecodeStatus(c, s.Page(PageStatus))
			if err != nil {
				t.Fatal(err)
			}
			text := sgSES(t, s, "es")
			head := fmt.Sprintf("Enclosure Status diagnostic page:\n  INVOP=%d, INFO=%d, NON-CRIT=%d, CRIT=%d, UNRECOV=%d\n  generation code: 0x%x\n",
				bit(p.Conditions.InvalidOperation), bit(p.Conditions.Info), bit(p.Conditions.Noncritical),
				bit(p.Conditions.Critical), bit(p.Conditions.Unrecoverable), p.Generation)
			if !strings.HasPrefix(text, head) {
				t.Errorf("decoded:\n%s\nsg_ses:\n%s", head, text[:len(head)])
			}
			got := map[[2]int]map[string]string{}
			for h, ty := range p.Types {
				got[[2]int{h, -1}] = describe(*ty.Overall, c.Types[h].Type)
				for i, e := range ty.Elements {
					got[[2]int{h, i}] = describe(e, c.Types[h].Type)
				}
			}
			want := map[[2]int]map[string]string{}
			for _, b := range blocks(text) {
				want[[2]int{b.header, b.element}] = comparableValues(t, b, c.Types[b.header].Type)
			}
			if len(got) != len(want) {
				t.Errorf("%d elements decoded, sg_ses prints %d", len(got), len(want))
			}
			for at, w := range want {
				if g := got[at]; !maps.Equal(g, w) {
					t.Errorf("type header %d (%s) element %d:\ndecoded %v\nsg_ses  %v", at[0], c.Types[at[0]].Type, at[1], g, w)
				}
			}
		})
	}
}

// describe writes an element as decoded in sg_ses's words. Readings of elements
// that are not there are left out.
func describe(e Raw, kind ElementType) map[string]string {
	m := map[string]string{"status": sgStatusName(e.Status()), "Swap": bitText(e.Swapped())}
	set := e.bits(kind)
	for _, f := range append(flagBits(kind), flagBit{name: "predicted_failure"}, flagBit{name: "disabled"}) {
		name := sgFlagNames()[f.name]
		if f.name == "over_temperature_fail" {
			name = map[ElementType]string{TypePowerSupply: "Overtmp fail", TypeTemperature: "OT failure"}[kind]
		}
		m[name] = bitText(slices.Contains(set, f.name))
	}
	if kind.IsSlot() {
		m["Ident"], m["Fault sensed"], m["Fault requested"] = bitText(e.Identify()), bitText(e.FaultSensed()), bitText(e.FaultRequested())
	}
	var v float64
	ok, format := false, ""
	switch kind {
	case TypeTemperature:
		v, ok = e.Celsius()
		format = "%.0f C"
	case TypeVoltage:
		v, ok = e.Volts()
		format = "%.2f volts"
	case TypeCurrent:
		v, ok = e.Amperes()
		format = "%.2f amps"
	case TypeCooling:
		v, ok = e.RPM()
		format = "%.0f rpm"
	}
	if ok {
		m["reading"] = fmt.Sprintf(format, v)
	}
	return m
}

// comparableValues takes from sg_ses's text what describe gives, and fails for every
// value that is neither compared nor listed as not decoded.
func comparableValues(t *testing.T, b block, kind ElementType) map[string]string {
	t.Helper()
	m := map[string]string{}
	installed := slices.Contains([]string{"OK", "Critical", "Noncritical", "Unrecoverable"}, b.values["status"])
	decoded := slices.Collect(maps.Values(sgFlagNames()))
	decoded = append(decoded, "status", "Swap", "Overtmp fail", "OT failure")
	for name, value := range b.values {
		switch {
		case slices.Contains(decoded, name):
			m[name] = value
		case name == "Ident":
			if kind.IsSlot() {
				m[name] = value
			}
		case name == "Fault sensed", name == "Fault requested":
			m[name] = value
		case name == "Fault reqstd":
			m["Fault requested"] = value
		case name == "Temperature", name == "Voltage", name == "Current", name == "Actual speed":
			if installed && value != "<reserved>" {
				m["reading"] = value
			}
		case slices.Contains(sgNotDecoded(), name), value == "":
		default:
			t.Errorf("%s: sg_ses prints %q = %q, which is not compared", kind, name, value)
		}
	}
	return m
}

func TestThresholdsAreWhatSgSesPrints(t *testing.T) {
	requireSgSES(t)
	value := regexp.MustCompile(`(high critical|high warning|low warning|low critical)=(\S+)`)
	for _, s := range enclosuretest.Shelves() {
		if s.Page(PageThreshold) == nil {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			c := mustConfig(t, s)
			p, err := DecodeThresholds(c, s.Page(PageThreshold))
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			for _, b := range blocks(sgSES(t, s, "th")) {
				if b.element < 0 || c.Types[b.header].Type == TypeUPS { // battery minutes; not decoded
					continue
				}
				want := map[string]string{}
				for _, m := range value.FindAllStringSubmatch(strings.Join(b.lines, " "), -1) {
					want[m[1]] = strings.TrimSuffix(m[2], ",")
				}
				limits := p.Types[b.header][b.element]
				got := map[string]string{}
				if c.Types[b.header].Type == TypeTemperature {
					for _, name := range []string{"high critical", "high warning", "low warning", "low critical"} {
						got[name] = "<res>"
					}
					for _, l := range limits.Celsius() {
						got[strings.Replace(l.Name, "_", " ", 1)] = fmt.Sprint(l.Value)
					}
				} else {
					half := func(raw byte) string { return fmt.Sprintf("%.1f", float64(raw)/2) }
					got["high critical"], got["high warning"] = half(limits.HighCritical), half(limits.HighWarning)
					if c.Types[b.header].Type == TypeVoltage {
						got["low warning"], got["low critical"] = half(limits.LowWarning), half(limits.LowCritical)
					}
				}
				if !maps.Equal(got, want) {
					t.Errorf("type header %d element %d: decoded %v, sg_ses %v", b.header, b.element, got, want)
				}
				compared++
			}
			if s.Name != "subenclosures" && compared == 0 {
				t.Error("sg_ses printed no thresholds")
			}
		})
	}
}

func TestDescriptorsAreWhatSgSesPrints(t *testing.T) {
	requireSgSES(t)
	for _, s := range enclosuretest.Shelves() {
		if s.Page(PageDescriptor) == nil {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			c := mustConfig(t, s)
			p, err := DecodeDescriptors(c, s.Page(PageDescriptor))
			if err != nil {
				t.Fatal(err)
			}
			got, want := map[[2]int]string{}, map[[2]int]string{}
			for h, ty := range p.Types {
				got[[2]int{h, -1}] = ty.Overall
				for i, name := range ty.Elements {
					got[[2]int{h, i}] = name
				}
			}
			for _, b := range blocks(sgSES(t, s, "ed")) {
				text := strings.TrimSpace(b.title)
				if text == "<empty>" {
					text = ""
				}
				want[[2]int{b.header, b.element}] = text
			}
			if !maps.Equal(got, want) {
				t.Errorf("decoded %v\nsg_ses  %v", got, want)
			}
		})
	}
}

func TestAdditionalStatusIsWhatSgSesPrints(t *testing.T) {
	requireSgSES(t)
	for _, s := range enclosuretest.Shelves() {
		if s.Page(PageAdditional) == nil {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			c := mustConfig(t, s)
			p, err := DecodeAdditional(c, s.Page(PageAdditional))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for h, ty := range p.Types {
				for e, d := range ty {
					if d != nil {
						got = append(got, describeAdditional(d, h, e, c.Types[h].Type))
					}
				}
			}
			sent := 0
			for _, ty := range s.Types {
				sent += len(ty.Additional)
			}
			if sent != len(got) {
				t.Fatalf("%d descriptors decoded, %d sent", len(got), sent)
			}
			var want []string
			for _, b := range blocks(sgSES(t, s, "aes")) {
				want = append(want, sgAdditional(b, c.Types[b.header].Type))
			}
			// Where a shelf leaves optional descriptors out, sg_ses reads on
			// behind the page's end.
			if len(want) > sent {
				want = want[:sent]
			}
			if !slices.Equal(got, want) {
				for i := range max(len(got), len(want)) {
					g, w := nth(got, i), nth(want, i)
					if g != w {
						t.Errorf("descriptor %d:\ndecoded %s\nsg_ses  %s", i, g, w)
					}
				}
			}
		})
	}
}

// describeAdditional writes a descriptor on one line. Only of slots does sg_ses
// say reliably which element they are.
func describeAdditional(d *Additional, header, element int, kind ElementType) string {
	place := ""
	if d.HasIndex {
		place = fmt.Sprintf("index %d eiioe %d", d.Index, bit(d.OverallCounted))
	} else {
		place = fmt.Sprintf("element %d", element)
	}
	if kind.IsSlot() {
		place = fmt.Sprintf("header %d %s", header, place)
	}
	if d.Invalid {
		return place + " invalid"
	}
	if !kind.IsSlot() {
		return place
	}
	slot := ""
	if d.Slot >= 0 {
		slot = strconv.Itoa(d.Slot)
	}
	line := fmt.Sprintf("%s SAS phys %d slot %q", place, len(d.Phys), slot)
	for _, phy := range d.Phys {
		kind := map[byte]string{0: "no SAS device attached", 1: "end device"}[phy.DeviceType]
		line += fmt.Sprintf(" %s attached %#x address %#x id %#x", kind, phy.Attached, phy.Address, phy.ID)
	}
	return line
}

// sgAdditional does the same from sg_ses's text.
func sgAdditional(b block, kind ElementType) string {
	v := b.values
	place := fmt.Sprintf("element %d", b.element)
	if v["element index"] != "" {
		place = "index " + v["element index"] + " eiioe " + v["eiioe"]
	}
	// Without a descriptor for the controllers in front of them, sg_ses takes
	// expanders for controllers, so of those only the place in the page counts.
	if kind.IsSlot() {
		place = fmt.Sprintf("header %d %s", b.header, place)
	}
	if slices.Contains(b.lines, "flagged as invalid (no further information)") {
		return place + " invalid"
	}
	if !kind.IsSlot() {
		return place
	}
	line := fmt.Sprintf("%s %s phys %s slot %q", place, v["Transport protocol"], v["number of phys"], v["device slot number"])
	if v["number of phys"] != "0" {
		line += fmt.Sprintf(" %s attached %s address %s id %s", v["SAS device type"], v["attached SAS address"], v["SAS address"], v["phy identifier"])
	}
	return line
}

func nth(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(none)"
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func bitText(b bool) string { return strconv.Itoa(bit(b)) }

func mustConfig(t *testing.T, s *enclosuretest.Shelf) *Config {
	t.Helper()
	c, err := DecodeConfig(s.Page(PageConfiguration))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

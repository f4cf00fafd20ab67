package enclosure

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
)

// The tests of this file hold the decoders against a program that shares no
// code with them: they hand the same bytes to sg_ses and read its text. Only
// version 1.46 counts; later ones misread thresholds and condition bits.

// sgSES returns sg_ses's text about one page of a shelf.
func sgSES(t *testing.T, s *enclosuretest.Shelf, page string) string {
	t.Helper()
	var hex strings.Builder
	for _, code := range []byte{PageConfiguration, PageStatus, PageThreshold, PageDescriptor, PageAdditional} {
		for i, b := range s.Page(code) {
			fmt.Fprintf(&hex, "%02x ", b)
			if i%16 == 15 {
				hex.WriteByte('\n')
			}
		}
		hex.WriteByte('\n')
	}
	file := filepath.Join(t.TempDir(), "pages.hex")
	if err := os.WriteFile(file, []byte(hex.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sg_ses", "--inhex="+file, "--status", "--page="+page).CombinedOutput()
	if err != nil {
		t.Fatalf("sg_ses --page=%s: %v\n%s", page, err, out)
	}
	return string(out)
}

func requireSgSES(t *testing.T) {
	t.Helper()
	cephtest.RequireTool(t, "sg_ses")
	out, err := exec.Command("sg_ses", "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "version: 2.48 ") {
		cephtest.SkipOrFail(t, fmt.Sprintf("sg_ses of sg3-utils 1.46 (its own version is 2.48) is needed: %v %s", err, out))
	}
}

// block is what sg_ses prints about one element: where, and its name=value
// pairs. Lines without a pair are kept whole.
type block struct {
	header  int // type header index
	element int // -1: overall
	title   string
	values  map[string]string
	lines   []string
}

var (
	headerLine  = regexp.MustCompile(`^ *Element type: .* \[ti=(\d+)\]$`)
	elementLine = regexp.MustCompile(`^ *(?:Overall descriptor|Element (\d+) descriptor|Element index: (\d+)  eiioe=(\d)):?(?: (.*))?$`)
)

// blocks cuts the text of an element page.
func blocks(text string) []block {
	var out []block
	header := -1
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := headerLine.FindStringSubmatch(line); m != nil {
			header, _ = strconv.Atoi(m[1])
			continue
		}
		if m := elementLine.FindStringSubmatch(line); m != nil && header >= 0 {
			b := block{header: header, element: -1, title: m[4], values: map[string]string{}}
			if m[1] != "" {
				b.element, _ = strconv.Atoi(m[1])
			}
			if m[2] != "" {
				b.values["element index"], b.values["eiioe"] = m[2], m[3]
			}
			out = append(out, b)
			continue
		}
		if len(out) == 0 {
			continue
		}
		b := &out[len(out)-1]
		b.lines = append(b.lines, strings.TrimSpace(line))
		for part := range strings.SplitSeq(line, ", ") {
			name, value, found := strings.Cut(part, "=")
			if !found {
				name, value, _ = strings.Cut(part, ": ")
			}
			name = strings.TrimSpace(name)
			// Ports print the common DISABLED bit first and one of their own later.
			if _, again := b.values[name]; !again {
				b.values[name] = strings.TrimSpace(value)
			}
		}
	}
	return out
}

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

// sgTypeName is what sg_ses calls a type.
func sgTypeName(t ElementType) string {
	names := map[ElementType]string{
		0x01: "Device slot", 0x02: "Power supply", 0x03: "Cooling", 0x04: "Temperature sensor", 0x05: "Door",
		0x06: "Audible alarm", 0x07: "Enclosure services controller electronics", 0x08: "SCC controller electronics",
		0x09: "Nonvolatile cache", 0x0a: "Invalid operation reason", 0x0b: "Uninterruptible power supply",
		0x0c: "Display", 0x0d: "Key pad entry", 0x0e: "Enclosure", 0x0f: "SCSI port/transceiver", 0x10: "Language",
		0x11: "Communication port", 0x12: "Voltage sensor", 0x13: "Current sensor", 0x14: "SCSI target port",
		0x15: "SCSI initiator port", 0x16: "Simple subenclosure", 0x17: "Array device slot", 0x18: "SAS expander",
		0x19: "SAS connector",
	}
	if n, ok := names[t]; ok {
		return n
	}
	return fmt.Sprintf("vendor specific [0x%x]", byte(t))
}

// sgStatusName is what sg_ses calls a status code.
func sgStatusName(s StatusCode) string {
	names := []string{
		"Unsupported", "OK", "Critical", "Noncritical", "Unrecoverable", "Not installed", "Unknown",
		"Not available", "No access allowed",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("reserved [%d]", s)
}

// sgFlagNames are sg_ses's names of the flags, where one name does for all
// types.
func sgFlagNames() map[string]string {
	return map[string]string{
		"predicted_failure": "Predicted failure", "disabled": "Disabled",
		"dc_overvoltage": "DC overvoltage", "dc_undervoltage": "DC undervoltage", "dc_overcurrent": "DC overcurrent",
		"fail": "Fail", "off": "Off", "temperature_warning": "Temperature warn", "ac_fail": "AC fail", "dc_fail": "DC fail",
		"over_temperature_warning": "OT warning", "under_temperature_fail": "UT failure",
		"under_temperature_warning": "UT warning", "open": "Open",
		"ac_low": "AC low", "ac_high": "AC high", "ac_quality": "AC qual", "ups_fail": "UPS fail", "warning": "Warn",
		"interface_fail": "Intf fail", "battery_fail": "Batt fail", "battery_predicted_failure": "BPF",
		"failure_indication": "Failure indication", "warning_indication": "Warning indication",
		"warning_over": "Warn Over", "warning_under": "Warn Under", "critical_over": "Crit Over", "critical_under": "Crit Under",
		"overcurrent": "OC", "link_lost": "Loss of link", "transmit_fail": "Xmit fail",
	}
}

// sgNotDecoded are values that sg_ses prints and that are neither a fault nor a
// reading: requests, capabilities, what a RAID controller told the shelf.
func sgNotDecoded() []string {
	return []string{
		"Do not remove", "Hot swap", "Requested on", "Report", "Ready to insert", "RMV", "Device off", "Slot address",
		"App client bypass A", "App client bypass B", "Enc bypass A", "Enc bypass B", "Dev bypassed A", "Dev bypassed B",
		"App client bypassed A", "App client bypassed B", "Enc bypassed A", "Enc bypassed B",
		"Bypassed A", "Bypassed B", "Device bypassed A", "Device bypassed B",
		"OK", "Reserved device", "Hot spare", "Cons check", "In crit array", "In failed array", "Rebuild/remap", "R/R abort",
		"Request mute", "Mute", "Remind", "Tone indicator: Info", "Non-crit", "Crit", "Unrecov", "Unlock",
		"Size multiplier", "Non volatile cache size", "Hence non volatile cache size", "Battery status",
		"Invop type", "Page not supported", "Byte offset", "bit number", "last 3 bytes (hex)",
		"Display mode status", "Display character status", "Time until power cycle", "Requested power off duration",
		"Failure requested", "Warning requested", "Language code", "Enabled", "Short enclosure status",
		"Connector physical link", "Mated", "Vendor specific element type", "status in hex",
		"vendor specific connector type", "unknown external connector type",
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
				want[[2]int{b.header, b.element}] = comparable(t, b, c.Types[b.header].Type)
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

// comparable takes from sg_ses's text what describe gives, and fails for every
// value that is neither compared nor listed as not decoded.
func comparable(t *testing.T, b block, kind ElementType) map[string]string {
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

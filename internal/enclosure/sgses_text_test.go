package enclosure

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
)

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

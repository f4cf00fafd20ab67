package msa

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ceph-risk/ceph_risk_exporter/internal/msa/msatest"
)

var allCommands = []string{
	cmdSystem, cmdEnclosures, cmdControllers, cmdPSUs, cmdFans, cmdDisks, cmdDiskGroups, cmdVdisks, cmdSensors, cmdPorts, cmdEvents,
}

// reversed turns the order of objects and of their properties around.
func reversed(answer string) string {
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	head, body, foot := lines[:2], lines[2:len(lines)-1], lines[len(lines)-1:]
	slices.Reverse(body)
	for i, line := range body { // an end now comes before its beginning
		switch {
		case strings.HasPrefix(line, "<OBJECT"):
			body[i] = "</OBJECT>"
		case line == "</OBJECT>":
			depth, j := 1, i+1
			for ; depth > 0; j++ {
				if strings.HasPrefix(body[j], "<OBJECT") {
					depth--
				} else if body[j] == "</OBJECT>" {
					depth++
				}
			}
			body[i] = body[j-1]
		}
	}
	return strings.Join(slices.Concat(head, body, foot), "\n")
}

func TestNothingDependsOnPosition(t *testing.T) {
	for _, generation := range []msatest.Generation{msatest.P2000, msatest.MSA2040, msatest.MSA2060} {
		model := msatest.NewModel(generation)
		model.Sensors = model.Sensors[:5] // without the pair that only order tells apart
		var straight, backward []*Response
		for _, command := range allCommands {
			for _, form := range []struct {
				text string
				list *[]*Response
			}{{model.Answer(command), &straight}, {reversed(model.Answer(command)), &backward}} {
				r, err := Decode([]byte(form.text))
				if err != nil {
					t.Fatalf("%s: %v\n%s", command, err, form.text)
				}
				*form.list = append(*form.list, r)
			}
		}
		slices.Reverse(backward)
		if a, b := NewParts(straight), NewParts(backward); !reflect.DeepEqual(a, b) {
			t.Errorf("generation %d:\n%+v\n%+v", generation, a, b)
		} else if len(a.Disks) != 9 || len(a.Groups) != 2 || len(a.Fans) != 2 || a.System == nil {
			t.Errorf("generation %d: incomplete: %+v", generation, a)
		}
	}
}

func TestGroupsOwnWordOnItsJobComesFirst(t *testing.T) {
	ratio := func(v float64) *float64 { return &v }
	p := &Parts{
		Groups: []DiskGroup{
			{Part: Part{ID: "a"}, Job: JobScrub, Progress: ratio(0.5)},
			{Part: Part{ID: "b"}, Job: JobScrub},
			{Part: Part{ID: "c"}},
			{Part: Part{ID: "d"}, Job: JobReconstruct},
		},
		Disks: []Disk{
			{Group: "a", Job: JobScrub, Progress: ratio(0.1)},
			{Group: "b", Job: JobScrub, Progress: ratio(0.3)}, {Group: "b", Job: JobScrub, Progress: ratio(0.2)},
			{Group: "c", Job: JobDiskScrub}, {Group: "c", Job: JobDiskScrub, Progress: ratio(0.9)},
			{Group: "", Job: JobDiskScrub, Progress: ratio(0.4)},
		},
	}
	want := []Job{{"a", JobScrub, ratio(0.5)}, {"b", JobScrub, ratio(0.2)}, {"c", JobDiskScrub, ratio(0.9)}, {"d", JobReconstruct, nil}}
	if got := p.Jobs(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for text, want := range map[string]string{"": "", "None": "", "vrsc": "VRSC", "Disk Scrub": "DISK SCRUB", "<b>": "OTHER", strings.Repeat("X", 40): "OTHER"} {
		if got := jobName(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, generation := range []msatest.Generation{msatest.P2000, msatest.MSA2040, msatest.MSA2060} {
		model := msatest.NewModel(generation)
		model.Disks, model.Events = model.Disks[7:], model.Events[:2]
		model.Groups[0].Job, model.Groups[0].Percent = "VRSC", 12
		for _, command := range append(allCommands, "no such command") {
			f.Add([]byte(model.Answer(command)))
		}
	}
	f.Add([]byte(status("response", "1234567890abcdef")))
	f.Add([]byte("<RESPONSE><OBJECT basetype=\"drives\"><PROPERTY name=\"location\">\xff</PROPERTY></OBJECT></RESPONSE>"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		r, err := Decode(answer)
		if err != nil {
			return
		}
		_, _ = r.verdict()
		_, _ = r.sessionKey()
		p := NewParts([]*Response{r, r})
		ids := map[string]bool{}
		label := func(kind, id string) {
			if id == "" || ids[kind+id] || !utf8.ValidString(id) {
				t.Errorf("%s %q is empty, there twice, or not UTF-8", kind, id)
			}
			ids[kind+id] = true
		}
		value := func(v *float64, low, high float64) {
			if v != nil && !(*v >= low && *v <= high) {
				t.Errorf("%v is not from %v to %v", *v, low, high)
			}
		}
		for _, d := range p.Disks {
			label("disk", d.ID)
			value(d.LifeLeft, 0, 1)
			value(d.Progress, 0, 1)
			value(d.Celsius, -math.MaxFloat64, math.MaxFloat64)
		}
		for _, x := range p.PSUs {
			label("psu", x.ID)
		}
		for _, x := range p.Fans {
			label("fan", x.ID)
			value(x.RPM, 0, math.MaxFloat64)
		}
		for _, x := range p.Sensors {
			label("sensor", x.ID)
			value(x.Value, -math.MaxFloat64, math.MaxFloat64)
		}
		for _, g := range p.Groups {
			label("group", g.ID)
			value(g.Size, 0, math.MaxFloat64)
		}
		for _, j := range p.Jobs() {
			label("job", j.Group+"\x00"+j.Name)
		}
		for _, x := range p.Ports {
			label("port", x.ID)
		}
		l := newEventLog()
		l.add(Events(r))
		for _, c := range l.totals() {
			if c.Count != 0 {
				t.Error("history was counted")
			}
		}
		before := l.scrubsOf(p.Groups)
		l.add(Events(r))
		for _, c := range l.totals() {
			if c.Count != 0 {
				t.Error("the same entries were counted again")
			}
		}
		if after := l.scrubsOf(p.Groups); !reflect.DeepEqual(before, after) {
			t.Errorf("reading the log again changes %v to %v", before, after)
		}
	})
}

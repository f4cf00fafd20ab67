package msa

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEventsAreDecoded(t *testing.T) {
	answer := `<RESPONSE>` +
		event("B2733", "207", "INFORMATIONAL", "2022-06-06 17:17:26", "") +
		event("a891", "557", "ERROR", "2021-11-12 09:00:00", "1636704980") +
		event("A1", "1", "Odd", "yesterday", "x") +
		event("2", "3", "CRITICAL", "", "") +
		event("", "3", "CRITICAL", "", "") + event("AB7", "3", "CRITICAL", "", "") + event("A7", "none", "CRITICAL", "", "") +
		event("A99999999999999999999", "3", "CRITICAL", "", "") +
		`</RESPONSE>`
	r, err := Decode([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	want := []Event{
		{"B", 2733, 207, "informational", time.Date(2022, 6, 6, 17, 17, 26, 0, time.UTC), "text"},
		{"A", 891, 557, "error", time.Date(2021, 11, 12, 8, 16, 20, 0, time.UTC), "text"},
		{"A", 1, 1, "other", time.Time{}, "text"},
		{"", 2, 3, "critical", time.Time{}, "text"},
	}
	if got := Events(r); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func event(id, code, severity, stamp, seconds string) string {
	var b strings.Builder
	b.WriteString(`<OBJECT basetype="events">`)
	for _, p := range [][2]string{
		{"message", "text"}, {"severity", severity}, {"time-stamp", stamp}, {"time-stamp-numeric", seconds}, {"event-code", code}, {"event-id", id},
	} {
		b.WriteString(`<PROPERTY name="` + p[0] + `">` + p[1] + `</PROPERTY>`)
	}
	return b.String() + `</OBJECT>`
}

func TestOnlyACompleteScrubWithoutErrorsIsClean(t *testing.T) {
	for _, test := range []struct {
		severity, message string
		finding           bool
		errors            string
	}{
		{"informational", "A scrub-disk-group job completed. No errors were found. (disk group: dgB01, SN: 00c0ff)", false, "0"},
		{"informational", "Scrub vdisk completed, no errors found. (vdisk: failover-abort, SN: 00c0ff)", false, "0"},
		{"resolved", "A scrub-disk-group job completed. No errors were found.", false, "0"},
		{"warning", "A scrub-disk-group job completed. No errors were found.", true, "0"},
		{"other", "A scrub-disk-group job completed. No errors were found.", true, "0"},
		{"informational", "A scrub-disk-group job completed. 1 parity mismatch was found.", true, "1"},
		{"informational", "A scrub-disk-group job completed. 2 parity errors and 3 media errors were found.", true, "5"},
		{"informational", "A scrub-disk-group job completed. (disk group: dgA01, errors found: 7)", true, "7"},
		{"informational", "A scrub-disk-group job completed. 0 errors.", true, "0"},
		{"informational", "A scrub-disk-group job completed. Errors were found.", true, "absent"},
		{"error", "A scrub-disk-group job completed. More than 100 errors were found and corrected.", true, "absent"},
		{"informational", "A scrub-disk-group job completed. Fewer than 100 parity or mirror mismatches were found and corrected.", true, "absent"},
		{"warning", "A scrub-disk-group job did not complete because of a failed disk.", true, "absent"},
		{"informational", "A scrub-disk-group job was aborted by a user. No errors were found.", true, "absent"},
		{"informational", "99999999999999999999 errors", true, "absent"},
		{"informational", "", true, "absent"},
	} {
		finding, errors := scrubResult(Event{Severity: test.severity, Message: test.message})
		if finding != test.finding || show(errors) != test.errors {
			t.Errorf("%s, %q: finding %v, errors %s, want %v, %s", test.severity, test.message, finding, show(errors), test.finding, test.errors)
		}
	}
}

func TestScrubsBelongToTheGroupsThatExist(t *testing.T) {
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	l := newEventLog()
	l.add([]Event{ // in no order, as events of two controllers come
		{"A", 8, 207, "warning", at(8), "completed. 4 errors were found. (disk group: old name, SN: 00C0FFAA)"},
		{"A", 3, 207, "informational", at(3), "completed. No errors were found. (disk group: dg1, SN: 00c0ffaa)"},
		{"A", 7, 206, "informational", at(7), "started. (disk group: old name, SN: 00c0ffaa)"},
		{"B", 5, 207, "informational", at(5), "completed. (disk group: deleted, SN: 00c0ffdd)"},
		{"B", 6, 206, "informational", at(6), "started. (Virtual Disk: vd 2)"},
		{"B", 9, 207, "error", at(9), "a scrub completed somewhere"},
		{"B", 10, 523, "error", at(10), "(disk group: dg1)"},
	})
	four, none := 4.0, 0.0
	groups := []DiskGroup{{Part: Part{ID: "dg1"}, Serial: "00c0ffaa"}, {Part: Part{ID: "vd 2"}}}
	want := []Scrub{
		{Group: "dg1", Started: at(7), Ended: true, Finished: at(8), Finding: true, Errors: &four},
		{Group: UnknownGroup, Ended: true, Finished: at(9), Finding: true},
		{Group: "vd 2", Started: at(6)},
	}
	if got := l.scrubsOf(groups); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	all := []string{}
	for _, s := range l.scrubsOf(nil) {
		all = append(all, s.Group)
	}
	if want := []string{"deleted", "dg1", "old name", UnknownGroup, "vd 2"}; !reflect.DeepEqual(all, want) {
		t.Errorf("without the list of groups: %v, want %v", all, want)
	}
	// The next clean one takes the finding away; an old entry read again does
	// not bring it back.
	l.add([]Event{{"A", 20, 207, "informational", at(20), "completed. No errors were found. (disk group: dg1, SN: 00c0ffaa)"}})
	l.add([]Event{{"A", 8, 207, "warning", at(8), "completed. 4 errors were found. (disk group: old name, SN: 00C0FFAA)"}})
	want[0].Finished, want[0].Finding, want[0].Errors = at(20), false, &none
	if got := l.scrubsOf(groups); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestHistoryOfAControllerThatJoinsLaterIsNotNew(t *testing.T) {
	l := newEventLog()
	key := EventKey{8, "warning"}
	l.add([]Event{{"A", 5, 8, "warning", noon, ""}})
	l.add([]Event{
		{"B", 1, 8, "warning", noon.Add(-time.Hour), ""},
		{"B", 2, 8, "warning", noon.Add(time.Hour), ""},
	})
	// A stale copy of the first controller's log is no restart of its numbers.
	l.add([]Event{{"A", 4, 8, "warning", noon.Add(-time.Minute), ""}})
	l.add([]Event{{"A", 6, 8, "warning", noon.Add(2 * time.Hour), ""}})
	if want := []EventCount{{key, 2}}; !reflect.DeepEqual(l.totals(), want) {
		t.Errorf("%v, want %v", l.totals(), want)
	}
}

package osdperf

import (
	"testing"
)

func TestVersionOfEachRelease(t *testing.T) {
	want := map[string]Version{"16": {"16.2.15", "pacific", 16}, "18": {"18.2.7", "reef", 18}, "20": {"20.2.4", "tentacle", 20}}
	for release, data := range fixtures(t, "version.json") {
		if got, err := DecodeVersion(data); err != nil || got != want[release] {
			t.Errorf("%s: got %+v, %v; want %+v", release, got, err, want[release])
		}
	}
	for _, answer := range []string{``, `{}`, `{"version":"Development"}`} {
		if _, err := DecodeVersion([]byte(answer)); err == nil {
			t.Errorf("%q: no error", answer)
		}
	}
}

func TestScrubReservationsOfEachRelease(t *testing.T) {
	for release, data := range fixtures(t, "dump_scrub_reservations_primary.json") {
		got, err := DecodeScrubReservations(data)
		if err != nil || got.Local == 0 || got.Max == 0 {
			t.Errorf("%s: got %+v, %v; want a scrub as the primary", release, got, err)
		}
	}
	for answer, want := range map[string]ScrubReservations{
		`{"scrubs_local":1,"scrubs_remote":2,"osd_max_scrubs":3}`: {1, 2, 3},
		// 19: the reserver's fields without their names.
		`{"scrubs_local":0,"osd_max_scrubs":3,"remote_scrub_reservations":[3,0,[{"priority":0,"items":[{"item":"1.1","prio":0,"can_preempt":false}]}],[{"item":"1.0","prio":0,"can_preempt":false}]]}`: {0, 1, 3},
		`{"scrubs_local":2,"osd_max_scrubs":3,"remote_scrub_reservations":[3,0,[],[]]}`:                                                                                                                {2, 0, 3},
		// 20
		`{"scrubs_local":1,"osd_max_scrubs":3,"remote_scrub_reservations":{"max_allowed":3,"min_priority":0,"queues":[{"priority":0,"items":[{"item":"2.9"}]}],"in_progress":[{"item":"2.1","prio":0,"can_preempt":false},{"item":"2.2","prio":0,"can_preempt":false}]}}`: {1, 2, 3},
	} {
		if got, err := DecodeScrubReservations([]byte(answer)); err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", answer, got, err, want)
		}
	}
	for _, answer := range []string{``, `{}`, `{"scrubs_local":0,"osd_max_scrubs":3}`, `{"scrubs_local":0,"osd_max_scrubs":3,"remote_scrub_reservations":[3,0]}`, `{"scrubs_local":0,"osd_max_scrubs":3,"remote_scrub_reservations":{}}`, `{"scrubs_local":0,"osd_max_scrubs":3,"remote_scrub_reservations":[3,0,[],7]}`} {
		if got, err := DecodeScrubReservations([]byte(answer)); err == nil {
			t.Errorf("%s: got %+v, want an error", answer, got)
		}
	}
}

// Field case T1: what waits is not work.
func TestRecoveryReservations(t *testing.T) {
	for release, data := range fixtures(t, "dump_recovery_reservations_local.json") {
		got, err := DecodeRecoveryReservations(data)
		if err != nil || got.Recovery == 0 || got.Deletion != 0 {
			t.Errorf("%s: got %+v, %v; want recovery", release, got, err)
		}
	}
	const idle = `{"max_allowed":1,"min_priority":0,"queues":[],"in_progress":[]}`
	waiting := `{"max_allowed":1,"min_priority":0,"queues":[{"priority":151,"items":[{"item":"2.1","prio":151,"can_preempt":true}]}],"in_progress":[]}`
	holding := func(prio string) string {
		return `{"max_allowed":1,"min_priority":0,"queues":[],"in_progress":[{"item":"2.3","prio":` + prio + `,"can_preempt":true}]}`
	}
	for _, test := range []struct {
		local, remote string
		want          RecoveryReservations
	}{
		{idle, idle, RecoveryReservations{}},
		{waiting, waiting, RecoveryReservations{}},
		{holding("151"), waiting, RecoveryReservations{Recovery: 1}},
		{idle, holding("180"), RecoveryReservations{Recovery: 1}},
		{holding("179"), holding("179"), RecoveryReservations{Recovery: 1, Deletion: 1}},
		{holding("219"), idle, RecoveryReservations{Deletion: 1}},
		{holding("255"), idle, RecoveryReservations{Recovery: 1}},
	} {
		answer := `{"local_reservations":` + test.local + `,"remote_reservations":` + test.remote + `}`
		if got, err := DecodeRecoveryReservations([]byte(answer)); err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v; want %+v", answer, got, err, test.want)
		}
	}
	for _, answer := range []string{``, `{}`, `{"local_reservations":{},"remote_reservations":{}}`, `{"local_reservations":` + idle + `}`} {
		if got, err := DecodeRecoveryReservations([]byte(answer)); err == nil {
			t.Errorf("%q: got %+v, want an error", answer, got)
		}
	}
}

func TestOptionsOfEachRelease(t *testing.T) {
	for release, data := range fixtures(t, "config_show.json") {
		options, err := DecodeOptions(data)
		if err != nil || options["osd_scrub_sleep"] != "0.500000" || options["osd_op_queue"] != "wpq" {
			t.Errorf("%s: got %q %q, %v", release, options["osd_scrub_sleep"], options["osd_op_queue"], err)
		}
	}
	if got, err := DecodeOptions([]byte("{\"a\":\"\xff\",\"b\":7}")); err != nil || len(got) != 1 || got["a"] != "\uFFFD" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, answer := range []string{``, `{}`, `{"a":1}`} {
		if _, err := DecodeOptions([]byte(answer)); err == nil {
			t.Errorf("%q: no error", answer)
		}
	}
}

func FuzzDecodeDaemon(f *testing.F) {
	for _, name := range []string{"version.json", "dump_scrub_reservations_primary.json", "dump_recovery_reservations_local.json"} {
		for _, data := range fixtures(f, name) {
			f.Add(data)
		}
	}
	f.Add([]byte(`{"scrubs_local":2,"osd_max_scrubs":3,"remote_scrub_reservations":[3,0,[],[]]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		_, _ = DecodeVersion(answer)
		_, _ = DecodeOptions(answer)
		if r, err := DecodeScrubReservations(answer); err != nil && r != (ScrubReservations{}) {
			t.Errorf("%+v beside %v", r, err)
		}
		if r, err := DecodeRecoveryReservations(answer); err != nil && r != (RecoveryReservations{}) {
			t.Errorf("%+v beside %v", r, err)
		}
	})
}

package ceph

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type echo struct{ err error }

func (e echo) MonCommand(_ context.Context, command []byte) ([]byte, error) {
	return append([]byte("mon "), command...), e.err
}

func (e echo) MgrCommand(_ context.Context, command []byte) ([]byte, error) {
	return append([]byte("mgr \xff "), command...), e.err
}

func TestRecordingKeepsEveryByteAndEndsAtItsLimit(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)
	var file bytes.Buffer
	var failures []error
	c := Record(echo{}, &file, 400, func() time.Time { return at }, func(err error) { failures = append(failures, err) })
	ctx := context.Background()
	for range 2 {
		if a, err := c.MonCommand(ctx, []byte(`{"prefix":"osd dump"}`)); err != nil || !strings.HasPrefix(string(a), "mon ") {
			t.Fatalf("%q, %v", a, err)
		}
		if err := UseMgrAnswer(ctx, c, []byte(`{"prefix":"pg dump"}`), func([]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(failures) != 1 {
		t.Errorf("failures %v, want one", failures)
	}
	got, err := ReadRecording(strings.NewReader(file.String() + `{"at":"20`))
	if err != nil {
		t.Fatal(err)
	}
	want := []RecordedAnswer{
		{At: at, Command: []byte(`{"prefix":"osd dump"}`), Answer: []byte(`mon {"prefix":"osd dump"}`)},
		{At: at, Command: []byte(`{"prefix":"pg dump"}`), Answer: []byte("mgr \xff " + `{"prefix":"pg dump"}`)},
		{At: at, Command: []byte(`{"prefix":"osd dump"}`), Answer: []byte(`mon {"prefix":"osd dump"}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got[1].Prefix() != "pg dump" {
		t.Errorf("prefix %q", got[1].Prefix())
	}
}

func TestRecordingHoldsFailuresToo(t *testing.T) {
	var file bytes.Buffer
	c := Record(echo{err: errors.New("no quorum")}, &file, 1<<20, time.Now, func(err error) { t.Error(err) })
	if _, err := c.MonCommand(context.Background(), []byte(`{"prefix":"status"}`)); err == nil {
		t.Error("the failure got lost")
	}
	got, err := ReadRecording(&file)
	if err != nil || len(got) != 1 || got[0].Error != "no quorum" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadRecording(strings.NewReader("no JSON\n")); err == nil {
		t.Error("a foreign file was read")
	}
}

// A recording is sent to others. Whoever may read the configuration reads the
// passwords in it; they do not get into the recording, what the exporter judges
// by does.
func TestRecordingsHoldNoSecretOptions(t *testing.T) {
	answers := map[string]string{
		"config dump": `[{"section":"mgr","name":"mgr/influx/password","value":"s3cret-1","mask":""},
			{"section":"client.rgw","name":"rgw_keystone_admin_password","value":"s3cret-2","mask":"host:a"},
			{"section":"global","name":"osd_scrub_max_interval","value":"40.0","mask":""},
			{"section":"global","name":"mon_made_up_secret","value":"s3cret-3","mask":""},
			{"section":"global","name":"rgw_ldap_secret","value":"s3cret-4"},{"value":"s3cret-5"}]`,
		"config show":               `[{"name":"rgw_crypt_kmip_password","value":"s3cret-6","source":"mon","overrides":[{"source":"file","value":"s3cret-7"}]}]`,
		"config show-with-defaults": `{"not":"a list","password":"s3cret-8"}`,
	}
	var out bytes.Buffer
	r := Record(tapped(answers), &out, 1<<20, time.Now, func(err error) { t.Error(err) })
	for _, prefix := range []string{"config dump", "config show", "config show-with-defaults"} {
		got, err := r.MonCommand(context.Background(), []byte(`{"prefix":"`+prefix+`"}`))
		if err != nil || string(got) != answers[prefix] {
			t.Errorf("%s: the exporter itself got %s, %v", prefix, got, err)
		}
	}
	recording, err := ReadRecording(&out)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, a := range recording {
		text += string(a.Answer) + "\n"
	}
	const want = `[{"mask":"","name":"mgr/influx/password","section":"mgr","value":"[hidden]"},` +
		`{"mask":"host:a","name":"rgw_keystone_admin_password","section":"client.rgw","value":"[hidden]"},` +
		`{"mask":"","name":"osd_scrub_max_interval","section":"global","value":"40.0"},` +
		`{"mask":"","name":"mon_made_up_secret","section":"global","value":"[hidden]"},` +
		`{"name":"rgw_ldap_secret","section":"global","value":"[hidden]"},{"value":"[hidden]"}]
[{"name":"rgw_crypt_kmip_password","source":"mon","value":"[hidden]"}]
"[hidden]"
`
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

type tapped map[string]string

func (a tapped) MonCommand(_ context.Context, command []byte) ([]byte, error) {
	return []byte(a[(&RecordedAnswer{Command: command}).Prefix()]), nil
}

func (a tapped) MgrCommand(ctx context.Context, command []byte) ([]byte, error) {
	return a.MonCommand(ctx, command)
}

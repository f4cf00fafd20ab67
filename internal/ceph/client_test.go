package ceph

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeCluster answers by target and command, and notes what it was asked.
type fakeCluster struct {
	answers map[string]string
	asked   []string
}

func (f *fakeCluster) answer(target string, command []byte) ([]byte, error) {
	asked := target + " " + string(command)
	f.asked = append(f.asked, asked)
	answer, ok := f.answers[asked]
	if !ok {
		return nil, errors.New("no such command")
	}
	return []byte(answer), nil
}

func (f *fakeCluster) MonCommand(_ context.Context, command []byte) ([]byte, error) {
	return f.answer("mon", command)
}

func (f *fakeCluster) MgrCommand(_ context.Context, command []byte) ([]byte, error) {
	return f.answer("mgr", command)
}

// lender lends its answers and takes them back at once.
type lender struct{ fakeCluster }

func (l *lender) MgrCommandInPlace(_ context.Context, command []byte, use func([]byte) error) error {
	answer, err := l.answer("mgr", command)
	if err != nil {
		return err
	}
	err = use(answer)
	clear(answer)
	return err
}

func TestEveryQuestionGoesToTheDaemonThatAnswersIt(t *testing.T) {
	ctx := context.Background()
	const pgs = `{"pg_ready":true,"pg_stats":[{"pgid":"1.0","state":"active"}]}`
	table := func(p *PGTable, err error) (any, error) { return p.PGs, err }
	onePG := []PG{barePG("1.0", StateActive)}
	for _, c := range []struct {
		command, answer string
		ask             func(*Client) (any, error)
		want            any
	}{
		{`mgr {"prefix":"pg dump","dumpcontents":["pgs"],"format":"json"}`, pgs, func(c *Client) (any, error) { return table(c.PGDump(ctx)) }, onePG},
		{`mgr {"prefix":"pg ls","states":["scrubbing","snaptrim"],"format":"json"}`, pgs,
			func(c *Client) (any, error) { return table(c.PGLs(ctx, "scrubbing", "snaptrim")) }, onePG},
		{`mgr {"prefix":"pg ls-by-pool","poolstr":"my pool","format":"json"}`, pgs,
			func(c *Client) (any, error) { return table(c.PGLsByPool(ctx, "my pool")) }, onePG},
		{`mon {"prefix":"osd dump","format":"json"}`, `{"epoch":7,"fsid":"f","flags_set":[],"pools":[],"osds":[]}`,
			func(c *Client) (any, error) { return c.OSDDump(ctx) }, &OSDMap{FSID: "f", Epoch: 7, Flags: []string{}, Pools: []Pool{}, OSDs: []OSD{}}},
		{`mgr {"prefix":"osd df","format":"json"}`, `{"nodes":[]}`,
			func(c *Client) (any, error) { return c.OSDDf(ctx) }, &OSDUsages{OSDs: []OSDUsage{}, Stray: []OSDUsage{}}},
		{`mgr {"prefix":"pg dump","dumpcontents":["osds"],"format":"json"}`, `{"pg_ready":true,"osd_stats":[{"osd":1}]}`,
			func(c *Client) (any, error) { return c.StatFS(ctx) }, []StatFS{{OSD: 1}}},
		{`mon {"prefix":"osd metadata","format":"json"}`, `[{"id":4}]`,
			func(c *Client) (any, error) { return c.OSDMetadata(ctx) }, []OSDMetadata{{ID: 4}}},
		{`mon {"prefix":"health","detail":"detail","format":"json"}`, `{"status":"HEALTH_OK","checks":{}}`,
			func(c *Client) (any, error) { return c.HealthDetail(ctx) }, &Health{Status: "HEALTH_OK", Checks: map[string]HealthCheck{}}},
		{`mon {"prefix":"config dump","format":"json"}`, `[]`,
			func(c *Client) (any, error) { return c.ConfigDump(ctx) }, []ConfigEntry{}},
		{`mgr {"prefix":"config show-with-defaults","who":"mgr.a","format":"json"}`, `[{"name":"n","value":"v"}]`,
			func(c *Client) (any, error) { return c.ConfigShowWithDefaults(ctx, "mgr.a") }, Config{"n": "v"}},
		{`mon {"prefix":"mgr dump","format":"json"}`, `{"epoch":1,"active_name":"a","available":true}`,
			func(c *Client) (any, error) { return c.MgrDump(ctx) }, &MgrMap{Epoch: 1, Active: "a", Available: true, ActiveChange: NoStamp}},
		{`mon {"prefix":"versions","format":"json"}`, `{"overall":{"ceph version 16.2.15 (6) pacific (stable)":2}}`,
			func(c *Client) (any, error) { return c.Versions(ctx) }, map[string]map[Version]int{"overall": {{16, 2, 15}: 2}}},
	} {
		t.Run(c.command, func(t *testing.T) {
			fake := fakeCluster{answers: map[string]string{c.command: c.answer}}
			lent := &lender{fakeCluster{answers: fake.answers}}
			for _, commander := range []Commander{&fake, lent} {
				var seen []string
				client := &Client{Commander: commander, OnAnswer: func(prefix string, size int, _ time.Duration) {
					seen = append(seen, fmt.Sprint(prefix, " ", size))
				}}
				got, err := c.ask(client)
				same(t, got, c.want, err)
				prefix := strings.Split(c.command, `"`)[3]
				if want := []string{fmt.Sprint(prefix, " ", len(c.answer))}; !reflect.DeepEqual(seen, want) {
					t.Errorf("told of %v, want %v", seen, want)
				}
			}
			same(t, append(fake.asked, lent.asked...), []string{c.command, c.command}, nil)
		})
	}
}

func TestErrorsNameDaemonAndCommand(t *testing.T) {
	ctx := context.Background()
	broken := map[string]string{
		`mgr {"prefix":"pg dump","dumpcontents":["pgs"],"format":"json"}`: `{"pg_ready":tr`,
		`mon {"prefix":"config dump","format":"json"}`:                    `{}`,
	}
	for _, commander := range []Commander{&fakeCluster{answers: broken}, &lender{fakeCluster{answers: broken}}} {
		c := &Client{Commander: commander}
		var got []string
		for _, ask := range []func() error{
			func() error { _, err := c.PGDump(ctx); return err },
			func() error { _, err := c.PGLs(ctx); return err },
			func() error { _, err := c.ConfigDump(ctx); return err },
			func() error { _, err := c.OSDDump(ctx); return err },
		} {
			got = append(got, ask().Error())
		}
		want := []string{
			"decode pgs: cut off at byte 14: unexpected EOF",
			"mgr pg ls: no such command",
			"decode config dump: json: cannot unmarshal object into Go value of type []ceph.ConfigEntry",
			"mon osd dump: no such command",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestATapSeesTheVeryBytesThatAreDecoded(t *testing.T) {
	ctx := context.Background()
	answers := map[string]string{
		`mgr {"prefix":"pg ls","format":"json"}`:       `{"pg_ready":true}`,
		`mon {"prefix":"config dump","format":"json"}`: `[]`,
	}
	for _, commander := range []Commander{&fakeCluster{answers: answers}, &lender{fakeCluster{answers: answers}}} {
		var seen []string
		tap := &Tap{Commander: commander, Seen: func(command, answer []byte, err error) {
			seen = append(seen, fmt.Sprintf("%s -> %s (%v)", command, answer, err))
		}}
		c := &Client{Commander: tap}
		_, err1 := c.PGLs(ctx)
		_, err2 := c.ConfigDump(ctx)
		_, err3 := c.OSDDf(ctx)
		_, err4 := tap.MgrCommand(ctx, []byte(`{"prefix":"pg ls","format":"json"}`))
		same(t, seen, []string{
			`{"prefix":"pg ls","format":"json"} -> {"pg_ready":true} (<nil>)`,
			`{"prefix":"config dump","format":"json"} -> [] (<nil>)`,
			`{"prefix":"osd df","format":"json"} ->  (no such command)`,
			`{"prefix":"pg ls","format":"json"} -> {"pg_ready":true} (<nil>)`,
		}, errors.Join(err1, err2, err4))
		if err3 == nil {
			t.Error("no error from a command that failed")
		}
	}
}

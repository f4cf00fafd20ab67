package ceph_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// asked notes every command and answers none.
type asked struct{ questions []ceph.Question }

func (a *asked) note(target string, command []byte) ([]byte, error) {
	var c struct{ Prefix string }
	if err := json.Unmarshal(command, &c); err != nil {
		return nil, err
	}
	a.questions = append(a.questions, ceph.Question{Target: target, Prefix: c.Prefix})
	return nil, errors.New("no answer")
}

func (a *asked) MonCommand(_ context.Context, command []byte) ([]byte, error) {
	return a.note("mon", command)
}

func (a *asked) MgrCommand(_ context.Context, command []byte) ([]byte, error) {
	return a.note("mgr", command)
}

// Every method of the client asks a listed question, and no question is listed
// that none asks.
func TestTheClientAsksWhatIsListedAndNothingElse(t *testing.T) {
	a := &asked{}
	client := reflect.ValueOf(&ceph.Client{Commander: ceph.ReadOnly(a)})
	for i := range client.NumMethod() {
		method := client.Method(i)
		in := []reflect.Value{reflect.ValueOf(context.Background())}
		for k := 1; k < method.Type().NumIn(); k++ {
			if method.Type().IsVariadic() && k == method.Type().NumIn()-1 {
				break
			}
			in = append(in, reflect.Zero(method.Type().In(k)))
		}
		out := method.Call(in)
		if err, _ := out[len(out)-1].Interface().(error); err == nil || errors.Is(err, ceph.ErrNotListed) {
			t.Errorf("%s: %v", client.Type().Method(i).Name, err)
		}
	}
	slices.SortFunc(a.questions, func(x, y ceph.Question) int {
		return strings.Compare(x.Target+" "+x.Prefix, y.Target+" "+y.Prefix)
	})
	if diff := cmp.Diff(ceph.Questions(), slices.Compact(a.questions)); diff != "" {
		t.Errorf("listed and asked (-listed +asked):\n%s", diff)
	}
}

func TestOnlyListedQuestionsReachTheCluster(t *testing.T) {
	ctx := context.Background()
	for _, command := range []string{
		`{"prefix":"osd pool rm"}`, `{"prefix":"config set"}`, `{"prefix":"osd out","ids":["1"]}`, `{"prefix":"pg deep-scrub"}`, `{"prefix":"tell"}`,
		`{"prefix":"osd dump","prefix":"osd pool rm"}`, `{"prefix":["osd dump"]}`, `{"Prefix":"osd dump"}`, `{"prefix":"osd dump "}`, `{"prefix":"OSD DUMP"}`,
		`{}`, `[]`, `"osd dump"`, ``, `osd dump`, `{"prefix":"osd dump"} {"prefix":"osd pool rm"}`,
	} {
		a := &asked{}
		c := ceph.ReadOnly(a)
		_, err1 := c.MonCommand(ctx, []byte(command))
		_, err2 := c.MgrCommand(ctx, []byte(command))
		err3 := c.MgrCommandInPlace(ctx, []byte(command), func([]byte) error { return nil })
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, ceph.ErrNotListed) {
				t.Errorf("%s: %v", command, err)
			}
		}
		if len(a.questions) != 0 {
			t.Errorf("%s reached the cluster as %v", command, a.questions)
		}
	}
	// A question to the mgr is none to the mon.
	a := &asked{}
	if _, err := ceph.ReadOnly(a).MonCommand(ctx, []byte(`{"prefix":"pg dump"}`)); !errors.Is(err, ceph.ErrNotListed) || len(a.questions) != 0 {
		t.Errorf("%v %v", err, a.questions)
	}
}

// A real cluster of every release says itself that these commands only read.
func TestTheClusterItselfCallsEveryQuestionReadOnly(t *testing.T) {
	for _, release := range cephtest.Releases() {
		t.Run(release.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			answer, err := cephtest.Shared(t, release).MonCommand(ctx, []byte(`{"prefix":"get_command_descriptions","format":"json"}`))
			if err != nil {
				t.Fatal(err)
			}
			var commands map[string]struct {
				Signature []any  `json:"sig"`
				Perm      string `json:"perm"`
			}
			if err := json.Unmarshal(answer, &commands); err != nil {
				t.Fatal(err)
			}
			perms := map[string][]string{}
			for _, c := range commands {
				var words []string
				for _, s := range c.Signature {
					word, fixed := s.(string)
					if !fixed {
						break
					}
					words = append(words, word)
				}
				name := strings.Join(words, " ")
				perms[name] = append(perms[name], c.Perm)
			}
			for _, q := range ceph.Questions() {
				got := perms[q.Prefix]
				if len(got) == 0 || slices.ContainsFunc(got, func(p string) bool { return p != "r" }) {
					t.Errorf("%s %s: permissions %q", q.Target, q.Prefix, got)
				}
			}
		})
	}
}

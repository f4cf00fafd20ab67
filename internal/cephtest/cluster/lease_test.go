package cluster

import (
	"slices"
	"testing"
)

func granted(l *lease) bool {
	select {
	case <-l.granted:
		return true
	default:
		return false
	}
}

func TestLeasesAreGrantedInTheOrderOfAsking(t *testing.T) {
	var users []int
	l := leases{changed: func(n int) { users = append(users, n) }}
	a := l.ask("a", false)
	b := l.ask("b", false)
	alone := l.ask("alone", true)
	late := l.ask("late", false) // must not overtake the exclusive one
	state := func() [4]bool { return [4]bool{granted(a), granted(b), granted(alone), granted(late)} }
	for _, step := range []struct {
		what    string
		do      func()
		want    [4]bool
		holders []string
	}{
		{"all have asked", func() {}, [4]bool{true, true, false, false}, []string{"a", "b"}},
		{"a ends", func() { l.end(a) }, [4]bool{true, true, false, false}, []string{"b"}},
		{"b ends", func() { l.end(b) }, [4]bool{true, true, true, false}, []string{"alone (exclusive)"}},
		{"alone ends", func() { l.end(alone) }, [4]bool{true, true, true, true}, []string{"late"}},
		{"late ends", func() { l.end(late) }, [4]bool{true, true, true, true}, []string{}},
		{"late ends again", func() { l.end(late) }, [4]bool{true, true, true, true}, []string{}},
	} {
		step.do()
		if got := state(); got != step.want {
			t.Errorf("%s: granted %v, want %v", step.what, got, step.want)
		}
		if got := l.holders(); !slices.Equal(got, step.holders) {
			t.Errorf("%s: holders %q, want %q", step.what, got, step.holders)
		}
	}
	if want := []int{1, 2, 3, 4, 3, 2, 1, 0, 0}; !slices.Equal(users, want) {
		t.Errorf("users went %v, want %v", users, want)
	}
}

func TestWaitingLeaseThatEndsNoLongerBlocksOthers(t *testing.T) {
	var l leases
	l.ask("a", false)
	alone := l.ask("alone", true)
	c := l.ask("c", false)
	l.end(alone)
	if !granted(c) {
		t.Error("a shared lease still waits for an exclusive one that was given up")
	}
}

package msa

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/msa/msatest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

func TestEveryWayOfLoggingInIsFound(t *testing.T) {
	for _, login := range []msatest.Login{
		{Base: "/api", Hash: "sha256", Join: "_"},
		{Base: "/api", Hash: "md5", Join: "_"},
		{Base: "/api", Hash: "sha256", Join: "_!"},
		{Base: "/v3/api", Hash: "md5", Join: "_"},
	} {
		t.Run(login.Base+login.Hash+login.Join, func(t *testing.T) {
			peer := startPeer(t, msatest.Options{Login: login})
			r := open(t, peer).Poll(t.Context(), noon)
			if r.Err != nil || r.Parts == nil || !reflect.DeepEqual(up(r), []bool{true, true}) {
				t.Fatalf("error %v, controllers %v", r.Err, r.Controllers)
			}
			// The second controller is not asked to try again what the first
			// refused.
			if n := peer.B.Counts().Refused; n != 0 {
				t.Errorf("%d refused logins on the second controller", n)
			}
			if want := (Logins{Accepted: 2}); r.Logins != want {
				t.Errorf("logins %+v, want %+v", r.Logins, want)
			}
		})
	}
}

func TestConfiguredWayIsTheOnlyOneTried(t *testing.T) {
	peer := startPeer(t, msatest.Options{Login: msatest.Login{Base: "/api", Hash: "sha256", Join: "_"}})
	r := open(t, peer, "hash: md5", "api: /api").Poll(t.Context(), noon)
	if !errors.Is(r.Err, ErrRefused) || !r.Refused {
		t.Errorf("error %v, refused %v", r.Err, r.Refused)
	}
	if got := peer.A.Counts().Refused + peer.B.Counts().Refused; got != 1 {
		t.Errorf("%d logins were refused, want 1", got)
	}
}

func TestSessionIsKeptAndClosed(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := open(t, peer)
	for i := range 5 {
		if r := a.Poll(t.Context(), noon.Add(time.Duration(i)*time.Minute)); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if got := [2]int{peer.A.Counts().Logins, peer.B.Counts().Logins}; got != [2]int{1, 1} {
		t.Errorf("logins %v, want one on each controller", got)
	}
	a.Close(context.Background())
	for _, c := range []*msatest.Endpoint{peer.A, peer.B} {
		if got := c.Counts(); got.Logouts != 1 || got.OpenSessions != 0 {
			t.Errorf("logouts %d, sessions left %d", got.Logouts, got.OpenSessions)
		}
	}
}

func TestExpiredSessionIsRenewedOncePerPoll(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := open(t, peer)
	a.Poll(t.Context(), noon)
	peer.ExpireSessions()
	r := a.Poll(t.Context(), noon.Add(time.Minute))
	if r.Err != nil || len(failed(r)) != 0 || !reflect.DeepEqual(up(r), []bool{true, true}) {
		t.Fatalf("error %v, failed %v, controllers %v", r.Err, failed(r), r.Controllers)
	}
	if got := peer.A.Counts().Logins; got != 2 {
		t.Errorf("%d logins, want 2", got)
	}
	// Keys that are never accepted must not become a storm of logins.
	peer.A.RefuseSessions("all")
	peer.B.RefuseSessions("all")
	for i := range 3 {
		before := peer.A.Counts().Logins
		r = a.Poll(t.Context(), noon.Add(time.Duration(2+i)*time.Minute))
		if r.Err == nil || r.Refused {
			t.Errorf("error %v, refused %v", r.Err, r.Refused)
		}
		if got := peer.A.Counts().Logins - before; got != 1 {
			t.Errorf("%d logins in one poll, want 1", got)
		}
	}
	peer.A.RefuseSessions("")
	peer.B.RefuseSessions("")
	if r = a.Poll(t.Context(), noon.Add(10*time.Minute)); r.Err != nil {
		t.Errorf("after recovery: %v", r.Err)
	}
}

func TestErrorThatOnlyLooksLikeALostSessionIsNotRenewedForEver(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := open(t, peer)
	a.Poll(t.Context(), noon)
	peer.A.RefuseSessions("show disks")
	var logins []int
	for i := range 3 {
		before := peer.A.Counts().Logins
		r := a.Poll(t.Context(), noon.Add(time.Duration(i+1)*time.Minute))
		if r.Err != nil || !slices.Equal(failed(r), []string{"show disks"}) {
			t.Errorf("error %v, failed %v", r.Err, failed(r))
		}
		logins = append(logins, peer.A.Counts().Logins-before)
	}
	if want := []int{1, 0, 0}; !slices.Equal(logins, want) {
		t.Errorf("logins per poll %v, want %v", logins, want)
	}
}

func TestOldTLSHasToBeAllowed(t *testing.T) {
	peer := startPeer(t, msatest.Options{OldTLS: true})
	if r := open(t, peer).Poll(t.Context(), noon); r.Err == nil {
		t.Error("TLS 1.0 was spoken unasked")
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, peer.CertificatePEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := open(t, peer, "tls: {min_version: \"1.0\", ca_file: "+ca+"}").Poll(t.Context(), noon); r.Err != nil {
		t.Error(r.Err)
	}
}

func TestErrorsReadTheSameEachTime(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := limited(open(t, peer))
	a.Poll(t.Context(), noon)
	for _, kind := range []msatest.FaultKind{msatest.Reset, msatest.Hang, msatest.Junk, msatest.Truncated, msatest.Broken, msatest.Huge} {
		peer.A.SetFault(msatest.Fault{Kind: kind})
		peer.B.SetFault(msatest.Fault{Kind: kind})
		if patient(a); kind == msatest.Hang {
			impatient(a, 0, 1)
		}
		a.active = 0
		first := errorText(a.Poll(t.Context(), noon).Err)
		a.active = 0
		if second := errorText(a.Poll(t.Context(), noon).Err); first == "" || second != first {
			t.Errorf("fault %d: %s\nthen %s", kind, first, second)
		}
	}
	peer.Close()
	const want = "A: show system: dial: connect: connection refused\nB: show system: dial: connect: connection refused"
	got := strings.NewReplacer(peer.A.Address(), "A", peer.B.Address(), "B").Replace(errorText(a.Poll(t.Context(), noon).Err))
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestWrongPasswordIsNotTriedAgainAndAgain(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	cfg := configure(t, peer, "hash: sha256")
	if err := os.WriteFile(cfg.PasswordFile, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := NewArray(cfg)
	var tries []int
	for minute := range 130 {
		before := peer.A.Counts().Refused + peer.B.Counts().Refused
		r := a.Poll(t.Context(), noon.Add(time.Duration(minute)*time.Minute))
		if !r.Refused || !errors.Is(r.Err, ErrRefused) {
			t.Fatalf("minute %d: error %v, refused %v", minute, r.Err, r.Refused)
		}
		if peer.A.Counts().Refused+peer.B.Counts().Refused > before {
			tries = append(tries, minute)
		}
	}
	if want := []int{0, 5, 15, 35, 75}; !slices.Equal(tries, want) {
		t.Errorf("tried in minutes %v, want %v", tries, want)
	}
	// A corrected file counts at once.
	if err := os.WriteFile(cfg.PasswordFile, []byte(peer.Password()), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := a.Poll(t.Context(), noon.Add(131*time.Minute)); r.Err != nil || r.Refused {
		t.Errorf("with the right password: error %v, refused %v", r.Err, r.Refused)
	}
}

func TestFirmwareThatChangesItsHashIsFollowed(t *testing.T) {
	peer := startPeer(t, msatest.Options{Model: msatest.NewModel(msatest.MSA2040)})
	a := open(t, peer)
	if r := a.Poll(t.Context(), noon); r.Err != nil {
		t.Fatal(r.Err)
	}
	peer.SetLogin(msatest.Login{Base: "/api", Hash: "sha256", Join: "_"})
	peer.ExpireSessions()
	if r := a.Poll(t.Context(), noon.Add(time.Minute)); !r.Refused {
		t.Errorf("refused %v, error %v", r.Refused, r.Err)
	}
	if r := a.Poll(t.Context(), noon.Add(7*time.Minute)); r.Err != nil {
		t.Errorf("after the pause: %v", r.Err)
	}
}

func TestOtherControllerTakesOver(t *testing.T) {
	for name, kind := range map[string]msatest.FaultKind{
		"hang": msatest.Hang, "junk": msatest.Junk, "page": msatest.Page, "truncated": msatest.Truncated,
		"broken": msatest.Broken, "redirect": msatest.Redirect, "reset": msatest.Reset, "refuse": msatest.Refuse,
	} {
		t.Run(name, func(t *testing.T) {
			peer := startPeer(t, msatest.Options{})
			a := open(t, peer)
			if r := a.Poll(t.Context(), noon); r.Err != nil {
				t.Fatal(r.Err)
			}
			peer.A.SetFault(msatest.Fault{Kind: kind})
			impatient(a, 0)
			for minute := 1; minute < 3; minute++ {
				r := a.Poll(t.Context(), noon.Add(time.Duration(minute)*time.Minute))
				if r.Err != nil || len(failed(r)) != 0 || !reflect.DeepEqual(up(r), []bool{false, true}) {
					t.Fatalf("error %v, failed %v, controllers %v", r.Err, failed(r), r.Controllers)
				}
			}
			peer.A.SetFault(msatest.Fault{})
			patient(a)
			if r := a.Poll(t.Context(), noon.Add(10*time.Minute)); !reflect.DeepEqual(up(r), []bool{true, true}) {
				t.Errorf("after recovery: controllers %v", r.Controllers)
			}
		})
	}
}

func TestControllerThatDiesInThePollIsReplaced(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := open(t, peer)
	impatient(a, 0)
	for _, kind := range []msatest.FaultKind{msatest.Hang, msatest.Reset, msatest.Truncated} {
		peer.A.SetFault(msatest.Fault{Kind: kind, Command: "show disks"})
		a.active = 0
		r := a.Poll(t.Context(), noon)
		if r.Err != nil || len(failed(r)) != 0 || len(r.Parts.Disks) != 9 {
			t.Errorf("fault %d: error %v, failed %v", kind, r.Err, failed(r))
		}
	}
}

func TestBothControllersDown(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := open(t, peer)
	impatient(a, 0, 1)
	peer.A.SetFault(msatest.Fault{Kind: msatest.Hang})
	peer.B.SetFault(msatest.Fault{Kind: msatest.Junk})
	r := a.Poll(t.Context(), noon)
	if r.Err == nil || r.Refused || r.Parts != nil || !reflect.DeepEqual(up(r), []bool{false, false}) {
		t.Errorf("error %v, refused %v, parts %v, controllers %v", r.Err, r.Refused, r.Parts, r.Controllers)
	}
}

func TestFailedCommandCostsOnlyItself(t *testing.T) {
	for _, command := range []string{
		"show enclosures", "show controllers", "show power-supplies", "show fans", "show disks", "show disk-groups",
		"show sensor-status", "show ports", "show events",
	} {
		peer := startPeer(t, msatest.Options{})
		a := open(t, peer)
		for _, c := range []*msatest.Endpoint{peer.A, peer.B} {
			c.SetFault(msatest.Fault{Kind: msatest.Refuse, Command: command})
		}
		r := a.Poll(t.Context(), noon)
		if r.Err != nil || !slices.Equal(failed(r), []string{command}) {
			t.Errorf("%s: error %v, failed %v", command, r.Err, failed(r))
		}
	}
}

func TestHungArrayIsGivenUp(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := open(t, peer)
	for n, c := range []*msatest.Endpoint{peer.A, peer.B} {
		c.SetFault(msatest.Fault{Kind: msatest.Hang, Command: "show events"})
		a.controllers[n].timeout = 2 * time.Second // for the answers to the others
	}
	r := a.Poll(t.Context(), noon)
	if !slices.Equal(failed(r), []string{"show events"}) {
		t.Errorf("failed %v: one slow command is not the array", failed(r))
	}
	for _, c := range []*msatest.Endpoint{peer.A, peer.B} {
		c.SetFault(msatest.Fault{})
	}
	a.controllers[0].timeout = time.Second
	// Everything but the system hangs: two commands are waited for, not ten.
	a.probeOnly(t, peer)
}

// probeOnly lets all commands hang after `show system` has been answered, by a
// context that ends when the first of them is asked.
func (a *Array) probeOnly(t *testing.T, peer *msatest.Array) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &poll{Array: a, ctx: ctx, now: noon, report: &Report{}, system: &Response{}, other: func() (int, bool) { return 0, false }}
	for _, c := range []*msatest.Endpoint{peer.A, peer.B} {
		c.SetFault(msatest.Fault{Kind: msatest.Hang})
	}
	before := peer.A.Counts().Commands
	p.current = 0
	p.run()
	cancel()
	asked := 0
	for command, n := range peer.A.Counts().Commands {
		asked += n - before[command]
	}
	if asked != maxUnanswered {
		t.Errorf("%d commands were waited for, want %d", asked, maxUnanswered)
	}
	for _, c := range p.report.Commands[1:] {
		if c.Err == nil {
			t.Errorf("%s did not fail", c.Command)
		}
	}
}

func TestControllerThatTookOverIsKept(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := open(t, peer)
	peer.A.SetFault(msatest.Fault{Kind: msatest.Broken})
	a.Poll(t.Context(), noon)
	peer.A.SetFault(msatest.Fault{})
	for i := range 3 {
		a.Poll(t.Context(), noon.Add(time.Duration(i+1)*time.Minute))
	}
	if got := [2]int{peer.A.Counts().Commands["show disks"], peer.B.Counts().Commands["show disks"]}; got != [2]int{0, 4} {
		t.Errorf("show disks was asked %v times", got)
	}
}

func TestCommandThatTheModelDoesNotKnowIsLeftOutForAnHour(t *testing.T) {
	peer := startPeer(t, msatest.Options{Model: msatest.NewModel(msatest.P2000)})
	a := open(t, peer)
	for _, minute := range []int{0, 1, 59, 60} {
		if r := a.Poll(t.Context(), noon.Add(time.Duration(minute)*time.Minute)); len(failed(r)) != 0 {
			t.Errorf("failed %v", failed(r))
		}
	}
	got := peer.A.Counts().Commands
	if got["show fans"] != 2 || got["show disk-groups"] != 1 || got["show vdisks"] != 4 {
		t.Errorf("asked %v", got)
	}
}

func TestSessionIsRenewedWhateverTheWordsOfItsEnd(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	peer.SetExpiredText("Please go away")
	a := open(t, peer)
	a.Poll(t.Context(), noon)
	peer.ExpireSessions()
	if r := a.Poll(t.Context(), noon.Add(time.Minute)); r.Err != nil || !reflect.DeepEqual(up(r), []bool{true, true}) {
		t.Errorf("error %v, controllers %v", r.Err, r.Controllers)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	followed := make(chan string, 100)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { followed <- r.URL.Path }))
	defer elsewhere.Close()
	peer := startPeer(t, msatest.Options{})
	for _, c := range []*msatest.Endpoint{peer.A, peer.B} {
		c.SetFault(msatest.Fault{Kind: msatest.Redirect, Target: elsewhere.URL})
	}
	if r := open(t, peer).Poll(t.Context(), noon); r.Err == nil {
		t.Error("no error")
	}
	if len(followed) != 0 {
		t.Errorf("%d requests followed a redirect with what they carry", len(followed))
	}
}

func TestEndlessAnswerIsBounded(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := limited(open(t, peer))
	for _, c := range []*msatest.Endpoint{peer.A, peer.B} {
		c.SetFault(msatest.Fault{Kind: msatest.Huge, Command: "show disks"})
	}
	r := a.Poll(t.Context(), noon)
	if r.Err != nil || !slices.Equal(failed(r), []string{"show disks"}) {
		t.Errorf("error %v, failed %v", r.Err, failed(r))
	}
	for _, c := range r.Commands {
		if c.Err != nil && !strings.Contains(c.Err.Error(), "answer is longer than 262144 bytes") {
			t.Error(c.Err)
		}
	}
}

func TestCertificateIsVerifiedUnlessSwitchedOff(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	r := open(t, peer, "tls: {}").Poll(t.Context(), noon)
	if r.Err == nil || !strings.Contains(r.Err.Error(), "certificate") {
		t.Errorf("error %v, want one of the certificate", r.Err)
	}
	if n := len(peer.A.Counts().Commands); n != 0 {
		t.Errorf("%d commands went over an unverified connection", n)
	}
	if r := open(t, peer, "tls: {insecure_skip_verify: true}").Poll(t.Context(), noon); r.Err != nil {
		t.Errorf("switched off: %v", r.Err)
	}
}

func TestErrorsAndTracesShowNoSecrets(t *testing.T) {
	peer := startPeer(t, msatest.Options{})
	a := limited(open(t, peer))
	impatient(a, 0, 1)
	var said []string
	steps := 0
	poll := func(now time.Time) *Report {
		trace := &polltrace.Trace{}
		report := a.Poll(polltrace.With(t.Context(), trace), now)
		for _, s := range trace.Report().Steps {
			steps++
			said = append(said, fmt.Sprintf("%s: %s: %s %s", s.Target, s.Asked, s.Decoded, s.Err))
		}
		return report
	}
	note := func(r *Report) {
		errs := []error{r.Err}
		for _, c := range r.Controllers {
			errs = append(errs, c.Err)
		}
		for _, c := range r.Commands {
			errs = append(errs, c.Err)
		}
		for _, err := range errs {
			if err != nil {
				said = append(said, err.Error())
			}
		}
	}
	for kind := msatest.Hang; kind <= msatest.Refuse; kind++ {
		if kind == msatest.Slow {
			continue
		}
		for _, command := range []string{"", "login", "show disks", "show system"} {
			peer.ExpireSessions()
			peer.A.SetFault(msatest.Fault{Kind: kind, Command: command})
			peer.B.SetFault(msatest.Fault{Kind: kind, Command: command})
			note(poll(noon))
		}
	}
	peer.A.SetFault(msatest.Fault{})
	peer.A.RefuseSessions("all")
	note(poll(noon))
	peer.SetPassword("another")
	note(poll(noon.Add(time.Hour)))
	if len(said) < 20+steps || steps < 50 {
		t.Fatalf("only %d errors and %d steps: the faults do not work", len(said)-steps, steps)
	}
	all := strings.Join(said, "\n")
	for _, secret := range append(peer.Secrets(), "a password: 17") {
		if strings.Contains(all, secret) {
			t.Errorf("%q is in:\n%s", secret, all)
		}
	}
}

package msa

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Pauses after a refused login. Arrays may lock an account after some failures,
// for everybody who uses it.
const (
	firstPause = 5 * time.Minute
	maxPause   = time.Hour
)

// forgetUnknown is after how long a command that the model did not know is
// tried again: firmware may have been updated.
const forgetUnknown = time.Hour

// maxUnanswered is how many commands of one poll may time out before the rest
// is given up.
const maxUnanswered = 2

// ErrRefused says that the array did not accept user and password.
var ErrRefused = errors.New("login refused")

// Array polls one array. Its methods must not be called concurrently.
type Array struct {
	cfg         ArrayConfig
	controllers []*controller
	active      int // the one that was used last
	groups      string
	unknown     map[string]time.Time // commands, and until when they are left out
	// notSession are commands whose error was not cured by a new session.
	notSession map[string]bool
	log        *eventLog

	// Both controllers may log in at the same time.
	mu     sync.Mutex
	known  *variant // the one that was accepted
	logins Logins
}

// refusal is the state of a controller after it refused a login.
type refusal struct {
	err      error // ErrRefused or errLogin
	until    time.Time
	pause    time.Duration
	password Secret
}

// Logins counts login attempts by how they ended. An attempt may try several
// variants.
type Logins struct{ Accepted, Refused, Failed uint64 }

// Report is what one poll found out.
type Report struct {
	// Err is why there are no Parts: no controller answered, or login was
	// refused. Nil where the array was read, even if single commands failed.
	Err error
	// Refused: user or password were not accepted and no attempt is made for
	// a while.
	Refused     bool
	Controllers []ControllerState
	Commands    []CommandState // those that the model knows, in the order asked
	Parts       *Parts
	Jobs        []Job
	// GroupsRead: Jobs and the groups of Parts are complete.
	GroupsRead bool
	Scrubs     []Scrub
	Events     []EventCount
	Logins     Logins
}

// ControllerState is whether one controller answered.
type ControllerState struct {
	Address string
	Err     error
}

// CommandState is how one command ended.
type CommandState struct {
	Command string
	Err     error
}

// NewArray prepares the polls of one array; it asks nothing yet.
func NewArray(cfg ArrayConfig) *Array {
	a := &Array{cfg: cfg, unknown: map[string]time.Time{}, notSession: map[string]bool{}, log: newEventLog(), groups: cmdDiskGroups}
	for _, u := range cfg.Controllers {
		a.controllers = append(a.controllers, newController(cfg, u))
	}
	return a
}

// Name returns the array's name in the configuration.
func (a *Array) Name() string { return a.cfg.Name }

// Close logs out.
func (a *Array) Close(ctx context.Context) {
	var wg sync.WaitGroup
	for _, c := range a.controllers {
		wg.Go(func() { c.logout(ctx) })
	}
	wg.Wait()
}

// Poll reads the array over one controller and sees whether the other answers.
func (a *Array) Poll(ctx context.Context, now time.Time) *Report {
	r := &Report{}
	states := make([]error, len(a.controllers))
	for _, c := range a.controllers {
		c.fresh = false
	}
	p := &poll{Array: a, ctx: ctx, now: now, report: r, current: -1}
	order := a.order()
	rest := order
	for i, n := range order {
		rest = order[i+1:]
		var err error
		p.system, err = a.reach(ctx, a.controllers[n], now)
		states[n] = err
		if err == nil {
			p.current, a.active = n, n
			break
		}
		if errors.Is(err, ErrRefused) {
			// It is the same account on the other one.
			for _, m := range rest {
				states[m] = err
			}
			rest = nil
			r.Refused = true
			break
		}
	}
	wait := a.probe(ctx, rest, states, now)
	if p.current >= 0 {
		p.other = func() (int, bool) {
			wait()
			for _, n := range rest {
				if states[n] == nil {
					return n, true
				}
			}
			return 0, false
		}
		p.run()
	} else {
		r.Err = errors.Join(dedupe(states)...)
	}
	wait()
	for n, c := range a.controllers {
		r.Controllers = append(r.Controllers, ControllerState{c.address, states[n]})
		r.Refused = r.Refused || errors.Is(states[n], ErrRefused)
	}
	r.Events = a.log.totals()
	a.mu.Lock()
	r.Logins = a.logins
	a.mu.Unlock()
	return r
}

// order returns the controllers, the one used last first.
func (a *Array) order() []int {
	order := []int{a.active}
	for n := range a.controllers {
		if n != a.active {
			order = append(order, n)
		}
	}
	return order
}

// probe asks the other controllers in the background, and returns a function
// that waits for the answers in states.
func (a *Array) probe(ctx context.Context, rest []int, states []error, now time.Time) func() {
	var wg sync.WaitGroup
	for _, n := range rest {
		wg.Go(func() {
			defer func() {
				if cause := recover(); cause != nil {
					states[n] = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
				}
			}()
			_, states[n] = a.reach(ctx, a.controllers[n], now)
		})
	}
	return wg.Wait
}

// reach makes sure of a session and asks for the system. A session that is not
// accepted any more is renewed once.
func (a *Array) reach(ctx context.Context, c *controller, now time.Time) (*Response, error) {
	if c.session.empty() {
		if err := a.open(ctx, c, now); err != nil {
			return nil, fmt.Errorf("%s: %w", c.address, err)
		}
	}
	answer, err := a.askRenewing(ctx, c, cmdSystem, now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.address, err)
	}
	if len(answer.All(typeSystem)) == 0 {
		return nil, fmt.Errorf("%s: %s: no system in the answer", c.address, cmdSystem)
	}
	return answer, nil
}

// askRenewing asks, and where the session is not accepted any more logs in and
// asks again: once per poll, as a session that is refused right after login is
// not cured by another.
func (a *Array) askRenewing(ctx context.Context, c *controller, command string, now time.Time) (*Response, error) {
	answer, err := c.ask(ctx, command)
	if errors.Is(err, errStale) && !c.fresh && (command == cmdSystem || !a.notSession[command]) {
		if err := a.open(ctx, c, now); err != nil {
			return nil, err
		}
		answer, err = c.ask(ctx, command)
	}
	if !errors.Is(err, errStale) {
		return answer, err
	}
	if command == cmdSystem {
		c.session = Secret{} // log in again in the next poll
	} else {
		// `show system` was answered in this session: the command has an error
		// of its own, whose text only looks like it.
		a.notSession[command] = true
	}
	return nil, err
}

// open logs in, by the variant that was accepted before or else by each that the
// configuration allows.
func (a *Array) open(ctx context.Context, c *controller, now time.Time) error {
	password, err := a.cfg.password()
	if err != nil {
		return err
	}
	a.mu.Lock()
	variants := a.cfg.variants()
	if a.known != nil {
		variants = []variant{*a.known}
	}
	a.mu.Unlock()
	if now.Before(c.refused.until) && password.equal(c.refused.password) {
		return c.refused.err
	}
	var refused error
	for _, v := range variants {
		if err = c.login(ctx, v, password); err == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.known, c.refused = &v, refusal{}
			a.logins.Accepted++
			return nil
		}
		if errors.Is(err, ErrRefused) || errors.Is(err, errLogin) && refused == nil {
			refused = err
		}
		if unreachable(err) {
			// No word on user and password; but after a refusal there is a
			// pause all the same, as one refusal a poll would lock the account.
			if refused != nil {
				refused = fmt.Errorf("log in: %w", err)
			}
			break
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if refused == nil {
		a.logins.Failed++
		return fmt.Errorf("log in: %w", err)
	}
	if unreachable(refused) {
		a.logins.Failed++
	} else {
		// Firmware that was updated may want another variant next time.
		a.known = nil
		a.logins.Refused++
	}
	c.refused.pause = min(max(2*c.refused.pause, firstPause), maxPause)
	c.refused.until, c.refused.password = now.Add(c.refused.pause), password
	c.refused.err = refused
	return refused
}

func dedupe(errs []error) []error {
	var list []error
	for _, err := range errs {
		if len(list) == 0 || err == nil || list[len(list)-1].Error() != err.Error() {
			list = append(list, err)
		}
	}
	return list
}

package msa

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// poll is the state of one poll whose session is open.
type poll struct {
	*Array
	ctx    context.Context
	now    time.Time
	report *Report
	system *Response

	current    int
	other      func() (int, bool) // waits for the other controller's state
	switched   bool
	unanswered int
}

// errGivenUp is the error of the commands that are not asked any more.
var errGivenUp = errors.New("given up after other commands were not answered")

// run asks all commands. The event log comes early, so that a slow array does
// not leave out what happened.
func (p *poll) run() {
	answers := []*Response{p.system}
	p.report.Commands = append(p.report.Commands, CommandState{Command: cmdSystem})
	groups, groupsRead := p.askGroups()
	answers = append(answers, groups...)
	p.readEvents()
	for _, command := range []string{
		cmdEnclosures, cmdControllers, cmdPSUs, cmdFans, cmdDisks, cmdSensors, cmdPorts,
	} {
		if answer := p.ask(command, command); answer != nil {
			answers = append(answers, answer)
		}
	}
	r := p.report
	r.Parts = NewParts(answers)
	r.Jobs = r.Parts.Jobs()
	r.GroupsRead = groupsRead
	if p.log.read {
		known := r.Parts.Groups
		if !groupsRead {
			known = nil
		} else if known == nil {
			known = []DiskGroup{}
		}
		r.Scrubs = p.log.scrubsOf(known)
	}
}

// ask runs a command, if the model knows it, and notes under its name how it
// ended. Nil: no answer.
func (p *poll) ask(command, name string) *Response {
	if p.now.Before(p.unknown[command]) {
		return nil
	}
	answer, err := p.send(command)
	var refusal *CommandError
	if errors.As(err, &refusal) && refusal.Unknown {
		p.unknown[command] = p.now.Add(forgetUnknown)
		return nil
	}
	p.report.Commands = append(p.report.Commands, CommandState{name, err})
	return answer
}

// send runs a command, over the other controller where this one does not answer
// any more.
func (p *poll) send(command string) (*Response, error) {
	if p.unanswered >= maxUnanswered || p.ctx.Err() != nil {
		return nil, errGivenUp
	}
	answer, err := p.askRenewing(p.ctx, p.controllers[p.current], command, p.now)
	if !unreachable(err) {
		return answer, err
	}
	p.unanswered++
	if p.switched {
		return nil, err
	}
	n, ok := p.other()
	if !ok {
		return nil, err
	}
	p.switched, p.current, p.active = true, n, n
	answer, err2 := p.askRenewing(p.ctx, p.controllers[n], command, p.now)
	if err2 != nil {
		return nil, fmt.Errorf("%w; over the other controller: %w", err, err2)
	}
	return answer, nil
}

// askGroups uses the command that the model knows, disk-groups or vdisks.
func (p *poll) askGroups() ([]*Response, bool) {
	for range 2 {
		answer, err := p.send(p.groups)
		var refusal *CommandError
		if errors.As(err, &refusal) && refusal.Unknown {
			p.groups = otherGroups(p.groups)
			continue
		}
		p.report.Commands = append(p.report.Commands, CommandState{p.groups, err})
		if err != nil {
			return nil, false
		}
		return []*Response{answer}, true
	}
	p.report.Commands = append(p.report.Commands, CommandState{p.groups, errors.New("array knows neither disk groups nor vdisks")})
	return nil, false
}

func otherGroups(command string) string {
	if command == cmdDiskGroups {
		return cmdVdisks
	}
	return cmdDiskGroups
}

// readEvents reads the whole log at first, its newest entries from then on, and
// the whole log again where these do not reach back to what is known.
func (p *poll) readEvents() {
	if p.log.read {
		answer, err := p.send(fmt.Sprintf("%s%d", cmdEventsLast, tail))
		var refusal *CommandError
		switch {
		case errors.As(err, &refusal) && refusal.Unknown:
			// Then the whole log it is.
		case err != nil:
			p.report.Commands = append(p.report.Commands, CommandState{cmdEvents, err})
			return
		default:
			if events := Events(answer); !p.log.hole(events) {
				p.log.add(events)
				p.report.Commands = append(p.report.Commands, CommandState{Command: cmdEvents})
				return
			}
		}
	}
	if answer := p.ask(cmdEvents, cmdEvents); answer != nil {
		p.log.add(Events(answer))
	}
}

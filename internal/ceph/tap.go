package ceph

import "context"

// A Tap passes commands on and shows every exchange to Seen, from the
// goroutine of the call: what a test compares with, and what a capture writes
// down. Seen must copy what it keeps of an answer.
type Tap struct {
	Commander Commander
	Seen      func(command, answer []byte, err error)
}

var _ BufferCommander = (*Tap)(nil)

// MonCommand implements Commander.
func (t *Tap) MonCommand(ctx context.Context, command []byte) ([]byte, error) {
	answer, err := t.Commander.MonCommand(ctx, command)
	t.Seen(command, answer, err)
	return answer, err
}

// MgrCommand implements Commander.
func (t *Tap) MgrCommand(ctx context.Context, command []byte) ([]byte, error) {
	answer, err := t.Commander.MgrCommand(ctx, command)
	t.Seen(command, answer, err)
	return answer, err
}

// MgrCommandInPlace implements BufferCommander.
func (t *Tap) MgrCommandInPlace(ctx context.Context, command []byte, use func(answer []byte) error) error {
	lent := false
	err := UseMgrAnswer(ctx, t.Commander, command, func(answer []byte) error {
		lent = true
		t.Seen(command, answer, nil)
		return use(answer)
	})
	if !lent {
		t.Seen(command, nil, err)
	}
	return err
}

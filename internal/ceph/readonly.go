package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// ErrNotListed says that a command is none of Questions, and was not sent.
var ErrNotListed = errors.New("not one of the listed read-only commands")

// A Question is a command that this program may send. All of them only read: a
// key with more capabilities than it needs is not used for more.
type Question struct {
	Target string // mon or mgr
	Prefix string
}

// Questions lists them all, by target and name. Nothing else passes ReadOnly.
func Questions() []Question {
	return []Question{
		{"mgr", "config show"},
		{"mgr", "config show-with-defaults"},
		{"mgr", "osd df"},
		{"mgr", "pg dump"},
		{"mgr", "pg ls"},
		{"mgr", "pg ls-by-pool"},
		{"mon", "config dump"},
		{"mon", "health"},
		{"mon", "mgr dump"},
		{"mon", "osd dump"},
		{"mon", "osd metadata"},
		{"mon", "versions"},
	}
}

// ReadOnly returns a Commander that passes Questions on to c and refuses
// everything else.
func ReadOnly(c Commander) BufferCommander { return readOnly{c} }

type readOnly struct{ c Commander }

// listed returns an error unless the command may be sent to that target. The
// name is read as the daemon reads it: a JSON object with one prefix.
func listed(target string, command []byte) error {
	var fields map[string]json.RawMessage
	var prefix string
	if err := json.Unmarshal(command, &fields); err != nil {
		return fmt.Errorf("%s: %w", target, ErrNotListed)
	}
	if err := json.Unmarshal(fields["prefix"], &prefix); err != nil {
		return fmt.Errorf("%s: %w", target, ErrNotListed)
	}
	if !slices.Contains(Questions(), Question{target, prefix}) {
		return fmt.Errorf("%s %q: %w", target, prefix, ErrNotListed)
	}
	return nil
}

// MonCommand implements Commander.
func (r readOnly) MonCommand(ctx context.Context, command []byte) ([]byte, error) {
	if err := listed("mon", command); err != nil {
		return nil, err
	}
	return r.c.MonCommand(ctx, command)
}

// MgrCommand implements Commander.
func (r readOnly) MgrCommand(ctx context.Context, command []byte) ([]byte, error) {
	if err := listed("mgr", command); err != nil {
		return nil, err
	}
	return r.c.MgrCommand(ctx, command)
}

// MgrCommandInPlace implements BufferCommander.
func (r readOnly) MgrCommandInPlace(ctx context.Context, command []byte, use func(answer []byte) error) error {
	if err := listed("mgr", command); err != nil {
		return err
	}
	return UseMgrAnswer(ctx, r.c, command, use)
}

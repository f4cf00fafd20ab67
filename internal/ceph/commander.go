package ceph

import "context"

// A Commander sends one command to the cluster and returns the raw answer.
// It is implemented by internal/rados for a real cluster and by
// internal/simulate for a made-up one.
//
// The command is the JSON object that librados expects, for instance
// {"prefix":"osd dump","format":"json"}. Both methods return when the answer
// is there, when ctx is done, or when the implementation gives the call up;
// they never outlive ctx. An answer belongs to the caller.
type Commander interface {
	MonCommand(ctx context.Context, command []byte) ([]byte, error)
	MgrCommand(ctx context.Context, command []byte) ([]byte, error)
}

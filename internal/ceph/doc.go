// Package ceph holds what mon, mgr and admin sockets are asked, and the
// decoders of what they answer.
//
// Decoders are pure: bytes in, typed values or an error out. They never panic
// on input, and a value that was not in the answer is absent, never zero.
package ceph

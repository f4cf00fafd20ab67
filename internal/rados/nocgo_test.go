//go:build !cgo

package rados

import "testing"

func TestWithoutLibradosTheErrorSaysWhyAndWhatToDo(t *testing.T) {
	_, err := New(Config{})
	for _, err := range []error{err, Check(Config{})} {
		wantKind(t, err, ErrUnavailable)
		if want := "ceph settings: built without librados (" + cureNoCgo + ")"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

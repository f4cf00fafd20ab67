//go:build !cgo

package rados

// Available tells whether this binary was built with librados.
const Available = false

// dial cannot do anything without librados. New says so before it gets here.
func dial(Config) (conn, error) { return nil, unavailable() }

func checkFiles(Config) error { return unavailable() }

package rados

// target is who answers a command.
type target uint8

const (
	toMon target = iota
	toMgr
	targets
)

func (t target) String() string { return [targets]string{"mon", "mgr"}[t] }

// conn is one connection through librados. Its methods may block for ever.
// They may be called at the same time, except that shutdown comes last.
type conn interface {
	mon(command []byte) answer
	mgr(command []byte) answer
	// mgrInPlace answers with memory that is not Go's, to be freed.
	mgrInPlace(command []byte) answer
	// shutdown releases everything the connection holds.
	shutdown()
}

// answer is what came back.
type answer struct {
	data []byte
	// free releases data; nil when the garbage collector does, and where
	// there is an error.
	free func()
	err  error
}

func (a answer) release() {
	if a.free != nil {
		a.free()
	}
}

// A dialer connects. It may block for ever. Where it fails, it has already
// released what it took.
type dialer func(Config) (conn, error)

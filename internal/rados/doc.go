// Package rados asks a real cluster: mon and mgr commands through librados,
// behind a watchdog, such that a hung cluster can neither hang nor kill the
// process. It is the only package of this module that needs cgo; without cgo
// it builds as well, and every call says why it cannot be made.
//
// # What librados does when the cluster hangs
//
// librados has no call with a deadline. What it offers instead was tried
// against mons, mgrs and OSDs that had been stopped with SIGSTOP, with the
// librados of Ceph 16.2 and of 20.2:
//
//   - rados_connect waits for client_mount_timeout, 300 s by default, and
//     returns -ETIMEDOUT. This works, and this package sets it.
//   - rados_mon_command and rados_mgr_command wait for ever: until the daemon
//     answers, or until another one takes its place and the command has been
//     sent to that one again.
//   - rados_mon_op_timeout ends a wait for the mgr as well, and returns the
//     positive number 110. But the pending command still points to the stack
//     frame of the call that has ended (RadosClient::mgr_command waits on a
//     condition of its own frame). When the mgr answers after all, librados
//     writes there, and the process dies of SIGSEGV or SIGABRT, mostly seconds
//     or minutes later. The option may come from ceph.conf, from CEPH_ARGS or
//     from the monitors' configuration database, so it is not enough to leave
//     it alone: it is set to 0 on every connection, which outranks all three,
//     and Config refuses it.
//   - rados_shutdown waits for its threads and may block too.
//
// # What this package does about it
//
// Each call into librados runs in a goroutine of its own. When its time is up,
// the caller leaves with an error, and the goroutine stays behind with the call
// until librados returns, be it minutes later. The next call gets a new
// connection; the old one is shut down by the last call that comes back on it.
// Nothing is cancelled inside librados, so nothing can be freed under its feet.
//
// What is left behind is bounded: there are never more than
// Config.MaxAbandoned calls inside librados at once, waited for or not. When
// all of these places are taken by calls nobody waits for any more, further
// calls fail at once with ErrTooManyAbandoned. A quarter of the places is kept
// from mgr commands and another from those that wait for a mon, so that one
// that hangs for hours does not shut out what the other can tell.
//
// A connection on which a mon did not answer is still good for mgr commands,
// and a new one cannot be made until a mon answers: it is kept for them until
// then.
//
// A mgr command is given up a little before its time is up, and the rest of
// the time is spent on asking the monitors who the active mgr is, so that the
// error can tell a mgr that hangs (ErrMgrHung) from one that is not there
// (ErrNoActiveMgr). As long as a mgr owes an answer the monitors are asked
// first, and nothing is sent to a mgr that they do not know.
//
// # Two ways to take an answer
//
// Client.MgrCommand returns the answer as Go memory: go-ceph's copy, which
// exists beside librados' own for a moment and cannot exceed 2 GiB.
// Client.MgrCommandInPlace lends librados' buffer to a function and frees it
// afterwards: no copy, no work for the garbage collector, no limit.
package rados

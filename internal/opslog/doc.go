// Package opslog counts S3 uploads from the ops log of Ceph's RADOS gateways,
// each upload once.
//
// Bytes come from log files (Follower), from the gateways' unix sockets and
// from log shippers (streams). A Framer cuts them into records, ParseTarget
// reads what only the request line tells, a Counter keeps the books, and an
// Engine runs them all and publishes what the last durable checkpoint holds.
// Framer, ParseTarget and Counter are pure: no clock, no I/O.
package opslog

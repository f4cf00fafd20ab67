// Package osdperf reads what an OSD says of itself through its admin socket
// (counters, latency histograms, reservations, options) and books the growth of
// its latencies to what it was doing meanwhile.
//
// Everything here is pure: bytes and instants in, values out.
package osdperf

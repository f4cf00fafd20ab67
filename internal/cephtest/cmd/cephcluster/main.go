// Command cephcluster runs real Ceph clusters on loopback for tests and the
// demo. See package cephtest.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// Package cephtest gives tests real Ceph clusters on loopback: a mon, a mgr,
// BlueStore OSDs on sparse files and gateways, of the releases that Debian
// carries (16.2 in bookworm, 18.2 in trixie, 20.2 in forky).
//
//	func TestLateness(t *testing.T) {
//		c := cephtest.Shared(t, cephtest.R18)        // one for all test packages
//		c := cephtest.SharedExclusive(t, cephtest.R18) // the same, alone
//		c := cephtest.New(t, cephtest.Options{       // one for this test
//			Release: cephtest.R20, OSDs: 4, RGWs: 1,
//			Conf: map[string]map[string]string{"osd": {"osd_scrub_sleep": "1"}},
//			Env:  map[string][]string{"osd.1": {"TZ=XXX-00:37"}},
//		})
//		out, err := c.Ceph(ctx, "osd", "dump", "--format", "json")
//		...
//	}
//
// A cluster is up in about ten seconds; a gateway takes ten more. Where no
// cluster can run (not root, no debootstrap, no apt) the test skips with the
// reason, or fails where CI=true; SkipOrFail and RequireTool do the same for
// whatever else a test needs.
//
// # What a cluster offers
//
// ConfPath and KeyringPath serve the host's librados as well. Paths below
// Dir are the same on the host and inside. A host's librados that is older
// than the cluster's keys (20.2 writes longer ones) cannot connect, so a
// program that uses librados runs inside the root of the cluster:
//
//	cmd := c.Command(ctx, "/path/on/host/ceph_risk_exporter", "--ceph.config="+c.ConfPath())
//	cmd.Stdout = &out                 // as with any exec.Cmd
//	cmd.Start(); cmd.Process.Signal(syscall.SIGTERM); cmd.Wait()
//
// It runs on the host's network, so its listeners are reached as usual, and a
// test binary can run itself there (os.Args[0], -test.run). Ceph, CephJSON
// and Run are short forms. Signal, Stop, Start, Restart act on "mon.a",
// "mgr.x", "osd.N", "rgw.a", and on "mgr.y", a standby that waits to be started;
// AddOSD, EnsureRGWs, CreatePool, CreateKey,
// PutObjects, CreateS3User, SlowScrubs, SetConfig change the cluster;
// WaitClean, WaitHealthy, AwaitUp and Await wait for it. AsokDir, AsokPath,
// LogPath, ClusterLogPath, OpsLogPath, OpsSocketPath say where things are.
//
// # How it works
//
// Roots, the folders with Debian and Ceph, are made once by debootstrap from
// the mirror of the machine's own apt configuration, and kept in
// /var/cache/ceph_risk_exporter, $XDG_CACHE_HOME or $CEPHRISK_CEPHTEST_CACHE.
// Every cluster has PID and mount namespaces of its own. Their first process,
// `cephcluster serve`, starts the daemons through chroot and hands out leases
// on a Unix socket; a lease lasts as long as its connection, so it ends with
// a killed test too. When the last lease has ended the cluster ends: at once
// (New), or after a minute (Shared), or when told to (`cephcluster down`).
// With the first process the kernel ends every other. What a killed one
// leaves on disk is collected by the next start.
//
// The command cmd/cephcluster does the same from the shell: roots, up, exec,
// list, down, capture.
package cephtest

package asok_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
	"github.com/ceph-risk/ceph_risk_exporter/internal/asok/asoktest"
)

// listen leaves a socket behind, as a killed daemon does.
func listen(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDiscoverFindsTheSocketsOfEveryLayout(t *testing.T) {
	const fsid = "4b5c8c0a-ff60-454b-a1b4-9747aa737d19"
	root := asoktest.Dir(t)
	for _, name := range []string{
		// package
		"ceph-osd.3.asok",
		"ceph-osd.11.4242.asok",
		"ceph-osd.12.4242.94012345678912.asok",
		"ceph-mon.host1.asok",
		"ceph-client.rgw.host1.asok",
		"ceph-client.rgw.my-osd.1-store.4711.94012345678912.asok",
		"ceph-client.rgw.8080.asok",
		"my-ceph-osd.4.asok",
		// cephadm
		fsid + "/ceph-osd.3.asok",
		fsid + "/ceph-client.rgw.store.host1.abcdef.7.94553.asok",
		// Rook
		"exporter/ceph-osd.5.asok",
		"rook-ceph/exporter/ceph-osd.6.asok",
		// none of ours
		"other.sock",
		"ceph-osd.asok",
		"ceph-osd.x.asok",
		"ceph-osd..asok",
		"-osd.7.asok",
		"too/deep/by/ceph-osd.8.asok",
	} {
		listen(t, filepath.Join(root, name))
	}
	if err := os.WriteFile(filepath.Join(root, "ceph-osd.9.asok"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(root, "loop")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		fsid + "/ceph-client.rgw.store.host1.abcdef.7.94553.asok ceph " + fsid + " rgw.store.host1.abcdef 7",
		fsid + "/ceph-osd.3.asok ceph " + fsid + " osd.3 ",
		"ceph-client.rgw.8080.asok ceph  rgw.8080 ",
		"ceph-client.rgw.host1.asok ceph  rgw.host1 ",
		"ceph-client.rgw.my-osd.1-store.4711.94012345678912.asok ceph  rgw.my-osd.1-store 4711",
		"ceph-mon.host1.asok ceph  mon.host1 ",
		"ceph-osd.11.4242.asok ceph  osd.11 4242",
		"ceph-osd.12.4242.94012345678912.asok ceph  osd.12 4242",
		"ceph-osd.3.asok ceph  osd.3 ",
		"exporter/ceph-osd.5.asok ceph  osd.5 ",
		"my-ceph-osd.4.asok my-ceph  osd.4 ",
		"rook-ceph/exporter/ceph-osd.6.asok ceph  osd.6 ",
	}
	sockets, err := asok.Discover(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sockets {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", strings.TrimPrefix(s.Path, root+"/"), s.Cluster, s.FSID, s.Name(), s.PID))
		if gateway := strings.Contains(s.Path, "client.rgw."); s.IsGateway() != gateway {
			t.Errorf("%s: gateway %t, want %t", s.Path, s.IsGateway(), gateway)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDiscoverWithoutADirectoryIsAnError(t *testing.T) {
	if _, err := asok.Discover(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	if got, err := asok.Discover(t.TempDir()); err != nil || len(got) != 0 {
		t.Errorf("empty directory: got %v, %v", got, err)
	}
}

func TestDiscoverIsBounded(t *testing.T) {
	root := asoktest.Dir(t)
	for i := range 300 {
		if err := os.Mkdir(filepath.Join(root, fmt.Sprintf("d%03d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	listen(t, filepath.Join(root, "ceph-osd.1.asok"))
	got, err := asok.Discover(root)
	if len(got) != 1 || err == nil || !strings.Contains(err.Error(), "more than 256 directories") {
		t.Errorf("got %v, %v; want osd.1 and an error", got, err)
	}
}

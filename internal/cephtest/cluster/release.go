package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// A Release is a major Ceph release that Debian carries.
type Release int

// The releases a cluster can be made of, each from one Debian suite.
const (
	R16 Release = 16 // Pacific 16.2, bookworm
	R18 Release = 18 // Reef 18.2, trixie
	R20 Release = 20 // Tentacle 20.2, forky or sid
)

// Releases lists all of them, oldest first.
func Releases() []Release { return []Release{R16, R18, R20} }

// ParseRelease reads "16", "18" or "20".
func ParseRelease(s string) (Release, error) {
	n, err := strconv.Atoi(s)
	if err == nil {
		for _, r := range Releases() {
			if int(r) == n {
				return r, nil
			}
		}
	}
	return 0, fmt.Errorf("ceph release %q: want one of 16, 18, 20", s)
}

func (r Release) String() string { return strconv.Itoa(int(r)) }

// suites lists the Debian suites to try for r, in order. Testing moves on to
// another Ceph one day; unstable then still has, or no longer has, this one.
func (r Release) suites() []string {
	switch r {
	case R16:
		return []string{"bookworm"}
	case R18:
		return []string{"trixie"}
	case R20:
		return []string{"forky", "sid"}
	}
	return nil
}

// releaseOf reads the major release from the output of `ceph --version`:
// "ceph version 16.2.15 (hash) pacific (stable)".
func releaseOf(version string) (Release, error) {
	fields := strings.Fields(version)
	if len(fields) < 3 {
		return 0, fmt.Errorf("ceph --version: %q has no version", version)
	}
	major, _, _ := strings.Cut(fields[2], ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0, fmt.Errorf("ceph --version: %q: %w", version, err)
	}
	return Release(n), nil
}

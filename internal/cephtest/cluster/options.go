package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// Options describe a cluster before it starts. The zero value of each field
// but Release is usable. They travel to the cluster's supervisor as JSON.
type Options struct {
	Release Release
	// OSDs is the number of BlueStore OSDs, 3 when zero, at most MaxOSDs.
	OSDs int
	// OSDBytes is the size of each OSD's sparse file, 4 GiB when zero.
	OSDBytes int64
	// RGWs is the number of gateways, named rgw.a, rgw.b and so on.
	RGWs int
	// RGWOpsLog and RGWOpsSocket turn on the ops log of every gateway, to
	// the file of Cluster.OpsLogPath and the socket of Cluster.OpsSocketPath.
	RGWOpsLog, RGWOpsSocket bool
	// Conf holds more options for ceph.conf: section, option, value. What
	// tests expect to find in `config dump` belongs in `ceph config set`.
	Conf map[string]map[string]string
	// Env holds environment variables as NAME=VALUE for the daemons of a
	// kind ("osd") or one daemon ("osd.1"), for instance TZ=XXX-00:37.
	Env map[string][]string
	// Pools are created when the OSDs are up.
	Pools []Pool
}

// A Pool describes a pool to create.
type Pool struct {
	Name string
	// PGs is the number of placement groups, 8 when zero.
	PGs int
	// Size is the number of replicas, 3 when zero. EC pools ignore it.
	Size int
	// EC makes an erasure-coded pool with K data and M coding chunks, one
	// per OSD.
	EC   bool
	K, M int
	// Objects of ObjectBytes (4096 when zero) are written to a pool of
	// Options.Pools. CreatePool ignores them: see PutObjects.
	Objects, ObjectBytes int
	// Set holds values for `osd pool set`: option (or flag such as noscrub)
	// and value.
	Set map[string]string
}

// MaxOSDs is how many OSDs the port block of a cluster has room for.
const MaxOSDs = 12

// withDefaults fills in what was left zero, or says what cannot be.
func (o Options) withDefaults() (Options, error) {
	if !slices.Contains(Releases(), o.Release) {
		return o, fmt.Errorf("cluster options: no release %d", o.Release)
	}
	if o.OSDs == 0 {
		o.OSDs = 3
	}
	if o.OSDs < 1 || o.OSDs > MaxOSDs {
		return o, fmt.Errorf("cluster options: %d OSDs: want 1 to %d", o.OSDs, MaxOSDs)
	}
	if o.OSDBytes == 0 {
		o.OSDBytes = 4 << 30
	}
	if o.RGWs < 0 || o.RGWs > maxRGWs {
		return o, fmt.Errorf("cluster options: %d gateways: want 0 to %d", o.RGWs, maxRGWs)
	}
	o.Pools = slices.Clone(o.Pools)
	for i := range o.Pools {
		o.Pools[i] = o.Pools[i].withDefaults()
	}
	return o, nil
}

func (p Pool) withDefaults() Pool {
	if p.PGs == 0 {
		p.PGs = 8
	}
	if p.Size == 0 {
		p.Size = 3
	}
	if p.ObjectBytes == 0 {
		p.ObjectBytes = 4096
	}
	if p.K == 0 {
		p.K = 2
	}
	if p.M == 0 {
		p.M = 1
	}
	return p
}

// env returns the variables of a daemon: those of its kind, then its own.
func (o Options) env(daemon string) []string {
	kind, _, _ := strings.Cut(daemon, ".")
	return slices.Concat(o.Env[kind], o.Env[daemon])
}

// rgwName names the i-th gateway as the API does: rgw.a, rgw.b, ...
func rgwName(i int) string { return "rgw." + string(rune('a'+i)) }

const maxRGWs = 4

package drill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure"
	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/msa/msatest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

// startArray starts a made-up array and returns the flags by which the real
// exporter polls it.
func (d *drill) startArray() []string {
	d.array = msatest.New(msatest.Options{})
	d.Cleanup(d.array.Close)
	file := func(name, text string) string {
		path := filepath.Join(d.c.Dir(), name)
		d.must(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	config := file("msa.yaml", fmt.Sprintf(`arrays:
- name: array1
  controllers: [%q, %q]
  user: %s
  password_file: %s
  tls: {ca_file: %s}
`, d.array.A.URL(), d.array.B.URL(), d.array.User(), file("msa-password", d.array.Password()), file("msa-ca.pem", string(d.array.CertificatePEM()))))
	return []string{"--collector.msa", "--collector.msa.interval=3s", "--msa.config=" + config}
}

func says(text string) func(*drill) string { return func(*drill) string { return text } }

// arrayFaults: the array is made up, its exporter is not.
func arrayFaults() []fault {
	psu := func(health int) func(*drill) {
		return func(d *drill) {
			d.array.Change(func(m *msatest.Model) { m.PSUs[1].Health, m.PSUs[1].Status = health, health })
		}
	}
	answer := func(f msatest.Fault) func(*drill) {
		return func(d *drill) { d.array.A.SetFault(f); d.array.B.SetFault(f) }
	}
	scrub := func(words string) func(*drill) {
		return func(d *drill) {
			d.array.Change(func(m *msatest.Model) {
				now := time.Now()
				m.StartScrub("A", "dgA01", now.Add(-time.Minute))
				m.EndScrub("A", "dgA01", now, "INFORMATIONAL", words)
			})
		}
	}
	return []fault{{
		name:   "MSA: a power supply fails",
		inject: psu(2),
		pages: func(*drill) []page {
			return []page{{"CephRiskMSAFault", "warning", map[string]string{"array": "array1", "object": "psu", "id": "psu_0.2"},
				says("psu psu_0.2 of array array1 is ill in cluster drill"), ""}}
		},
		repair: psu(0),
	}, {
		name:   "MSA: a scrub finds errors",
		inject: scrub("completed. 3 parity mismatches were found."),
		pages: func(*drill) []page {
			return []page{{"CephRiskMSAScrubFinding", "warning", map[string]string{"array": "array1", "disk_group": "dgA01"},
				says("A scrub of dgA01 of array array1 found something in cluster drill"), ""}}
		},
		repair: scrub("completed. No errors were found."),
	}, {
		name:   "MSA: both controllers close every connection",
		inject: answer(msatest.Fault{Kind: msatest.Reset}),
		pages: func(*drill) []page {
			return []page{{"CephRiskMSADown", "warning", map[string]string{"array": "array1"},
				says("Array array1 does not answer in cluster drill"), ""}, failing("msa")}
		},
		repair: answer(msatest.Fault{}),
	}}
}

// shelves is a made-up host whose shelves hold the cluster's OSDs, with the
// enclosure collector looking at it.
type shelves struct {
	*enclosuretest.Host
	dir    string
	server *httptest.Server

	mu     sync.Mutex
	broken map[string]bool // elements whose status is critical, by SES device
	silent map[string]bool // SES devices that do not answer
}

// perShelf is how many OSDs are in each of the two shelves.
const perShelf = 2

// startShelves serves the series of a host with two shelves and returns where.
func (d *drill) startShelves() string {
	s := &shelves{Host: enclosuretest.TwoShelves(perShelf), dir: d.TempDir(), broken: map[string]bool{}, silent: map[string]bool{}}
	d.must(s.Write(s.dir))
	specs := collector.Specs()
	spec := specs[slices.IndexFunc(specs, func(s collector.Spec) bool { return s.Name == "enclosure" })]
	app := kingpin.New("drill", "")
	construct := spec.Configure(app)
	_, err := app.Parse(nil)
	d.must(err)
	log := slog.New(slog.DiscardHandler)
	deps := collector.Deps{
		Log: log, State: state.Open(d.TempDir(), log), Now: time.Now, Interval: 3 * time.Second, SES: s.open,
		Paths: collector.Paths{Sysfs: filepath.Join(s.dir, "sys"), Dev: filepath.Join(s.dir, "dev"), Rootfs: filepath.Join(s.dir, "root")},
	}
	poller, err := construct(deps)
	d.must(err)
	set := collector.NewSet(time.Now, collector.Member{Spec: spec, Poller: poller, Deps: deps})
	ctx, cancel := context.WithCancel(d.ctx)
	var polls sync.WaitGroup
	polls.Go(func() { set.Run(ctx) })
	d.Cleanup(func() { cancel(); polls.Wait() })
	s.server = httptest.NewServer(collector.NewHandler(set, nil, collector.HandlerOpts{}))
	// Prometheus asks for /metrics; the handler answers everywhere.
	d.Cleanup(s.server.Close)
	d.shelves = s
	return s.server.Listener.Addr().String()
}

func (s *shelves) open(dev enclosure.Device) enclosure.Transport { return ses{s, dev.SG} }

// ses is one made-up SES device.
type ses struct {
	*shelves
	name string
}

// ReceiveDiagnostic implements enclosure.Transport.
func (s ses) ReceiveDiagnostic(_ context.Context, page byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent[s.name] {
		return nil, errors.New("SCSI status 0x0, host timeout, driver 0x0")
	}
	for i, shelf := range s.Shelves {
		for iom := byte(1); iom <= 2; iom++ {
			if enclosuretest.SESName(i, iom) != s.name {
				continue
			}
			peer := enclosuretest.DenseShelf(shelf.LogicalID, iom)
			if s.broken[s.name] {
				peer.Types[slices.IndexFunc(peer.Types, func(t enclosuretest.Type) bool { return t.Kind == fanKind })].Elements[0] = enclosuretest.Raw{2, 0, 0, 0x60}
			}
			if b := peer.Page(page); b != nil {
				return b, nil
			}
		}
	}
	return nil, &enclosure.SenseError{Key: 5, ASC: 0x24}
}

const fanKind = 0x03

// change alters the host and writes its trees anew.
func (s *shelves) change(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	return s.Write(s.dir)
}

// shelfFaults: the shelves are made up, the OSDs in them are the cluster's.
func shelfFaults() []fault {
	id := fmt.Sprintf("%016x", enclosuretest.TwoShelves(perShelf).Shelves[1].LogicalID)
	osds := []string{"osd.2", "osd.3"}
	gone := func(d *drill, gone bool) { d.must(d.shelves.change(func() { d.shelves.Shelves[1].Gone = gone })) }
	fan := func(broken bool) func(*drill) {
		return func(d *drill) {
			d.must(d.shelves.change(func() {
				d.shelves.broken[enclosuretest.SESName(1, 1)], d.shelves.broken[enclosuretest.SESName(1, 2)] = broken, broken
			}))
		}
	}
	return []fault{{
		name:   "shelf: a fan fails",
		inject: fan(true),
		pages: func(d *drill) []page {
			return []page{{"CephRiskEnclosurePowerOrFanFailed", "warning", map[string]string{"enclosure_id": id, "type": "cooling", "element": "0"},
				says("cooling 0 of shelf " + id + " has failed in cluster drill"), ""}}
		},
		repair: fan(false),
	}, {
		name: "shelf loses power, and with it two OSDs",
		inject: func(d *drill) {
			for _, osd := range osds {
				d.must(d.c.Stop(d.ctx, osd))
			}
			gone(d, true)
		},
		pages: func(d *drill) []page {
			return []page{{
				"CephRiskDownOSDsShareCause", "critical", map[string]string{"hostname": "storage1", "cause": "shelf", "part": id, "enclosure_id": id},
				func(d *drill) string {
					return fmt.Sprintf("%d down OSDs of storage1 in cluster drill share one shelf", d.down())
				}, "shelf " + id,
			}, {
				"CephRiskEnclosureGone", "critical", map[string]string{"enclosure_id": id, "instance": d.shelves.server.Listener.Addr().String()},
				says("Shelf " + id + " of " + d.shelves.server.Listener.Addr().String() + " has gone in cluster drill"), "",
			}}
		},
		// The OSDs are down before the collector has seen the shelf go.
		may: []string{"CephRiskDownOSDsShareShelf"},
		repair: func(d *drill) {
			gone(d, false)
			for _, osd := range osds {
				d.must(d.c.Start(d.ctx, osd))
			}
			d.must(d.c.AwaitUp(d.ctx))
			d.must(d.c.WaitClean(d.ctx))
		},
	}}
}

// down counts the OSDs that Ceph calls down.
func (d *drill) down() int {
	d.Helper()
	var tree struct {
		Nodes []struct {
			Name, Type, Status string
		} `json:"nodes"`
	}
	d.cephJSON(&tree, "osd tree")
	n := 0
	for _, x := range tree.Nodes {
		if strings.HasPrefix(x.Name, "osd.") && x.Status == "down" {
			n++
		}
	}
	return n
}

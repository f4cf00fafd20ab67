// Package simulate makes up Ceph clusters of any size that answer mon and mgr
// commands in the JSON shape of a given release, and that live on a clock
// handed in: scrubs start, run and finish, recovery comes and goes.
//
// It serves benchmarks, a first look without a cluster (--simulate) and tests
// that need a cluster in motion. A cluster is determined by its Config and the
// time; how often it was asked makes no difference.
package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// The releases that can be simulated.
const (
	Pacific  = 16
	Reef     = 18
	Tentacle = 20
)

// Config says what to make up. The zero value of a field stands for its
// default.
type Config struct {
	PGs     int    // number of PGs, 2,048 by default
	OSDs    int    // number of OSDs, one per 33 PGs by default, at least 3
	Seed    uint64 // same seed, same cluster
	Release int    // Pacific, Reef or Tentacle (the default)
	// Now is the clock, time.Now by default. It may jump ahead by any amount;
	// a step back changes nothing.
	Now func() time.Time
	// NoRecovery leaves out failures, recovery and backfill.
	NoRecovery bool
}

// Cluster is a made-up cluster. It may be used by several goroutines.
type Cluster struct {
	now     func() time.Time
	release release
	seed    uint64
	calm    bool

	mu       sync.Mutex
	clock    ceph.Stamp // the cluster has lived up to here
	start    ceph.Stamp
	rng      *rand.Rand // drawn from by events only, in their order
	pools    []pool
	osds     []osd
	pgs      []pg // by pool, then by seed
	sets     [][]int32
	freeSets []ceph.SetID // of remapped PGs that have come back
	events   eventQueue
	flags    map[string]bool
	held     []int32 // PGs whose scrub is due and that a flag holds back
}

// New makes up a cluster as of cfg.Now().
func New(cfg Config) (*Cluster, error) {
	if cfg.PGs == 0 {
		cfg.PGs = 2048
	}
	if cfg.OSDs == 0 {
		cfg.OSDs = max(3, cfg.PGs/33)
	}
	if cfg.Release == 0 {
		cfg.Release = Tentacle
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	rel, ok := releases[cfg.Release]
	switch {
	case !ok:
		return nil, fmt.Errorf("simulate: no such release: %d", cfg.Release)
	case cfg.PGs < 0 || cfg.PGs > maxPGs:
		return nil, fmt.Errorf("simulate: %d PGs: want 1 to %d", cfg.PGs, maxPGs)
	case cfg.OSDs < 3 || cfg.OSDs > maxOSDs:
		return nil, fmt.Errorf("simulate: %d OSDs: want 3 to %d", cfg.OSDs, maxOSDs)
	}
	c := &Cluster{
		now:     cfg.Now,
		release: rel,
		seed:    cfg.Seed,
		calm:    cfg.NoRecovery,
		rng:     rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15)),
		flags:   map[string]bool{},
	}
	c.clock = ceph.StampOf(cfg.Now().Truncate(time.Microsecond))
	c.start = c.clock
	c.build(cfg.PGs, cfg.OSDs)
	return c, nil
}

const (
	maxPGs  = 4 << 20
	maxOSDs = 1 << 17
)

// Table returns the PGs as a decoder should find them in `pg dump pgs` at this
// moment, except that equal sets may be there more than once.
func (c *Cluster) Table() *ceph.PGTable {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	t := &ceph.PGTable{Ready: true, PGs: make([]ceph.PG, len(c.pgs)), Sets: make([][]int32, len(c.sets))}
	for i := range c.pgs {
		t.PGs[i] = c.view(&c.pgs[i])
	}
	copy(t.Sets, c.sets) // a set itself never changes
	return t
}

// SetFlag sets or clears a cluster flag: noscrub or nodeep-scrub.
func (c *Cluster) SetFlag(name string, on bool) error {
	if name != "noscrub" && name != "nodeep-scrub" {
		return fmt.Errorf("simulate: flag %q: not simulated", name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	c.flags[name] = on
	if !on {
		held := c.held
		c.held = nil
		for _, i := range held {
			c.due(i)
		}
	}
	return nil
}

// command holds the arguments of the commands that are answered.
type command struct {
	Prefix       string   `json:"prefix"`
	DumpContents []string `json:"dumpcontents"`
	States       []string `json:"states"`
	Pool         *int64   `json:"pool"`
	PoolStr      string   `json:"poolstr"`
	Who          string   `json:"who"`
	Key          string   `json:"key"`
	Detail       string   `json:"detail"`
	ID           *int64   `json:"id"`
}

// MonCommand answers a command of the monitors.
func (c *Cluster) MonCommand(ctx context.Context, cmd []byte) ([]byte, error) {
	return c.answer(ctx, cmd, monCommands)
}

// MgrCommand answers a command of the manager.
func (c *Cluster) MgrCommand(ctx context.Context, cmd []byte) ([]byte, error) {
	return c.answer(ctx, cmd, mgrCommands)
}

func (c *Cluster) answer(ctx context.Context, raw []byte, known func(string) answerer) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var cmd command
	if err := json.Unmarshal(raw, &cmd); err != nil {
		return nil, fmt.Errorf("simulate: read command: %w", err)
	}
	fn := known(cmd.Prefix)
	if fn == nil {
		return nil, fmt.Errorf("simulate: command %q: not simulated", cmd.Prefix)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	out, err := fn(c, &cmd)
	if err != nil {
		return nil, fmt.Errorf("simulate: command %q: %w", cmd.Prefix, err)
	}
	return out, nil
}

type answerer func(c *Cluster, cmd *command) ([]byte, error)

func monCommands(prefix string) answerer {
	switch prefix {
	case "osd dump":
		return (*Cluster).osdDump
	case "osd metadata":
		return (*Cluster).osdMetadata
	case "osd versions":
		return (*Cluster).osdVersions
	case "versions":
		return (*Cluster).versions
	case "version":
		return (*Cluster).version
	case "health":
		return (*Cluster).health
	case "config dump":
		return (*Cluster).configDump
	case "mgr dump":
		return (*Cluster).mgrDump
	case "mgr metadata":
		return (*Cluster).mgrMetadata
	case "fsid":
		return (*Cluster).fsidAnswer
	}
	return nil
}

func mgrCommands(prefix string) answerer {
	switch prefix {
	case "pg dump":
		return (*Cluster).pgDump
	case "pg ls":
		return (*Cluster).pgLs
	case "pg ls-by-pool":
		return (*Cluster).pgLsByPool
	case "osd df":
		return (*Cluster).osdDF
	case "config show", "config show-with-defaults":
		return (*Cluster).configShow
	}
	return nil
}

var _ ceph.Commander = (*Cluster)(nil)

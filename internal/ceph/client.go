package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

// ErrNotReady: the mgr has not heard from the OSDs yet, after its start.
var ErrNotReady = errors.New("mgr not ready: it has not heard from the OSDs yet")

// A Client asks mon and mgr typed questions. Its methods may run at the same
// time as far as the Commander's may; limits come with ctx (WithCallLimit).
type Client struct {
	Commander Commander
	// OnAnswer, if set, is told of every answer before it is decoded: the
	// command's prefix, the answer's bytes, and what the call took.
	OnAnswer func(prefix string, size int, took time.Duration)
}

// command is what librados takes, with the arguments that are in use here.
type command struct {
	Prefix   string   `json:"prefix"`
	Contents []string `json:"dumpcontents,omitempty"`
	States   []string `json:"states,omitempty"`
	Pool     string   `json:"poolstr,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Who      string   `json:"who,omitempty"`
	Format   string   `json:"format"`
}

// name is the command as one types it, in short: what a trace shows.
func (cmd command) name() string {
	words := append([]string{cmd.Prefix}, cmd.Contents...)
	words = append(words, cmd.States...)
	for _, word := range []string{cmd.Pool, cmd.Detail, cmd.Who} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

func (c *Client) answered(prefix string, size int, since time.Time) {
	if c.OnAnswer != nil {
		c.OnAnswer(prefix, size, time.Since(since))
	}
}

func encode(cmd command) []byte {
	cmd.Format = "json"
	text, _ := json.Marshal(cmd) // a struct of strings
	return text
}

// mon asks the monitors and decodes what they answer.
func mon[T any](ctx context.Context, c *Client, cmd command, decode func([]byte) (T, error)) (T, error) {
	start, step := time.Now(), polltrace.Begin(ctx, "mon", cmd.name())
	answer, err := c.Commander.MonCommand(ctx, encode(cmd))
	if err != nil {
		var none T
		step.End("", err)
		return none, fmt.Errorf("mon %s: %w", cmd.Prefix, err)
	}
	step.Answered(len(answer))
	c.answered(cmd.Prefix, len(answer), start)
	out, err := decode(answer)
	step.End(summary(out), err)
	return out, err
}

// mgr asks the manager and decodes what it answers, in place where possible.
func mgr[T any](ctx context.Context, c *Client, cmd command, decode func([]byte) (T, error)) (T, error) {
	var out, none T
	start, step := time.Now(), polltrace.Begin(ctx, "mgr", cmd.name())
	asked := false
	err := UseMgrAnswer(ctx, c.Commander, encode(cmd), func(answer []byte) error {
		asked = true
		step.Answered(len(answer))
		c.answered(cmd.Prefix, len(answer), start)
		var err error
		out, err = decode(answer)
		return err
	})
	if err != nil {
		step.End("", err)
		if !asked {
			err = fmt.Errorf("mgr %s: %w", cmd.Prefix, err)
		}
		return none, err
	}
	step.End(summary(out), nil)
	return out, nil
}

// PGDump asks the mgr for all PGs (`pg dump pgs`). The mgr formats the answer
// under a lock of its own, about 2.3 kB per PG: not to be asked often.
func (c *Client) PGDump(ctx context.Context) (*PGTable, error) {
	return mgr(ctx, c, command{Prefix: "pg dump", Contents: []string{"pgs"}}, DecodePGs)
}

// PGLs asks the mgr for the PGs in any of these states (`pg ls`); without any,
// for all PGs.
func (c *Client) PGLs(ctx context.Context, states ...string) (*PGTable, error) {
	return mgr(ctx, c, command{Prefix: "pg ls", States: states}, DecodePGs)
}

// PGLsByPool asks the mgr for the PGs of the pool with that name.
func (c *Client) PGLsByPool(ctx context.Context, pool string) (*PGTable, error) {
	return mgr(ctx, c, command{Prefix: "pg ls-by-pool", Pool: pool}, DecodePGs)
}

// OSDDump asks the mon for pools, OSDs and flags (`osd dump`).
func (c *Client) OSDDump(ctx context.Context) (*OSDMap, error) {
	return mon(ctx, c, command{Prefix: "osd dump"}, DecodeOSDMap)
}

// OSDDf asks the mgr for the space of every OSD (`osd df`).
func (c *Client) OSDDf(ctx context.Context) (*OSDUsages, error) {
	return mgr(ctx, c, command{Prefix: "osd df"}, DecodeOSDUsages)
}

// StatFS asks the mgr for every OSD's own account of its space in bytes (`pg
// dump osds`). A mgr that has not heard from the OSDs is an error.
func (c *Client) StatFS(ctx context.Context) ([]StatFS, error) {
	return mgr(ctx, c, command{Prefix: "pg dump", Contents: []string{"osds"}}, func(data []byte) ([]StatFS, error) {
		ready, osds, err := DecodeStatFS(data)
		if err == nil && !ready {
			err = ErrNotReady
		}
		return osds, err
	})
}

// OSDMetadata asks the mon for what every OSD said at its boot.
func (c *Client) OSDMetadata(ctx context.Context) ([]OSDMetadata, error) {
	return mon(ctx, c, command{Prefix: "osd metadata"}, DecodeOSDMetadata)
}

// HealthDetail asks the mon for Ceph's own checks (`health detail`).
func (c *Client) HealthDetail(ctx context.Context) (*Health, error) {
	return mon(ctx, c, command{Prefix: "health", Detail: "detail"}, DecodeHealth)
}

// ConfigDump asks the mon for the options that are set.
func (c *Client) ConfigDump(ctx context.Context) ([]ConfigEntry, error) {
	return mon(ctx, c, command{Prefix: "config dump"}, DecodeConfigDump)
}

// ConfigShowWithDefaults asks the mgr for the options in effect at one daemon, "osd.3" or
// "mgr.x", as that daemon reported them (`config show-with-defaults`).
func (c *Client) ConfigShowWithDefaults(ctx context.Context, who string) (Config, error) {
	return mgr(ctx, c, command{Prefix: "config show-with-defaults", Who: who}, DecodeConfigShow)
}

// ConfigShow asks the mgr for the options in effect at one daemon that differ
// from that daemon's defaults (`config show`).
func (c *Client) ConfigShow(ctx context.Context, who string) (Config, error) {
	return mgr(ctx, c, command{Prefix: "config show", Who: who}, DecodeConfigShow)
}

// MgrDump asks the mon which mgr is active (`mgr dump`).
func (c *Client) MgrDump(ctx context.Context) (*MgrMap, error) {
	return mon(ctx, c, command{Prefix: "mgr dump"}, DecodeMgrMap)
}

// Versions asks the mon for daemons per version, by kind of daemon.
func (c *Client) Versions(ctx context.Context) (map[string]map[Version]int, error) {
	return mon(ctx, c, command{Prefix: "versions"}, DecodeVersions)
}

package rados

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Defaults of Config.
const (
	DefaultCluster      = "ceph"
	DefaultID           = "risk"
	DefaultTimeout      = 15 * time.Second
	DefaultMaxAbandoned = 8
)

// Config says which cluster to ask, as whom, and for how long. Its zero value
// means the defaults.
type Config struct {
	// Cluster is the cluster's name on this host, as in /etc/ceph/NAME.conf.
	Cluster string
	// ConfFile is the path of ceph.conf (--ceph.config);
	// /etc/ceph/CLUSTER.conf when empty.
	ConfFile string
	// ID is the part of the user's name after "client." (--ceph.id).
	ID string
	// Keyring is the path of the keyring (--ceph.keyring). When empty, it is
	// searched for where ceph.conf says, or where Ceph does by default.
	Keyring string
	// Timeout limits a call whose context names no limit of its own
	// (--ceph.timeout), and each attempt to connect. At least one second.
	Timeout time.Duration
	// MaxAbandoned bounds the calls inside librados at once, which is also
	// the number of given-up calls at which further ones are refused.
	MaxAbandoned int
	// Options are further Ceph options, by name. They outrank ceph.conf.
	Options map[string]string
	// Log tells of calls that were given up, and of their return. May be nil.
	Log *slog.Logger
}

// reserved are the options that this package sets itself, with the reason that
// is given to whoever tries to set them.
var reserved = map[string]string{
	"rados_mon_op_timeout": "it makes librados crash the process when a hung mgr answers late; use the timeout instead",
	"client_mount_timeout": "it follows from the timeout",
	"keyring":              "use the keyring setting",
}

// withDefaults returns the configuration with every default filled in, or what
// is wrong with it.
func (c Config) withDefaults() (Config, error) {
	c.ID = strings.TrimSpace(c.ID)
	if c.Cluster == "" {
		c.Cluster = DefaultCluster
	}
	if c.ConfFile == "" {
		c.ConfFile = "/etc/ceph/" + c.Cluster + ".conf"
	}
	if c.ID == "" {
		c.ID = DefaultID
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxAbandoned == 0 {
		c.MaxAbandoned = DefaultMaxAbandoned
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, c.problems()
}

func (c Config) problems() error {
	var problems []string
	if name, found := strings.CutPrefix(c.ID, "client."); found {
		problems = append(problems, fmt.Sprintf("id %q: leave out \"client.\", use %q", c.ID, name))
	}
	if strings.ContainsAny(c.Cluster, "/ ") {
		problems = append(problems, fmt.Sprintf("cluster name %q: must not hold slashes or blanks", c.Cluster))
	}
	if c.Timeout < time.Second {
		problems = append(problems, fmt.Sprintf("timeout %v: must be at least 1s", c.Timeout))
	}
	if c.MaxAbandoned < 1 {
		problems = append(problems, fmt.Sprintf("bound for given-up calls %d: must be at least 1", c.MaxAbandoned))
	}
	for name := range c.Options {
		plain := strings.ReplaceAll(strings.TrimSpace(name), " ", "_")
		plain = strings.ReplaceAll(plain, "-", "_")
		if reason, taken := reserved[plain]; taken {
			problems = append(problems, fmt.Sprintf("option %s: %s", plain, reason))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return &Error{Op: "settings", Kind: ErrConfig, Cause: errors.New(strings.Join(problems, "; "))}
}

// user is the full name that Ceph knows the user by.
func (c Config) user() string { return "client." + c.ID }

// mountTimeout is for client_mount_timeout, in whole seconds: shorter than
// Timeout, so that librados itself says that no monitor answered before the
// watchdog has to give up the attempt.
func (c Config) mountTimeout() int {
	return max(1, int((c.Timeout * 4 / 5).Seconds()))
}

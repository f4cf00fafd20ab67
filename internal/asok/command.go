package asok

import "fmt"

// A Command is one of the read-only questions that this program asks a daemon.
// There is no other way to send anything: an admin socket also takes commands
// that start scrubs, compact, change configuration or inject errors, and
// whoever may open it may send them.
type Command uint8

// The commands. Their answers are JSON, except BluefsStats (plain text).
const (
	// Version answers {"version":"18.2.7","release":"reef",...} and comes from
	// any daemon.
	Version Command = iota + 1
	// Status answers an OSD's state ("booting", "active"), whoami, cluster_fsid,
	// osd_fsid, oldest_map, newest_map, num_pgs.
	Status
	// PerfDump answers the unlabelled performance counters by section.
	PerfDump
	// PerfHistogramDump answers the two-dimensional histograms by section.
	PerfHistogramDump
	// CounterDump answers all counters, labelled ones too. From 18 on.
	CounterDump
	// DumpScrubs answers the scrub jobs of the PGs an OSD is primary of.
	DumpScrubs
	// DumpScrubReservations answers how many scrubs an OSD takes part in.
	DumpScrubReservations
	// DumpRecoveryReservations answers the local and remote recovery and
	// backfill reservations an OSD has granted.
	DumpRecoveryReservations
	// ConfigShow answers every option's running value, as strings.
	ConfigShow
	// BluefsStats answers BlueFS's use of its devices as plain text.
	BluefsStats
	lastCommand
)

// Commands returns every command there is.
func Commands() []Command {
	all := make([]Command, 0, lastCommand-1)
	for c := Version; c < lastCommand; c++ {
		all = append(all, c)
	}
	return all
}

// String returns the command as one types it behind `ceph daemon osd.N`.
func (c Command) String() string {
	switch c {
	case Version:
		return "version"
	case Status:
		return "status"
	case PerfDump:
		return "perf dump"
	case PerfHistogramDump:
		return "perf histogram dump"
	case CounterDump:
		return "counter dump"
	case DumpScrubs:
		return "dump_scrubs"
	case DumpScrubReservations:
		return "dump_scrub_reservations"
	case DumpRecoveryReservations:
		return "dump_recovery_reservations"
	case ConfigShow:
		return "config show"
	case BluefsStats:
		return "bluefs stats"
	default:
		return fmt.Sprintf("unlisted command %d", uint8(c))
	}
}

// wire returns the bytes that ask for the command, or an error for a value that
// is not in the list. They come from the constants above and nothing else, so
// they need no JSON escaping.
func (c Command) wire() ([]byte, error) {
	if c < Version || c >= lastCommand {
		return nil, fmt.Errorf("admin socket: %v", c)
	}
	return []byte(`{"prefix":"` + c.String() + `","format":"json"}` + "\x00"), nil
}

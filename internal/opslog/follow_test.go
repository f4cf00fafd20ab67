package opslog

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// puts makes n records of plain PUTs that follow each other.
func puts(first, n int) string {
	text := ""
	for i := first; i < first+n; i++ {
		e := put("PUT /b/k HTTP/1.1", 1)
		e.at = testStart.Add(time.Duration(i) * time.Second)
		text += e.json()
	}
	return text + "\n"
}

// reading is a follower and how many records it has handed out.
type reading struct {
	t    *testing.T
	dir  string
	log  string
	fo   *Follower
	now  time.Time
	read map[string]int // by daemon
}

func newReading(t *testing.T) *reading {
	dir := t.TempDir()
	r := &reading{t: t, dir: dir, log: filepath.Join(dir, "ops-log-ceph-client.rgw.a.log"), now: testStart, read: map[string]int{}}
	r.restart(FollowState{})
	t.Cleanup(func() { r.fo.Close() })
	return r
}

func (r *reading) restart(s FollowState) {
	if r.fo != nil {
		r.fo.Close()
	}
	r.fo = NewFollower([]string{filepath.Join(r.dir, "ops-log-*.log*")}, s, quiet())
}

func (r *reading) look() {
	r.t.Helper()
	if err := r.fo.Refresh(r.now); err != nil {
		r.t.Fatal(err)
	}
	for {
		daemon, _, ok := r.fo.Next(true)
		if !ok {
			return
		}
		r.read[daemon]++
	}
}

func (r *reading) write(path, text string) {
	r.t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		r.t.Fatal(err)
	}
}

func (r *reading) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *reading) want(n int, stats FollowStats) {
	r.t.Helper()
	type result struct {
		Read  int
		Stats FollowStats
	}
	if diff := cmp.Diff(result{n, stats}, result{r.read["rgw.a"], r.fo.stats}); diff != "" {
		r.t.Error(diff)
	}
}

func TestLogThatAppearsLate(t *testing.T) {
	r := newReading(t)
	r.look()
	r.write(r.log, puts(0, 2))
	r.look()
	r.want(2, FollowStats{})
}

func TestCopyOfALogIsNotReadAgain(t *testing.T) {
	r := newReading(t) // the glob matches rotated names, too
	r.write(r.log, puts(0, 9))
	r.look()
	r.write(r.log+".1", puts(0, 9)) // copytruncate has copied
	r.look()
	r.must(os.Truncate(r.log, 0)) // and now it truncates
	r.write(r.log, puts(9, 3))
	r.look()
	r.want(12, FollowStats{Copies: 1})
	r.restart(r.fo.State())
	r.look()
	r.want(12, FollowStats{Copies: 1})
}

func TestCopyIsReadWhereTheLogWasNotReadToItsEnd(t *testing.T) {
	r := newReading(t)
	r.fo.globs = []string{r.log}
	r.write(r.log, puts(0, 4))
	r.look()
	r.write(r.log, puts(4, 3)) // between two looks: written, copied, cut off, written on
	r.write(r.log+".1", puts(0, 4)+puts(4, 3))
	r.must(os.Truncate(r.log, 0))
	r.write(r.log, puts(7, 20))
	r.look()
	r.want(27, FollowStats{})
}

func TestLogCutOffWithoutACopyIsAGap(t *testing.T) {
	r := newReading(t)
	r.write(r.log, puts(0, 4))
	r.look()
	r.must(os.Truncate(r.log, 0))
	r.write(r.log, puts(9, 1))
	r.look()
	r.want(5, FollowStats{Truncated: 1})
}

func TestDeletedLogIsReadToItsEnd(t *testing.T) {
	r := newReading(t)
	old, err := os.OpenFile(r.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	r.must(err)
	defer old.Close()
	_, err = old.WriteString(puts(0, 2))
	r.must(err)
	r.look()
	r.must(os.Remove(r.log))
	_, err = old.WriteString(puts(2, 2)) // the gateway has not been told yet
	r.must(err)
	r.look()
	r.write(r.log, puts(4, 2))
	r.look()
	r.want(6, FollowStats{})
	r.now = r.now.Add(2 * idleAfter)
	r.look()
	if len(r.fo.files) != 1 {
		t.Errorf("%d files held open, want the new one alone", len(r.fo.files))
	}
}

func TestRotatedLogThatIsStillWrittenToIsStillRead(t *testing.T) {
	r := newReading(t)
	r.write(r.log, puts(0, 2))
	r.look()
	r.must(os.Rename(r.log, r.log+".1"))
	r.write(r.log, puts(2, 1))
	r.look()
	r.now = r.now.Add(2 * idleAfter)
	r.fo.globs = []string{r.log}
	r.look()
	r.look()
	r.write(r.log+".1", puts(3, 2)) // a second gateway process, or no SIGHUP
	r.look()
	r.want(5, FollowStats{})
}

func TestInodeThatIsUsedAgainIsAnotherLog(t *testing.T) {
	r := newReading(t)
	r.write(r.log, puts(0, 5))
	r.look()
	s := r.fo.State()
	r.must(os.Truncate(r.log, 0))
	r.write(r.log, puts(50, 6)) // same inode, longer than what was read
	r.restart(s)
	r.look()
	r.want(11, FollowStats{Vanished: 1})
}

func TestLogsOfBeforeARestartAreFoundUnderTheirNewNames(t *testing.T) {
	r := newReading(t)
	r.fo.globs = []string{r.log}
	r.write(r.log, puts(0, 2))
	r.look()
	s := r.fo.State()
	r.write(r.log, puts(2, 2))
	r.must(os.Rename(r.log, r.log+".1"))
	r.write(r.log, puts(4, 2))
	r.must(os.Rename(r.log, r.log+".2")) // came and went meanwhile
	r.write(r.log, puts(6, 2))
	r.restart(s)
	r.fo.globs = []string{r.log}
	r.look()
	r.want(8, FollowStats{})
}

func TestLogCompressedMeanwhileIsReadOn(t *testing.T) {
	r := newReading(t)
	r.fo.globs = []string{r.log}
	r.write(r.log, puts(0, 2))
	r.look()
	s := r.fo.State()
	f, err := os.Create(r.log + ".1.gz")
	r.must(err)
	z := gzip.NewWriter(f)
	_, err = z.Write([]byte(puts(0, 2) + puts(2, 3)))
	r.must(err)
	r.must(z.Close())
	r.must(f.Close())
	r.must(os.Remove(r.log))
	r.write(r.log, puts(5, 2))
	r.restart(s)
	r.fo.globs = []string{r.log}
	r.look()
	r.want(7, FollowStats{})
}

func TestRotatedLogsOfBeforeTheFirstLookAreHistory(t *testing.T) {
	r := newReading(t)
	r.fo.globs = []string{r.log}
	r.now = testStart.Add(time.Hour)
	r.write(r.log+".1", puts(0, 2))
	r.write(r.log, puts(2, 2))
	r.look()
	r.want(2, FollowStats{})
}

func TestUnreadableLogIsSaid(t *testing.T) {
	r := newReading(t)
	r.must(os.Symlink("loop.log", filepath.Join(r.dir, "ops-log-loop.log")))
	r.must(os.Symlink("ops-log-loop.log", filepath.Join(r.dir, "loop.log")))
	if err := r.fo.Refresh(r.now); err == nil {
		t.Error("no error for a log that cannot be opened")
	}
}

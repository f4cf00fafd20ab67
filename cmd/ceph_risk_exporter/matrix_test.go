package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// breakdown is what becomes of the series of a source that breaks, as the named
// tests show it. Faults of the cluster have a table of their own, see faults.
type breakdown struct {
	what, during, after string
	tests               []string
}

func breakdowns() []breakdown {
	return []breakdown{
		{"`pg dump` takes minutes", "polls succeed; the dump comes at a tenth of the time it takes, and its series live for three of these longer intervals", "the interval is the configured one again",
			[]string{"TestSlowDumpIsAskedForRarelyAndItsSeriesLiveAsLong", "TestPollUsesAtMostATenthOfTheTimeAndFailuresDoNotStretch"}},
		{"a poll does not return at all", "reported as failed when its time is over, never doubled; the last values for three intervals", "its late result counts as a poll of its own", []string{"TestHangingPollIsReportedAndNeverDoubled"}},
		{"no quorum, the mgr answers", "polls fail; what is being scrubbed and recovered stays fresh, the dump's series are held and then go", "the dump comes with the first poll that has a quorum",
			[]string{"TestTheMgrAnswersWhileTheMonsDoNot", "TestWithoutAQuorumWhatMovesStaysFreshAndTheDumpWaits"}},
		{"keyring missing, damaged, of another user, too new for librados", "polls fail, the error names cause and cure; no series but the exporter's own", "the next poll succeeds, without a restart", []string{"TestHungClusterNeitherHangsNorKills"}},
		{"admin socket of one OSD hangs, sends junk or ends early", "`cephrisk_daemon_up` 0 for it and its other series go; the others' stay complete and on time. Where no socket answers the poll fails", "back with the next poll; the interval in between counts for no activity",
			[]string{"TestHungSocketDoesNotCostTheOthersTheirIntervals", "TestOneBrokenSocketLeavesTheOtherOSDsComplete", "TestNoAnswerAtAllIsAFailedPoll", "TestHundredMegabytesOfJunkCostNoMemory"}},
		{"OSD restarts", "its counters go on from where they were; one interval is left out", "fresh", []string{"TestRestartedOSDLosesOneIntervalAndInventsNothing"}},
		{"ops log deleted", "read to its end; counts stay as they were", "a new log is read from its beginning; each upload is counted once", []string{"TestDeletedLogIsReadToItsEnd", "TestFullDiskUnderTheStateDirectory"}},
		{"ops log cut off without a copy", "a gap is counted; sizes of uploads that were open are unknown", "fresh", []string{"TestLogCutOffWithoutACopyIsAGap"}},
		{"disk full under the state directory", "polls of the rgw collector fail; what is shown is what was saved last, and goes after three intervals. Nothing that a restart would take back is ever shown", "everything since is counted, each upload once", []string{"TestFullDiskUnderTheStateDirectory"}},
		{"state file torn or foreign", "set aside, counted and logged; counters begin anew", "fresh", []string{"TestUnusableRecordIsSetAsideReportedAndNotFatal"}},
		{"clock set forward or back", "polls keep their pace; series are dropped rather than served too long", "back with the next poll", []string{"TestClockThatIsSetNeverServesOldTruth"}},
		{"shelf gone", "`present` 0, its elements' series go; which OSDs sit in it stays known, over reboots too", "fresh", []string{"TestTheMapOutlivesTheShelfAndAReboot", "TestEnclosureGolden"}},
		{"one IOM hangs", "what the other IOM says stays fresh; slots that only it reaches are unknown; the poll takes one time limit", "fresh", []string{"TestAHungIOMCostsOnlyItself"}},
		{"array sends junk, endless answers or nothing", "`up` 0 and the command that failed; its counters stay; other arrays are not delayed", "fresh; events of the meantime are counted",
			[]string{"TestMSACommandThatFailsTakesItsSeriesAlong", "TestMSAArrayThatIsGoneLeavesTheReasonAndItsCounters", "TestMSASlowArrayDelaysNoOther", "TestEndlessAnswerIsBounded"}},
		{"a thousand scrapes at once, hundreds of connections that never ask", "polls go on; each scrape is whole or refused with 503; who has not asked within 5 s is cut off", "goroutines and descriptors are what they were", []string{"TestAThousandClientsAtOnce"}},
		{"clients that do not read their answers", "cut off after 10 s without progress, so that they keep no place", "scrapes are served", []string{"TestClientsThatDoNotReadKeepNoPlace"}},
		{"names without end, of any length and bytes", "bounded; what is beyond is refused and counted", "fresh", []string{"TestNamesFromOutsideAreBoundedInLengthAndNumber", "TestHostileTextsOfMonAndMgrAreHarmless"}},
		{"a collector panics", "its poll fails and is counted; all others go on", "fresh", []string{"TestPanicIsAFailedPollWhereverItHappens"}},
	}
}

const (
	breakdownsBegin = "<!-- breakdowns: written by a test -->"
	breakdownsEnd   = "<!-- end of breakdowns -->"
)

func TestBreakdownTableIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString(breakdownsBegin + "\n| what breaks | meanwhile | afterwards | shown by |\n|---|---|---|---|\n")
	for _, x := range breakdowns() {
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", x.what, x.during, x.after, strings.Join(x.tests, "`, `"))
	}
	b.WriteString(breakdownsEnd)
	documented(t, breakdownsBegin, breakdownsEnd, b.String())
}

// What a document says is shown by a test is shown by one that there is.
func TestTestsNamedInDocumentsExist(t *testing.T) {
	root := filepath.Join("..", "..")
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	there := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			there[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range []string{"reliability.md", "threat-model.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", document))
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(text), -1)
		if len(named) < 20 {
			t.Errorf("%s names %d tests", document, len(named))
		}
		for _, m := range named {
			if !there[m[1]] {
				t.Errorf("%s: there is no %s", document, m[1])
			}
		}
	}
}

package golden

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sebdah/goldie/v2"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/sessions"
)

// TB is what a check needs of a test. *testing.T and *testing.B have it.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Options change how a check is made. The zero value is how it is made without.
type Options struct {
	// Contained are the failures that the turn is meant to contain: a listener
	// that panics, a late call, a second next. Each text must be part of one
	// such failure as the transcript has it, as in "listener of message"; a
	// contained failure that no text is part of fails the check.
	Contained []string
	// Redact is what must not stand in a golden file, nor in what a failure prints of
	// it; nil is nothing. It is as in replay.RecordOptions.
	Redact *redact.Rules
	// Dir is the folder of the golden files, relative to the test's. Empty
	// means testdata.
	Dir string
}

// Turn runs a turn under a fixed clock, counted ids and a scheduler that runs
// strands one at a time, and holds its transcript against the golden file of
// that name. See fakes.Deterministic for what of the config is kept, for records whose times
// are to differ, and for gates: a goroutine that settles one may come too late, and then it is
// another turn. A listener settles it before it returns, or a fakes.Approver does.
//
// The turn is run twice, to see whether it is the same both times. So build is
// called twice and makes everything fresh that a run changes: storage, tools
// with canned answers, listeners that count.
func Turn(t TB, name string, build func() (adk.Config, adk.RawTurn), options ...Options) {
	t.Helper()
	Transcript(t, name, func(probe adk.Probe) error {
		config, raw := build()
		runner, err := adk.NewRunner(fakes.Deterministic(config, probe))
		if err != nil {
			return err
		}
		return runner.Run(context.Background(), raw)
	}, options...)
}

// Transcript is Turn for a turn that the test runs itself: one with a context
// of its own, say, or with a runner that other code makes. run is called twice
// and runs one turn, the same each time, observed by the probe; where strands or
// time matter, fakes.Deterministic takes the probe and sees to both. An error of
// run fails the check.
func Transcript(t TB, name string, run func(probe adk.Probe) error, options ...Options) {
	t.Helper()
	c := newCheck(t, name, options)
	c.hold(func() (observed, error) { return observe(run, c.options.Redact) })
}

func newCheck(t TB, name string, options []Options) check {
	c := check{t: t, name: name, options: optional.First(options)}
	c.files = goldie.New(nil, goldie.WithFixtureDir(cmp.Or(c.options.Dir, "testdata")))
	return c
}

// Session is Transcript for a test that has hosts settle deliveries of sessions, the same
// each time: the golden file has the story of the sessions, as the journals tell it, and
// below it the transcript of each turn. run is called twice, with what records a host, by a
// name that no other host of the run has. A clock of its config's agent that stands still gives
// the records of all its turns one time, so that the message of a later delivery comes before
// the tool calls of an earlier one: fakes.NewTickingClock keeps them apart.
func Session(t TB, name string, run func(record func(host string) *sessions.HostRecorder) error, options ...Options) {
	t.Helper()
	c := newCheck(t, name, options)
	c.hold(func() (observed, error) { return observeSessions(run, c.options.Redact) })
}

// check is one check under way. goldie is given no test, since it would need
// all of *testing.T to say what this package says in words of its own.
type check struct {
	t       TB
	name    string
	options Options
	files   *goldie.Goldie
}

// hold makes the check, of what two runs give. It ends at the first failure: what comes
// behind one follows from it more often than not.
func (c check) hold(observed func() (observed, error)) {
	c.t.Helper()
	if c.name == "" {
		c.fail("a golden file needs a name")
		return
	}
	Claim(c.t, c.file())
	first, err := observed()
	if err != nil {
		c.fail("the turn was not run: %v", err)
		return
	}
	second, err := observed()
	if err != nil {
		c.fail("the turn was not run a second time: %v", err)
		return
	}
	switch {
	case !c.deterministic(first.transcript, second.transcript):
	case !c.expected(first.contained):
	case updating():
		c.update(first.transcript)
	default:
		c.compare(first.transcript)
	}
}

// deterministic fails where two runs of one turn are not the same.
func (c check) deterministic(first, second string) bool {
	c.t.Helper()
	n, one, other, differ := firstDifference(first, second)
	if !differ {
		return true
	}
	suspects := "Look for time and ids that user code takes from elsewhere than its context (Now, NewID), for the order\n" +
		"of a map, for goroutines that no Fork started, and for something that both runs share and the first\n" +
		"one used up: all that a run changes has to be made for each run."
	if gateLapses(one) != gateLapses(other) {
		suspects = "A gate timed out in one of them alone, and is settled by a goroutine, it seems: no run waits for that.\n" +
			"Have the listener of TurnGateOpen settle it before it returns, or a fakes.Approver."
	}
	c.fail("the turn is not deterministic: two runs of it differ first in line %d of the transcript\n"+
		"first  %s\nsecond %s\n%s", n, one, other, suspects)
	return false
}

// gateLapses reports whether a line of a transcript is the end of the time of a gate.
func gateLapses(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), "! the time of the wait-for is over")
}

// firstDifference finds the first line, counted from 1, in which two texts
// differ.
func firstDifference(a, b string) (n int, inA, inB string, differ bool) {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(linesA), len(linesB)) {
		inA, inB = lineAt(linesA, i), lineAt(linesB, i)
		if inA != inB {
			return i + 1, inA, inB, true
		}
	}
	return 0, "", "", false
}

func lineAt(lines []string, i int) string {
	if i >= len(lines)-1 { // behind the last line end there is nothing
		return "(it has ended)"
	}
	return lines[i]
}

// expected fails on failures that were contained and that nobody expects, and
// on those that are expected and were not there.
func (c check) expected(contained []string) bool {
	c.t.Helper()
	var loud []string
	for _, failure := range contained {
		if !slices.ContainsFunc(c.options.Contained, func(text string) bool { return strings.Contains(failure, text) }) {
			loud = append(loud, strconv.Quote(failure)) // what panics say may be anything
		}
	}
	if len(loud) > 0 {
		c.fail("the turn contained what nobody expects (Options.Contained is for what is meant):\n  %s", strings.Join(loud, "\n  "))
		return false
	}
	for _, text := range c.options.Contained {
		if !slices.ContainsFunc(contained, func(failure string) bool { return strings.Contains(failure, text) }) {
			c.fail("the turn contained no failure with %q in it, and Options.Contained expects one", text)
			return false
		}
	}
	return true
}

// compare holds the transcript against the golden file.
func (c check) compare(transcript string) {
	c.t.Helper()
	golden, err := os.ReadFile(c.file())
	switch {
	case os.IsNotExist(err):
		c.t.Errorf("golden: there is no %s. This writes it, for you to read before you commit it:\n  %s", c.file(), command(c.t.Name(), "-update"))
	case err != nil:
		c.fail("%v", err)
	case isCheckedOut(golden):
		c.fail("%s: %s", c.file(), checkedOut)
	case string(golden) != transcript:
		c.t.Errorf("golden: the turn is not the one in %s:\n%s\nIf it is as it should be, this updates the file:\n  %s",
			c.file(), difference(string(golden), transcript), withReason(c.t))
		c.keep(string(golden), transcript)
	default:
		dropPending(c.t, c.file())
	}
}

const checkedOut = "its lines end in CRLF: a checkout with core.autocrlf changed them; put `*.golden -text` into .gitattributes and check the file out again"

// isCheckedOut reports whether git has changed the ends of lines. A transcript has no byte \r.
func isCheckedOut(golden []byte) bool { return bytes.Contains(golden, []byte("\r\n")) }

// difference is a unified diff; what is expected is on the lines with a minus.
func difference(expected, actual string) string {
	return goldie.Diff(goldie.ClassicDiff, actual, expected)
}

// update writes the golden file where it changes. A change is shown before the
// file is written, and needs a reason.
func (c check) update(transcript string) {
	c.t.Helper()
	golden, err := os.ReadFile(c.file())
	switch {
	case corpus.InCI(os.Getenv):
		c.fail("%s", refusedInCI)
	case os.IsNotExist(err):
		c.create(transcript)
	case err != nil:
		c.fail("%v", err)
	case isCheckedOut(golden):
		c.fail("%s: %s", c.file(), checkedOut)
	case string(golden) != transcript:
		c.accept(string(golden), transcript)
	}
}

const refusedInCI = "-update is refused where the environment variable CI is set: what is expected is changed by somebody who reads the diff"

func (c check) create(transcript string) {
	c.t.Helper()
	if err := c.files.Update(nil, c.name, []byte(transcript)); err != nil {
		c.fail("%v", err)
		return
	}
	c.t.Logf("golden: wrote %s: read it before you commit it\n%s", c.file(), difference("", transcript))
}

func (c check) accept(golden, transcript string) {
	c.t.Helper()
	changes := fmt.Sprintf("the turn is not the one in %s:\n%s", c.file(), difference(golden, transcript))
	acceptance, err := reason()
	if err != nil {
		c.t.Errorf("golden: %s\nIt is not accepted without a reason. If it is as it should be, say why:\n  %s", changes, withReason(c.t))
		return
	}
	n, was, is, _ := firstDifference(golden, transcript)
	if err := acceptance.Replace(c.file(), []byte(transcript), fmt.Sprintf("from line %d on:\n- %s\n+ %s", n, was, is)); err != nil {
		c.fail("%s\nit is not accepted: %v", changes, err)
		return
	}
	c.t.Logf("golden: accepted: %s", changes)
	dropPending(c.t, c.file())
}

// reasonVariable is the environment variable that says why what is expected
// changes.
const reasonVariable = "ADKREPLAY_REASON"

// reason is what accepts what changed, for the reason that there is.
func reason() (*corpus.Acceptance, error) {
	return corpus.NewAcceptance(os.Getenv(reasonVariable), time.Now(), os.Getenv)
}

// withReason is the command that accepts what changed in a test.
func withReason(t TB) string {
	return reasonVariable + "='why it changed' " + command(t.Name(), "-update")
}

// updating reports whether the test runs with goldie's flag.
func updating() bool {
	update := flag.Lookup("update")
	return update != nil && update.Value.String() == "true"
}

// file is where the golden file is, relative to the test's folder.
func (c check) file() string { return filepath.ToSlash(c.files.GoldenFileName(nil, c.name)) }

// fail fails the test, and ends with the command that fails again.
func (c check) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("golden: "+format+"\nTo see it again:\n  %s", append(args, command(c.t.Name(), "-count=1"))...)
}

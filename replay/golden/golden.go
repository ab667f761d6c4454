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

// TB is what a check needs of a test. *testing.T and *testing.B implement it.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Options change how a check is made. The zero value is the default.
type Options struct {
	// Contained lists the failures that the turn is meant to contain, such as a listener that
	// panics, a late call or a second next. Each text must be part of such a failure as the
	// transcript shows it, for example "listener of message". A contained failure that matches no
	// text fails the check.
	Contained []string
	// Redact says what must not appear in a golden file or in a failure's output; nil redacts
	// nothing. It works as in replay.RecordOptions.
	Redact *redact.Rules
	// Dir is the folder of the golden files, relative to the test's folder. Empty means testdata.
	Dir string
}

// Turn runs a turn with a fixed clock, counted ids and a scheduler that runs strands one at a time,
// and compares its transcript with the golden file of the given name. fakes.Deterministic says
// which parts of the config are kept, and how to give records different times. A gate must not be
// settled by a goroutine: it may come too late, and then the turn differs. A listener that settles
// the gate before it returns, or a fakes.Approver, is safe.
//
// Turn runs the turn twice to check that both runs are the same. So it calls build twice, and build
// must make afresh everything that a run changes: storage, tools with canned answers, listeners that
// count.
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

// Transcript is Turn for a turn that the test runs itself, for example with a context of its own or
// with a runner that other code makes. Transcript calls run twice. Each time, run must run one
// turn, the same turn, observed by the probe. If strands or time matter, pass the probe to
// fakes.Deterministic, which controls both. An error of run fails the check.
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

// Session is Transcript for a test in which hosts settle deliveries of sessions, the same way each
// time. The golden file holds the history of the sessions, as the journals record it, followed by
// the transcript of each turn. Session calls run twice, with a function that returns the recorder
// for a host; each host of a run needs its own name. If the clock of the agent's config stands
// still, all records of its turns get the same time, and the message of a later delivery then sorts
// before the tool calls of an earlier one; fakes.NewTickingClock keeps them apart.
func Session(t TB, name string, run func(record func(host string) *sessions.HostRecorder) error, options ...Options) {
	t.Helper()
	c := newCheck(t, name, options)
	c.hold(func() (observed, error) { return observeSessions(run, c.options.Redact) })
}

// check is one check in progress. It passes no test to goldie, because goldie needs a *testing.T
// and this package writes its own messages.
type check struct {
	t       TB
	name    string
	options Options
	files   *goldie.Goldie
}

// hold makes the check from the results of two runs. It stops at the first failure, because later
// failures usually follow from the first.
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

// deterministic fails the test if two runs of the turn differ.
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

// gateLapses reports whether the line of a transcript says that a gate timed out.
func gateLapses(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), "! the time of the wait-for is over")
}

// firstDifference returns the number, counted from 1, of the first line in which two texts differ.
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
	if i >= len(lines)-1 { // after the last line end there is nothing
		return "(it has ended)"
	}
	return lines[i]
}

// expected fails the test if a failure was contained that Options.Contained does not expect, or if
// an expected failure did not happen.
func (c check) expected(contained []string) bool {
	c.t.Helper()
	var loud []string
	for _, failure := range contained {
		if !slices.ContainsFunc(c.options.Contained, func(text string) bool { return strings.Contains(failure, text) }) {
			loud = append(loud, strconv.Quote(failure)) // a panic's text may contain anything
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

// compare compares the transcript with the golden file.
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

// isCheckedOut reports whether git changed the line ends. A transcript has no byte \r.
func isCheckedOut(golden []byte) bool { return bytes.Contains(golden, []byte("\r\n")) }

// difference returns a unified diff in which the expected lines have a minus.
func difference(expected, actual string) string {
	return goldie.Diff(goldie.ClassicDiff, actual, expected)
}

// update writes the golden file if it changed. It shows the change before it writes the file, and
// it requires a reason.
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

// reasonVariable is the environment variable that holds the reason for a change of what is
// expected.
const reasonVariable = "ADKREPLAY_REASON"

// reason returns an acceptance with the reason from the environment.
func reason() (*corpus.Acceptance, error) {
	return corpus.NewAcceptance(os.Getenv(reasonVariable), time.Now(), os.Getenv)
}

// withReason returns the command that accepts what changed in a test.
func withReason(t TB) string {
	return reasonVariable + "='why it changed' " + command(t.Name(), "-update")
}

// updating reports whether the test runs with goldie's flag -update.
func updating() bool {
	update := flag.Lookup("update")
	return update != nil && update.Value.String() == "true"
}

// file returns the path of the golden file, relative to the test's folder.
func (c check) file() string { return filepath.ToSlash(c.files.GoldenFileName(nil, c.name)) }

// fail fails the test and adds the command that repeats the failure.
func (c check) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("golden: "+format+"\nTo see it again:\n  %s", append(args, command(c.t.Name(), "-count=1"))...)
}

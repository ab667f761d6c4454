package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wholefile"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/internal/varying"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Acceptance puts what changed on purpose in the place of what was expected: in
// traces, and in golden files. It keeps the reason beside each file, for whoever
// reads the change. It is made by NewAcceptance.
type Acceptance struct {
	reason string // in one line
	date   string
}

// NewAcceptance gives a reason for what is accepted on a day. It is refused
// where the environment says that no person is there to have seen what changed
// (InCI), and without a reason.
func NewAcceptance(reason string, on time.Time, env func(string) string) (*Acceptance, error) {
	a := &Acceptance{reason: safetext.Bare(strings.Join(strings.Fields(reason), " ")), date: on.Format(time.DateOnly)}
	switch {
	case InCI(env):
		return nil, errors.New("replay: nothing is accepted where the environment variable CI is set: somebody who reads the difference does that")
	case a.reason == "":
		return nil, errors.New("replay: an acceptance needs a reason: say in a line why the change is meant")
	}
	return a, nil
}

// InCI reports whether the environment variable CI is set, to other than false or
// 0.
func InCI(env func(string) string) bool {
	return !slices.Contains([]string{"", "0", "false"}, strings.ToLower(env("CI")))
}

// ReasonEnding is how the name of the file goes on that holds the reasons for
// what was accepted in a file, the latest last.
const ReasonEnding = ".reason"

// Replace puts content in the place of a file's, and adds the reason to the file
// beside it, with what changed: whoever may not read the one may not read the other. It
// does both or neither.
func (a *Acceptance) Replace(file string, content []byte, changes ...string) error {
	return a.replace(file, "", content, changes)
}

var errChanged = errors.New("replay: it has changed since it was shown: look at it again")

// replace is Replace of a file that held what has the digest shown, empty for whatever it holds.
// One that holds something else is refused, also where another process accepts it meanwhile.
func (a *Acceptance) replace(file, shown string, content []byte, changes []string) error {
	unlock, err := wholefile.Lock(file)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if shown != "" && digestOf(before) != shown {
		return errChanged
	}
	reasons := file + ReasonEnding
	earlier, err := os.ReadFile(reasons)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return err
	}
	// First the reason: whatever stops this, no change stands without one.
	if err := wholefile.WriteBeside(reasons, append(slices.Clip(earlier), a.entry(before, content, changes)...), file); err != nil {
		return err
	}
	err = wholefile.Write(file, content)
	switch {
	case err != nil && isNew:
		return errors.Join(err, os.Remove(reasons))
	case err != nil:
		return errors.Join(err, wholefile.Write(reasons, earlier))
	}
	return nil
}

// entryWidth is how long a line is of what is kept with a reason, but for the digests.
const entryWidth = 80

// entry is what is kept of one acceptance.
func (a *Acceptance) entry(before, content []byte, changes []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\n", a.date, a.reason)
	for _, change := range changes {
		for line := range strings.Lines(change) {
			folded := safetext.Folded("    "+safetext.Line(strings.TrimRight(line, "\r\n")), entryWidth)
			fmt.Fprintf(&b, "%s\n", folded)
		}
	}
	fmt.Fprintf(&b, "    sha256 %x became %x\n", sha256.Sum256(before), sha256.Sum256(content))
	return b.Bytes()
}

// Accepted is what became of one trace that diverged.
type Accepted struct {
	// Trace is the name of its source.
	Trace string
	// After is what came of the crossings behind the divergence that was reported:
	// they are accepted with it. Nil where it is not known.
	After *replay.Impact
	// Taken are the answers of the recording that what asks otherwise was given, as they are
	// certain (replay.Report): they are kept with the reason.
	Taken []string
	// Refused says why it was not accepted; nil where it was.
	Refused error
}

// RecordAnew says what is done with a turn that cannot be accepted.
const RecordAnew = "record it anew, into that file: run the turn with replay.Record(file) as the agent's Probe"

// Accept records every trace of a report that diverged again (Rerecord), and
// writes the new trace over its file, with the reason beside it. The names of the
// sources are the paths of their files, and live gives the live seams for each,
// as it gave them to Verify; nil scripts every seam. It is asked twice for each: what
// was made afresh has to do the same on the new trace, as far as replay.Live.Twice has it
// run again; what differs from run to run is not accepted. Nor is a file that holds something
// else than when it was verified. One that cannot be accepted keeps none of the others from it,
// nor does a panic in it (adk.PanicError). Where a is nil nothing is written: the results say
// what could be.
func (r *Report) Accept(ctx context.Context, a *Acceptance, live func(name string) replay.Live, options ...trace.Options) (results []Accepted) {
	if live == nil {
		live = func(string) replay.Live { return replay.Live{} }
	}
	for _, t := range r.Traces {
		if t.Divergence != nil {
			results = append(results, r.accept(ctx, t, a, live, optional.First(options)))
		}
	}
	return results
}

func (r *Report) accept(ctx context.Context, t *TraceReport, a *Acceptance, live func(name string) replay.Live, reading trace.Options) Accepted {
	var content bytes.Buffer
	report, err := t.rerecord(ctx, &content, live, reading)
	if err != nil {
		return Accepted{Trace: t.Trace, Refused: err}
	}
	result := Accepted{Trace: t.Trace, Taken: report.Taken}
	if report.Divergence != nil {
		result.After = report.Divergence.After
	}
	if a != nil {
		result.Refused = a.replace(t.Trace, t.read, content.Bytes(), t.changes(r.causesOf(t), report))
	}
	return result
}

// rerecord makes the trace that takes the place of one that diverged. What never ended ends
// no more when it is made again, and what was another in a second run is not made: no trace
// would stand for it.
func (t *TraceReport) rerecord(ctx context.Context, made *bytes.Buffer, live func(name string) replay.Live, reading trace.Options) (report *replay.Report, err error) {
	defer func() {
		if value := recover(); value != nil {
			report, err = nil, fmt.Errorf("replay: %w\n\n%s", &adk.PanicError{Value: value}, debug.Stack())
		}
	}()
	switch {
	case len(t.Divergence.Waiting) > 0:
		return nil, errors.New("replay: the new run never ends")
	case t.Divergence.Class == replay.NonDeterministic:
		return nil, fmt.Errorf("replay: %w", varying.Err)
	}
	f, err := os.Open(t.Trace)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reading.File = t.Trace
	return varying.Rerecord(ctx, f, made, func() (replay.Live, error) { return live(t.Trace), nil }, reading)
}

// causesOf are the causes that hit a trace, and what differs in it on its own.
func (r *Report) causesOf(t *TraceReport) (all []string) {
	for _, c := range r.Causes {
		if slices.Contains(c.Traces, t.Trace) {
			all = append(all, c.Text)
		}
	}
	return append(all, t.onItsOwn()...)
}

// changes say what is accepted in a trace: the causes, the divergence as it was shown, and
// the answers that were taken of what was asked otherwise.
func (t *TraceReport) changes(causes []string, made *replay.Report) []string {
	return append(append(slices.Clip(causes), t.Divergence.Summary()), made.Taken...)
}

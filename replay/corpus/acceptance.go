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
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/internal/varying"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Acceptance replaces what was expected, in traces and golden files, by what changed on purpose. It
// keeps the reason next to each file, for readers of the change. NewAcceptance makes one.
type Acceptance struct {
	reason string // one line
	date   string
}

// NewAcceptance returns an Acceptance with the given reason and day. It returns an error if there
// is no reason, or if the environment says that no person can have seen the change (InCI).
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

// InCI reports whether the environment variable CI is set to anything but false or 0.
func InCI(env func(string) string) bool {
	return !slices.Contains([]string{"", "0", "false"}, strings.ToLower(env("CI")))
}

// ReasonEnding is appended to the name of a file to name the file with the reasons for its changes.
// The latest reason is last.
const ReasonEnding = ".reason"

// Replace replaces the content of a file, and adds the reason and the changes to the file of
// reasons next to it, which gets the same permissions. It does both or neither.
func (a *Acceptance) Replace(file string, content []byte, changes ...string) error {
	return a.replace(file, "", content, changes)
}

// ErrChanged says that a file is not accepted because it has changed since it was shown.
var ErrChanged = errors.New("replay: it has changed since it was shown: look at it again")

// ErrConflict says that a file is not accepted because its reasons were merged and git's conflict
// markers are still in them.
var ErrConflict = errors.New("these are git's conflict markers: keep the reasons of both sides, delete the lines of the markers, " +
	"and accept again (`*.reason merge=union` in .gitattributes keeps both)")

// conflictIn returns an error that wraps ErrConflict if the file of reasons with the given path and
// content has conflict markers.
func conflictIn(path string, reasons []byte) error {
	if n := wire.ConflictAt(reasons); n > 0 {
		return fmt.Errorf("replay: %s:%d: %w", safetext.Bare(path), n, ErrConflict)
	}
	return nil
}

// replace is Replace for a file whose content had the digest shown; an empty digest allows any
// content. It refuses a file with other content. It locks the file, so this holds even if another
// process accepts the same file concurrently.
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
		return ErrChanged
	}
	reasons := file + ReasonEnding
	earlier, err := os.ReadFile(reasons)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return err
	}
	if err := conflictIn(reasons, earlier); err != nil {
		return err
	}
	// Write the reason first, so that an interruption never leaves a change without a reason.
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

// entryWidth is the width to which the lines of an entry are folded, except that of the digests.
const entryWidth = 80

// entry returns the text that is kept for one acceptance.
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

// Accepted is the result of accepting one trace that diverged.
type Accepted struct {
	// Trace is the name of its source.
	Trace string
	// After describes how the crossings after the reported divergence changed; they are accepted
	// with it. It is nil if that is not known.
	After *replay.Impact
	// Taken lists the recorded answers that were given to changed requests because they certainly
	// belong to them (replay.Report). They are kept with the reason.
	Taken []string
	// Refused says why the trace was not accepted; nil if it was.
	Refused error
}

// RecordAnew tells a person what to do with a turn that cannot be accepted.
const RecordAnew = "record it anew, into that file: run the turn with replay.Record(file) as the agent's Probe"

// Accept records every divergent trace of a report again (Rerecord), and writes the new trace over
// its file, with the reason next to it. The names of the sources must be the paths of their files.
// live returns the live seams for a trace, as for Verify; nil scripts every seam. Accept calls it
// twice for each trace: the live code, made afresh, has to repeat the new trace, as
// replay.Live.Twice describes. Accept refuses a trace that varies from run to run, and a file whose
// content changed since it was verified (ErrChanged), or whose reasons have conflict markers
// (ErrConflict). A refused trace, or a panic in it (adk.PanicError), does
// not keep other traces from being accepted. If a is nil, Accept writes nothing, and the results
// say what could be accepted.
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
	reasons := t.Trace + ReasonEnding
	if earlier, err := os.ReadFile(reasons); err == nil { // before anything is run; a file that cannot be read is refused when it is written
		if err := conflictIn(reasons, earlier); err != nil {
			return Accepted{Trace: t.Trace, Refused: err}
		}
	}
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

// rerecord makes the trace that replaces a divergent one. It fails without a run if the new run
// never ended, or if a second run differed, because no trace would describe such code.
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

// causesOf returns the causes that affect a trace, and the independent differences in it.
func (r *Report) causesOf(t *TraceReport) (all []string) {
	for _, c := range r.Causes {
		if slices.Contains(c.Traces, t.Trace) {
			all = append(all, c.Text)
		}
	}
	return append(all, t.onItsOwn()...)
}

// changes lists what is accepted in a trace: the causes, the divergence as it was shown, and the
// recorded answers that were given to changed requests.
func (t *TraceReport) changes(causes []string, made *replay.Report) []string {
	return append(append(slices.Clip(causes), t.Divergence.Summary()), made.Taken...)
}

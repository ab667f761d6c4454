package whatif

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/diff"
	"github.com/adkreplay/adkreplay/replay/internal/again"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Override answers one recorded crossing differently: it replaces a value that user code or the
// outside gave there.
type Override struct {
	// Path names the crossing, the field, and a place in the field, in the words of a trace and of
	// the fields of a Divergence:
	//
	//	23.result              what the tool returned whose return is crossing 23
	//	23.args.city           a member of arguments; they stay text if they are text
	//	6.records[0].content   a field of a record; [q1] is the record of that key
	//	run.prompt             a seam path, if the seam is called once
	//	executor/model#1.error how a call ended
	//	23.cancel              the run is cancelled before crossing 23, for this reason
	//	23.at                  how long after the crossing before it happened
	//
	// error means err, reason or cause, whichever the crossing has. If the crossing does not have
	// the field, it is looked for in what belongs to the crossing. For an operation, that is its
	// other line, the calls that it led to and the settlement of its gate; for a call, its return.
	Path string
	// Value is the new value: an error, a record, a tool's result, or plain data; nil means
	// nothing. A json.RawMessage is JSON in the form of a trace. A string may also be the text of
	// an error, or a tool's result.
	Value any
}

// ParseOverride parses PATH=VALUE. VALUE is JSON, or a text if it is not valid JSON.
func ParseOverride(text string) (Override, error) {
	path, value, found := strings.Cut(text, "=")
	switch {
	case !found:
		return Override{}, fmt.Errorf("replay: %q has no value: want PATH=VALUE, such as 23.result=cold", text)
	case path == "":
		return Override{}, fmt.Errorf("replay: %q has no path: want PATH=VALUE, such as 23.result=cold", text)
	}
	if json.Valid([]byte(value)) {
		return Override{path, json.RawMessage(value)}, nil
	}
	return Override{path, value}, nil
}

// Report is the result of a turn in which something was answered differently.
type Report struct {
	// Set lists the overrides, in the order in which they were given.
	Set []Applied `json:"set"`
	// Diff says how the new run, b, differs from the recorded one, a.
	Diff *diff.Diff `json:"diff"`
	// Unanswered lists the crossings of the new run for which the recording has no answer.
	Unanswered []NoAnswer `json:"unanswered"`
	// AsRecorded lists the scripted seams that did as recorded although they were asked, shown or
	// answered something else. Only their code can say what it would have done: choose it in Live.
	AsRecorded []AsRecorded `json:"asRecorded"`
	// Notes says what else a reader of the diff must know.
	Notes []string `json:"notes,omitempty"`
	// Trace is the new run.
	Trace *trace.Trace `json:"-"`
}

// Applied is an override that was applied to the recorded turn.
type Applied struct {
	// Path is the number of the crossing that has the field, and the field.
	Path string `json:"path"`
	// Crossing is that number, and Seam is the seam call that it belongs to.
	Crossing int    `json:"crossing"`
	Seam     string `json:"seam"`
	// Fields lists what it changed; empty if the recording already has that value.
	Fields []replay.FieldDiff `json:"fields"`
	// Reached is true if the override took effect in the new run. It did not if the new run took
	// another path before, or if the engine does not take the value from there.
	Reached bool `json:"reached"`
}

// NoAnswer is a crossing of the new run for which the recording has no answer.
type NoAnswer struct {
	// Crossing is its number in the new run.
	Crossing int    `json:"crossing"`
	Seam     string `json:"seam"`
	Line     string `json:"line"`
}

// AsRecorded is a difference that a scripted seam ignored.
type AsRecorded struct {
	// Seam is the seam call that did as recorded.
	Seam string `json:"seam"`
	// Was is "asked", "shown" or "answered": in which way the seam was given something else.
	Was string `json:"was"`
	// Crossing is the number of that crossing in the recording. Line is how a transcript shows it.
	Crossing int    `json:"crossing"`
	Line     string `json:"line"`
	// Fields lists what differs; Want is the recorded value.
	Fields []replay.FieldDiff `json:"fields"`
}

// The values of AsRecorded.Was.
const (
	wasAsked    = "asked"
	wasShown    = "shown"
	wasAnswered = "answered"
)

// ErrOverride is the error of an Override that cannot be applied: its path leads nowhere, the
// engine itself decides what the path leads to, or the value does not fit there.
var ErrOverride = errors.New("replay: this cannot be answered differently")

// overrideError is an ErrOverride that says what is wrong.
type overrideError struct{ text string }

func (e *overrideError) Error() string        { return "replay: " + e.text }
func (e *overrideError) Is(target error) bool { return target == ErrOverride }

func refusef(format string, args ...any) error {
	return &overrideError{fmt.Sprintf(format, args...)}
}

// Run runs the turn of a trace again on today's engine, with some of its crossings answered
// differently, and says what the engine makes of it. The seams in live are user code. All other
// seams do what was recorded, as far as the engine asks them; Run invents no answers for them.
//
// Only what user code or the outside gave can be answered differently, not what the engine decided,
// nor what live code says. An override that cannot be applied is an ErrOverride, and a trace that
// cannot be read to its end a *FormatError. In both cases nothing was run.
func Run(ctx context.Context, recorded io.Reader, live replay.Live, answers []Override, options ...trace.Options) (*Report, error) {
	w, err := newWhatIf(recorded, live, options)
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		if err := w.answer(a); err != nil {
			return nil, err
		}
	}
	if w.again, err = again.Do(ctx, w.altered, w.cancels, live); err != nil {
		return nil, w.refused(err)
	}
	w.now = describe.Of(calls.New(w.recorded.Version(), w.again.Trace.Info, w.again.Crossings))
	r, err := w.report(ctx)
	if ctx.Err() != nil { // also if it ended too late for the run to notice
		return nil, stub.Interrupted(ctx)
	}
	return r, err
}

// refused returns the error of a run that was not started. If an override changed the input of the
// run, the error says that this is why the engine refused it.
func (w *whatIf) refused(err error) error {
	var engine *adk.Error
	for i, t := range w.targets {
		if t.x == w.edited.Root.Begin && t.special == "" && errors.As(err, &engine) {
			return refusef("%s: the engine refuses the run with that: %v", w.sets[i].Path, engine)
		}
	}
	return inFile(err, w.altered.Options().File)
}

// inFile sets the file of a FormatError that has none.
func inFile(err error, file string) error {
	if format, ok := errors.AsType[*trace.FormatError](err); ok && format.File == "" {
		format.File = file
	}
	return err
}

// whatIf is a recorded turn in which crossings are answered differently.
type whatIf struct {
	known    wire.Comparer
	fields   wire.Apart
	live     replay.Live
	trace    *trace.Trace
	recorded *describe.Run
	altered  *trace.Trace // its crossings are changed in place, but never the records in them
	edited   *calls.Tree  // of altered
	cancels  []*adk.Crossing
	sets     []Applied
	targets  []target // those of sets
	times    bool     // a time was set, so times are compared
	notes    []string
	again    *again.Run
	now      *describe.Run // of again
}

func newWhatIf(recorded io.Reader, live replay.Live, options []trace.Options) (*whatIf, error) {
	o := optional.First(options)
	known, err := wire.NewSentinels(o.Sentinels, o.ErrorTypes)
	if err != nil {
		return nil, err
	}
	if err := live.Check(); err != nil {
		return nil, err
	}
	r, err := trace.NewReader(recorded, options...)
	if err != nil {
		return nil, err
	}
	whole, err := r.Rest()
	if err == nil && r.Header().Contract > trace.ContractRevision {
		err = &trace.FormatError{Line: calls.LineOfHeader, Fault: trace.FaultImpossible, Reason: fmt.Sprintf(
			"it is of an engine that keeps revision %d of the contract, and this one keeps %d", r.Header().Contract, trace.ContractRevision)}
	}
	if err != nil {
		return nil, inFile(err, r.Options().File)
	}
	altered := *whole
	altered.SetLines(slices.Clone(whole.Lines()))
	w := &whatIf{known: wire.Comparer{Sentinels: known, Format: whole.Version}, live: live, trace: whole, altered: &altered, notes: wire.RedactedNote(r.Footer())}
	w.recorded, w.edited = describe.Of(calls.Of(whole)), calls.Of(w.altered)
	w.fields = wire.Apart{Sentinels: known, Media: w.edited.Media}
	return w, nil
}

// answer applies one override.
func (w *whatIf) answer(a Override) error {
	t, err := w.resolve(a.Path)
	if err != nil {
		return err
	}
	at := w.recorded.Lines[t.x.Seq-1]
	set := Applied{Path: fmt.Sprintf("%d.%s%s", t.x.Seq, t.label(), t.rest), Crossing: t.x.Seq, Seam: w.recorded.SeamOf(at).String()}
	if slices.ContainsFunc(w.sets, func(earlier Applied) bool { return earlier.Path == set.Path }) {
		return refusef("%s: it is answered twice, and only one of the answers can be given", a.Path)
	}
	switch t.special {
	case pathCancel:
		set.Fields, err = w.cancelBefore(t.x, a)
	case pathAt:
		set.Fields, err = w.moveTo(t.x, a)
	default:
		before := *t.x
		if err = w.put(t, a.Value); err == nil {
			set.Fields = w.changed(&before, t.x)
		}
	}
	if err != nil {
		return refusef("%s: %v", a.Path, err)
	}
	w.sets, w.targets = append(w.sets, set), append(w.targets, t)
	return nil
}

// changed returns the fields in which an edited crossing differs.
func (w *whatIf) changed(before, after *adk.Crossing) []compare.FieldDiff {
	var fields []compare.FieldDiff
	for _, use := range before.Kind.Fields(before.Phase) {
		if !w.known.Same(use.Field, before, after) {
			want, got := w.known.Text(use.Field, before), w.known.Text(use.Field, after)
			if use.Field == adk.FieldOutcome {
				want, got = compare.QuotedJSON(string(before.Outcome)), compare.QuotedJSON(string(after.Outcome))
			}
			fields = append(fields, compare.FieldDiff{Field: use.Label, Want: want, Got: got, Input: use.Input, Of: use.Field})
		}
	}
	return compare.InDetail(before, after, fields)
}

// report makes the report on the new run.
func (w *whatIf) report(ctx context.Context) (*Report, error) {
	note, err := w.unlike(ctx)
	if err != nil {
		return nil, err
	}
	if len(w.cancels) > 0 {
		note = append(note, "scripted seams do not heed a cancel: behind it they did as recorded, as far as the engine still asked them")
	}
	r := &Report{
		Set: w.reached(), Unanswered: w.unanswered(), AsRecorded: w.asRecorded(), Trace: w.again.Trace,
		Diff:  diff.Traces(w.trace, w.again.Trace, diff.Options{Times: w.times}),
		Notes: slices.Concat(w.notes, note, w.again.NotCompared),
	}
	return r, nil
}

// unlike returns a note if the engine differs from the recording even without overrides, because
// then the overrides do not explain the whole diff. It checks this only if no live code would run.
func (w *whatIf) unlike(ctx context.Context) ([]string, error) {
	if len(w.live.Seams) > 0 {
		return nil, nil
	}
	var recorded bytes.Buffer
	if _, err := w.trace.WriteTo(&recorded); err != nil {
		return nil, err
	}
	report, err := replay.Verify(ctx, &recorded, replay.Live{}, w.trace.Options())
	if err != nil || report.Divergence == nil {
		return nil, err
	}
	return []string{"today's engine does not do what was recorded, with nothing set: verify says in what, and not all of the diff is of what was set"}, nil
}

package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Recorded makes a subject of a recorded turn. It runs the agent's code of today in the world of
// the recording. open makes what one run needs; the recording supplies what its Instance leaves
// out:
//
//   - the raw turn, if Raw has no system prompt;
//   - the storage, in memory, with the records that the turn had fetched;
//   - the answers of the world, which is not asked itself. An ask that equals a recorded one, up to
//     ids that the run makes, gets the answer of that, with the ids of this run. Any other ask gets
//     the answer of the most similar one;
//   - the clock;
//   - the settlements of gates.
//
// A recording does not have the handlers of stored tools: an agent that fetches such tools must
// bring its own storage.
//
// When code asks what the recording has no answer to, the caller cancels the turn if the recorded
// caller had left; otherwise the ask fails with E_UNANSWERED. Recorded returns an error if recorded
// does not begin with a turn.
func Recorded(recorded *trace.Trace, open func() turn.Instance) (turn.Subject, error) {
	crossings := make([]adk.Crossing, 0, recorded.Len())
	for _, line := range recorded.All() {
		crossings = append(crossings, line.Crossing)
	}
	if len(crossings) == 0 || crossings[0].Kind != adk.KindCall || crossings[0].Seam.Label != adk.LabelRun {
		return turn.Subject{}, errors.New("it begins with no turn: only turns are explored")
	}
	w := recordedWorld{crossings: crossings, asks: recordedAsksOf(crossings), records: fetchedFirst(crossings), settlements: settlementsOf(crossings)}
	return turn.Subject{Name: "recorded", Open: func(cancel context.CancelCauseFunc) turn.Instance {
		i := open()
		w.complete(&i, cancel)
		return i
	}}, nil
}

// recordedWorld is what a recording supplies to today's code.
type recordedWorld struct {
	crossings   []adk.Crossing
	asks        *recordedAsks
	records     []adk.Record
	settlements map[string][]adk.Crossing // by the reason of the gate
}

// complete fills in what an instance leaves out. The caller of the turn leaves by calling cancel.
func (w recordedWorld) complete(i *turn.Instance, cancel context.CancelCauseFunc) {
	first := w.crossings[0]
	if i.Raw.SystemPrompt == "" {
		i.Raw.SystemPrompt, i.Raw.Instructions = first.Text, first.Texts
		i.Raw.Stash, _ = first.Value.(map[string]any)
	}
	if i.Config.Storage == (adk.Storage{}) {
		i.Config.Storage = fakes.NewStorage(w.records...).Storage()
	}
	if i.Config.Clock == nil {
		i.Config.Clock = fakes.NewClockAt(first.At)
	}
	if i.Config.Outside == nil {
		answers := &recordedAnswers{recordedAsks: w.asks, given: map[*recordedAsk]bool{}, want: map[string]string{}, got: map[string]string{}, cancel: cancel, left: w.left()}
		i.Config.Outside = answers.answer
	}
	if i.Raw.Observability.TurnGateOpen == nil {
		i.Raw.Observability.TurnGateOpen = w.settle()
	}
}

// left returns why the caller of the recorded turn left it; nil means that it did not.
func (w recordedWorld) left() error {
	for i := range w.crossings {
		if x := &w.crossings[i]; wire.CancelledBy(x) == wire.OutsideCancel {
			return x.Cause
		}
	}
	return nil
}

// fetchedFirst returns the records that the storage gave to a turn and that the turn had not
// written.
func fetchedFirst(crossings []adk.Crossing) (all []adk.Record) {
	type place struct{ of, key string }
	known, seams := map[place]bool{}, map[int]adk.Seam{}
	for i := range crossings {
		x := &crossings[i]
		if x.Kind == adk.KindCall {
			seams[x.ID] = x.Seam
		}
		of := seams[x.ID]
		if of.Label != adk.LabelStorage || x.Kind.Class() != adk.ClassCall {
			continue
		}
		if x.Kind == adk.KindCall && !readsOnly(of.Name) {
			known[place{storageOf(of.Name), wanted.Key(x)}] = true
		}
		for _, r := range x.Records {
			at := place{storageOf(of.Name), r.Key()}
			if !known[at] && r.RecordKind() != adk.RecordTool {
				all = append(all, r)
			}
			known[at] = true
		}
	}
	return all
}

// settlementsOf returns the settlements of gates, by the reasons of the gates.
func settlementsOf(crossings []adk.Crossing) map[string][]adk.Crossing {
	reasons, all := map[string]string{}, map[string][]adk.Crossing{}
	for i := range crossings {
		switch x := crossings[i]; {
		case wire.AsksForGate(&x):
			reasons[x.Name] = x.Text
		case wire.IsSettlement(&x):
			all[reasons[x.Name]] = append(all[reasons[x.Name]], x)
		}
	}
	return all
}

// settle returns a listener that settles gates as recorded. Gates with the same reason are settled
// in their recorded order; if there are more gates than settlements, the last settlement is
// repeated.
func (w recordedWorld) settle() func(adk.TurnGateOpen) {
	var mu sync.Mutex
	used := map[string]int{}
	return func(e adk.TurnGateOpen) {
		mu.Lock()
		all := w.settlements[e.Gate.Reason()]
		at := min(used[e.Gate.Reason()], len(all)-1)
		used[e.Gate.Reason()]++
		mu.Unlock()
		if at < 0 {
			return
		}
		switch x := all[at]; x.Status {
		case adk.GateRejected:
			e.Gate.Reject(x.Key, x.Err)
		case adk.GateAborted:
			e.Gate.Abort(x.Key)
		default:
			if _, err := e.Gate.Resolve(x.Key, x.Value); err != nil { // today's gate may want another value
				e.Gate.Reject(x.Key, err)
			}
		}
	}
}

// inOrder returns asks in the order in which they were made.
func inOrder(asks map[int]*asked) []*asked {
	return slices.SortedFunc(maps.Values(asks), func(a, b *asked) int { return a.first - b.first })
}

// Traces explores every recorded turn of a folder in go test: it runs the agent's code of today in
// the world that was recorded, and breaks it at every crossing. open is called once for each run,
// with the path of the trace; Recorded says what it may leave to the recording.
//
//	explore.Traces(t, "testdata/turns", func(string) turn.Instance {
//		return turn.Instance{Config: agent.Config()}
//	}, explore.Options{})
//
// If today's code asks what the recording has no answer to, the turn is not explored and the test
// fails: golden.Replay says what has changed. For a subject that needs more, such as the errors of
// a client (turn.Subject.Errors), call Recorded and Test. A bug that several traces show is
// reported in full for the first one, and the others refer to it. reading says how the traces are
// read. Journals of sessions, and traces that end where their host was killed, are not explored.
func Traces[Self property.T[Self]](t Self, folder string, open func(trace string) turn.Instance, options Options, reading ...trace.Options) {
	t.Helper()
	sources, err := corpus.Sources(os.DirFS(folder))
	if err != nil {
		t.Errorf("%s: %v", folder, err)
		return
	}
	recordings, traces := sessions.Recordings(sources)
	traces = sessions.Whole(traces, recordings, reading...)
	if len(traces) == 0 {
		t.Errorf("%s: there is no turn that ended: want a folder with traces", folder)
	}
	options.known = known{}
	for _, source := range traces {
		file := path.Join(filepath.ToSlash(folder), source.Name)
		t.Run(source.Name, func(t Self) {
			t.Helper()
			subject, err := recordedIn(t.Context(), file, open, reading)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			o := options
			o.test = fmt.Sprintf("explore.ReproduceTrace(t, %q, open, %%q)", file)
			if len(reading) > 0 {
				o.test = strings.TrimSuffix(o.test, ")") + ", reading)"
			}
			Test(t, subject, o)
		})
	}
}

// ReproduceTrace is Reproduce for a recorded turn. Violations of Traces name the call.
func ReproduceTrace(t property.TB, file string, open func(trace string) turn.Instance, schedule string, reading ...trace.Options) {
	t.Helper()
	subject, err := recordedIn(context.Background(), file, open, reading)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	Reproduce(t, subject, schedule)
}

// recordedIn returns the subject of a file, and an error if the recording lacks an answer.
func recordedIn(ctx context.Context, file string, open func(trace string) turn.Instance, reading []trace.Options) (turn.Subject, error) {
	f, err := os.Open(filepath.FromSlash(file))
	if err != nil {
		return turn.Subject{}, err
	}
	defer f.Close()
	read, err := trace.Read(f, reading...)
	if err != nil {
		return turn.Subject{}, fmt.Errorf("%s: %w", file, err)
	}
	subject, err := Recorded(read, func() turn.Instance { return open(file) })
	if err != nil {
		return turn.Subject{}, fmt.Errorf("%s: %w", file, err)
	}
	subject.Name = file
	return subject, answersAll(ctx, subject)
}

// answersAll runs the undisturbed turn, and returns an error if an ask of it has no recorded
// answer.
func answersAll(ctx context.Context, subject turn.Subject) error {
	var unanswered error
	subject.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if wire.IsAsk(x) && errors.Is(x.Err, adk.E_UNANSWERED) {
				unanswered = fmt.Errorf("%s: crossing %d: %w: see golden.Replay for what has changed", subject.Name, x.Seq, x.Err)
			}
		}
		return nil
	}
	if _, err := RunSchedule(ctx, subject, turn.Schedule{}, Options{Workers: 1}); err != nil {
		return err
	}
	return unanswered
}

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

// Recorded makes a subject of a recorded turn: it is the agent's code of today that runs,
// on the world of the recording. open makes what one run needs, and what its Instance
// leaves out comes from the recording: the raw turn where Raw has no system prompt; the
// storage, in memory, with the records that the turn had fetched; the answers of the
// world, which nobody asks: who asks the same, up to ids that the run makes, gets its own, with
// these ids, and who asks otherwise that of the most alike; the clock; and
// who settles gates, as they were settled. Stored tools have no handlers in a recording:
// an agent that fetches those brings a storage of its own.
//
// Where the caller had left the recorded turn, that of this one leaves when code asks what
// the recording has no answer to; elsewhere such an ask fails with E_UNANSWERED. The error
// says that it is no turn.
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

// recordedWorld is what a recording has that code of today does not.
type recordedWorld struct {
	crossings   []adk.Crossing
	asks        *recordedAsks
	records     []adk.Record
	settlements map[string][]adk.Crossing // by the gate's reason
}

// complete fills in what an instance leaves out. cancel is how its caller leaves.
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

// left is why the caller of the recorded turn left it; nil is that it did not.
func (w recordedWorld) left() error {
	for i := range w.crossings {
		if x := &w.crossings[i]; wire.CancelledBy(x) == wire.OutsideCancel {
			return x.Cause
		}
	}
	return nil
}

// fetchedFirst are the records that a turn was given by its storage and had not written.
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

// settlementsOf are the settlements of gates, by their reasons.
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

// settle is a listener that settles gates as they were settled, those of one reason in
// their order, and the last settlement again where there are more.
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
			if _, err := e.Gate.Resolve(x.Key, x.Value); err != nil { // today's gate wants something else
				e.Gate.Reject(x.Key, err)
			}
		}
	}
}

// inOrder are asks in the order in which they were made.
func inOrder(asks map[int]*asked) []*asked {
	return slices.SortedFunc(maps.Values(asks), func(a, b *asked) int { return a.first - b.first })
}

// Traces explores every recorded turn of a folder in go test: the agent's code of today,
// on the world as it was recorded, broken at every crossing. Recorded says what open
// leaves to the recording; it is given the path of the trace, and is called once a run.
//
//	explore.Traces(t, "testdata/turns", func(string) turn.Instance {
//		return turn.Instance{Config: agent.Config()}
//	}, explore.Options{})
//
// A turn whose code of today asks what the recording has no answer to is not explored,
// and fails the test: golden.Replay says what has changed. For a subject that needs more, such as
// the errors of a client (turn.Subject.Errors), call Recorded and Test. A bug that several traces show is
// told in full of the first, and the others name that. reading says how the traces are
// read. Journals of sessions, and traces that end where their host was killed, are no turns to
// explore.
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

// ReproduceTrace is Reproduce for a recorded turn, as Traces names it.
func ReproduceTrace(t property.TB, file string, open func(trace string) turn.Instance, schedule string, reading ...trace.Options) {
	t.Helper()
	subject, err := recordedIn(context.Background(), file, open, reading)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	Reproduce(t, subject, schedule)
}

// recordedIn is the subject of a file that has all its answers.
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

// answersAll says which ask of the undisturbed turn nobody answered.
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

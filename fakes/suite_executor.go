package fakes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// maxIterations is how many iterations TestExecutor allows an executor.
const maxIterations = 100

// TestExecutor checks the executor of a config by running a turn that the executor should ack. It
// reports all faults together, each with the rule that it breaks; nil means there are none.
// newConfig is called for each run, and must make anew what the executor talks to: a storage, a
// provider. The runs are Deterministic, so their time and ids are virtual.
//
// One of the runs is cancelled when the executor is called. If a run hangs, for example because the
// executor ignores its context, TestExecutor abandons it, and the fault names the lines at which
// its goroutines wait.
func TestExecutor(newConfig func() adk.Config, raw adk.RawTurn) error {
	first, err := watch(newConfig(), raw, nil)
	if err != nil {
		return err
	}
	second, err := watch(newConfig(), raw, nil)
	if err != nil {
		return err
	}
	abort := errors.New("fakes: the turn was cancelled to see whether the executor stops")
	third, err := watch(newConfig(), raw, abort)
	if err != nil {
		return err
	}
	return errors.Join(first.ended(), first.sealed(), first.contained(), first.same(second), third.stopped(), third.contained())
}

// watched collects what one run of TestExecutor showed.
type watched struct {
	mu         sync.Mutex
	lines      []string // the crossings, as text
	misuse     []string
	open       map[string]bool // streams and tool calls that have not been reported complete
	end        adk.DispatchEnd
	failures   []error
	cancel     context.CancelCauseFunc
	abort      error // the cause with which to cancel the run when the executor is called; nil for never
	iterations int
}

var errIterations = fmt.Errorf("DSP-4: nothing bounds a dispatch: want a signal; there was none in %d iterations", maxIterations)

var errHangs = errors.New("fakes: the turn was cancelled because nothing happened any more")

// watch runs a turn and records what happens in it. If abort is not nil, it cancels the turn with
// it.
func watch(c adk.Config, raw adk.RawTurn, abort error) (*watched, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	w := &watched{open: map[string]bool{}, cancel: cancel, abort: abort}
	config, scheduler := scheduled(c, w)
	runner, err := adk.NewRunner(config)
	if err != nil {
		return nil, err
	}
	runner.On(w.functional())
	runner.Observe(w.observability())
	told := func() int64 {
		w.mu.Lock()
		defer w.mu.Unlock()
		return int64(len(w.lines))
	}
	run := watchedRun{progress: told, scheduler: scheduler, cancel: func() { cancel(errHangs) }}
	if hung := run.do(func() { err = runner.Run(ctx, raw) }); hung != nil {
		return nil, fmt.Errorf("RUN-5: a turn comes to an end: %w", hung)
	}
	return w, err
}

func (w *watched) functional() adk.Functional {
	seal := func(what, id string, complete bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.open[what+" "+id] = true; complete {
			delete(w.open, what+" "+id)
		}
	}
	return adk.Functional{
		Message:  func(e adk.MessageEvent) { seal("HLP-1: message", e.ID, e.Complete) },
		Thought:  func(e adk.ThoughtEvent) { seal("HLP-1: thought", e.ID, e.Complete) },
		ToolCall: func(e adk.ToolCallEvent) { seal("HLP-3: tool call", e.ID, e.Complete) },
	}
}

func (w *watched) observability() adk.Observability {
	return adk.Observability{
		DispatchEnd: func(e adk.DispatchEnd) { w.end = e },
		Error:       func(e adk.ErrorEvent) { w.failures = append(w.failures, e.Error) },
		IterationStart: func(adk.IterationStart) {
			if w.iterations++; w.iterations > maxIterations {
				w.cancel(errIterations)
			}
		},
	}
}

// Observe returns watched itself as the observer of the run.
func (w *watched) Observe(adk.RunInfo) adk.Observer { return w }

// Begin, Park and Resume do nothing: watched holds no strand back.
func (w *watched) Begin(adk.Step)        {}
func (w *watched) Park(int, func() bool) {}
func (w *watched) Resume(int)            {}

// Tell records the crossing as a line.
func (w *watched) Tell(x *adk.Crossing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line(x))
	if x.Kind.Class() == adk.ClassFact && x.Kind.Uses(adk.FieldText) { // the only fact that carries a text: something contained
		w.misuse = append(w.misuse, x.Text)
	}
	if x.Kind == adk.KindCall && x.Seam.Label == adk.LabelExecutor && w.abort != nil {
		w.cancel(w.abort)
	}
}

// line describes a crossing, as far as two runs have to agree on it.
func line(x *adk.Crossing) string {
	text := fmt.Sprintf("strand %d, %s %s", x.Strand, x.Kind, x.Phase)
	if x.Kind == adk.KindCall {
		text += " " + x.Seam.String()
	}
	for _, part := range []string{string(x.Collection), x.Name, x.Key, x.Status, string(x.Outcome)} {
		if part != "" {
			text += " " + part
		}
	}
	if x.Text != "" {
		text += fmt.Sprintf(" %q", x.Text)
	}
	for _, data := range []any{x.Value, x.Args} {
		if data != nil {
			text += " " + dataText(data)
		}
	}
	if x.Record != nil {
		text += " " + x.Record.Digest().String()
	}
	if x.Digest != (adk.Digest{}) {
		text += " sees " + x.Digest.String()
	}
	if x.Err != nil {
		text += " failed: " + x.Err.Error()
	}
	return text
}

// dataText returns plain data as JSON. For other data it returns only the type, because the text of
// the value could contain a pointer.
func dataText(data any) string {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Sprintf("%T", data)
	}
	return string(text)
}

func (w *watched) ended() error {
	switch {
	case errors.Is(w.end.Error, errIterations) || w.iterations > maxIterations:
		return errIterations
	case w.end.Status != adk.StatusAck:
		return fmt.Errorf("SIG-5: want an ack, got %s: %w", w.end.Status, errors.Join(append(w.failures, w.end.Error)...))
	}
	return errors.Join(w.failures...)
}

func (w *watched) sealed() error {
	var faults []error
	for _, what := range slices.Sorted(maps.Keys(w.open)) {
		faults = append(faults, fmt.Errorf("%s was never reported complete", what))
	}
	return errors.Join(faults...)
}

func (w *watched) contained() error {
	var faults []error
	for _, text := range w.misuse {
		faults = append(faults, fmt.Errorf("DET-5: nothing is contained: %s", text))
	}
	return errors.Join(faults...)
}

// same compares two runs that should have made the same crossings, and reports the first
// difference.
func (w *watched) same(other *watched) error {
	const rule = "DET-2: two runs make the same crossings"
	for i := range min(len(w.lines), len(other.lines)) {
		if w.lines[i] != other.lines[i] {
			return fmt.Errorf("%s: crossing %d was first\n\t%s\nand then\n\t%s", rule, i+1, w.lines[i], other.lines[i])
		}
	}
	if len(w.lines) != len(other.lines) {
		return fmt.Errorf("%s: there were first %d and then %d", rule, len(w.lines), len(other.lines))
	}
	return nil
}

func (w *watched) stopped() error {
	var faults []error
	if w.end.Status != adk.StatusAborted {
		faults = append(faults, fmt.Errorf("ABT-7: a cancelled dispatch ends aborted, got %s", w.end.Status))
	}
	for _, err := range w.failures {
		faults = append(faults, fmt.Errorf("ABT-13: a cancelled executor does not panic: %w", err))
	}
	return errors.Join(faults...)
}

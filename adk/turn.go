package adk

import (
	"context"
	"time"
)

// This is the map of one turn for readers of the code; doc.go has the map for users.
//
// 1. Runner.Run validates the raw turn and opens the run: newRun asks the
//    probe for an observer, run.open reports the first crossing.
// 2. turn.start emits turnStart. Whatever happens from here on, turn.end
//    reports the last state and emits turnEnd.
// 3. turn.pipeline walks the turn input pipeline. pass.enter runs one
//    middleware, and through its next those after it; pass.classify decides how it
//    ended. A failure is reported when all post-steps have run, and ends the
//    turn.
// 4. turn.dispatch copies what is visible (visible.copyOf) and serves the
//    loop: dispatch.loop runs iterations until dispatch.stopped.
// 5. dispatch.iterate is one iteration: the dispatch input pipeline, the state,
//    the executor (dispatch.execute), the dispatch output pipeline, and
//    iterationEnd, with dispatch.flush in the same step. Between any two of
//    them a signal, a failure or an abort leaves the loop.
// 6. The executor streams with Helpers, runs tools with
//    DispatchContext.Execute (call.executeTool), and keeps records with
//    Records.Store (Records.write).
// 7. dispatch.conclude flushes the queue to the turn after an ack, drops it otherwise,
//    and returns the status, in the step that reports dispatchEnd.
// 8. After an ack, the turn output pipeline runs like the input pipeline.
//
// Every seam call passes through call.invoke, which turns a panic into an error, lets
// runtime.Goexit pass, waits for the strands and ends the handles. Every crossing passes through
// run.tell, in the step that makes its effect. call.fork holds the only go statement of the
// package. run.mu guards all state of a run.

// RawTurn is what a caller hands to Run (RUN-4).
type RawTurn struct {
	// SystemPrompt is required.
	SystemPrompt string
	// Instructions are the standing instructions, in order, each text once.
	Instructions []string
	// Stash is the nested tree with which the turn's stash begins; optional. A dotted key at any
	// level of it is an error (STA-7). Values that are leaves, as Stash.Set defines them, are not
	// searched for such keys.
	Stash map[string]any
	// Functional and Observability listen to this run alone; optional.
	Functional    Functional
	Observability Observability
}

// faults lists everything that is wrong with a raw turn.
func (raw RawTurn) faults() fieldCheck {
	var f fieldCheck
	f.Prompt("SystemPrompt", raw.SystemPrompt)
	f.Instructions("Instructions", raw.Instructions)
	f.Tree("Stash", raw.Stash)
	return f
}

// Runner runs turns. It holds no state between turns and may run several concurrently (RUN-8).
type Runner struct {
	config         Config
	info           RunInfo
	listeners      buses
	turnInput      []step
	turnOutput     []step
	dispatchInput  []step
	dispatchOutput []step
}

// NewRunner validates a config and makes a runner from it. The error is
// E_INVALID_TURN_RUNNER_CONFIG and names every fault (RUN-1).
func NewRunner(config Config) (*Runner, error) {
	if err := config.faults().inputErr(E_INVALID_TURN_RUNNER_CONFIG); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	return &Runner{
		config:         config,
		info:           config.info(),
		turnInput:      turnSteps(config.TurnInput),
		turnOutput:     turnSteps(config.TurnOutput),
		dispatchInput:  dispatchSteps(config.DispatchInput),
		dispatchOutput: dispatchSteps(config.DispatchOutput),
	}, nil
}

// On registers listeners on the functional bus, for every turn of the runner (EVT-5). off removes
// them.
func (r *Runner) On(l Functional) (off func()) { return r.listeners.functional.Add(l, false) }

// Once is On for only the next event of each kind.
func (r *Runner) Once(l Functional) (off func()) { return r.listeners.functional.Add(l, true) }

// Observe registers listeners on the observability bus, for every turn of the
// runner (EVT-5). off removes them.
func (r *Runner) Observe(l Observability) (off func()) {
	return r.listeners.observability.Add(l, false)
}

// ObserveOnce is Observe for only the next event of each kind.
func (r *Runner) ObserveOnce(l Observability) (off func()) {
	return r.listeners.observability.Add(l, true)
}

// Run runs one turn: turn input pipeline, dispatch, turn output pipeline (RUN-9). If the raw turn
// is invalid or ctx is nil, the error is E_INVALID_TURN_CONTEXT and nothing has happened. In every
// other case the error is nil, and whatever went wrong is reported on the observability bus
// (RUN-5).
func (r *Runner) Run(ctx context.Context, raw RawTurn) error {
	f := raw.faults()
	f.Want(ctx != nil, "", nilContext)
	if err := f.inputErr(E_INVALID_TURN_CONTEXT); err != nil {
		return err
	}
	t := &turn{runner: r, raw: raw, run: newRun(ctx, &r.config, &r.listeners, r.info)}
	t.own.functional.Listeners, t.own.observability.Listeners = raw.Functional, raw.Observability
	defer t.cancel(nil)
	t.start()
	return nil
}

// turn is one run of a turn.
type turn struct {
	*run
	runner    *Runner
	raw       RawTurn
	visible   *visible
	call      *call // the seam call of the run itself
	startedAt time.Time
}

// start opens the turn, runs its stages and closes it, whatever happens in between (RUN-6).
func (t *turn) start() {
	t.visible = t.fresh()
	t.call = t.open(nil, Seam{Label: LabelRun}, 0, opened{prompt: t.raw.SystemPrompt,
		instructions: t.raw.Instructions, stash: t.raw.Stash, records: appendRecords(nil, t.config.Tools)})
	t.call.visible = t.visible
	defer t.close()
	t.call.invoke(func() result {
		defer t.end()
		t.emitTurnStart()
		t.stages()
		return result{}
	})
}

// close ends the reporting: whatever user code still does afterwards belongs to no turn.
func (t *turn) close() {
	t.over.Store(true)
}

// fresh makes the sets, tools and stash with which a turn begins (RUN-7).
func (t *turn) fresh() *visible {
	return beginning(t.raw.SystemPrompt, t.raw.Instructions, t.raw.Stash, t.config.Tools)
}

// stages runs the three major stages of a turn. Each runs only if the one before it allows it
// (RUN-9, RUN-10).
func (t *turn) stages() {
	if !t.pipeline(LabelTurnInput, E_INPUT_PIPELINE_ERROR, t.runner.turnInput) {
		return
	}
	if t.dispatch() != StatusAck || !t.tellStateUnlessAborted(t.call) {
		return
	}
	t.pipeline(LabelTurnOutput, E_OUTPUT_PIPELINE_ERROR, t.runner.turnOutput)
}

// pipeline walks a turn pipeline and emits its failure, if any. It reports whether the turn goes
// on.
func (t *turn) pipeline(label string, code Code, steps []step) bool {
	if len(steps) == 0 {
		return !t.aborted()
	}
	p := pass{run: t.run, label: label, code: code, steps: steps}
	failure := p.walk(t.ctx, t.call)
	if failure != nil {
		t.emitError(t.call, failure)
	}
	return failure == nil && !t.aborted()
}

// dispatch runs the turn's own dispatch (DSP-1). An aborted turn does not begin it (ABT-7).
func (t *turn) dispatch() (status string) {
	d := &dispatch{
		run:      t.run,
		parent:   t.visible,
		visible:  t.visible.copyOf(),
		executor: t.config.Executor,
		input:    t.runner.dispatchInput,
		output:   t.runner.dispatchOutput,
	}
	if d.call = t.openUnlessAborted(t.call, Seam{Label: LabelDispatch}, opened{}); d.call == nil {
		return StatusAborted
	}
	end, _ := d.serve(t.ctx) // the error was emitted by serve
	return end.Status
}

// end reports the last state and emits the last event of the turn.
func (t *turn) end() {
	t.tellState(t.call)
	t.emitTurnEnd()
}

// tellState reports the digest of what a call's handles see (DET-8).
func (r *run) tellState(c *call) { c.event(KindState, c.fillState) }

// tellStateUnlessAborted is tellState before a stage that an aborted run does not enter any more.
// It reports whether the stage is entered.
func (r *run) tellStateUnlessAborted(c *call) bool {
	return c.eventUnlessAborted(KindState, c.fillState)
}

func (c *call) fillState(_ time.Time, x *Crossing) {
	if x != nil {
		x.Digest = c.visible.digest()
	}
}

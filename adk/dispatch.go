package adk

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// dispatch is one run of the dispatch loop: the model is asked, its tools are
// run, and it is asked again, until somebody signals (DSP-2).
type dispatch struct {
	run      *run
	parent   *visible // the turn's sets, which the queue is flushed to; nil when called alone
	visible  *visible
	executor Executor
	input    []step
	output   []step

	call      *call
	id        string
	startedAt time.Time
	iteration atomic.Int64 // 0-based
	started   int

	// Guarded by run.mu.
	signal   signal
	queue    []delta
	counts   map[string]int
	messages streams
	thoughts streams
	reported map[string]*toolCallStream

	failure   *Error  // the stage failure that nacks the dispatch (DSP-6, PIP-6)
	inAbort   bool    // failure is a panic after the abort (ABT-13)
	tolerated []error // what stages returned once the run was aborted
	flushed   bool    // the ack's flush was made: an abort comes too late (ABT-8)
	status    string
	err       error
}

// delta is one change that waits for the flush (DEL-2). persist is its storage
// obligation where that waits too (DEL-6).
type delta struct {
	apply   func(*visible)
	persist func(ctx context.Context, at *call) error
}

// serve runs the dispatch as a seam call below parent.
func (d *dispatch) serve(ctx context.Context, parent *call, seam Seam) {
	d.counts = map[string]int{}
	for record := range d.visible.toolCalls.Values() {
		d.counts[record.Checksum()]++
	}
	d.call = d.run.open(parent, seam, parent.strand, opened{})
	d.call.dispatch, d.call.visible = d, d.visible
	d.call.invoke(func(*result) error {
		defer d.end()
		d.emitDispatchStart()
		d.loop(ctx)
		return nil
	})
}

// loop runs iterations until one is left (DSP-2, DSP-3). It has no bound of its
// own (DSP-4).
func (d *dispatch) loop(ctx context.Context) {
	for !d.stopped() && d.iterate(ctx) {
		d.iteration.Add(1)
	}
	d.leave(ctx)
}

// stopped tells whether the loop has to be left: an abort, a signal, a failure.
func (d *dispatch) stopped() bool { return d.failure != nil || d.run.aborted() || d.signalled() }

// iterate runs one iteration and tells whether it finished.
func (d *dispatch) iterate(ctx context.Context) bool {
	startedAt := d.emitIterationStart()
	d.started++
	d.pipeline(ctx, LabelDispatchInput, d.input)
	if d.stopped() {
		return false
	}
	d.execute(ctx)
	if d.stopped() {
		return false
	}
	d.pipeline(ctx, LabelDispatchOutput, d.output)
	if d.failure != nil {
		return false
	}
	if !d.refused() {
		d.flush(ctx)
	}
	if d.failure != nil {
		return false
	}
	d.emitIterationEnd(startedAt)
	return true
}

// pipeline walks a dispatch pipeline; a failure nacks the dispatch (PIP-6).
func (d *dispatch) pipeline(ctx context.Context, label string, steps []step) {
	p := pass{run: d.run, label: label, code: E_DISPATCH_PIPELINE_ERROR, steps: steps,
		iteration: int(d.iteration.Load()), signalled: d.signalled}
	failure := p.walk(ctx, d.call)
	d.fail(failure, p.inAbort)
	d.tolerated = append(d.tolerated, p.tolerated...)
}

// execute calls the executor; its failure nacks the dispatch (DSP-6).
func (d *dispatch) execute(ctx context.Context) {
	d.run.sight(d.call)
	c := d.run.open(d.call, Seam{Label: LabelExecutor, Name: d.executor.Name, Iteration: int(d.iteration.Load())}, d.call.strand, opened{})
	res := c.invoke(func(*result) error { return d.executor.Run(ctx, &c.dc, &c.helpers) })
	if res.err == nil {
		return
	}
	aborted := d.run.aborted()
	switch {
	case !res.panicked() && !aborted && isAbort(res.err):
		d.run.abort(cancelStage, res.err)
		d.tolerated = append(d.tolerated, res.err)
	case !res.panicked() && aborted:
		d.tolerated = append(d.tolerated, res.err)
	default:
		verb := " failed"
		if res.panicked() {
			verb = " panicked"
		}
		d.fail(&Error{Code: E_LLM_EXECUTION_EXECUTOR_ERROR, Message: "executor " + d.executor.Name + verb, Name: d.executor.Name, Cause: res.err}, aborted)
	}
}

// fail keeps the failure of a stage; the error of an earlier nack is joined to
// it (DSP-11).
func (d *dispatch) fail(failure *Error, inAbort bool) {
	if failure == nil {
		return
	}
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	if earlier := d.signal.nackErr; earlier != nil {
		failure.Cause = errors.Join(failure.Cause, earlier)
	}
	d.failure, d.inAbort = failure, inAbort
}

// refused tells whether the queue is to be discarded (DEL-3).
func (d *dispatch) refused() bool {
	if d.failure != nil || d.run.aborted() {
		return true
	}
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	return d.signal.nackErr != nil
}

// leave flushes on ack and discards otherwise (DEL-2, DEL-3).
func (d *dispatch) leave(ctx context.Context) {
	if d.refused() {
		d.run.mu.Lock()
		d.queue = nil
		d.run.mu.Unlock()
		return
	}
	d.flush(ctx)
}

// flush applies the queue to the parent, in order. With write-behind the
// obligations are called first, all of them, so that the parent never holds
// part of what the storage refused (DEL-6).
func (d *dispatch) flush(ctx context.Context) {
	d.run.mu.Lock()
	queue := d.queue
	d.queue = nil
	d.run.mu.Unlock()
	for _, change := range queue {
		if change.persist != nil && !d.persist(ctx, change) {
			return
		}
	}
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	d.flushed = d.signal.acked
	if d.parent == nil {
		return
	}
	for _, change := range queue {
		change.apply(d.parent)
	}
}

// persist calls an obligation that was put off and tells whether the flush goes
// on. An abort that came meanwhile ends it: nothing new is started (ABT-7), and
// an error is part of the abort, but for a panic (ABT-13).
func (d *dispatch) persist(ctx context.Context, change delta) bool {
	if d.run.aborted() {
		return false
	}
	err := change.persist(ctx, d.call)
	if err == nil {
		return true
	}
	aborted := d.run.aborted()
	if _, panicked := err.(*PanicError); aborted && !panicked {
		d.tolerated = append(d.tolerated, err)
		return false
	}
	d.fail(&Error{Code: E_PERSISTENCE_FLUSH_ERROR, Message: "a storage obligation failed at the flush", Cause: err}, aborted)
	return false
}

// end judges how the dispatch ended and tells it (SIG-5, DSP-7). The end is told
// also when a listener of the error ends the goroutine (PIP-11).
func (d *dispatch) end() {
	d.status, d.err = d.judge()
	defer d.emitDispatchEnd()
	if failure := d.reportable(); failure != nil {
		d.run.emitError(d.call, failure)
	}
}

// judge gives the status and the error of the dispatch. A failure, and a nack
// that came before the abort, stay a nack (ABT-8); a panic after the abort does
// not undo it (ABT-13).
func (d *dispatch) judge() (string, error) {
	aborted := d.run.aborted()
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	switch {
	case d.failure != nil && !d.inAbort:
		return StatusNack, d.failure
	case d.signal.nackErr != nil && !d.signal.nackedInAbort:
		return StatusNack, d.signal.nackErr
	case aborted && !d.flushed:
		after := d.tolerated
		if d.failure != nil {
			after = append(after, d.failure)
		}
		if d.signal.nackErr != nil {
			after = append(after, d.signal.nackErr)
		}
		return StatusAborted, joined(after)
	case d.signal.acked:
		return StatusAck, nil
	}
	return StatusAborted, nil
}

// reportable is the one failure that is told as an error event (DSP-6, DSP-7):
// a stage's, or what user code nacked with; never an abort.
func (d *dispatch) reportable() *Error {
	if d.failure != nil {
		return d.failure
	}
	if d.status != StatusNack {
		return nil
	}
	if ours, ok := d.err.(*Error); ok {
		return ours
	}
	return &Error{Code: E_LLM_EXECUTION_NACKED, Message: "the dispatch was nacked", Cause: d.err}
}

// joined is no error, the one error, or all of them joined.
func joined(all []error) error {
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

// count counts a stored tool call (SIG-4). run.mu is held.
func (d *dispatch) count(rec Record) {
	if stored, ok := rec.(*ToolCall); ok {
		d.counts[stored.Checksum()]++
	}
}

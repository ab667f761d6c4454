package adk

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/tally"
)

// dispatch is one run of the dispatch loop: the model is asked, its tools are run, and it is asked
// again, until user code signals (DSP-2).
type dispatch struct {
	run  *run
	name string // empty for the turn's own
	// The queue is flushed to above, the dispatch from which this one was called, or else to
	// parent, the turn's sets. Both are nil in a dispatch that was called alone.
	above    *dispatch
	parent   *visible
	refused  error // why the context given to the dispatch had ended before, or nil (ABT-12)
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
	counted  tally.Count // the tool calls that it began with, stored or mutated, by their checksums (SIG-4)
	messages streams
	thoughts streams
	reported map[string]*toolCallStream

	failure   *Error  // the failure of a stage that nacks the dispatch (DSP-6, PIP-6)
	inAbort   bool    // failure is a panic after the abort (ABT-13)
	tolerated []error // the errors that stages returned after the run was aborted
	flushed   bool    // the flush of the ack was made: a later abort changes nothing (ABT-8)
	ended     DispatchEnd
}

// delta is one change that waits for the flush (DEL-2). unkept is set while its storage obligation
// still has to be called (DEL-6).
type delta struct {
	change
	unkept bool
}

// change is what store, mutate and delete do to a set (apply), to the storage (persist), and to the
// tool calls that a dispatch counts (countIn).
type change interface {
	apply(v *visible)
	persist(ctx context.Context, at *call) error
	countIn(d *dispatch)
}

// serve runs the dispatch in its seam call, which is already open. It returns the dispatch's end
// and the error of a nack (DSP-8).
func (d *dispatch) serve(ctx context.Context) (DispatchEnd, error) {
	for record := range d.visible.sets[atToolCalls].Values() {
		call := record.(*ToolCall)
		d.counted.Bears(call.ID(), call.Checksum())
	}
	d.call.dispatch, d.call.visible = d, d.visible
	d.call.invoke(func() result {
		defer d.end()
		d.emitDispatchStart()
		d.loop(ctx)
		return result{}
	})
	if d.ended.Status == StatusNack {
		return d.ended, d.ended.Error
	}
	return d.ended, nil
}

// loop runs iterations until one leaves the loop (DSP-2, DSP-3). It has no bound of its own
// (DSP-4).
func (d *dispatch) loop(ctx context.Context) {
	for going := true; going && !d.stopped(); {
		going = d.iterate(ctx)
	}
	d.persist(ctx)
}

// stopped reports whether the loop has to be left because of an abort, a signal or a failure. It is
// also true if the loop must not begin, because the dispatch's own context is done (ABT-12).
func (d *dispatch) stopped() bool {
	return d.refused != nil || d.failure != nil || d.run.aborted() || d.signalled()
}

// iterate runs one iteration and reports whether it finished.
func (d *dispatch) iterate(ctx context.Context) bool {
	startedAt, begun := d.emitIterationStart()
	if !begun {
		return false
	}
	d.pipeline(ctx, LabelDispatchInput, d.input)
	if d.stopped() {
		return false
	}
	d.execute(ctx)
	if d.stopped() {
		return false
	}
	d.pipeline(ctx, LabelDispatchOutput, d.output)
	d.persist(ctx)
	if d.failure != nil {
		return false
	}
	d.emitIterationEnd(startedAt)
	return true
}

// pipeline walks a dispatch pipeline; a failure nacks the dispatch (PIP-6).
func (d *dispatch) pipeline(ctx context.Context, label string, steps []step) {
	if len(steps) == 0 {
		return
	}
	p := pass{run: d.run, label: label, code: E_DISPATCH_PIPELINE_ERROR, steps: steps,
		dispatch: d, iteration: int(d.iteration.Load())}
	failure := p.walk(ctx, d.call)
	d.fail(failure, p.inAbort)
	d.tolerated = append(d.tolerated, p.tolerated...)
}

// execute calls the executor; its failure nacks the dispatch (DSP-6).
func (d *dispatch) execute(ctx context.Context) {
	if !d.run.tellStateUnlessAborted(d.call) {
		return
	}
	c := d.run.openUnlessAborted(d.call, Seam{Label: LabelExecutor, Name: d.executor.Name, Iteration: int(d.iteration.Load())}, opened{})
	if c == nil {
		return
	}
	res := c.invoke(func() result { return result{err: d.executor.Run(c.hand(ctx), &c.dc, &c.helpers)} })
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

// fail keeps the failure of a stage. The error of an earlier nack is joined to it (DSP-11).
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

// persist calls the storage obligations that write-behind put off, in order, if the queue is going
// to be flushed. It calls all of them before the flush, so that the parent never holds part of what
// the storage refused (DEL-6). A dispatch that was called from another one leaves its obligations
// to that one, because a nack there has to drop them too. If the run is aborted meanwhile, persist
// calls nothing more, because an aborted run starts nothing new (ABT-7); an error, but not a panic,
// is then part of the abort (ABT-13).
func (d *dispatch) persist(ctx context.Context) {
	if d.above != nil || d.stopped() && !d.acked() {
		return
	}
	for change := d.putOff(); change != nil; change = d.putOff() {
		if d.run.aborted() {
			return
		}
		err := change.persist(ctx, d.call)
		if err == nil {
			continue
		}
		aborted := d.run.aborted()
		if _, panicked := err.(*PanicError); aborted && !panicked {
			d.tolerated = append(d.tolerated, err)
		} else {
			d.fail(&Error{Code: E_PERSISTENCE_FLUSH_ERROR, Message: "a storage obligation failed at the flush", Cause: err}, aborted)
		}
		return
	}
}

// putOff returns the first change whose obligation has not been called, and marks it as called: the
// caller has to call it now. It returns nil if there is none.
func (d *dispatch) putOff() change {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	for i := range d.queue {
		if waiting := &d.queue[i]; waiting.unkept {
			waiting.unkept = false
			return waiting.change
		}
	}
	return nil
}

// acked reports whether the dispatch was acked and has neither failed nor been aborted since.
func (d *dispatch) acked() bool {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	return d.failure == nil && d.signal.acked && !d.run.cancelTold
}

// flush applies the queue to the parent, in order (DEL-2), or discards it if the dispatch failed or
// was nacked, or the run was aborted (DEL-3). It runs in the step that reports the end of an
// iteration or of the dispatch. run.mu is held.
func (d *dispatch) flush() {
	queue := d.queue
	d.queue = nil
	if d.failure != nil || d.signal.nackErr != nil || d.run.cancelTold {
		return
	}
	d.flushed = d.signal.acked
	if d.parent == nil {
		return
	}
	for _, change := range queue {
		if d.above != nil {
			d.above.take(change)
		} else {
			change.apply(d.parent)
		}
	}
}

// take makes a change in the dispatch's own set and queues it for the flush (DEL-1). The change is
// the dispatch's own, or one that a dispatch called from it flushes. run.mu is held.
func (d *dispatch) take(change delta) {
	change.apply(d.visible)
	change.countIn(d)
	d.queue = append(d.queue, change)
}

// end emits the error event, if any, and then the end of the dispatch (SIG-5, DSP-7, EVT-7). The
// end is emitted even if a listener of the error ends the goroutine (PIP-11).
func (d *dispatch) end() {
	defer d.emitDispatchEnd()
	if failure := d.reportable(); failure != nil {
		d.run.emitError(d.call, failure)
	}
}

// reportable returns the one failure to emit as an error event (DSP-6, DSP-7): that of a stage, or
// the error with which user code nacked. If that is an abort error, it is wrapped in the nack's own
// code, so that no abort appears as an error event.
func (d *dispatch) reportable() *Error {
	if d.failure != nil {
		return d.failure
	}
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	if d.signal.nackErr == nil || d.signal.nackedInAbort {
		return nil
	}
	if ours, ok := d.signal.nackErr.(*Error); ok && !isAbort(ours) {
		return ours
	}
	return &Error{Code: E_LLM_EXECUTION_NACKED, Message: "the dispatch was nacked", Cause: d.signal.nackErr}
}

// conclude flushes or drops the queue and returns the status and the error of the dispatch. A
// failure, and a nack before the abort, stay a nack (ABT-8). A panic after the abort leaves the
// status aborted (ABT-13). run.mu is held.
func (d *dispatch) conclude() (string, error) {
	if d.signal.acked {
		d.flush()
	}
	d.queue = nil
	switch {
	case d.failure != nil && !d.inAbort:
		return StatusNack, d.failure
	case d.signal.nackErr != nil && !d.signal.nackedInAbort:
		return StatusNack, d.signal.nackErr
	case d.flushed:
		return StatusAck, nil
	}
	after := d.tolerated
	if d.refused != nil {
		after = append(after, d.refused)
	}
	if d.failure != nil {
		after = append(after, d.failure)
	}
	if d.signal.nackErr != nil {
		after = append(after, d.signal.nackErr)
	}
	return StatusAborted, joined(after)
}

// joined returns nil for no error, the error itself for one, and all of them joined for more.
func joined(all []error) error {
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

package adk

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/roundtrip"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/schema"
)

// Gate describes what a turn waits for; WaitFor opens a gate from it.
type Gate struct {
	// ID and Reason are required. No two gates that are open at once have the same ID.
	ID, Reason string
	// Payload is plain data for the settler of the gate; optional. It is passed on as it is, not
	// copied.
	Payload any
	// Schema is the JSON Schema of the value that resolves the gate; optional.
	Schema json.RawMessage
	// Timeout runs on the config's clock; zero waits for ever.
	Timeout time.Duration
}

// The results with which a gate closes (GAT-4).
const (
	GateResolved = "resolved"
	GateRejected = "rejected"
	GateAborted  = "aborted"
	GateTimeout  = "timeout"
	// GateRefused is the result of an offer that the schema refused. It is reported as a fact, and
	// the gate stays open (GAT-3).
	GateRefused = "refused"
)

// TurnGate is an open gate, for the settler. Only the engine makes gates (GAT-6). A TurnGate is
// safe for concurrent use, and settles once (GAT-2).
type TurnGate struct {
	raw    Gate
	schema *schema.Schema
	call   *call           // the call that waits
	ctx    context.Context // the waiter's own
	op     int             // the number of the waiting operation

	expired <-chan struct{} // closed when the timeout has passed; nil without one
	settled chan struct{}   // closed when the gate settles
	closed  chan struct{}   // closed when turnGateClosed was emitted
	after   *TurnGate       // the gate that one abort closes before this one (GAT-4)

	opened bool // guarded by run.mu: the listeners of its opening have run

	// Guarded by run.mu, and final once settled is closed.
	result, by string
	value      any
	err        error
}

// gateList is the open gates of a run, in the order they were opened.
type gateList []*TurnGate

// ID returns the gate's id.
func (g *TurnGate) ID() string { return g.raw.ID }

// TurnID returns the id of the turn that waits.
func (g *TurnGate) TurnID() string { return g.call.run.turnID }

// Reason says what the turn waits for.
func (g *TurnGate) Reason() string { return g.raw.Reason }

// Payload returns what the waiter gave for the settler.
func (g *TurnGate) Payload() any { return g.raw.Payload }

// IsSettled reports whether the gate has settled.
func (g *TurnGate) IsSettled() bool { return isClosed(g.settled) }

// Resolve settles the gate with a value for the waiter. by names the settler and may be empty. If
// the gate's schema refuses the value, the error is E_INVALID_TURN_GATE_RESOLUTION and the gate
// stays open (GAT-3). settled is false then, and also if another settlement came first (GAT-2).
func (g *TurnGate) Resolve(by string, value any) (settled bool, err error) {
	if g.schema != nil {
		if value, err = g.check(value); err != nil {
			if !g.refuse(by, value, err) {
				err = nil // it came too late to be refused
			}
			return false, err
		}
	}
	return g.settle(GateResolved, by, value, nil), nil
}

// Reject makes WaitFor return err. If err is nil, WaitFor returns an error that says that the gate
// was rejected.
func (g *TurnGate) Reject(by string, err error) (settled bool) {
	if err == nil {
		err = fmt.Errorf("gate %q was rejected", g.raw.ID)
	}
	return g.settle(GateRejected, by, nil, err)
}

// Abort makes WaitFor return E_TURN_GATE_ABORTED. It does not abort the turn.
func (g *TurnGate) Abort(by string) (settled bool) {
	return g.settle(GateAborted, by, nil, g.errAborted(nil))
}

func (g *TurnGate) errAborted(cause error) error {
	return &Error{Code: E_TURN_GATE_ABORTED, Message: fmt.Sprintf("gate %q was aborted", g.raw.ID), Cause: cause}
}

// check validates a value by the gate's schema and applies the schema's defaults.
func (g *TurnGate) check(value any) (any, error) {
	data, err := canonical.Normalize(value)
	if err != nil {
		return value, &Error{Code: E_INVALID_TURN_GATE_RESOLUTION, Message: fmt.Sprintf("gate %q: the value is no JSON data: %s", g.raw.ID, err)}
	}
	checked, faults := g.schema.Check(data)
	if len(faults) > 0 {
		return value, &Error{Code: E_INVALID_TURN_GATE_RESOLUTION, Faults: schemaFaults(faults),
			Message: fmt.Sprintf("gate %q stays open: %s", g.raw.ID, schema.FaultsText(faults))}
	}
	return checked, nil
}

// refuse reports that an offer was refused, if the gate is still open.
func (g *TurnGate) refuse(by string, value any, err error) (open bool) {
	defer g.call.lock()()
	at := g.lapse()
	if g.IsSettled() {
		return false
	}
	g.tell(at, GateRefused, by, value, err)
	return true
}

// settle settles the gate on behalf of a settler. It comes too late if the gate has lapsed before,
// even if the waiter has not woken yet: nothing depends on how soon a goroutine wakes.
func (g *TurnGate) settle(result, by string, value any, err error) bool {
	defer g.call.lock()()
	return g.settleLocked(g.lapse(), result, by, value, err)
}

func (g *TurnGate) settleLocked(at time.Time, result, by string, value any, err error) bool {
	if g.IsSettled() {
		return false
	}
	g.result, g.by, g.value, g.err = result, by, value, err
	r := g.call.run
	r.gates = slices.DeleteFunc(r.gates, func(open *TurnGate) bool { return open == g })
	g.tell(at, result, by, value, err)
	close(g.settled)
	return true
}

// tell reports the fact of a settlement or of a refused offer. run.mu is held.
func (g *TurnGate) tell(at time.Time, result, by string, value any, err error) {
	r := g.call.run
	if x := r.line(g.call, KindSettle, Whole, at); x != nil {
		x.Name, x.Key, x.Status, x.Value, x.Err = g.raw.ID, by, result, value, err
		r.tell(x)
	}
}

// WaitFor opens a gate and waits until it settles. It returns the value with which the gate was
// resolved, or the error with which it was rejected, or E_TURN_GATE_ABORTED or E_TURN_GATE_TIMEOUT
// (GAT-1).
//
// A malformed gate is E_INVALID_INITIAL_TURN_GATE_VALUE, and no event fires (GAT-5). A gate whose
// ID another open gate has is the same error, but is reported as a wait that failed. In an aborted
// turn no gate opens, and the error is E_TURN_GATE_ABORTED, which wraps the abort's cause (ABT-7).
func (h Handle) WaitFor(ctx context.Context, gate Gate) (any, error) {
	c := h.call
	compiled, err := gate.compile(ctx)
	if err != nil {
		return nil, err
	}
	if c.run.gatesRefused {
		return nil, &Error{Code: E_LLM_EXECUTION_GATE_NOT_SUPPORTED, Message: fmt.Sprintf(
			"gate %q in a standalone dispatch: set Gates of its raw context where somebody can settle it", gate.ID)}
	}
	if err := c.enter(KindWaitFor); err != nil {
		return nil, err
	}
	r := c.run
	g := &TurnGate{raw: gate, schema: compiled, call: c, ctx: ctx, settled: make(chan struct{}), closed: make(chan struct{})}
	at, stop, opened := g.begin()
	r.mu.Unlock()

	if opened {
		g.stay(at, stop)
	}
	c.done(KindWaitFor, g.op, g.err, nil)
	return g.value, g.err
}

// WaitFor opens a gate and waits for its value as a T; h is a turn context or a dispatch context. A
// gate without a schema gets that of T, so that a settler learns what does not fit. WaitFor fails
// as Handle.WaitFor does, and also if the gate's own schema accepted a value that is not a T.
func WaitFor[T any](ctx context.Context, h interface {
	WaitFor(ctx context.Context, gate Gate) (any, error)
}, gate Gate) (value T, err error) {
	if len(gate.Schema) == 0 {
		if gate.Schema, err = schema.Of[T](); err != nil {
			return value, &Error{Code: E_INVALID_INITIAL_TURN_GATE_VALUE, Message: fmt.Sprintf("Schema cannot be derived from %T", value), Cause: err}
		}
	}
	given, err := h.WaitFor(ctx, gate)
	if err != nil {
		return value, err
	}
	if value, err = roundtrip.As[T](given); err != nil {
		return value, fmt.Errorf("adk: wait-for: what gate %q was resolved with is no %T: %w", gate.ID, value, err)
	}
	return value, nil
}

// begin reports the wait and opens the gate, unless it is refused: then no gate opens, and g.err is
// set. run.mu is held.
func (g *TurnGate) begin() (at time.Time, stop func() bool, opened bool) {
	c, r := g.call, g.call.run
	at, g.op, stop = c.now(), r.nextOp(), func() bool { return true }
	r.latchCancel(at)
	if g.err = g.refusal(); g.err == nil {
		if g.raw.Timeout > 0 {
			g.expired, stop = r.timer(g.raw.Timeout, c.strand)
		}
		r.gates = append(r.gates, g)
	}
	if x := r.line(c, KindWaitFor, Begin, at); x != nil {
		x.Op, x.Name, x.Text, x.Value, x.Schema, x.Duration = g.op, g.raw.ID, g.raw.Reason, g.raw.Payload, g.raw.Schema, g.raw.Timeout
		r.tell(x)
	}
	return at, stop, g.err == nil
}

// refusal returns why the gate does not open, or nil: the run is aborted (ABT-7), or a gate with
// its ID is open (GAT-5). run.mu is held.
func (g *TurnGate) refusal() error {
	r := g.call.run
	if cause := r.refusal(); cause != nil {
		return g.errAborted(cause)
	}
	if slices.ContainsFunc(r.gates, func(open *TurnGate) bool { return open.raw.ID == g.raw.ID }) {
		return &Error{Code: E_INVALID_INITIAL_TURN_GATE_VALUE, Message: fmt.Sprintf("a gate with the ID %q is open: give each its own", g.raw.ID)}
	}
	return nil
}

// compile validates the raw gate (GAT-5).
func (gate Gate) compile(ctx context.Context) (compiled *schema.Schema, err error) {
	var f fieldCheck
	f.Want(ctx != nil, "", nilContext)
	f.Want(gate.ID != "", "ID", "is empty: a gate is settled by its ID")
	f.Want(gate.Reason != "", "Reason", "is empty: say what is waited for")
	f.Want(gate.Timeout >= 0, "Timeout", "is negative: zero waits for ever")
	if len(gate.Schema) > 0 {
		compiled, err = schema.Compile(gate.Schema)
		f.Failed("Schema", "cannot be used: %s", err)
	}
	return compiled, f.inputErr(E_INVALID_INITIAL_TURN_GATE_VALUE)
}

// stay runs an open gate from the event of its opening to the event of its closing. The latter is
// emitted even if a listener of the opening ends the goroutine, because gates that one abort closes
// wait for one another.
func (g *TurnGate) stay(openedAt time.Time, stop func() bool) {
	settled := false
	defer func() {
		if !settled {
			g.settle(GateAborted, "", nil, g.errAborted(errGoexit))
		}
		stop()
		g.emitClosed()
	}()
	g.emitOpen(openedAt)
	g.wait()
	settled = true
}

// wait blocks until the gate has settled or has to settle itself.
func (g *TurnGate) wait() {
	c, own := g.call, g.call.run.ctx
	c.run.mu.Lock()
	g.opened = true
	c.run.mu.Unlock()
	c.run.park(c.strand, func() bool {
		return isClosed(g.settled) || isClosed(g.expired) || g.ctx.Err() != nil || own.Err() != nil
	})
	select {
	case <-g.settled:
	case <-g.expired:
	case <-g.ctx.Done():
	case <-own.Done():
	}
	c.run.resume(c.strand)
	defer c.lock()()
	g.lapse()
}

// lapse settles the gate if the turn was aborted, the waiter's context has ended or the timeout has
// passed. It returns the clock reading of this check. run.mu is held.
func (g *TurnGate) lapse() (at time.Time) {
	r := g.call.run
	at = g.call.now()
	if g.IsSettled() { // its settlement has checked for the abort
		return at
	}
	r.latchCancel(at)
	switch {
	case r.cancelTold:
		r.abortGates(at)
	case g.ctx.Err() != nil:
		g.settleLocked(at, GateAborted, "", nil, g.errAborted(context.Cause(g.ctx)))
	case isClosed(g.expired):
		g.call.tellTimer(g.op, at)
		g.settleLocked(at, GateTimeout, "", nil, &Error{Code: E_TURN_GATE_TIMEOUT,
			Message: fmt.Sprintf("gate %q was not settled within %s", g.raw.ID, g.raw.Timeout)})
	}
	return at
}

// abortGates settles every open gate, in the order in which they were opened, and chains them so
// that they close in that order too (GAT-4). There is one exception: if a listener of the opening
// of a gate waits for another gate, the latter has to close before the former. run.mu is held.
func (r *run) abortGates(at time.Time) {
	var before *TurnGate
	for _, g := range slices.Clone(r.gates) {
		if before != nil && before.encloses(g) {
			g.after = before.after
		} else {
			g.after, before = before, g
		}
		g.settleLocked(at, GateAborted, "", nil, g.errAborted(context.Cause(r.ctx)))
	}
}

// encloses reports whether a listener of the opening of outer waits for g, so that outer cannot
// wake before g has closed. run.mu is held.
func (outer *TurnGate) encloses(g *TurnGate) bool {
	return !outer.opened && outer.call.strand == g.call.strand
}

func (g *TurnGate) emitOpen(at time.Time) {
	c := g.call
	e := TurnGateOpen{Origin: c.origin(), Gate: g, OpenedAt: at}
	emitCaused(c, KindTurnGateOpen, &e, func(x *Crossing) { x.Name = g.raw.ID }, func(l *Observability) func(TurnGateOpen) { return l.TurnGateOpen })
}

func (g *TurnGate) emitClosed() {
	c := g.call
	defer close(g.closed)
	if before := g.after; before != nil {
		c.waitFor(before.closed)
	}
	e := TurnGateClosed{Origin: c.origin(), GateID: g.raw.ID, Result: g.result, By: g.by}
	emit(c, KindTurnGateClosed, &e, func(at time.Time) { e.SettledAt = at },
		func(x *Crossing) { x.Name, x.Status = e.GateID, e.Result }, func(l *Observability) func(TurnGateClosed) { return l.TurnGateClosed })
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

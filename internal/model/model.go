// Package model predicts the outcome of a turn from the contract alone, without an engine. It is
// deliberately simple; the engine's outcome is compared with it.
package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/turntext"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file is a model of the contract: small, slow and without cleverness. It reads a Turn and
// predicts which events an engine must emit, in which order, and what the turn's sets hold at its
// end. It is written from the contract and not from the engine, so that the two can be compared. It
// supports turns with one strand and without runtime.Goexit. Comments such as "RUN-4" name the
// rules of the contract that a function implements.

// Prediction is the expected outcome of a turn.
type Prediction struct {
	// Refused is the code with which the turn's input is refused; then nothing else happens.
	Refused error
	// Events are the events, in the form of eventLine.
	Events []string
	// Visible is what the turn holds at its end: a line for each record, tool and stash path, with
	// the records in order.
	Visible []string
}

// Predict returns the expected outcome of a turn.
func Predict(t turn.Turn) Prediction {
	m := &model{turn: t, root: newModelScope(t.Scripts), kept: newModelSets()}
	if m.refused() {
		if t.Standalone != nil {
			return Prediction{Refused: adk.E_INVALID_LLM_EXECUTION_CONTEXT} // DSP-12
		}
		return Prediction{Refused: adk.E_INVALID_TURN_CONTEXT}
	}
	for _, r := range t.Kept {
		m.kept[collectionOf(r.Record)].put(r.Record)
	}
	m.run()
	return Prediction{Events: m.events, Visible: m.world.lines()}
}

type model struct {
	turn    turn.Turn
	events  []string
	aborted bool
	world   *world
	kept    map[adk.CollectionName]*modelSet // what the storage holds
	root    *modelScope
}

func (m *model) emit(format string, args ...any) {
	m.events = append(m.events, fmt.Sprintf(format, args...))
}

// refused: RUN-4, STA-7.
func (m *model) refused() bool {
	stash, _ := m.turn.Stash.Get().(map[string]any)
	seen := map[string]bool{}
	for _, text := range m.turn.Instructions {
		if seen[text] {
			return true
		}
		seen[text] = true
	}
	return m.turn.Prompt == "" || hasDottedKey(stash)
}

// run: RUN-6, RUN-9, RUN-10, ABT-12.
func (m *model) run() {
	m.world = newWorld()
	for _, text := range m.turn.Instructions {
		m.world.sets[adk.Instructions].put(adk.NewTokenizable(text))
	}
	if stash, ok := m.turn.Stash.Get().(map[string]any); ok {
		m.world.stash = withoutNil(stash)
	}
	for _, tool := range m.turn.Tools {
		m.world.sets[adk.Tools].put(tool.Record)
	}
	m.aborted = m.turn.Cancelled != nil
	if m.turn.Standalone != nil {
		m.standalone()
		return
	}
	m.emit("turnStart")
	if failure := m.pipeline(adk.LabelTurnInput, m.turn.TurnInput, m.root, nil, 0); failure != nil {
		m.emit("%s of %q", failure, "")
	} else if !m.aborted {
		d := newModelDispatch("", m.world, nil)
		m.dispatch(d, m.root, cmp.Or(m.turn.Executor, "model"), m.turn.DispatchInput, m.turn.DispatchOutput)
		if d.status == adk.StatusAck && !m.aborted {
			if failure := m.pipeline(adk.LabelTurnOutput, m.turn.TurnOutput, m.root, nil, 0); failure != nil {
				m.emit("%s of %q", failure, "")
			}
		}
	}
	m.emit("turnEnd")
}

// standalone: DSP-1, DEL-5.
func (m *model) standalone() {
	for _, r := range m.turn.Standalone.Records {
		m.world.sets[collectionOf(r.Record)].put(r.Record)
	}
	d := newModelDispatch(m.turn.Standalone.Name, m.world, nil)
	m.dispatch(d, m.root, cmp.Or(m.turn.Executor, "model"), m.turn.DispatchInput, m.turn.DispatchOutput)
	m.world = d.world
}

// modelFailure is the failure of a stage.
type modelFailure struct {
	code        adk.Code
	stage, name string
	cause       error
	inTime      bool // it happened before the turn was aborted (ABT-8)
}

func (f *modelFailure) String() string {
	if f.stage == "" {
		return fmt.Sprintf("error Error=%s", f.code)
	}
	return fmt.Sprintf("error Error=%s in %s/%s", f.code, f.stage, f.name)
}

func (f *modelFailure) err() error { return &adk.Error{Code: f.code, Cause: f.cause} }

// fails decides what an error that a stage returned does to the turn: ABT-2, ABT-3, ABT-13. It
// reports whether the error is a failure.
func (m *model) fails(err error) bool {
	_, panics := err.(panicked)
	switch {
	case err == nil:
		return false
	case panics:
		return true
	case m.aborted:
		return false
	case isAbortError(err):
		m.aborted = true
		return false
	}
	return true
}

// isAbortError: ABT-2; GAT-1 and ABT-10 for gates, ABT-13 for panics. An abort error that is joined
// with another error is an ordinary failure.
func isAbortError(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) {
		case *adk.PanicError:
			return false
		case adk.Code:
			return e == adk.E_TURN_ABORTED
		case *adk.Error:
			if e.Code == adk.E_TURN_ABORTED || e.Code == adk.E_TURN_GATE_ABORTED {
				return e.Code == adk.E_TURN_ABORTED
			}
		}
	}
	return false
}

// pipeline: PIP-1 to PIP-9. It returns the single failure to report.
func (m *model) pipeline(label string, names []string, in *modelScope, d *modelDispatch, iteration int) *modelFailure {
	var failures []*modelFailure
	var enter func(at int)
	enter = func(at int) {
		if at == len(names) || m.aborted {
			return
		}
		called := false
		h := &modelHandle{scope: in, world: m.world, dispatch: d}
		if d != nil {
			h.world = d.world
		}
		h.next = func() {
			if !called {
				called = true
				enter(at + 1)
			}
		}
		path := adk.Seam{Label: label, Name: names[at], Iteration: iteration}.String()
		err := m.middleware(path, h)
		h.ended = true
		signalled := d != nil && d.signalled()
		switch {
		case m.fails(err):
			failures = append(failures, &modelFailure{pipelineCodes[label], label, names[at], err, !m.aborted})
		case err == nil && !called && !m.aborted && !signalled:
			failures = append(failures, &modelFailure{adk.E_PIPELINE_SHORT_CIRCUITED, label, names[at], nil, true})
		}
	}
	enter(0)
	if len(failures) == 0 {
		return nil
	}
	return failures[0]
}

var pipelineCodes = map[string]adk.Code{
	adk.LabelTurnInput:      adk.E_INPUT_PIPELINE_ERROR,
	adk.LabelTurnOutput:     adk.E_OUTPUT_PIPELINE_ERROR,
	adk.LabelDispatchInput:  adk.E_DISPATCH_PIPELINE_ERROR,
	adk.LabelDispatchOutput: adk.E_DISPATCH_PIPELINE_ERROR,
}

func (m *model) middleware(path string, h *modelHandle) error {
	body := h.scope.enter(path, h)
	if body == nil {
		h.next()
		return nil
	}
	return m.play(h, body)
}

// modelDispatch is a dispatch: DSP, SIG, DEL.
type modelDispatch struct {
	name          string
	world, parent *world
	above         *modelDispatch // the dispatch that called it
	refused       bool           // its own context was done when it was called
	streams       map[string]*stream
	handlers      []*modelHandler
	queue         []change
	checksums     map[string]string // of the tool calls that count, by id

	acked, nacked bool
	nackCause     error
	nackedInTime  bool // before the turn was aborted (ABT-8)
	failure       *modelFailure
	iterations    int
	status        string
}

// newModelDispatch: DSP-9, SIG-4.
func newModelDispatch(name string, parent *world, above *modelDispatch) *modelDispatch {
	d := &modelDispatch{name: name, world: parent.copy(), parent: parent, above: above, streams: map[string]*stream{}, checksums: map[string]string{}}
	for _, r := range d.world.sets[adk.ToolCalls].all {
		d.count(r)
	}
	return d
}

func (d *modelDispatch) count(r adk.Record) {
	if call, ok := r.(*adk.ToolCall); ok {
		d.checksums[call.ID()] = call.Checksum()
	}
}

func (d *modelDispatch) signalled() bool { return d.acked || d.nacked }

// stream is what was reported under an id: HLP-1 to HLP-3.
type stream struct {
	full, tool    string
	args, isError bool
	sealed        bool
}

type modelHandler struct {
	run func()
	off bool
}

// change is a store, mutate or delete that waits for the flush.
type change struct {
	persist func() error // the write that write-behind delays (DEL-6)
	apply   func(*world)
	stored  adk.Record // by a store or a mutate
}

// dispatch: DSP-2, DSP-3, DSP-5, DSP-7, EVT-7. It returns the error of a nack.
func (m *model) dispatch(d *modelDispatch, in *modelScope, executor string, input, output []string) error {
	m.emit("dispatchStart Name=%q", d.name)
	for !m.stopped(d) {
		if !m.iterate(d, in, executor, input, output) {
			break
		}
	}
	if d.acked && d.failure == nil && !m.aborted {
		m.flush(d)
	}
	return m.end(d)
}

func (m *model) stopped(d *modelDispatch) bool {
	return m.aborted || d.refused || d.signalled() || d.failure != nil
}

func (m *model) iterate(d *modelDispatch, in *modelScope, executor string, input, output []string) bool {
	k := d.iterations
	d.iterations++
	m.emit("iterationStart %d of %q", k, d.name)
	m.failed(d, m.pipeline(adk.LabelDispatchInput, input, in, d, k))
	if m.stopped(d) {
		return false
	}
	m.execute(d, in, executor, k)
	if m.stopped(d) {
		return false
	}
	m.failed(d, m.pipeline(adk.LabelDispatchOutput, output, in, d, k))
	if d.failure != nil {
		return false
	}
	if !d.nacked && !m.aborted {
		m.flush(d)
	}
	if d.failure != nil { // an iteration whose changes were refused has not finished
		return false
	}
	m.emit("iterationEnd %d of %q", k, d.name)
	return true
}

// failed: PIP-6, DSP-11. The first failure is the dispatch's failure.
func (m *model) failed(d *modelDispatch, failure *modelFailure) {
	if failure != nil && d.failure == nil {
		d.failure = failure
	}
}

// execute: DSP-6.
func (m *model) execute(d *modelDispatch, in *modelScope, name string, iteration int) {
	h := &modelHandle{scope: in, world: d.world, dispatch: d}
	path := adk.Seam{Label: adk.LabelExecutor, Name: name, Iteration: iteration}.String()
	var err error
	if body := in.enter(path, h); body != nil {
		err = m.play(h, body)
	} else {
		err = m.ack(d)
	}
	h.ended = true
	if m.fails(err) {
		m.failed(d, &modelFailure{adk.E_LLM_EXECUTION_EXECUTOR_ERROR, "", "", err, !m.aborted})
	}
}

// flush: DEL-2, DEL-3, DEL-6.
func (m *model) flush(d *modelDispatch) {
	if d.above != nil {
		for _, c := range d.queue {
			d.above.take(c)
		}
		d.queue = nil
		return
	}
	for _, c := range d.queue {
		if c.persist == nil {
			continue
		}
		if err := c.persist(); err != nil {
			m.failed(d, &modelFailure{adk.E_PERSISTENCE_FLUSH_ERROR, "", "", err, !m.aborted})
			d.queue = nil
			return
		}
	}
	for _, c := range d.queue {
		c.apply(d.parent)
	}
	d.queue = nil
}

// take: DEL-1, SIG-4.
func (d *modelDispatch) take(c change) {
	c.apply(d.world)
	d.count(c.stored)
	d.queue = append(d.queue, c)
}

// end: SIG-5, ABT-8, ABT-12, ABT-13, DSP-6.
func (m *model) end(d *modelDispatch) (nack error) {
	switch {
	case d.failure != nil && d.failure.inTime:
		d.status, nack = adk.StatusNack, d.failure.err()
	case d.nacked && d.nackedInTime:
		d.status, nack = adk.StatusNack, d.nackCause
	case m.aborted, d.refused:
		d.status = adk.StatusAborted
	default:
		d.status = adk.StatusAck
	}
	switch {
	case d.failure != nil:
		m.emit("%s of %q", d.failure, d.name)
	case d.status == adk.StatusNack:
		code := adk.E_LLM_EXECUTION_NACKED
		if own, ok := d.nackCause.(*adk.Error); ok && !isAbortError(own) {
			code = own.Code
		}
		m.emit("%s of %q", &modelFailure{code: code}, d.name)
	}
	m.emit("dispatchEnd Name=%q Status=%q Iterations=%d", d.name, d.status, d.iterations)
	return nack
}

// ack: SIG-1, SIG-3.
func (m *model) ack(d *modelDispatch) error {
	if d.signalled() {
		return &adk.Error{Code: adk.E_LLM_EXECUTION_ALREADY_SIGNALLED}
	}
	d.acked = true
	for _, h := range d.handlers {
		if !h.off {
			h.run()
		}
	}
	return nil
}

// nack: SIG-1, DSP-6, ABT-8.
func (m *model) nack(d *modelDispatch, cause error) error {
	if d.signalled() {
		return &adk.Error{Code: adk.E_LLM_EXECUTION_ALREADY_SIGNALLED}
	}
	if cause == nil {
		cause = &adk.Error{Code: adk.E_LLM_EXECUTION_NACKED}
	}
	d.nacked, d.nackCause, d.nackedInTime = true, cause, !m.aborted
	return nil
}

// modelScope is a set of scripts, with the number of calls of each of their seams.
type modelScope struct {
	scripts []turn.Script
	called  map[string]int
	handles map[string]*modelHandle
}

func newModelScope(scripts []turn.Script) *modelScope {
	return &modelScope{scripts, map[string]int{}, map[string]*modelHandle{}}
}

func (s *modelScope) enter(path string, h *modelHandle) *turn.Body {
	n := s.called[path]
	s.called[path]++
	s.handles[path] = h
	return turn.FindScript(s.scripts, path, n)
}

// modelHandle is what a seam call was given: DET-5.
type modelHandle struct {
	scope    *modelScope
	world    *world
	dispatch *modelDispatch // nil on a turn
	next     func()
	offs     map[string]func()
	ended    bool
}

// play performs the operations of a body and ends as the body says.
func (m *model) play(h *modelHandle, body *turn.Body) error {
	for i := range body.Ops {
		op := &body.Ops[i]
		on := h
		if op.On != "" {
			on = h.scope.handles[op.On]
			if on == nil {
				on = m.root.handles[op.On]
			}
		}
		if on == nil {
			continue
		}
		if err := m.operate(on, op); err != nil && op.Must {
			return err
		}
	}
	switch body.End.How {
	case adk.OutcomeError:
		return cmp.Or(body.End.Err.Err(), errors.New("failed"))
	case adk.OutcomePanic:
		return panicked{&adk.PanicError{Value: body.End.Err.PanicValue()}}
	}
	return nil
}

// panicked is a panic that is propagating to the caller, where it becomes an error.
type panicked struct{ error }

func caught(err error) error {
	if p, ok := err.(panicked); ok {
		return p.error
	}
	return err
}

// operate performs an operation and returns its error.
func (m *model) operate(h *modelHandle, op *turn.Op) error {
	switch op.Kind {
	case "next": // PIP-3, PIP-10
		if h.next != nil && !h.ended {
			h.next()
		}
		return nil
	case turn.OpCancel: // ABT-1
		m.aborted = true
		return nil
	case turn.OpSettle, turn.OpJoin, "now", "new-id": // with one strand, no gate is open here
		return nil
	case "off-ack":
		if off := h.offs[op.Name]; off != nil {
			off()
		}
		return nil
	case "wait-for":
		if malformed(op) { // GAT-5: before anything else
			return &adk.Error{Code: adk.E_INVALID_INITIAL_TURN_GATE_VALUE}
		}
		if m.turn.Standalone != nil && !m.turn.Standalone.Gates { // DSP-10
			return &adk.Error{Code: adk.E_LLM_EXECUTION_GATE_NOT_SUPPORTED}
		}
	}
	if h.ended {
		return &adk.Error{Code: adk.E_CONTEXT_ENDED}
	}
	if h.dispatch != nil {
		if err, known := m.onDispatch(h, op); known {
			return err
		}
	}
	if op.Kind == turn.OpDispatch {
		return m.nested(h, op)
	}
	return m.onHandle(h, op)
}

// nested: DSP-1, DSP-8, DSP-9, DSP-12, ABT-12.
func (m *model) nested(h *modelHandle, op *turn.Op) error {
	n := op.Dispatch
	switch n.Wrong {
	case turn.WrongBoth, turn.WrongNeither:
		return &adk.Error{Code: adk.E_INVALID_LLM_DISPATCH_INPUT}
	case turn.WrongStorage:
		return &adk.Error{Code: adk.E_INVALID_LLM_EXECUTION_CONTEXT}
	}
	if m.aborted { // ABT-7
		return errAborted
	}
	d := newModelDispatch(n.Name, h.world, h.dispatch)
	d.refused = op.Cause != nil
	return m.dispatch(d, newModelScope(n.Scripts), cmp.Or(n.Executor, "model"), n.Input, n.Output)
}

// onDispatch performs an operation that only a dispatch context offers.
func (m *model) onDispatch(h *modelHandle, op *turn.Op) (err error, known bool) {
	d := h.dispatch
	switch op.Kind {
	case "ack":
		return m.ack(d), true
	case "nack":
		return m.nack(d, op.Cause.Err()), true
	case "on-ack":
		m.onAck(h, op.Name, func() {
			own := &modelHandle{scope: h.scope, world: d.world, dispatch: d}
			if op.Do != nil {
				_ = m.play(own, op.Do) // SIG-3
			}
		})
		return nil, true
	case turn.OpBind: // TOL-8
		m.onAck(h, op.Name, func() { d.world.prune() })
		return nil, true
	case "execute":
		if m.aborted { // ABT-7
			return errAborted, true
		}
		return m.executeTool(h, op), true
	case "report-message":
		return m.report(d, "message", op), true
	case "report-thought":
		return m.report(d, "thought", op), true
	case "report-tool-call":
		return m.reportToolCall(d, op), true
	case turn.OpRead:
		m.emit(`log Level="debug" Kind="read" Message=%q Payload=%#v of %q`, turntext.Read(op.Key, op.Name), m.read(d, op), d.name)
		return nil, true
	}
	return nil, false
}

// read: STA-1, STA-2, SIG-2, SIG-4.
func (m *model) read(d *modelDispatch, op *turn.Op) any {
	switch value := d.world.get(op.Name); op.Key {
	case turn.ReadStash:
		if value == nil {
			return "none"
		}
		return value
	case turn.ReadHas:
		return value != nil
	case turn.ReadKeys:
		return strings.Join(leaves("", d.world.stash), " ")
	case turn.ReadAll:
		return d.world.stash
	case turn.ReadSignal:
		return turntext.Signal(d.signalled(), d.acked, d.nacked)
	}
	if call, ok := op.Record.Get().(*adk.ToolCall); ok {
		n := 0
		for _, checksum := range d.checksums {
			if checksum == call.Checksum() {
				n++
			}
		}
		return n
	}
	return nil
}

func (m *model) onAck(h *modelHandle, name string, run func()) {
	handler := &modelHandler{run: run}
	h.dispatch.handlers = append(h.dispatch.handlers, handler)
	if h.offs == nil {
		h.offs = map[string]func(){}
	}
	h.offs[name] = func() { handler.off = true }
}

// executeTool: TOL-2, TOL-3, TOL-5.
func (m *model) executeTool(h *modelHandle, op *turn.Op) error {
	tool, found := h.world.sets[adk.Tools].get(op.Name).(*adk.Tool)
	if !found {
		return errors.New("there is no such tool")
	}
	args, ok := objectOf(op.Args.Get())
	if !ok {
		return &adk.Error{Code: adk.E_INVALID_TOOL_ARGS}
	}
	if _, err := tool.Validate(args); err != nil {
		return &adk.Error{Code: adk.E_INVALID_TOOL_ARGS}
	}
	m.emit("toolExecutionStart ToolName=%q CallID=true Args=true of %q", tool.Name(), h.dispatch.name)
	own := &modelHandle{scope: m.root, world: h.world, dispatch: h.dispatch}
	var err error
	if body := m.root.enter(adk.Seam{Label: adk.LabelTool, Name: tool.Name()}.String(), own); body != nil {
		err = m.play(own, body)
		if r := body.End.Result; err == nil && r != nil && r.V == nil {
			err = errors.New("no result")
		}
	}
	own.ended = true
	m.emit("toolExecutionEnd ToolName=%q CallID=true IsError=%t of %q", tool.Name(), err != nil, h.dispatch.name)
	if err != nil {
		return &adk.Error{Code: adk.E_TOOL_DOWNSTREAM_ERROR, Cause: caught(err)}
	}
	return nil
}

// objectOf reads arguments: an object, or the JSON text of one.
func objectOf(args any) (map[string]any, bool) {
	if text, ok := args.(string); ok {
		var object map[string]any
		return object, json.Unmarshal([]byte(text), &object) == nil && object != nil
	}
	object, ok := args.(map[string]any)
	return object, ok
}

// report: HLP-1, HLP-2.
func (m *model) report(d *modelDispatch, what string, op *turn.Op) error {
	s := d.stream(what + " " + op.Name)
	if s.sealed {
		return &adk.Error{Code: adk.E_LLM_EXECUTION_STREAM_SEALED}
	}
	s.full += op.Text
	s.sealed = op.Flag
	m.emit("%s ID=%q Delta=%q Full=%q Complete=%t of %q", what, op.Name, op.Text, s.full, op.Flag, d.name)
	return nil
}

func (d *modelDispatch) stream(id string) *stream {
	if d.streams[id] == nil {
		d.streams[id] = &stream{}
	}
	return d.streams[id]
}

// reportToolCall: HLP-3.
func (m *model) reportToolCall(d *modelDispatch, op *turn.Op) error {
	if op.Args.Get() != nil {
		if _, ok := objectOf(op.Args.Get()); !ok {
			return errors.New("the arguments are no object")
		}
	}
	s := d.stream("toolCall " + op.Name)
	if s.sealed {
		return &adk.Error{Code: adk.E_LLM_EXECUTION_STREAM_SEALED}
	}
	s.tool = cmp.Or(op.Key, s.tool)
	s.args = s.args || op.Args.Get() != nil
	s.isError = s.isError || op.IsError
	s.sealed = op.Flag
	m.emit("toolCall ID=%q Tool=%q Args=%t Checksum=%t IsError=%t Complete=%t of %q", op.Name, s.tool, s.args, s.tool != "" && s.args, s.isError, op.Flag, d.name)
	return nil
}

// onHandle performs an operation that every handle offers.
func (m *model) onHandle(h *modelHandle, op *turn.Op) error {
	switch op.Kind {
	case "abort": // ABT-1, ABT-12
		m.aborted = true
	case "sleep":
		if m.aborted {
			return errAborted
		}
	case turn.OpAsk: // WLD-3, WLD-5
		switch {
		case op.Asked == nil:
		case m.aborted && !op.Asked.AfterAbort:
			return errAborted
		case !op.Flag || len(op.Asked.Pieces) == 0 || op.Asked.Answer != nil: // otherwise the reader stopped reading
			return op.Cause.Err()
		}
	case "stash":
		return h.world.set(op.Name, op.Value.Get())
	case "wait-for":
		return m.waitFor(h, op)
	case "report-log": // HLP-6
		m.emit("log Level=%q Kind=%q Message=%q Payload=%#v of %q", op.Key, op.Name, op.Text, op.Value.Get(), h.dispatchName())
	case "emit-message", "emit-thought": // EVT-10
		m.emit("%s ID=%q Delta=%q Full=%q Complete=%t", strings.TrimPrefix(op.Kind, "emit-"), op.Name, op.Text, op.Text, op.Flag)
	case "emit-tool-call":
		_, args := op.Args.Get().(map[string]any)
		m.emit("toolCall ID=%q Tool=%q Args=%t Checksum=false IsError=%t Complete=%t", op.Name, op.Key, args, op.IsError, op.Flag)
	case "register": // TOL-6
		if op.Record.Get() == nil {
			return errors.New("no tool")
		}
		if h.world.sets[adk.Tools].get(op.Record.Key()) != nil && !op.Flag {
			return &adk.Error{Code: adk.E_TOOL_ALREADY_REGISTERED}
		}
		h.world.sets[adk.Tools].put(op.Record.Record)
	case "unregister":
		h.world.sets[adk.Tools].remove(op.Name)
	case "prune":
		h.world.prune()
	case "fetch", "refresh":
		return m.fetch(h, op)
	case "add", "remove", "store", "mutate", "delete":
		return m.record(h, op)
	}
	return nil
}

// dispatchName returns the name of the handle's dispatch. It is empty outside a dispatch and for
// the turn's own.
func (h *modelHandle) dispatchName() string {
	if h.dispatch == nil {
		return ""
	}
	return h.dispatch.name
}

// errAborted is the error of an operation that begins in an aborted turn.
var errAborted = errors.New("the turn is aborted")

func malformed(op *turn.Op) bool { // GAT-5
	return op.Name == "" || op.Text == "" || op.Duration < 0 || string(op.Schema) == `{"type":5}`
}

// waitFor: GAT-1 to GAT-5, GAT-8, ABT-7, ABT-10.
func (m *model) waitFor(h *modelHandle, op *turn.Op) error {
	result, by, err := adk.GateAborted, "", error(&adk.Error{Code: adk.E_TURN_GATE_ABORTED})
	if m.aborted {
		return err
	}
	m.emit("turnGateOpen Gate=%q of %q", op.Name, h.dispatchName())
	if s := firstSettlement(op); s != nil {
		result, by, err = s.Result, s.By, settled(s)
	} else if op.Duration > 0 {
		result, err = adk.GateTimeout, &adk.Error{Code: adk.E_TURN_GATE_TIMEOUT}
	} else {
		m.aborted = true // nobody settles the gate, so the caller gives up the turn
	}
	m.emit("turnGateClosed GateID=%q Result=%q By=%q of %q", op.Name, result, by, h.dispatchName())
	return err
}

// firstSettlement returns the settlement that counts: the earliest one that the schema accepts and
// that is not too late.
func firstSettlement(op *turn.Op) (first *turn.Settlement) {
	for i := range op.Settle {
		s := &op.Settle[i]
		refused := false
		if s.Result == adk.GateResolved && op.Schema != nil { // GAT-3; the schemas here want a boolean
			_, isBool := s.Value.Get().(bool)
			refused = !isBool
		}
		late := op.Duration > 0 && s.After >= op.Duration
		if !refused && !late && (first == nil || s.After < first.After) {
			first = s
		}
	}
	return first
}

func settled(s *turn.Settlement) error {
	switch s.Result {
	case adk.GateRejected:
		if s.Err == nil {
			return errors.New("rejected")
		}
		return s.Err.Err()
	case adk.GateAborted:
		return &adk.Error{Code: adk.E_TURN_GATE_ABORTED}
	}
	return nil
}

// oblige calls the storage: RUN-2, RUN-13.
func (m *model) oblige(of adk.CollectionName, verb string, work func()) error {
	body := m.root.enter(turntext.StoragePath(of, verb), &modelHandle{ended: true})
	if body == nil {
		work()
		return nil
	}
	if fails := body.End.How != "" && body.End.How != adk.OutcomeOK; !fails || body.End.Kept {
		work()
	}
	return caught(m.play(&modelHandle{}, body))
}

// fetch asks the storage and, if Flag is set, adds the records that it returns.
func (m *model) fetch(h *modelHandle, op *turn.Op) error {
	verb := "fetch"
	if op.Of == adk.Instructions {
		verb = "refresh"
	}
	var all []adk.Record
	err := m.oblige(op.Of, verb, func() { all = slices.Clone(m.kept[op.Of].all) })
	if err != nil || !op.Flag {
		return err
	}
	for _, r := range all {
		if op.Of == adk.Tools && h.world.sets[adk.Tools].get(r.Key()) != nil {
			err = &adk.Error{Code: adk.E_TOOL_ALREADY_REGISTERED}
			continue
		}
		h.recount(op.Of, r)
		h.world.sets[op.Of].put(r)
	}
	return err
}

// recount updates a tool call that counts when another one replaces it (SIG-4).
func (h *modelHandle) recount(of adk.CollectionName, r adk.Record) {
	if d := h.dispatch; d != nil && of == adk.ToolCalls && d.checksums[r.Key()] != "" {
		d.count(r)
	}
}

// record: RUN-12, RUN-13, DEL-1 to DEL-4, DEL-6, SIG-6.
func (m *model) record(h *modelHandle, op *turn.Op) error {
	r := op.Record.Get()
	remove := op.Kind == "remove" || op.Kind == "delete"
	if r == nil && !remove {
		return errors.New("no record")
	}
	apply := func(w *world) {
		if remove {
			w.sets[op.Of].remove(op.Key)
		} else {
			w.sets[op.Of].put(r)
		}
	}
	if op.Kind == "add" || op.Kind == "remove" {
		if !remove {
			h.recount(op.Of, r)
		}
		apply(h.world)
		return nil
	}
	persist := func() error {
		return m.oblige(op.Of, op.Kind, func() { apply(&world{sets: m.kept}) })
	}
	if h.dispatch == nil {
		return persist()
	}
	if !m.turn.WriteBehind {
		if err := persist(); err != nil {
			return err
		}
		persist = nil
	}
	c := change{persist: persist, apply: apply}
	if !remove {
		c.stored = r
	}
	h.dispatch.take(c)
	return nil
}

// world is what a turn or a dispatch sees: RUN-7, DSP-9.
type world struct {
	sets  map[adk.CollectionName]*modelSet
	stash map[string]any
}

func newWorld() *world { return &world{newModelSets(), map[string]any{}} }

func newModelSets() map[adk.CollectionName]*modelSet {
	sets := map[adk.CollectionName]*modelSet{adk.Tools: {}}
	for _, of := range samples.Collections {
		sets[of] = &modelSet{}
	}
	return sets
}

// copy: DSP-9, DSP-13, STA-6.
func (w *world) copy() *world {
	c := newWorld()
	for of, set := range w.sets {
		c.sets[of].all = slices.Clone(set.all)
	}
	c.stash = withoutNil(w.stash)
	return c
}

// prune: TOL-6.
func (w *world) prune() {
	tools := w.sets[adk.Tools]
	tools.all = slices.DeleteFunc(tools.all, func(r adk.Record) bool {
		t, ok := r.(*adk.Tool)
		return ok && t.Ephemeral()
	})
}

// get: STA-1, STA-2, STA-5.
func (w *world) get(path string) (value any) {
	value = w.stash
	for _, segment := range strings.Split(path, ".") {
		tree, _ := value.(map[string]any)
		value = tree[segment]
	}
	return value
}

// set: STA-2, STA-4, STA-5, STA-7.
func (w *world) set(path string, value any) error {
	refused := &adk.Error{Code: adk.E_INVALID_STASH_PATH}
	segments := strings.Split(path, ".")
	if slices.Contains(segments, "") {
		return refused
	}
	node := w.stash
	var branches []map[string]any
	for _, s := range segments[:len(segments)-1] {
		child, there := node[s]
		next, isMap := child.(map[string]any)
		if there && !isMap {
			return refused
		}
		branches = append(branches, node)
		node = next // reading from a nil map gives nil
	}
	if tree, ok := value.(map[string]any); ok {
		if hasDottedKey(tree) {
			return refused
		}
		value = withoutNil(tree)
	}
	last := segments[len(segments)-1]
	if value == nil {
		if node != nil {
			delete(node, last)
		}
		return nil
	}
	node = w.stash
	for i := range branches {
		child, _ := node[segments[i]].(map[string]any)
		if child == nil {
			child = map[string]any{}
			node[segments[i]] = child
		}
		node = child
	}
	node[last] = value
	return nil
}

func hasDottedKey(tree map[string]any) bool {
	for key, value := range tree {
		child, _ := value.(map[string]any)
		if key == "" || strings.Contains(key, ".") || hasDottedKey(child) {
			return true
		}
	}
	return false
}

func withoutNil(tree map[string]any) map[string]any {
	c := map[string]any{}
	for key, value := range tree {
		if child, ok := value.(map[string]any); ok {
			c[key] = withoutNil(child)
		} else if value != nil {
			c[key] = value
		}
	}
	return c
}

// lines describes what is visible.
func (w *world) lines() []string {
	var lines []string
	for _, of := range slices.Sorted(maps.Keys(w.sets)) {
		for _, r := range w.sets[of].all {
			lines = append(lines, visibleLine(of, r))
		}
	}
	return append(lines, stashLines("", w.stash)...)
}

func visibleLine(of adk.CollectionName, r adk.Record) string {
	return fmt.Sprintf("%s %s %s", of, r.Key(), r.Digest())
}

// leaves returns the paths of a tree's leaves, sorted (STA-1).
func leaves(prefix string, tree map[string]any) (paths []string) {
	for key, value := range tree {
		if child, ok := value.(map[string]any); ok {
			paths = append(paths, leaves(prefix+key+".", child)...)
		} else {
			paths = append(paths, prefix+key)
		}
	}
	slices.Sort(paths)
	return paths
}

func stashLines(prefix string, tree map[string]any) []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		if child, ok := tree[key].(map[string]any); ok {
			lines = append(lines, stashLines(prefix+key+".", child)...)
		} else {
			lines = append(lines, fmt.Sprintf("stash %s%s = %#v", prefix, key, tree[key]))
		}
	}
	return lines
}

// modelSet is a set of records in order: RUN-12.
type modelSet struct{ all []adk.Record }

func (s *modelSet) index(key string) int {
	return slices.IndexFunc(s.all, func(r adk.Record) bool { return r.Key() == key })
}

func (s *modelSet) get(key string) adk.Record {
	if at := s.index(key); at >= 0 {
		return s.all[at]
	}
	return nil
}

func (s *modelSet) put(r adk.Record) {
	if at := s.index(r.Key()); at >= 0 {
		s.all[at] = r
	} else {
		s.all = append(s.all, r)
	}
}

func (s *modelSet) remove(key string) {
	if at := s.index(key); at >= 0 {
		s.all = slices.Delete(s.all, at, at+1)
	}
}

// collectionOf returns the collection that holds records of the kind of r.
func collectionOf(r adk.Record) adk.CollectionName {
	of, _ := adk.CollectionOf(r.RecordKind()) // every record of a turn belongs to one
	return of
}

package state

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// This file derives the payload that listeners of an event observe from the crossings before the
// event and its own line.

// foldStream is a message or a thought that is being streamed (HLP-1).
type foldStream struct {
	createdAt time.Time
	sealed    bool
	full      strings.Builder // grows in place: no delta copies the text before it (HLP-5)
}

// causedEvent is an event that an operation causes and that has not been recorded yet. With
// strands, crossings of other calls may come between the two, and even the operation's own call may
// have returned: if a strand reports an update while another strand is emitting, the other strand
// emits both.
type causedEvent struct {
	kind    adk.Kind
	at      time.Time // the time of the operation, which the event has too; zero for an emit
	payload any
	given   bool // user code supplied the payload, which is emitted unchanged (EVT-10)
	op      int  // the spanning operation that it is within, 0 for none
}

// Execution is an execution of a tool (TOL-3).
type Execution struct {
	Tool      *adk.Tool
	Args      map[string]any // as they were given, as JSON data
	CallID    string
	started   bool
	startedAt time.Time
	handler   *Call // set when the handler is called
	returned  bool  // the handler has returned
	failed    bool
	ended     bool // toolExecutionEnd was recorded
}

// Origin returns the origin of an event of the call (EVT-5).
func (f *Fold) Origin(c *Call) adk.Origin {
	o := adk.Origin{TurnID: f.TurnID}
	if d := c.Dispatch; d != nil {
		o.DispatchID, o.DispatchName, o.Iteration = d.ID, d.name(), d.Iteration
	}
	return o
}

// alone are the kinds of events of which each is the only event of its operation. Events in pairs
// around something need state of their own.
var alone = eventsAlone()

func eventsAlone() (events [math.MaxUint8 + 1]bool) {
	for _, kind := range adk.Kinds() {
		if caused := kind.Causes(); len(caused) == 1 {
			events[caused[0]] = true
		}
	}
	return events
}

// caused returns the index in c.causes of the operation that explains an event, or -1 if there is
// none. It is the first one of the right kind and, for a report, of the right time. If goroutines
// report through one call concurrently, the payload of the event identifies the operation, whatever
// the time of the strand; a trace has no payloads.
func (c *Call) caused(x *adk.Crossing) int {
	id, told := StreamID(x.Payload)
	best, most, all := -1, -1, 1
	if told {
		all = 3
	}
	for i, e := range c.causes {
		if e.kind != x.Kind {
			continue
		}
		fits := 0
		if its, _ := StreamID(e.payload); told && its == id {
			fits += 2
		}
		if e.given || e.at.Equal(x.At) {
			fits++
		}
		if fits > most {
			best, most = i, fits
		}
		if fits == all {
			break
		}
	}
	return best
}

// StreamID returns the id of the stream or tool call that an event is about, if there is one.
func StreamID(payload any) (id string, ok bool) {
	switch e := payload.(type) {
	case adk.MessageEvent:
		return e.ID, true
	case adk.ThoughtEvent:
		return e.ID, true
	case adk.ToolCallEvent:
		return e.ID, true
	}
	return "", false
}

// follows records the event that an operation causes, if it causes exactly one.
func (f *Fold) follows(c *Call, x *adk.Crossing) {
	caused := x.Kind.Causes()
	if len(caused) != 1 || x.Err != nil {
		return
	}
	e := causedEvent{kind: caused[0], at: x.At, op: x.Op}
	if x.Kind.Emits() {
		e.payload, e.given, e.at = x.Payload, true, time.Time{}
	} else if h := heardEvents[e.kind]; h != nil {
		e.payload = h.ofOperation(f.Origin(c), x)
	}
	c.causes = append(c.causes, e)
}

// refused removes the events of a spanning operation that failed.
func (c *Call) refused(op int) {
	c.causes = slices.DeleteFunc(c.causes, func(e causedEvent) bool { return e.op == op })
}

// told records that an event caused by an operation was emitted.
func (c *Call) told(x *adk.Crossing) error {
	at := c.caused(x)
	if at < 0 {
		return fmt.Errorf("no operation of call %d explains it", c.ID)
	}
	c.causes = append(c.causes[:at], c.causes[at+1:]...)
	return nil
}

// report applies a report of a piece, which belongs to a dispatch. An event follows unless the
// report was refused.
func (f *Fold) report(c *Call, x *adk.Crossing) error {
	if x.Err != nil {
		return nil
	}
	d := c.Dispatch
	if d == nil {
		return errNoDispatch
	}
	e := causedEvent{kind: x.Kind.Event(), at: x.At}
	var err error
	switch x.Kind {
	case adk.KindReportMessage:
		d.met(SpaceMessage, x.Name)
		e.payload = adk.MessageEvent(grow(d.messages, f.Origin(c), x))
	case adk.KindReportThought:
		d.met(SpaceThought, x.Name)
		e.payload = adk.ThoughtEvent(grow(d.thoughts, f.Origin(c), x))
	case adk.KindReportToolCall:
		d.met(SpaceToolCall, x.Name)
		var merged adk.ToolCallEvent
		merged, err = f.merge(c, x)
		e.payload = merged
	}
	c.causes = append(c.causes, e)
	return err
}

// met records a stream or a tool call when it is first reported.
func (d *Dispatch) met(space, id string) {
	switch {
	case space == SpaceMessage && d.messages[id] != nil,
		space == SpaceThought && d.thoughts[id] != nil,
		space == SpaceToolCall && d.reported[id] != nil:
		return
	}
	d.Streams = append(d.Streams, Ref{space, id})
}

// grow appends a delta to its stream (HLP-1).
func grow(streams map[string]*foldStream, from adk.Origin, x *adk.Crossing) adk.StreamUpdate {
	s := streams[x.Name]
	if s == nil {
		s = &foldStream{createdAt: x.At}
		streams[x.Name] = s
	}
	s.full.WriteString(x.Text)
	s.sealed = s.sealed || x.Flag
	u := adk.StreamUpdate{Origin: from, ID: x.Name, CreatedAt: s.createdAt, UpdatedAt: x.At,
		Delta: x.Text, Full: s.full.String(), Complete: x.Flag}
	if x.Flag {
		u.CompletedAt = x.At
	}
	return u
}

// merge updates what is known of a tool call with a report (HLP-3).
func (f *Fold) merge(c *Call, x *adk.Crossing) (adk.ToolCallEvent, error) {
	known := c.Dispatch.reported[x.Name]
	if known == nil {
		known = &adk.ToolCallEvent{ID: x.Name, CreatedAt: x.At}
		c.Dispatch.reported[x.Name] = known
	}
	known.Origin, known.UpdatedAt = f.Origin(c), x.At
	if x.Key != "" {
		known.Tool = x.Key
	}
	var err error
	switch {
	case x.Args != nil:
		var id string
		known.Args, id, err = f.Called(known.Tool, x.Args)
		known.Checksum = cmp.Or(id, known.Checksum)
	case x.Key != "" && known.Args != nil:
		known.Checksum, _ = canonical.Checksum(known.Tool, known.Args)
	}
	if x.Result != nil {
		known.Results = x.Result
	}
	known.IsError = known.IsError || x.IsError
	if x.Flag {
		known.Complete, known.CompletedAt = true, x.At
	}
	return *known, err
}

// execution returns what the first line of an execute operation says (TOL-4).
func (f *Fold) execution(x *adk.Crossing) Execution {
	e := Execution{}
	if e.Tool, _ = x.Record.(*adk.Tool); e.Tool != nil {
		e.Args, e.CallID, _ = f.Called(e.Tool.Name(), x.Args) // arguments that are no object are refused, and cause no event
	}
	return e
}

// toolCall caches a call with textual arguments: the tool and the text, the parsed arguments, and
// the id of the call.
type toolCall struct {
	tool, text string
	args       map[string]any
	id         string
}

// Called returns the arguments of a tool call as an object, and the id of the call, which is empty
// if the tool is not known. A call is usually both reported and executed, and often repeated in the
// next run, so the last one is cached.
func (f *Fold) Called(tool string, args any) (object map[string]any, id string, err error) {
	text, isText := canonical.TextOf(args)
	if last := &f.lastCall; isText && last.args != nil && last.tool == tool && last.text == text {
		return last.args, last.id, nil
	}
	if object, err = canonical.Object(args); err != nil {
		return nil, "", err
	}
	if tool != "" {
		id, _ = canonical.Checksum(tool, object)
	}
	if isText {
		f.lastCall = toolCall{tool, text, object, id}
	}
	return object, id, nil
}

// handles records that c called the handler of a tool, with the crossing x. If several executions
// have begun, it is the one with the handler's arguments.
func (f *Fold) handles(c *Call, handler *Call, x *adk.Crossing) {
	var room [4]*Execution // there is more than one only if goroutines begin them
	open := room[:0]
	for _, op := range c.executes {
		if e := &op.Execution; e.started && e.handler == nil && e.Tool != nil && e.Tool.Name() == handler.Seam.Name {
			open = append(open, e)
		}
	}
	if len(open) == 0 {
		return
	}
	its := 0
	if len(open) > 1 {
		_, id, _ := f.Called(handler.Seam.Name, x.Args)
		its = max(0, slices.IndexFunc(open, func(e *Execution) bool { return e.CallID == id }))
	}
	open[its].handler = handler
}

// exchange corrects an earlier guess about which of several concurrent executions a handler and an
// end event belong to. If the execution over cannot have ended as it did, it is swapped with an
// equal one that can have; and if its end was not recorded, it takes the end from another one that
// has returned.
func (c *Call) exchange(over *Op, failed bool) {
	mine := &over.Execution
	if !mine.cameBack(failed) {
		for _, op := range c.executes {
			if its := &op.Execution; its.cameBack(failed) && its.CallID == mine.CallID {
				*mine, *its = *its, *mine
				break
			}
		}
	}
	if !mine.returned || mine.ended {
		return
	}
	for _, op := range c.executes {
		if its := &op.Execution; its.returned && its.ended {
			mine.ended, its.ended = true, false
			return
		}
	}
}

// cameBack reports whether an execution can have ended so: its handler returned, with or without
// failing. An execution without a handler must have failed.
func (e *Execution) cameBack(failed bool) bool {
	if e.handler == nil {
		return failed
	}
	return e.returned && e.failed == failed
}

func (e *Execution) isToldBy(end adk.ToolExecutionEnd) bool {
	return e.CallID == end.CallID && e.startedAt.Equal(end.StartedAt)
}

// handled records that a handler has returned.
func (c *Call) handled(handler *Call, failed bool) {
	for _, op := range c.executes {
		if e := &op.Execution; e.handler == handler {
			e.returned, e.failed = true, failed
		}
	}
}

// ExecutionFor returns the execution that an event of the call is about. If several have returned,
// as with goroutines that user code starts, the payload of the event identifies the execution; a
// trace has no payloads.
func (c *Call) ExecutionFor(x *adk.Crossing) *Execution {
	var found, unhandled *Execution
	told, says := x.Payload.(adk.ToolExecutionEnd)
	for _, op := range c.executes {
		e := &op.Execution
		switch {
		case x.Kind == adk.KindToolExecutionEnd:
			if e.returned && !e.ended {
				if says && e.isToldBy(told) || !says && e.failed == x.IsError {
					return e
				}
				if found == nil || says && e.CallID == told.CallID {
					found = e
				}
			}
			if e.started && e.handler == nil && !e.ended {
				unhandled = e // a listener of its start ended the goroutine
			}
		case e.started:
		case e.CallID == x.Key:
			return e
		case found == nil:
			found = e
		}
	}
	if says && found != nil {
		c.exchangeStarts(found, told)
	}
	return cmp.Or(found, unhandled)
}

// exchangeStarts gives an execution that has ended the start time that its end event has, if that
// was attributed to another execution with equal arguments.
func (c *Call) exchangeStarts(e *Execution, told adk.ToolExecutionEnd) {
	for _, op := range c.executes {
		if its := &op.Execution; its.started && !its.ended && its.isToldBy(told) && e.CallID == told.CallID {
			e.startedAt, its.startedAt = its.startedAt, e.startedAt
			return
		}
	}
}

func (c *Call) executionEvent(x *adk.Crossing) error {
	e := c.ExecutionFor(x)
	if e == nil {
		return fmt.Errorf("call %d executes no tool in this state", c.ID)
	}
	if x.Kind == adk.KindToolExecutionStart {
		e.started, e.startedAt = true, x.At
	} else {
		e.ended = true
	}
	return nil
}

// Payload returns what listeners observe if the next crossing is an event: a TurnStart, a
// MessageEvent and so on, derived from the crossings alone. The Gate of a TurnGateOpen is nil,
// since a gate exists only during a run. Payload returns nil if the crossing is not an event or
// nothing explains it.
func (f *Fold) Payload(x *adk.Crossing) any {
	payload, _ := f.derive(x)
	return payload
}

// Filled returns a copy of the next crossing, completed from the crossings before it: with the
// payload of an event, or the seam of a return.
func (f *Fold) Filled(x *adk.Crossing) *adk.Crossing {
	filled := *x
	if payload := f.Payload(x); payload != nil {
		filled.Payload = payload
	}
	if c := f.Calls[x.ID]; c != nil && x.Kind == adk.KindReturn {
		filled.Seam = c.Seam
	}
	return &filled
}

// derive returns the result of Payload, and whether user code supplied the payload.
func (f *Fold) derive(x *adk.Crossing) (payload any, given bool) {
	c := f.Calls[x.Call]
	if c == nil || x.Kind.Class() != adk.ClassEvent {
		return nil, false
	}
	if alone[x.Kind] {
		at := c.caused(x)
		if at < 0 {
			return nil, false
		}
		e := &c.causes[at]
		if h := heardEvents[x.Kind]; h != nil {
			return h.whole(e.payload, f.Origin(c), x), false
		}
		return e.payload, e.given
	}
	if h := heardEvents[x.Kind]; h != nil {
		return h.whole(nil, f.Origin(c), x), false
	}
	switch x.Kind {
	case adk.KindTurnEnd:
		return adk.TurnEnd{TurnID: f.TurnID, Span: adk.Span{StartedAt: f.StartedAt, EndedAt: x.At}}, false
	case adk.KindTurnGateOpen, adk.KindTurnGateClosed:
		return f.deriveGate(c, x), false
	case adk.KindToolExecutionStart, adk.KindToolExecutionEnd:
		return f.deriveExecution(c, x), false
	default:
		if d := c.Dispatch; d != nil && d.Call == c {
			return f.deriveLoop(d, x), false
		}
	}
	return nil, false
}

// deriveLoop returns the payload of an event of the dispatch loop itself.
func (f *Fold) deriveLoop(d *Dispatch, x *adk.Crossing) any {
	from := f.Origin(d.Call)
	switch x.Kind {
	case adk.KindDispatchStart:
		e := adk.DispatchStart{TurnID: f.TurnID, DispatchID: x.Name, Name: d.name(), StartedAt: x.At}
		if d.Above != nil {
			e.ParentID = d.Above.ID
		}
		return e
	case adk.KindDispatchEnd:
		return adk.DispatchEnd{TurnID: f.TurnID, DispatchID: d.ID, Name: d.name(), Span: adk.Span{StartedAt: d.startedAt, EndedAt: x.At},
			Status: x.Status, Error: x.Err, Iterations: d.Started}
	case adk.KindIterationStart:
		from.Iteration = d.Started
		return adk.IterationStart{Origin: from, StartedAt: x.At}
	case adk.KindIterationEnd:
		return adk.IterationEnd{Origin: from, Span: adk.Span{StartedAt: d.iteratingAt, EndedAt: x.At}}
	}
	return nil
}

func (f *Fold) deriveGate(c *Call, x *adk.Crossing) any {
	g := f.gateFor(c, x)
	switch {
	case g == nil:
		return nil
	case x.Kind == adk.KindTurnGateOpen:
		return adk.TurnGateOpen{Origin: f.Origin(c), OpenedAt: g.at}
	}
	return adk.TurnGateClosed{Origin: f.Origin(c), GateID: g.ID, Result: g.Result, By: g.by, SettledAt: x.At}
}

func (f *Fold) deriveExecution(c *Call, x *adk.Crossing) any {
	e := c.ExecutionFor(x)
	if e == nil || e.Tool == nil {
		return nil
	}
	if x.Kind == adk.KindToolExecutionEnd {
		return adk.ToolExecutionEnd{Origin: f.Origin(c), ToolName: e.Tool.Name(), CallID: e.CallID, IsError: e.failed || e.handler == nil,
			Span: adk.Span{StartedAt: e.startedAt, EndedAt: x.At}}
	}
	validated, _ := e.Tool.Validate(e.Args) // refused arguments start nothing (TOL-3)
	return adk.ToolExecutionStart{Origin: f.Origin(c), ToolName: e.Tool.Name(), CallID: e.CallID, Args: validated, StartedAt: x.At}
}

// Ref identifies a thing by its id and the space in which the id is unique.
type Ref struct{ Space, ID string }

// The spaces of ids. Their names are the prefixes of the names in transcripts. A stream shares its
// space with the records that are made of it.
const (
	SpaceTurn     = "turn"
	SpaceDispatch = "dispatch"
	SpaceMessage  = "m"
	SpaceThought  = "t"
	SpaceToolCall = "call"
	SpaceGate     = "gate"
	SpaceMade     = "id" // ids that the id source made for user code
)

// AnyTool stands for a tool of which nothing is known.
var AnyTool = mustTool()

func mustTool() *adk.Tool {
	t, err := adk.NewTool(adk.ToolInit{Name: "late", Description: "late", InputSchema: []byte(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("late"), nil
		}})
	if err != nil {
		panic(err)
	}
	return t
}

// HeldStream is a message, a thought or a tool call that is being reported.
type HeldStream struct {
	// Kind is message, thought or toolCall.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Sealed says that it is complete.
	Sealed bool `json:"sealed,omitempty"`
	// Text is the text so far of a message or a thought.
	Text string `json:"text,omitempty"`
	// Tool and Args are what is known of a tool call.
	Tool string         `json:"tool,omitempty"`
	Args map[string]any `json:"args,omitempty"`
}

package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// This file derives what listeners hear: the whole payload of each of the
// fifteen events, from the crossings before it and its own line.

// foldStream is a message or a thought that is being streamed (HLP-1).
type foldStream struct {
	createdAt time.Time
	full      strings.Builder // grows in place: no delta copies the text before it (HLP-5)
}

// causedEvent is an event that an operation causes and that is still to come.
// With strands, other calls' crossings may come between the two, and even the
// operation's own call may have returned: an update that is reported while
// another strand emits is emitted by that one.
type causedEvent struct {
	kind    adk.Kind
	at      time.Time // the operation's, which the event has too; zero for an emit
	payload any
	given   bool // by user code, as it is (EVT-10)
}

// emitted is the kind of the event that an emit causes.
var emitted = map[adk.Kind]adk.Kind{
	adk.KindEmitMessage:  adk.KindMessageEvent,
	adk.KindEmitThought:  adk.KindThoughtEvent,
	adk.KindEmitToolCall: adk.KindToolCallEvent,
}

// foldExecution is a tool that is being executed (TOL-3).
type foldExecution struct {
	tool      *adk.Tool
	args      map[string]any // as they were given, as JSON data
	callID    string
	started   bool
	startedAt time.Time
	handler   *foldCall // once the handler has been called
	returned  bool      // the handler has
	failed    bool
	ended     bool // toolExecutionEnd was told
}

// origin is where an event of the call comes from (EVT-5).
func (f *Fold) origin(c *foldCall) adk.Origin {
	o := adk.Origin{TurnID: f.turnID}
	if d := c.dispatch; d != nil {
		o.DispatchID, o.Iteration = d.id, d.iteration
	}
	return o
}

func (f *Fold) cause(c *foldCall, e causedEvent) {
	c.causes = append(c.causes, e)
	f.untold++
}

// caused is the place of the operation that explains an event: the first of its
// kind, and among those of a report the one of its time; -1 if there is none.
func (c *foldCall) caused(x *adk.Crossing) int {
	first := -1
	for i, e := range c.causes {
		if e.kind != x.Kind {
			continue
		}
		if e.given || e.at.Equal(x.At) {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// told takes in an event that an operation caused.
func (f *Fold) told(c *foldCall, x *adk.Crossing) error {
	at := c.caused(x)
	if at < 0 {
		return fmt.Errorf("no operation of call %d explains it", c.id)
	}
	c.causes = append(c.causes[:at], c.causes[at+1:]...)
	f.untold--
	return nil
}

// report takes in a report of the executor, from which an event follows unless
// it was refused.
func (f *Fold) report(c *foldCall, x *adk.Crossing) error {
	if x.Err != nil {
		return nil
	}
	d := c.dispatch
	if d == nil {
		return errNoDispatch
	}
	e := causedEvent{at: x.At}
	var err error
	switch x.Kind {
	case adk.KindReportMessage:
		e.kind, e.payload = adk.KindMessageEvent, adk.MessageEvent(grow(d.messages, f.origin(c), x))
	case adk.KindReportThought:
		e.kind, e.payload = adk.KindThoughtEvent, adk.ThoughtEvent(grow(d.thoughts, f.origin(c), x))
	case adk.KindReportToolCall:
		var merged adk.ToolCallEvent
		merged, err = d.merge(f.origin(c), x)
		e.kind, e.payload = adk.KindToolCallEvent, merged
	case adk.KindReportLog:
		e.kind, e.payload = adk.KindLogEvent, adk.LogEvent{Origin: f.origin(c), EmittedAt: x.At,
			Level: adk.Level(x.Key), Kind: x.Name, Message: x.Text, Payload: plain.Copy(x.Value)}
	}
	f.cause(c, e)
	return err
}

// grow appends a delta to its stream (HLP-1).
func grow(streams map[string]*foldStream, from adk.Origin, x *adk.Crossing) adk.StreamUpdate {
	s := streams[x.Name]
	if s == nil {
		s = &foldStream{createdAt: x.At}
		streams[x.Name] = s
	}
	s.full.WriteString(x.Text)
	u := adk.StreamUpdate{Origin: from, ID: x.Name, CreatedAt: s.createdAt, UpdatedAt: x.At,
		Delta: x.Text, Full: s.full.String(), Complete: x.Flag}
	if x.Flag {
		u.CompletedAt = x.At
	}
	return u
}

// merge puts what is new about a tool call over what is known (HLP-3).
func (d *foldDispatch) merge(from adk.Origin, x *adk.Crossing) (adk.ToolCallEvent, error) {
	known := d.reported[x.Name]
	if known == nil {
		known = &adk.ToolCallEvent{ID: x.Name, CreatedAt: x.At}
		d.reported[x.Name] = known
	}
	known.Origin, known.UpdatedAt = from, x.At
	var err error
	if x.Key != "" {
		known.Tool = x.Key
	}
	if x.Args != nil {
		known.Args, err = argsObject(x.Args)
	}
	if known.Tool != "" && known.Args != nil && (x.Key != "" || x.Args != nil) {
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

// argsObject is a tool's arguments as one shape: JSON data in a map of its own.
// They come as an object or as JSON text of one.
func argsObject(args any) (map[string]any, error) {
	switch text := args.(type) {
	case string:
		return canonical.ParseObject([]byte(text))
	case []byte:
		return canonical.ParseObject(text)
	case json.RawMessage:
		return canonical.ParseObject(text)
	}
	data, err := canonical.Normalize(args)
	if err != nil {
		return nil, err
	}
	object, ok := data.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("arguments of the type %T are no object", args)
	}
	return object, nil
}

// newExecution is what the first line of an execute says (TOL-4).
func newExecution(x *adk.Crossing) foldExecution {
	e := foldExecution{}
	e.tool, _ = x.Record.(*adk.Tool)
	e.args, _ = argsObject(x.Args) // what is no object is refused, and causes no event
	if e.tool != nil && e.args != nil {
		e.callID, _ = canonical.Checksum(e.tool.Name(), e.args)
	}
	return e
}

// handles takes in that the handler of a tool is called: c is the call.
func (c *foldCall) handles(handler *foldCall) {
	for _, op := range c.executes {
		if e := &op.execution; e.started && e.handler == nil && e.tool != nil && e.tool.Name() == handler.seam.Name {
			e.handler = handler
			return
		}
	}
}

// handled takes in that a handler has returned.
func (c *foldCall) handled(handler *foldCall, failed bool) {
	for _, op := range c.executes {
		if e := &op.execution; e.handler == handler {
			e.returned, e.failed = true, failed
		}
	}
}

// executionFor finds the execution that an event of the call is about.
func (c *foldCall) executionFor(x *adk.Crossing) *foldExecution {
	var found *foldExecution
	for _, op := range c.executes {
		e := &op.execution
		switch {
		case x.Kind == adk.KindToolExecutionEnd:
			if e.returned && !e.ended {
				return e
			}
		case e.started:
		case e.callID == x.Key:
			return e
		case found == nil:
			found = e
		}
	}
	return found
}

func (c *foldCall) executionEvent(x *adk.Crossing) error {
	e := c.executionFor(x)
	if e == nil {
		return fmt.Errorf("call %d executes no tool in this state", c.id)
	}
	if x.Kind == adk.KindToolExecutionStart {
		e.started, e.startedAt = true, x.At
	} else {
		e.ended = true
	}
	return nil
}

// Payload is what the listeners hear when the next crossing, an event, is told:
// a TurnStart, a MessageEvent and so on, from the crossings alone. The Gate of a
// TurnGateOpen is nil, since it lives in a run only. It is nil where the
// crossing is no event or nothing explains it.
func (f *Fold) Payload(x *adk.Crossing) any {
	payload, _ := f.derive(x)
	return payload
}

// derive is Payload, and whether user code gave it as it is.
func (f *Fold) derive(x *adk.Crossing) (payload any, given bool) {
	c := f.calls[x.Call]
	if c == nil || x.Kind.Class() != adk.ClassEvent {
		return nil, false
	}
	switch x.Kind {
	case adk.KindMessageEvent, adk.KindThoughtEvent, adk.KindToolCallEvent, adk.KindLogEvent:
		if at := c.caused(x); at >= 0 {
			return c.causes[at].payload, c.causes[at].given
		}
	case adk.KindTurnStart:
		return adk.TurnStart{TurnID: x.Name, StartedAt: x.At}, false
	case adk.KindTurnEnd:
		return adk.TurnEnd{TurnID: f.turnID, Span: adk.Span{StartedAt: f.startedAt, EndedAt: x.At}}, false
	case adk.KindErrorEvent:
		e := adk.ErrorEvent{TurnID: f.turnID, DispatchID: f.origin(c).DispatchID, At: x.At}
		e.Error, _ = x.Err.(*adk.Error)
		return e, false
	case adk.KindTurnGateOpen, adk.KindTurnGateClosed:
		return f.deriveGate(c, x), false
	case adk.KindToolExecutionStart, adk.KindToolExecutionEnd:
		return f.deriveExecution(c, x), false
	default:
		if d := c.dispatch; d != nil && d.call == c {
			return f.deriveLoop(d, x), false
		}
	}
	return nil, false
}

// deriveLoop is the payload of the loop's own events.
func (f *Fold) deriveLoop(d *foldDispatch, x *adk.Crossing) any {
	from := f.origin(d.call)
	switch x.Kind {
	case adk.KindDispatchStart:
		return adk.DispatchStart{TurnID: f.turnID, DispatchID: x.Name, StartedAt: x.At}
	case adk.KindDispatchEnd:
		return adk.DispatchEnd{TurnID: f.turnID, DispatchID: d.id, Span: adk.Span{StartedAt: d.startedAt, EndedAt: x.At},
			Status: x.Status, Error: x.Err, Iterations: d.started}
	case adk.KindIterationStart:
		from.Iteration = d.started
		return adk.IterationStart{Origin: from, StartedAt: x.At}
	case adk.KindIterationEnd:
		return adk.IterationEnd{Origin: from, Span: adk.Span{StartedAt: d.iteratingAt, EndedAt: x.At}}
	}
	return nil
}

func (f *Fold) deriveGate(c *foldCall, x *adk.Crossing) any {
	g := f.gateFor(c, x)
	switch {
	case g == nil:
		return nil
	case x.Kind == adk.KindTurnGateOpen:
		return adk.TurnGateOpen{Origin: f.origin(c), OpenedAt: g.at}
	}
	return adk.TurnGateClosed{Origin: f.origin(c), GateID: g.id, Result: g.result, By: g.by, SettledAt: x.At}
}

func (f *Fold) deriveExecution(c *foldCall, x *adk.Crossing) any {
	e := c.executionFor(x)
	if e == nil || e.tool == nil {
		return nil
	}
	if x.Kind == adk.KindToolExecutionEnd {
		return adk.ToolExecutionEnd{Origin: f.origin(c), ToolName: e.tool.Name(), CallID: e.callID, IsError: e.failed,
			Span: adk.Span{StartedAt: e.startedAt, EndedAt: x.At}}
	}
	validated, _ := e.tool.Validate(e.args) // what is refused starts nothing (TOL-3)
	return adk.ToolExecutionStart{Origin: f.origin(c), ToolName: e.tool.Name(), CallID: e.callID, Args: validated, StartedAt: x.At}
}

// CheckPayload tells whether the next crossing, where it is an event, says what
// the crossings before it lead to: its line, and its Payload where it has one.
// The error names the first field that differs. The text of a stream is compared
// by its length and its end, and as a whole when the stream is complete, so that
// checking a stream stays linear.
func (f *Fold) CheckPayload(x *adk.Crossing) error {
	if x.Kind.Class() != adk.ClassEvent {
		return nil
	}
	want, given := f.derive(x)
	if want == nil {
		return fmt.Errorf("event %s: nothing that was told before explains it", x.Kind)
	}
	err := f.checkLine(want, x)
	if err == nil && x.Payload != nil {
		err = comparePayload(want, x.Payload, given)
	}
	if err == nil && x.Kind == adk.KindTurnGateOpen {
		err = checkGate(x)
	}
	if err != nil {
		return fmt.Errorf("event %s: %w", x.Kind, err)
	}
	return nil
}

// checkLine holds what an event's line carries against what is derived.
func (f *Fold) checkLine(want any, x *adk.Crossing) error {
	switch e := want.(type) {
	case adk.ToolCallEvent:
		return differ("checksum", e.Checksum, x.Key)
	case adk.DispatchEnd:
		return differ("iterations", e.Iterations, x.N)
	case adk.IterationStart:
		return differ("iteration", e.Iteration, x.N)
	case adk.IterationEnd:
		return differ("iteration", e.Iteration, x.N)
	case adk.TurnGateClosed:
		return differ("result", e.Result, x.Status)
	case adk.ToolExecutionStart:
		return differ("callId", e.CallID, x.Key)
	case adk.ToolExecutionEnd:
		return differ("isError", e.IsError, x.IsError)
	case adk.ErrorEvent:
		if e.Error == nil {
			return fmt.Errorf("err: expected an error of the package, got %T (EVT-8)", x.Err)
		}
	}
	return nil
}

func differ[T comparable](field string, want, got T) error {
	if want != got {
		return fmt.Errorf("%s: expected %s, got %s", field, shortly(want), shortly(got))
	}
	return nil
}

// checkGate compares the one thing of a live gate that its line carries.
func checkGate(x *adk.Crossing) error {
	e, ok := x.Payload.(adk.TurnGateOpen)
	if !ok || e.Gate == nil {
		return nil // a trace has no live gate
	}
	return differ("Gate.ID", x.Name, e.Gate.ID())
}

// comparePayload names the first field in which two payloads differ. given says
// that the text of a stream is user code's own, and compared as it is.
func comparePayload(want, got any, given bool) error {
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if w.Type() != g.Type() {
		return fmt.Errorf("payload: expected %s, got %s", w.Type(), g.Type())
	}
	if !given && (w.Type() == reflect.TypeFor[adk.MessageEvent]() || w.Type() == reflect.TypeFor[adk.ThoughtEvent]()) {
		streamed := reflect.TypeFor[adk.StreamUpdate]()
		w, g = w.Convert(streamed), g.Convert(streamed)
		if err := compareFields(w, g, true); err != nil {
			return err
		}
		return compareStream(w.Interface().(adk.StreamUpdate), g.Interface().(adk.StreamUpdate))
	}
	return compareFields(w, g, false)
}

// compareStream compares the texts of two updates of one stream.
func compareStream(want, got adk.StreamUpdate) error {
	if want.Complete && want.Full != got.Full || len(want.Full) != len(got.Full) || !strings.HasSuffix(got.Full, want.Delta) {
		return fmt.Errorf("Full: expected %s, got %s", shortly(want.Full), shortly(got.Full))
	}
	return nil
}

// compareFields walks two structs of one type. streamed leaves the text so far
// to compareStream.
func compareFields(want, got reflect.Value, streamed bool) error {
	for i := range want.NumField() {
		field := want.Type().Field(i)
		w, g := want.Field(i), got.Field(i)
		switch {
		case field.Type == reflect.TypeFor[*adk.TurnGate](), streamed && field.Name == "Full":
			continue
		case field.Anonymous:
			if err := compareFields(w, g, streamed); err != nil {
				return err
			}
			continue
		}
		if !equalValues(w, g) {
			return fmt.Errorf("%s: expected %s, got %s", field.Name, shortly(w.Interface()), shortly(g.Interface()))
		}
	}
	return nil
}

// equalValues compares two values of one field.
func equalValues(want, got reflect.Value) bool {
	switch want.Kind() {
	case reflect.String, reflect.Bool, reflect.Int:
		return want.Equal(got)
	}
	g := got.Interface()
	switch w := want.Interface().(type) {
	case time.Time:
		return w.Equal(g.(time.Time))
	case *adk.Error:
		g := g.(*adk.Error)
		return w == g || w != nil && g != nil && errorWords(w) == errorWords(g)
	case error:
		g, ok := g.(error)
		return ok && errorWords(w) == errorWords(g)
	case adk.ToolResult:
		g, ok := g.(adk.ToolResult)
		return ok && equalResults(w, g)
	default:
		return plain.Equal(w, g)
	}
}

// equalResults compares what two tools gave.
func equalResults(want, got adk.ToolResult) bool {
	switch w := want.(type) {
	case adk.Bytes:
		g, ok := got.(adk.Bytes)
		return ok && bytes.Equal(w, g)
	case adk.MediaList:
		g, ok := got.(adk.MediaList)
		return ok && slices.EqualFunc(w, g, func(w, g *adk.Media) bool {
			return w == g || w != nil && g != nil && w.Digest() == g.Digest()
		})
	case adk.Record:
		g, ok := got.(adk.Record)
		return ok && w.RecordKind() == g.RecordKind() && w.Digest() == g.Digest()
	}
	return false
}

// errorWords is the text of an error, even of one whose own method panics.
func errorWords(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T, whose text panics", err)
		}
	}()
	return err.Error()
}

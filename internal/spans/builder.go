package spans

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Options says what spans contain.
type Options struct {
	// Agent is the name of the run's agent, or "".
	Agent string
	// Content says to include what was said: messages, instructions, definitions of tools,
	// arguments, results, and the texts of errors.
	Content bool
	// WithoutHTTP says to omit the spans of requests over HTTP to anybody but a model.
	WithoutHTTP bool
	// Events says to emit an event outside of spans for each time that a model was asked.
	Events bool
}

// Builder makes the spans of one run. It holds only what is open, and no records. It tolerates
// crossings that no engine would record.
type Builder struct {
	options Options
	sink    Sink
	spans   int
	root    *Span
	calls   map[int]*call
	asks    map[int]*ask       // the open ones, by their operations
	tools   map[int]*execution // likewise
	within  map[strandOf][]*execution
	ids     map[string][]string
	latest  time.Time
}

// call is a seam call that has not returned.
type call struct {
	parent   *call
	seam     adk.Seam
	began    time.Time
	span     *Span // the innermost one around what happens in the call
	own      bool  // the span begins and ends with the call
	run      *executorRun
	reported string         // the id of the tool call that was reported last
	failed   map[uint64]int // how often each request failed
	tool     *execution     // the execution that called it
}

// executorRun is a call of an executor, including what is below it except for tools.
type executorRun struct {
	name      string
	iteration int
	asks      bool      // crossings show whom it asks
	executed  time.Time // when it executed its first tool; zero if it did not
}

// execution is an execution of a tool.
type execution struct {
	span   *Span
	of     strandOf
	result string
}

// strandOf is a strand in a call. Executions in it are nested.
type strandOf struct{ call, strand int }

// NewBuilder returns the Builder of a run.
func NewBuilder(sink Sink, o Options) *Builder {
	return &Builder{options: o, sink: sink, calls: map[int]*call{}, asks: map[int]*ask{}, tools: map[int]*execution{}, within: map[strandOf][]*execution{}, ids: map[string][]string{}}
}

// SpanOf returns the innermost span around what happens in an open call, or nil if there is none.
func (b *Builder) SpanOf(id int) *Span {
	if c := b.calls[id]; c != nil {
		return c.span
	}
	return nil
}

// Take takes the next crossing.
func (b *Builder) Take(x *adk.Crossing) {
	b.latest = x.At
	switch {
	case x.Kind == adk.KindCall:
		b.enter(x)
	case x.Kind == adk.KindReturn:
		b.leave(x)
	case wire.RunsTool(x):
		b.execute(x)
	case wire.ToolRan(x):
		b.executed(x)
	case wire.IsAsk(x):
		b.ask(x)
	case wire.IsPiece(x):
		if a := b.asks[x.Op]; a != nil {
			a.piece(x)
		}
	default:
		b.note(x)
	}
}

// Close ends everything that is open, because the run breaks off.
func (b *Builder) Close() {
	var open []*Span
	for _, a := range b.asks {
		open = append(open, a.span)
	}
	for _, t := range b.tools {
		open = append(open, t.span)
	}
	for _, c := range b.calls {
		if c.own {
			open = append(open, c.span)
		}
	}
	slices.SortFunc(open, func(a, b *Span) int { return cmp.Compare(b.Number, a.Number) })
	for _, s := range open {
		b.end(s, b.latest)
	}
	b.calls, b.asks, b.tools, b.within = map[int]*call{}, map[int]*ask{}, map[int]*execution{}, map[strandOf][]*execution{}
}

// start begins a span below parent, or without a parent if that is nil.
func (b *Builder) start(parent *Span, at time.Time, operation, subject string, kind Kind) *Span {
	b.spans++
	s := &Span{Number: b.spans, Name: operation, Kind: kind, Begin: at}
	if subject != "" {
		s.Name += " " + subject
	}
	if parent != nil {
		s.Parent = parent.Number
	}
	s.set(operationName, operation)
	return s
}

func (b *Builder) end(s *Span, at time.Time) {
	s.End = at
	b.sink.End(s)
}

// enter begins a call.
func (b *Builder) enter(x *adk.Crossing) {
	c := &call{parent: b.calls[x.Call], seam: x.Seam, began: x.At}
	b.calls[x.ID] = c
	if c.parent != nil {
		c.span, c.run = c.parent.span, c.parent.run
	}
	switch {
	case c.parent == nil:
		c.span, c.own = b.startAgent(x.At, nil, cmp.Or(b.options.Agent, x.Seam.Name)), true
		if b.root == nil {
			b.root = c.span
		}
	case x.Seam.Label == adk.LabelDispatch && x.Seam.Name != "":
		c.span, c.own = b.startAgent(x.At, c.span, x.Seam.Name), true
	case x.Seam.Label == adk.LabelExecutor:
		c.run = &executorRun{name: x.Seam.Name, iteration: x.Seam.Iteration}
	case x.Seam.Label == adk.LabelTool:
		c.run = nil
		if c.tool = b.executionOf(x); c.tool != nil {
			c.span = c.tool.span
		}
	}
}

func (b *Builder) startAgent(at time.Time, parent *Span, name string) *Span {
	s := b.start(parent, at, invokeAgent, name, Internal)
	s.set(agentName, name)
	b.sink.Start(s)
	return s
}

// executionOf returns the execution that calls a tool: the latest one of its strand in the calling
// call.
func (b *Builder) executionOf(x *adk.Crossing) *execution {
	if open := b.within[strandOf{x.Call, x.Strand}]; len(open) > 0 {
		return open[len(open)-1]
	}
	return nil
}

// leave ends a call.
func (b *Builder) leave(x *adk.Crossing) {
	c := b.calls[x.ID]
	if c == nil {
		return
	}
	delete(b.calls, x.ID)
	switch {
	case c.tool != nil:
		if b.options.Content {
			c.tool.result = resultText(x.Result)
		}
	case c.seam.Label == adk.LabelExecutor && c.run != nil && !c.run.asks:
		b.unseen(c, x)
	case c.own:
		b.end(c.span, x.At)
	}
}

// unseen makes a span for an executor that asked a model in a way that no crossing shows. The span
// lasts from the beginning of the executor's call until it executes its first tool.
func (b *Builder) unseen(c *call, x *adk.Crossing) {
	s := b.start(c.span, c.began, "chat", "", Internal)
	s.set(providerName, c.run.name)
	c.run.describe(s)
	b.sink.Start(s)
	if x.Outcome != adk.OutcomeOK {
		s.fail(cmp.Or(failureType(x.Err), string(x.Outcome)))
	}
	if c.run.executed.IsZero() {
		c.run.executed = x.At
	}
	if x.Err != nil {
		b.except(s, c.run.executed, x.Err)
	}
	b.end(s, c.run.executed)
}

func (r *executorRun) describe(s *Span) {
	s.set(executorName, r.name)
	s.set(iteration, int64(r.iteration))
}

// execute begins the execution of a tool.
func (b *Builder) execute(x *adk.Crossing) {
	tool, ok := x.Record.(*adk.Tool)
	if !ok {
		return
	}
	if c := b.calls[x.Call]; c != nil && c.run != nil && c.run.executed.IsZero() {
		c.run.executed = x.At
	}
	s := b.start(b.SpanOf(x.Call), x.At, executeTool, tool.Name(), Internal)
	s.set(toolName, tool.Name())
	s.set(toolType, "function")
	s.set(toolDescription, tool.Description())
	if b.options.Content {
		s.set(toolArguments, argumentsText(x.Args))
	}
	b.sink.Start(s)
	t := &execution{span: s, of: strandOf{x.Call, x.Strand}}
	b.tools[x.Op] = t
	b.within[t.of] = append(b.within[t.of], t)
}

// executed ends the execution of a tool.
func (b *Builder) executed(x *adk.Crossing) {
	t := b.tools[x.Op]
	if t == nil {
		return
	}
	delete(b.tools, x.Op)
	open := b.within[t.of]
	for i := len(open) - 1; i >= 0; i-- { // it is the last one, except in a damaged trace
		if open[i] == t {
			open = append(open[:i], open[i+1:]...)
			break
		}
	}
	if b.within[t.of] = open; len(open) == 0 {
		delete(b.within, t.of)
	}
	t.span.set(toolResult, t.result)
	if x.Err != nil {
		b.fail(t.span, x.At, x.Err)
	}
	b.end(t.span, x.At)
}

// fail marks a span as failed with an error.
func (b *Builder) fail(s *Span, at time.Time, err error) {
	s.fail(failureType(err))
	b.except(s, at, err)
}

// except adds the event of an error. err may be nil if somebody has edited the trace.
func (b *Builder) except(s *Span, at time.Time, err error) {
	if err == nil {
		return
	}
	attributes := []Attribute{{exceptionType, failureType(err)}}
	if b.options.Content {
		attributes = append(attributes, Attribute{exceptionMessage, err.Error()})
	}
	s.happened(at, exceptionEvent, attributes...)
}

// note takes a crossing that neither begins nor ends a span.
func (b *Builder) note(x *adk.Crossing) {
	s := b.SpanOf(x.Call)
	if s == nil {
		s = b.root
	}
	if s == nil {
		return
	}
	switch {
	case wire.BeginsTurn(x):
		s.set(turnID, x.Name)
	case wire.BeginsDispatch(x):
		s.set(dispatchID, x.Name)
	case wire.EndsDispatch(x):
		s.set(dispatchStatus, x.Status)
		s.set(iterations, int64(x.N))
		if x.Status != adk.StatusAck {
			s.fail(failureOr(x.Err, x.Status))
		}
	case wire.TellsError(x):
		b.except(s, x.At, x.Err)
		if errors.Is(x.Err, adk.E_INPUT_PIPELINE_ERROR) || errors.Is(x.Err, adk.E_OUTPUT_PIPELINE_ERROR) {
			s.fail(failureType(x.Err))
		}
	case wire.IsCancel(x):
		b.root.happened(x.At, cancelEvent, Attribute{cancelBy, x.Key})
		b.root.fail(failureOr(x.Cause, "canceled"))
	case wire.OpensGate(x):
		s.happened(x.At, gateOpenEvent, Attribute{gateID, x.Name})
	case wire.ClosesGate(x):
		s.happened(x.At, gateClosedEvent, Attribute{gateID, x.Name}, Attribute{gateResult, x.Status})
	default:
		b.identify(x)
	}
}

// identify sets the id of the tool call for an execution: the id that was reported with the
// checksum of the execution, in the order of the reports. If none was reported, the id is the
// checksum.
func (b *Builder) identify(x *adk.Crossing) {
	c := b.calls[x.Call]
	if c == nil {
		return
	}
	switch {
	case wire.ReportsToolCall(x):
		c.reported = x.Name
	case wire.TellsToolCall(x):
		if ids := b.ids[x.Key]; c.reported != "" && !slices.Contains(ids, c.reported) {
			b.ids[x.Key] = append(ids, c.reported)
		}
		c.reported = ""
	case wire.ToolBegins(x):
		id, ids := x.Key, b.ids[x.Key]
		if len(ids) > 0 {
			id = ids[0]
		}
		if len(ids) > 1 {
			b.ids[x.Key] = ids[1:]
		}
		if t := b.executionOf(x); t != nil {
			t.span.set(toolCallID, id)
		}
	}
}

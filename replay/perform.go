package replay

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// stage builds scripted seams: user code that does what its recorded call did,
// and returns what that returned. It performs operations; which ones, and when,
// is its director's to say.
type stage struct {
	director director
	gates    adk.Observability // what hears the gates of a dispatch called alone, and of a turn

	mu       sync.Mutex
	handles  map[int]*handle         // by the number of the recorded call
	offAck   map[ackHandler]func()   // by the recorded handler
	strands  map[int]*adk.Strand     // by the number of the recorded strand
	lastFork map[int]int             // the number of the strand that a recorded call forked last
	cancels  map[int]func(error)     // of the contexts given to scripted waits, by recorded operation
	tools    map[*adk.Tool]*adk.Tool // the recorded ones, with their handlers of today
}

// ackHandler is a recorded on-ack handler, by the call that registered it, which also
// takes it off: each dispatch numbers its own.
type ackHandler struct{ call, id int }

// ackHandlerOf is the handler that a crossing registers or takes off.
func ackHandlerOf(x *adk.Crossing) ackHandler { return ackHandler{x.Call, x.ID} }

// director says what scripted seams do.
type director interface {
	// play makes a call do what its recorded one did, through stage.operate, and
	// gives the line of the recorded return. The error says that there is none.
	play(h *handle, call, strand int) (*adk.Crossing, error)
	// today is a recorded tool with the handler that it has in the new run.
	today(recorded *adk.Tool) *adk.Tool
	// executable is the tool that a recorded execute is made with.
	executable(h adk.Handle, recorded *adk.Tool) *adk.Tool
	// opened does what the reader of a recorded opening did, and gives what that
	// gave.
	opened(x *adk.Crossing) ([]byte, error)
	// The answers of the engine are held against the recording.
	answers
}

// newStage is a stage whose calls d directs.
func newStage(d director) *stage {
	return &stage{director: d, handles: map[int]*handle{}, offAck: map[ackHandler]func(){}, strands: map[int]*adk.Strand{}, lastFork: map[int]int{},
		cancels: map[int]func(error){}, tools: map[*adk.Tool]*adk.Tool{}}
}

// handle is what a scripted seam was handed.
type handle struct {
	strand int
	ctx    context.Context
	tc     *adk.TurnContext
	dc     *adk.DispatchContext
	h      *adk.Helpers
	next   adk.Next
}

// enter keeps the handle of a recorded call that is played, for the operations
// made through it.
func (s *stage) enter(recorded int, h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handles[recorded] = h
}

// endWait ends the context that a scripted wait was given.
func (s *stage) endWait(op int, cause error) {
	s.mu.Lock()
	end := s.cancels[op]
	s.mu.Unlock()
	if end != nil {
		end(cause)
	}
}

// script plays a call of a seam that answers with an error only.
func (s *stage) script(h *handle, id, strand int) error {
	x, err := s.director.play(h, id, strand)
	if err != nil {
		return err
	}
	return leave(x)
}

func (s *stage) turnMiddleware(name string) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		id, strand := tc.Where()
		return s.script(&handle{ctx: ctx, tc: tc, next: next}, id, strand)
	}}
}

func (s *stage) dispatchMiddleware(name string) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		id, strand := dc.Where()
		return s.script(&handle{ctx: ctx, dc: dc, h: dc.Helpers(), next: next}, id, strand)
	}}
}

// dispatchInput is a scripted dispatch; source is nil for one called alone.
func (s *stage) dispatchInput(name string, info adk.RunInfo, source adk.Source) adk.DispatchInput {
	return adk.DispatchInput{Name: name, Source: source, Executor: s.executor(info.Executor),
		Input:  each(info.DispatchInput, s.dispatchMiddleware),
		Output: each(info.DispatchOutput, s.dispatchMiddleware)}
}

func (s *stage) executor(name string) adk.Executor {
	return adk.Executor{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		id, strand := dc.Where()
		return s.script(&handle{ctx: ctx, dc: dc, h: h}, id, strand)
	}}
}

// tool is a recorded tool with the handler that it has in the new run.
func (s *stage) tool(recorded *adk.Tool) *adk.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	today := s.tools[recorded]
	if today == nil {
		today = s.director.today(recorded)
		s.tools[recorded] = today
	}
	return today
}

// made reports whether a tool is one that tool gave.
func (s *stage) made(record adk.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, today := range s.tools {
		if record == adk.Record(today) {
			return true
		}
	}
	return false
}

// scriptedHandler is what a recorded tool did.
func (s *stage) scriptedHandler(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
	id, strand := dc.Where()
	x, err := s.director.play(&handle{ctx: ctx, dc: dc, h: dc.Helpers()}, id, strand)
	if err != nil {
		return nil, err
	}
	if err := leave(x); err != nil {
		return nil, err
	}
	return x.Result, nil
}

// collection is a scripted storage of one kind of record.
type collection[T adk.Record] struct{ stage *stage }

func (c collection[T]) Fetch(ctx context.Context, s adk.Scope) ([]T, error) {
	return fetched[T](c.stage, ctx, s)
}

func (c collection[T]) Store(ctx context.Context, s adk.Scope, record T) error {
	c.stage.director.handed(s, record, "")
	return c.stage.script(&handle{ctx: ctx}, s.Call, s.Strand)
}

func (c collection[T]) Mutate(ctx context.Context, s adk.Scope, record T) error {
	c.stage.director.handed(s, record, "")
	return c.stage.script(&handle{ctx: ctx}, s.Call, s.Strand)
}

func (c collection[T]) Delete(ctx context.Context, s adk.Scope, key string) error {
	c.stage.director.handed(s, nil, key)
	return c.stage.script(&handle{ctx: ctx}, s.Call, s.Strand)
}

// toolSource is the scripted storage of tools.
type toolSource struct{ stage *stage }

func (t toolSource) Fetch(ctx context.Context, s adk.Scope) ([]*adk.Tool, error) {
	recorded, err := fetched[*adk.Tool](t.stage, ctx, s)
	for i, tool := range recorded {
		recorded[i] = t.stage.tool(tool)
	}
	return recorded, err
}

// fetched answers a fetch with the recorded records.
func fetched[T adk.Record](st *stage, ctx context.Context, s adk.Scope) ([]T, error) {
	st.director.handed(s, nil, "")
	x, err := st.director.play(&handle{ctx: ctx}, s.Call, s.Strand)
	if err != nil {
		return nil, err
	}
	if err := leave(x); err != nil {
		return nil, err
	}
	var records []T
	for _, r := range x.Records {
		record, ok := r.(T)
		if !ok {
			return nil, errors.New("replay: the trace has a record of another kind here")
		}
		records = append(records, record)
	}
	return records, nil
}

// operate performs one recorded operation through the handle that it was
// recorded on. It reports whether x is something that user code can do.
func (s *stage) operate(x *adk.Crossing) bool {
	s.mu.Lock()
	h := s.handles[x.Call]
	s.mu.Unlock()
	if h == nil || h.strand != x.Strand { // what a handle does, it does in its own strand
		return false
	}
	switch {
	case x.Kind == adk.KindContained:
		return s.misuse(h, x)
	case x.Kind == adk.KindCall && x.Seam.Label == adk.LabelDispatch && x.Seams != nil:
		return s.dispatch(h, x)
	}
	if x.Kind.Class() != adk.ClassOperation || x.Phase == adk.Done {
		return false
	}
	ctx := h.ctx
	switch x.Kind {
	case adk.KindNext:
		if h.next == nil {
			return false
		}
		h.next(ctx)
		return true
	case adk.KindSleep, adk.KindWaitFor:
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		s.mu.Lock()
		s.cancels[x.Op] = end
		s.mu.Unlock()
	}
	switch {
	case h.helpers(s, x):
		return true
	case h.tc != nil:
		return s.turnOperation(ctx, h.tc, x) || s.operation(ctx, h.tc.Handle, x)
	case h.dc != nil:
		return s.dispatchOperation(ctx, h.dc, x) || s.operation(ctx, h.dc.Handle, x)
	}
	return false
}

// dispatch calls a dispatch from the context that the handle has.
func (s *stage) dispatch(h *handle, x *adk.Crossing) bool {
	source := h.source()
	if source == nil {
		return false
	}
	_, _ = adk.Dispatch(endedBy(h.ctx, x.Cause), s.dispatchInput(x.Seam.Name, *x.Seams, source))
	return true
}

// endedBy is ctx, or one below it that has ended where a cause says so.
func endedBy(ctx context.Context, cause error) context.Context {
	if cause != nil {
		below, end := context.WithCancelCause(ctx)
		end(cause)
		return below
	}
	return ctx
}

// source is what a dispatch can be called from with the handle; nil for a handle
// of storage.
func (h *handle) source() adk.Source {
	switch {
	case h.tc != nil:
		return h.tc
	case h.dc != nil:
		return h.dc
	}
	return nil
}

// operation performs what every handle offers.
func (s *stage) operation(ctx context.Context, h adk.Handle, x *adk.Crossing) bool {
	switch x.Kind {
	case adk.KindAbort:
		s.director.answered(x, h.Abort(x.Cause))
	case adk.KindNow:
		if at := h.Now(); !at.Equal(x.At) {
			s.director.wrong(x, "answer", x.At, at)
		}
	case adk.KindNewID:
		if id := h.NewID(); id != x.Name {
			s.director.wrong(x, "answer", x.Name, id)
		}
	case adk.KindWait:
		return s.waits(x)
	case adk.KindSleep:
		s.director.answered(x, h.Sleep(ctx, x.Duration))
	case adk.KindStash:
		s.director.answered(x, h.Stash().Set(x.Name, x.Value))
	case adk.KindWaitFor:
		value, err := h.WaitFor(ctx, adk.Gate{ID: x.Name, Reason: x.Text, Payload: x.Value, Schema: x.Schema, Timeout: x.Duration})
		s.answeredValue(x, value, err)
	case adk.KindOpenMedia:
		return s.openMedia(ctx, h, x)
	case adk.KindEmitMessage:
		e, _ := x.Payload.(adk.MessageEvent)
		s.director.answered(x, h.EmitMessage(e))
	case adk.KindEmitThought:
		e, _ := x.Payload.(adk.ThoughtEvent)
		s.director.answered(x, h.EmitThought(e))
	case adk.KindEmitToolCall:
		e, _ := x.Payload.(adk.ToolCallEvent)
		s.director.answered(x, h.EmitToolCall(e))
	case adk.KindRegister:
		tool, ok := x.Record.(*adk.Tool)
		if !ok {
			return false
		}
		if x.Flag {
			s.director.answered(x, h.Tools().Replace(s.tool(tool)))
		} else {
			s.director.answered(x, h.Tools().Register(s.tool(tool)))
		}
	case adk.KindUnregister:
		found, err := h.Tools().Unregister(x.Name)
		s.answeredFlag(x, found, err)
	case adk.KindPrune:
		pruned, err := h.Tools().PruneEphemeral()
		s.director.answered(x, err)
		if !slices.Equal(pruned, x.Texts) {
			s.director.wrong(x, "answer", x.Texts, pruned)
		}
	default:
		return s.recordOperation(ctx, h, x)
	}
	return true
}

// recordOperation performs an operation on one of the collections.
func (s *stage) recordOperation(ctx context.Context, h adk.Handle, x *adk.Crossing) bool {
	switch x.Collection {
	case adk.Messages:
		return operateOn(ctx, s, h.Messages(), x)
	case adk.Memories:
		return operateOn(ctx, s, h.Memories(), x)
	case adk.Retrievables:
		return operateOn(ctx, s, h.Retrievables(), x)
	case adk.Thoughts:
		return operateOn(ctx, s, h.Thoughts(), x)
	case adk.ToolCalls:
		return operateOn(ctx, s, h.ToolCalls(), x)
	case adk.Instructions:
		return operateOn(ctx, s, h.Instructions(), x)
	case adk.Tools:
		if x.Kind != adk.KindFetch {
			return false
		}
		tools, err := h.Tools().Fetch(ctx)
		answeredRecords(s, x, tools, err)
		return true
	}
	return false
}

// records is what adk.Records offers for one kind of record.
type records[T any] interface {
	Add(T) (bool, error)
	Remove(string) (bool, error)
	Fetch(context.Context) ([]T, error)
	Store(context.Context, T) error
	Mutate(context.Context, T) error
	Delete(context.Context, string) error
}

func operateOn[T adk.Record](ctx context.Context, s *stage, set records[T], x *adk.Crossing) bool {
	record, isRecord := x.Record.(T)
	switch x.Kind {
	case adk.KindFetch, adk.KindRefresh:
		fetched, err := set.Fetch(ctx)
		answeredRecords(s, x, fetched, err)
		return true
	case adk.KindRemove:
		found, err := set.Remove(x.Key)
		s.answeredFlag(x, found, err)
		return true
	case adk.KindDelete:
		s.director.answered(x, set.Delete(ctx, x.Key))
		return true
	}
	if !isRecord {
		return false
	}
	switch x.Kind {
	case adk.KindAdd:
		replaced, err := set.Add(record)
		s.answeredFlag(x, replaced, err)
	case adk.KindStore:
		s.director.answered(x, set.Store(ctx, record))
	case adk.KindMutate:
		s.director.answered(x, set.Mutate(ctx, record))
	default:
		return false
	}
	return true
}

// turnOperation performs what only a turn context offers.
func (s *stage) turnOperation(ctx context.Context, tc *adk.TurnContext, x *adk.Crossing) bool {
	if x.Kind != adk.KindFork {
		return false
	}
	strand, _ := tc.Fork(ctx, x.Name, func(ctx context.Context, tc *adk.TurnContext) error {
		id, strand := tc.Where()
		return s.script(&handle{ctx: ctx, tc: tc}, id, strand)
	})
	s.forked(x, strand)
	return true
}

// forked keeps a strand for who waits for it.
func (s *stage) forked(x *adk.Crossing, strand *adk.Strand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strands[x.ID], s.lastFork[x.Call] = strand, x.ID
}

// waits waits for a strand again. It reports whether there is one.
func (s *stage) waits(x *adk.Crossing) bool {
	s.mu.Lock()
	strand := s.strands[x.ID]
	s.mu.Unlock()
	if strand == nil {
		return false
	}
	s.director.answered(x, strand.Wait())
	return true
}

// dispatchOperation performs what only a dispatch context offers.
func (s *stage) dispatchOperation(ctx context.Context, dc *adk.DispatchContext, x *adk.Crossing) bool {
	switch x.Kind {
	case adk.KindFork:
		strand, _ := dc.Fork(ctx, x.Name, func(ctx context.Context, dc *adk.DispatchContext) error {
			id, strand := dc.Where()
			return s.script(&handle{ctx: ctx, dc: dc, h: dc.Helpers()}, id, strand)
		})
		s.forked(x, strand)
	case adk.KindAck:
		s.director.answered(x, dc.Ack())
	case adk.KindNack:
		s.director.answered(x, dc.Nack(x.Cause))
	case adk.KindOnAck:
		off, err := dc.OnAck(x.Name, func(dc *adk.DispatchContext) {
			id, strand := dc.Where()
			_ = s.script(&handle{ctx: ctx, dc: dc, h: dc.Helpers()}, id, strand) // a handler gives no error
		})
		if err == nil {
			s.mu.Lock()
			s.offAck[ackHandlerOf(x)] = off
			s.mu.Unlock()
		}
	case adk.KindOffAck:
		s.mu.Lock()
		off := s.offAck[ackHandlerOf(x)]
		s.mu.Unlock()
		if off == nil {
			return false
		}
		off()
	case adk.KindExecute:
		tool, ok := x.Record.(*adk.Tool)
		if !ok {
			return false
		}
		result, err := dc.Execute(ctx, s.director.executable(dc.Handle, tool), x.Args)
		s.answeredResult(x, result, err)
	default:
		return false
	}
	return true
}

// helpers performs what only the executor's helpers offer.
func (h *handle) helpers(s *stage, x *adk.Crossing) bool {
	if h.h == nil {
		return false
	}
	switch x.Kind {
	case adk.KindReportMessage:
		_, err := h.h.ReportMessage(x.Name, x.Text, x.Flag)
		s.director.answered(x, err)
	case adk.KindReportThought:
		_, err := h.h.ReportThought(x.Name, x.Text, x.Flag)
		s.director.answered(x, err)
	case adk.KindReportToolCall:
		_, err := h.h.ReportToolCall(x.Name, adk.ToolCallReport{Tool: x.Key, Args: x.Args, Results: x.Result, IsError: x.IsError, Complete: x.Flag})
		s.director.answered(x, err)
	case adk.KindReportLog:
		h.h.Log(adk.Level(x.Key), x.Name, x.Text, x.Value)
	default:
		return false
	}
	return true
}

// misuse makes the misuse that the recorded run contained: a second next, or an
// operation on a handle that had ended.
func (s *stage) misuse(h *handle, x *adk.Crossing) bool {
	if x.Name == "second next" || x.Name == "late next" {
		if h.next == nil {
			return false
		}
		h.next(h.ctx)
		return true
	}
	kind, late := strings.CutPrefix(x.Name, "late ")
	if !late {
		return false
	}
	// What it was given does not matter, as long as the engine looks at it.
	again := adk.Crossing{Kind: adk.KindByName(kind), Call: x.Call, Strand: x.Strand, Collection: adk.Messages, Name: "late", Text: "late"}
	switch again.Kind {
	case adk.KindCall:
		again.Seam, again.Seams = adk.Seam{Label: adk.LabelDispatch, Name: "late"}, &adk.RunInfo{Executor: "late"}
	case adk.KindRefresh:
		again.Collection = adk.Instructions
	case adk.KindAdd, adk.KindStore, adk.KindMutate:
		again.Record = anyMessage
	case adk.KindRegister, adk.KindExecute:
		again.Record = anyTool
	case adk.KindOpenMedia:
		again.Record = anyMedia
	case adk.KindWait:
		s.mu.Lock()
		again.ID = s.lastFork[x.Call]
		s.mu.Unlock()
	}
	return s.operate(&again)
}

// Records for operations that never reach a set: what a late operation is given
// does not matter, as long as it is something.
var (
	anyMessage = mustMessage()
	anyTool    = mustTool()
	anyMedia   = mustMedia()
)

func mustMessage() *adk.Message {
	at := time.Unix(0, 0)
	m, err := adk.NewMessage(adk.MessageInit{ID: "late", Role: adk.RoleUser, Content: "late", CreatedAt: at, UpdatedAt: at})
	if err != nil {
		panic(err)
	}
	return m
}

func mustMedia() *adk.Media {
	m, err := adk.NewToolGenerated(adk.MediaInit{ID: "late", Kind: adk.MediaDocument, MIMEType: "text/plain", Filename: "late",
		Reader: adk.MediaBytes(nil)})
	if err != nil {
		panic(err)
	}
	return m
}

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

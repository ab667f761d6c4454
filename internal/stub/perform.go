package stub

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
)

// Stage builds scripted seams: user code that does what its recorded call did,
// and returns what that returned. It performs operations; which ones, and when,
// is its director's to say.
type Stage struct {
	director Director
	Gates    adk.Observability // what hears the gates of a standalone dispatch, and of a turn

	mu        sync.Mutex
	handles   map[int]*Handle             // by the number of the recorded call
	offAck    map[calls.AckHandler]func() // by the recorded handler
	strands   map[int]*adk.Strand         // by the number of the recorded strand
	lastFork  map[int]int                 // the number of the strand that a recorded call forked last
	cancels   map[int]func(error)         // of the contexts given to scripted waits, by recorded operation
	tools     map[*adk.Tool]*adk.Tool     // the recorded ones, with their handlers of today
	exchanges map[int]*adk.Exchange       // by recorded operation: the asks that were made again
}

// Director says what scripted seams do.
type Director interface {
	// play makes a call do what its recorded one did, through stage.operate, and
	// gives the line of the recorded return. The error says that there is none.
	Play(h *Handle, call, strand int) (*adk.Crossing, error)
	// today is a recorded tool with the handler that it has in the new run.
	Today(recorded *adk.Tool) *adk.Tool
	// executable is the tool that a recorded execute is made with.
	Executable(h adk.Handle, recorded *adk.Tool) *adk.Tool
	// opened does what the reader of a recorded opening did, and gives what that
	// gave.
	Opened(x *adk.Crossing) ([]byte, error)
	// The answers of the engine are held against the recording.
	Answers
}

// NewStage is a stage whose calls d directs.
func NewStage(d Director) *Stage {
	return &Stage{director: d, handles: map[int]*Handle{}, offAck: map[calls.AckHandler]func(){}, strands: map[int]*adk.Strand{}, lastFork: map[int]int{},
		cancels: map[int]func(error){}, tools: map[*adk.Tool]*adk.Tool{}, exchanges: map[int]*adk.Exchange{}}
}

// Handle is what a scripted seam was handed.
type Handle struct {
	Strand int
	ctx    context.Context
	tc     *adk.TurnContext
	dc     *adk.DispatchContext
	h      *adk.Helpers
	next   adk.Next
}

// Enter keeps the handle of a recorded call that is played, for the operations
// made through it.
func (s *Stage) Enter(recorded int, h *Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handles[recorded] = h
}

// EndWait ends the context that a scripted wait was given.
func (s *Stage) EndWait(op int, cause error) {
	s.mu.Lock()
	end := s.cancels[op]
	s.mu.Unlock()
	if end != nil {
		end(cause)
	}
}

// script plays a call of a seam that answers with an error only.
func (s *Stage) script(h *Handle, id, strand int) error {
	x, err := s.director.Play(h, id, strand)
	if err != nil {
		return err
	}
	return leave(x)
}

func (s *Stage) turnMiddleware(name string) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		id, strand := tc.Where()
		return s.script(&Handle{ctx: ctx, tc: tc, next: next}, id, strand)
	}}
}

func (s *Stage) dispatchMiddleware(name string) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		id, strand := dc.Where()
		return s.script(&Handle{ctx: ctx, dc: dc, h: dc.Helpers(), next: next}, id, strand)
	}}
}

// dispatchInput is a scripted dispatch; source is nil for one called alone.
func (s *Stage) dispatchInput(name string, info adk.RunInfo, source adk.Source) adk.DispatchInput {
	return adk.DispatchInput{Name: name, Source: source, Executor: s.executor(info.Executor),
		Input:  safetext.Each(info.DispatchInput, s.dispatchMiddleware),
		Output: safetext.Each(info.DispatchOutput, s.dispatchMiddleware)}
}

func (s *Stage) executor(name string) adk.Executor {
	return adk.Executor{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		id, strand := dc.Where()
		return s.script(&Handle{ctx: ctx, dc: dc, h: h}, id, strand)
	}}
}

// Tool is a recorded tool with the handler that it has in the new run.
func (s *Stage) Tool(recorded *adk.Tool) *adk.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	today := s.tools[recorded]
	if today == nil {
		today = s.director.Today(recorded)
		s.tools[recorded] = today
	}
	return today
}

// Made reports whether a tool is one that tool gave.
func (s *Stage) Made(record adk.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, today := range s.tools {
		if record == adk.Record(today) {
			return true
		}
	}
	return false
}

// ScriptedHandler is what a recorded tool did.
func (s *Stage) ScriptedHandler(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
	id, strand := dc.Where()
	x, err := s.director.Play(&Handle{ctx: ctx, dc: dc, h: dc.Helpers()}, id, strand)
	if err != nil {
		return nil, err
	}
	if err := leave(x); err != nil {
		return nil, err
	}
	return x.Result, nil
}

// collection is a scripted storage of one kind of record.
type collection[T adk.Record] struct{ stage *Stage }

func (c collection[T]) Fetch(ctx context.Context, s adk.Scope) ([]T, error) {
	return fetched[T](c.stage, ctx, s)
}

func (c collection[T]) Store(ctx context.Context, s adk.Scope, record T) error {
	c.stage.director.Handed(s, record, "")
	return c.stage.script(&Handle{ctx: ctx}, s.Call, s.Strand)
}

func (c collection[T]) Mutate(ctx context.Context, s adk.Scope, record T) error {
	c.stage.director.Handed(s, record, "")
	return c.stage.script(&Handle{ctx: ctx}, s.Call, s.Strand)
}

func (c collection[T]) Delete(ctx context.Context, s adk.Scope, key string) error {
	c.stage.director.Handed(s, nil, key)
	return c.stage.script(&Handle{ctx: ctx}, s.Call, s.Strand)
}

// toolSource is the scripted storage of tools.
type toolSource struct{ stage *Stage }

func (t toolSource) Fetch(ctx context.Context, s adk.Scope) ([]*adk.Tool, error) {
	recorded, err := fetched[*adk.Tool](t.stage, ctx, s)
	for i, tool := range recorded {
		recorded[i] = t.stage.Tool(tool)
	}
	return recorded, err
}

// fetched answers a fetch with the recorded records.
func fetched[T adk.Record](st *Stage, ctx context.Context, s adk.Scope) ([]T, error) {
	st.director.Handed(s, nil, "")
	x, err := st.director.Play(&Handle{ctx: ctx}, s.Call, s.Strand)
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

// Operate performs one recorded operation through the handle that it was
// recorded on. It reports whether x is something that user code can do.
func (s *Stage) Operate(x *adk.Crossing) bool {
	s.mu.Lock()
	h := s.handles[x.Call]
	s.mu.Unlock()
	if h == nil || h.Strand != x.Strand { // what a handle does, it does in its own strand
		return false
	}
	switch {
	case x.Kind == adk.KindContained:
		return s.misuse(h, x)
	case x.Kind == adk.KindAsk && x.Phase == adk.Begin:
		return s.ask(h.ctx, x)
	case x.Kind == adk.KindAsk:
		return s.answers(x, func(x *adk.Exchange, recorded *adk.Crossing) { x.Done(recorded.JSON, recorded.Err) })
	case x.Kind == adk.KindPiece:
		return s.answers(x, func(x *adk.Exchange, recorded *adk.Crossing) { x.Piece(recorded.JSON, recorded.Flag) })
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
func (s *Stage) dispatch(h *Handle, x *adk.Crossing) bool {
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
func (h *Handle) source() adk.Source {
	switch {
	case h.tc != nil:
		return h.tc
	case h.dc != nil:
		return h.dc
	}
	return nil
}

// operation performs what every handle offers.
func (s *Stage) operation(ctx context.Context, h adk.Handle, x *adk.Crossing) bool {
	switch x.Kind {
	case adk.KindAbort:
		s.director.Answered(x, h.Abort(x.Cause))
	case adk.KindNow:
		if at := h.Now(); !at.Equal(x.At) {
			s.director.Wrong(x, "answer", x.At, at)
		}
	case adk.KindNewID:
		if id := h.NewID(); id != x.Name {
			s.director.Wrong(x, "answer", x.Name, id)
		}
	case adk.KindWait:
		return s.waits(x)
	case adk.KindSleep:
		s.director.Answered(x, h.Sleep(ctx, x.Duration))
	case adk.KindStash:
		s.director.Answered(x, h.Stash().Set(x.Name, x.Value))
	case adk.KindWaitFor:
		value, err := h.WaitFor(ctx, adk.Gate{ID: x.Name, Reason: x.Text, Payload: x.Value, Schema: x.Schema, Timeout: x.Duration})
		s.answeredValue(x, value, err)
	case adk.KindOpenMedia:
		return s.openMedia(ctx, h, x)
	case adk.KindEmitMessage:
		e, _ := x.Payload.(adk.MessageEvent)
		s.director.Answered(x, h.EmitMessage(e))
	case adk.KindEmitThought:
		e, _ := x.Payload.(adk.ThoughtEvent)
		s.director.Answered(x, h.EmitThought(e))
	case adk.KindEmitToolCall:
		e, _ := x.Payload.(adk.ToolCallEvent)
		s.director.Answered(x, h.EmitToolCall(e))
	case adk.KindRegister:
		tool, ok := x.Record.(*adk.Tool)
		if !ok {
			return false
		}
		if x.Flag {
			s.director.Answered(x, h.Tools().Replace(s.Tool(tool)))
		} else {
			s.director.Answered(x, h.Tools().Register(s.Tool(tool)))
		}
	case adk.KindUnregister:
		found, err := h.Tools().Unregister(x.Name)
		s.answeredFlag(x, found, err)
	case adk.KindPrune:
		pruned, err := h.Tools().PruneEphemeral()
		s.director.Answered(x, err)
		if !slices.Equal(pruned, x.Texts) {
			s.director.Wrong(x, "answer", x.Texts, pruned)
		}
	default:
		return s.recordOperation(ctx, h, x)
	}
	return true
}

// recordOperation performs an operation on one of the collections.
func (s *Stage) recordOperation(ctx context.Context, h adk.Handle, x *adk.Crossing) bool {
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

func operateOn[T adk.Record](ctx context.Context, s *Stage, set records[T], x *adk.Crossing) bool {
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
		s.director.Answered(x, set.Delete(ctx, x.Key))
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
		s.director.Answered(x, set.Store(ctx, record))
	case adk.KindMutate:
		s.director.Answered(x, set.Mutate(ctx, record))
	default:
		return false
	}
	return true
}

// turnOperation performs what only a turn context offers.
func (s *Stage) turnOperation(ctx context.Context, tc *adk.TurnContext, x *adk.Crossing) bool {
	if x.Kind != adk.KindFork {
		return false
	}
	strand, _ := tc.Fork(ctx, x.Name, func(ctx context.Context, tc *adk.TurnContext) error {
		id, strand := tc.Where()
		return s.script(&Handle{ctx: ctx, tc: tc}, id, strand)
	})
	s.forked(x, strand)
	return true
}

// forked keeps a strand for who waits for it.
func (s *Stage) forked(x *adk.Crossing, strand *adk.Strand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strands[x.ID], s.lastFork[x.Call] = strand, x.ID
}

// waits waits for a strand again. It reports whether there is one.
func (s *Stage) waits(x *adk.Crossing) bool {
	s.mu.Lock()
	strand := s.strands[x.ID]
	s.mu.Unlock()
	if strand == nil {
		return false
	}
	s.director.Answered(x, strand.Wait())
	return true
}

// dispatchOperation performs what only a dispatch context offers.
func (s *Stage) dispatchOperation(ctx context.Context, dc *adk.DispatchContext, x *adk.Crossing) bool {
	switch x.Kind {
	case adk.KindFork:
		strand, _ := dc.Fork(ctx, x.Name, func(ctx context.Context, dc *adk.DispatchContext) error {
			id, strand := dc.Where()
			return s.script(&Handle{ctx: ctx, dc: dc, h: dc.Helpers()}, id, strand)
		})
		s.forked(x, strand)
	case adk.KindAck:
		s.director.Answered(x, dc.Ack())
	case adk.KindNack:
		s.director.Answered(x, dc.Nack(x.Cause))
	case adk.KindOnAck:
		off, err := dc.OnAck(x.Name, func(ctx context.Context, dc *adk.DispatchContext) {
			id, strand := dc.Where()
			_ = s.script(&Handle{ctx: ctx, dc: dc, h: dc.Helpers()}, id, strand) // a handler gives no error
		})
		if err == nil {
			s.mu.Lock()
			s.offAck[calls.AckHandlerOf(x)] = off
			s.mu.Unlock()
		}
	case adk.KindOffAck:
		s.mu.Lock()
		off := s.offAck[calls.AckHandlerOf(x)]
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
		result, err := dc.Execute(ctx, s.director.Executable(dc.Handle, tool), x.Args)
		s.answeredResult(x, result, err)
	default:
		return false
	}
	return true
}

// helpers performs what only the executor's helpers offer.
func (h *Handle) helpers(s *Stage, x *adk.Crossing) bool {
	if h.h == nil {
		return false
	}
	switch x.Kind {
	case adk.KindReportMessage:
		_, err := h.h.ReportMessage(x.Name, x.Text, x.Flag)
		s.director.Answered(x, err)
	case adk.KindReportThought:
		_, err := h.h.ReportThought(x.Name, x.Text, x.Flag)
		s.director.Answered(x, err)
	case adk.KindReportToolCall:
		_, err := h.h.ReportToolCall(x.Name, adk.ToolCallReport{Tool: x.Key, Args: x.Args, Results: x.Result, IsError: x.IsError, Complete: x.Flag})
		s.director.Answered(x, err)
	case adk.KindReportLog:
		h.h.Log(adk.Level(x.Key), x.Name, x.Text, x.Value)
	default:
		return false
	}
	return true
}

// misuse makes the misuse that the recorded run contained: a second next, or an
// operation on a handle that had ended.
func (s *Stage) misuse(h *Handle, x *adk.Crossing) bool {
	if x.Name == "second next" || x.Name == "late next" {
		if h.next == nil {
			return false
		}
		h.next(h.ctx)
		return true
	}
	if x.Name == adk.PassedBy {
		return passesBy(h.ctx, x)
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
		again.Record = state.AnyTool
	case adk.KindOpenMedia:
		again.Record = anyMedia
	case adk.KindAsk:
		again.Phase = adk.Begin
	case adk.KindWait:
		s.mu.Lock()
		again.ID = s.lastFork[x.Call]
		s.mu.Unlock()
	}
	return s.Operate(&again)
}

// Records for operations that never reach a set: what a late operation is given
// does not matter, as long as it is something.
var (
	anyMessage = mustMessage()

	anyMedia = mustMedia()
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

// answeredFlag is answered for an operation that also answers yes or no.
func (s *Stage) answeredFlag(x *adk.Crossing, flag bool, err error) {
	s.director.Answered(x, err)
	if err == nil && flag != x.Flag {
		s.director.Wrong(x, "answer", x.Flag, flag)
	}
}

// answeredResult is answered for an execute.
func (s *Stage) answeredResult(x *adk.Crossing, got adk.ToolResult, err error) {
	s.director.Answered(x, err)
	from := s.director.LastReturn(x)
	if err == nil && from != nil && !state.EqualResults(from.Result, got) {
		s.director.Wrong(from, "answer", from.Result, got)
	}
}

// answeredValue is answered for the wait for a gate.
func (s *Stage) answeredValue(x *adk.Crossing, got any, err error) {
	s.director.Answered(x, err)
	from := s.director.Resolution(x)
	if err == nil && from != nil && !plain.Equal(from.Value, got) {
		s.director.Wrong(from, "answer", from.Value, got)
	}
}

// openMedia performs an opening: its bytes come from the trace, and no reader of
// user code runs.
func (s *Stage) openMedia(ctx context.Context, h adk.Handle, x *adk.Crossing) bool {
	media, ok := x.Record.(*adk.Media)
	if !ok {
		return false
	}
	data, err := h.OpenMedia(ctx, media.WithReader(adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		data, err := s.director.Opened(x)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(data)), nil
	})))
	s.director.AnsweredBytes(x, data, err)
	return true
}

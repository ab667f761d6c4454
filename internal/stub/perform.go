package stub

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/perform"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Stage builds scripted seams: user code that does what its recorded call did, and returns what
// that call returned. The stage performs the operations; its director decides which, and when.
type Stage struct {
	director Director
	Gates    adk.Observability // the listeners for gates

	mu        sync.Mutex
	handles   map[int]*Handle             // by the number of the recorded call
	offAck    map[calls.AckHandler]func() // by the recorded handler
	strands   map[int]*adk.Strand         // by the number of the recorded strand
	forkedBy  map[int]int                 // the recorded call that forked a strand, by the recorded number of the strand
	lastFork  map[int]int                 // the number of the strand that a recorded call forked last
	cancels   map[int]func(error)         // end the contexts of scripted waits, by recorded operation
	tools     map[*adk.Tool]*adk.Tool     // from recorded tools to the same tools with their handlers in the new run
	exchanges map[int]*adk.Exchange       // the asks that were repeated, by recorded operation
}

// Director decides what scripted seams do.
type Director interface {
	// Play makes a call do what its recorded counterpart did, through Stage.Operate, and returns
	// the line of the recorded return. It returns an error if there is none.
	Play(h *Handle, call, strand int) (*adk.Crossing, error)
	// Today returns a recorded tool with the handler that it has in the new run.
	Today(recorded *adk.Tool) *adk.Tool
	// Executable returns the tool with which a recorded execute is performed.
	Executable(h adk.Handle, recorded *adk.Tool) *adk.Tool
	// Opened does what the reader of a recorded opening did, and returns what that returned.
	Opened(x *adk.Crossing) ([]byte, error)
	// Answers compares the engine's answers with the recording.
	Answers
}

// NewStage returns a stage whose calls d directs.
func NewStage(d Director) *Stage {
	return &Stage{director: d, handles: map[int]*Handle{}, offAck: map[calls.AckHandler]func(){}, strands: map[int]*adk.Strand{}, forkedBy: map[int]int{}, lastFork: map[int]int{},
		cancels: map[int]func(error){}, tools: map[*adk.Tool]*adk.Tool{}, exchanges: map[int]*adk.Exchange{}}
}

// Handle is what the engine gave to a scripted seam.
type Handle struct {
	Strand int
	ctx    context.Context
	by     perform.Handle
}

// Enter keeps the handle of a recorded call that is being played, for the operations made through
// it.
func (s *Stage) Enter(recorded int, h *Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handles[recorded] = h
}

// EndWait ends the context of a scripted wait.
func (s *Stage) EndWait(op int, cause error) {
	s.mu.Lock()
	end := s.cancels[op]
	s.mu.Unlock()
	if end != nil {
		end(cause)
	}
}

// script plays a call of a seam that returns only an error.
func (s *Stage) script(h *Handle, id, strand int) error {
	x, err := s.director.Play(h, id, strand)
	if err != nil {
		return err
	}
	return leave(x)
}

// Tool returns a recorded tool with the handler that it has in the new run.
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

// Made reports whether a tool was returned by Stage.Tool.
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

// ScriptedHandler is the handler of a scripted tool: it does what the recorded one did.
func (s *Stage) ScriptedHandler(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
	id, strand := dc.Where()
	x, err := s.director.Play(&Handle{ctx: ctx, by: perform.Handle{Dispatch: dc}}, id, strand)
	if err != nil {
		return nil, err
	}
	if err := leave(x); err != nil {
		return nil, err
	}
	return x.Result, nil
}

// obligations implements the scripted storage.
type obligations struct{ stage *Stage }

func (o obligations) Fetch(ctx context.Context, s adk.Scope, of adk.CollectionName) ([]adk.Record, error) {
	st := o.stage
	st.director.Handed(s, nil, "")
	x, err := st.director.Play(&Handle{ctx: ctx}, s.Call, s.Strand)
	if err != nil {
		return nil, err
	}
	if err := leave(x); err != nil || of != adk.Tools {
		return x.Records, err
	}
	tools := make([]adk.Record, len(x.Records))
	for i, record := range x.Records {
		tool, ok := record.(*adk.Tool)
		if tools[i] = record; ok {
			tools[i] = st.Tool(tool)
		}
	}
	return tools, nil
}

func (o obligations) Write(ctx context.Context, s adk.Scope, _ adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	if verb != adk.KindDelete {
		key = ""
	}
	o.stage.director.Handed(s, record, key)
	return o.stage.script(&Handle{ctx: ctx}, s.Call, s.Strand)
}

// Operate performs one recorded operation through the handle that it was recorded on. It does
// nothing if x is not something that user code can do with the handle.
func (s *Stage) Operate(x *adk.Crossing) {
	s.mu.Lock()
	h := s.handles[x.Call]
	s.mu.Unlock()
	if h == nil || h.Strand != x.Strand { // a handle acts in its own strand only
		return
	}
	switch {
	case x.Kind == adk.KindContained:
		s.misuse(h, x)
	case x.Kind == adk.KindAsk && x.Phase == adk.Begin:
		s.ask(h.ctx, x)
	case x.Kind == adk.KindAsk:
		s.answers(x, func(x *adk.Exchange, recorded *adk.Crossing) { x.Done(recorded.JSON, recorded.Err) })
	case x.Kind == adk.KindPiece:
		s.answers(x, func(x *adk.Exchange, recorded *adk.Crossing) { x.Piece(recorded.JSON, recorded.Flag) })
	case wire.IsDispatched(x):
		s.dispatch(h, x)
	case x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done:
		s.perform(h, x)
	}
}

// perform performs an operation for which a handle has a method.
func (s *Stage) perform(h *Handle, x *adk.Crossing) {
	ctx, made := h.ctx, x
	switch x.Kind {
	case adk.KindSleep, adk.KindWaitFor:
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		s.mu.Lock()
		s.cancels[x.Op] = end
		s.mu.Unlock()
	case adk.KindOpenMedia:
		made = s.opening(x)
	}
	if answer, could := perform.Perform(ctx, h.by, made, recordedUser{s}); could {
		s.answered(x, answer)
	}
}

// dispatch calls a dispatch from the context of the handle.
func (s *Stage) dispatch(h *Handle, x *adk.Crossing) {
	if source := h.by.Source(); source != nil {
		_, _ = perform.Dispatch(h.ctx, x.Cause, s.dispatchInput(x.Seam.Name, *x.Seams, source))
	}
}

// opening returns the opening of a media with a reader that takes the bytes from the trace, so that
// no reader of user code runs.
func (s *Stage) opening(x *adk.Crossing) *adk.Crossing {
	media, ok := x.Record.(*adk.Media)
	if !ok {
		return x
	}
	from := *x
	from.Record = media.WithReader(adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		data, err := s.director.Opened(x)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(data)), nil
	}))
	return &from
}

// recordedUser supplies the recorded user code for operations that are made again.
type recordedUser struct{ *Stage }

// Tool returns the recorded tool with the handler that it has in the new run.
func (u recordedUser) Tool(of adk.Handle, x *adk.Crossing) (*adk.Tool, bool) {
	tool, ok := x.Record.(*adk.Tool)
	switch {
	case !ok:
		return nil, false
	case x.Kind == adk.KindExecute:
		return u.director.Executable(of, tool), true
	}
	return u.Stage.Tool(tool), true
}

// Code returns a function that plays the strand or the on-ack handler that x created.
func (u recordedUser) Code(*adk.Crossing) func(context.Context, perform.Handle) error {
	return func(ctx context.Context, by perform.Handle) error {
		id, strand := by.Where()
		return u.script(&Handle{ctx: ctx, by: by}, id, strand)
	}
}

// Strand returns the strand of the new run that corresponds to the recorded one. It returns nil for
// a wait by another call than the one that forked the strand. The engine does not say which strand
// such a wait is for, and a strand that waited for itself would never end.
func (u recordedUser) Strand(x *adk.Crossing) *adk.Strand {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.forkedBy[x.ID] != x.Call {
		return nil
	}
	return u.strands[x.ID]
}

// Off returns the function that removes the handler that corresponds to the recorded one.
func (u recordedUser) Off(x *adk.Crossing) func() {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.offAck[calls.AckHandlerOf(x)]
}

// misuse repeats a misuse that the recorded run contained: a second next, an operation on a handle
// that had ended, or a request that bypassed the engine.
func (s *Stage) misuse(h *Handle, x *adk.Crossing) {
	kind, late := strings.CutPrefix(x.Name, adk.LatePrefix)
	switch {
	case x.Name == adk.SecondNext || late && kind == adk.KindNext.String():
		_, _ = perform.Perform(h.ctx, h.by, &adk.Crossing{Kind: adk.KindNext}, recordedUser{s})
	case x.Name == adk.PassedBy:
		passesBy(h.ctx, x)
	case late:
		s.late(x, adk.KindByName(kind))
	}
}

// late performs an operation on a handle that has ended.
func (s *Stage) late(x *adk.Crossing, kind adk.Kind) {
	// The arguments do not matter, as long as the engine examines the operation.
	again := adk.Crossing{Kind: kind, Call: x.Call, Strand: x.Strand, Collection: adk.Messages, Name: "late", Text: "late"}
	switch kind {
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
	s.Operate(&again)
}

// Records for operations that never reach a set: the arguments of a late operation do not matter,
// as long as there are some.
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

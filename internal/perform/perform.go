package perform

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// Handle is what the engine gave to a seam call: the context of a turn or of a dispatch, or
// neither, as for a storage.
type Handle struct {
	Turn     *adk.TurnContext
	Dispatch *adk.DispatchContext
	Next     adk.Next // for a middleware
}

// Source returns what a dispatch can be called from with the handle, or nil.
func (h Handle) Source() adk.Source {
	switch {
	case h.Turn != nil:
		return h.Turn
	case h.Dispatch != nil:
		return h.Dispatch
	}
	return nil
}

// Where returns the numbers of the seam call that was given the handle and of its strand, or zeros
// if the handle has no context.
func (h Handle) Where() (call, strand int) {
	of, has := h.handle()
	if !has {
		return 0, 0
	}
	return of.Where()
}

// handle returns the part that the contexts of turns and of dispatches share.
func (h Handle) handle() (of adk.Handle, has bool) {
	switch {
	case h.Turn != nil:
		return h.Turn.Handle, true
	case h.Dispatch != nil:
		return h.Dispatch.Handle, true
	}
	return of, false
}

// User supplies the user code that an operation needs.
type User interface {
	// Tool returns the tool for a register or an execute; the tool may be nil. It returns false if
	// the operation cannot be made for want of one.
	Tool(of adk.Handle, x *adk.Crossing) (*adk.Tool, bool)
	// Code returns the code of a forked strand or of an on-ack handler, which is called with its
	// own handle. The error of a handler is ignored.
	Code(x *adk.Crossing) func(context.Context, Handle) error
	// Strand returns the strand that a wait waits for, or nil for none.
	Strand(x *adk.Crossing) *adk.Strand
	// Off returns the function that removes the handler of an off-ack, or nil for none.
	Off(x *adk.Crossing) func()
}

// Answer is what the engine returned. An operation sets the fields that its method returns; the
// others are zero.
type Answer struct {
	Silent  bool // the method returns nothing, not even an error
	Err     error
	Flag    bool           // add: it replaced a record; remove, unregister: there was one
	ID      string         // new-id
	At      time.Time      // now
	Texts   []string       // prune: the names of what was removed
	Records []adk.Record   // fetch
	Result  adk.ToolResult // execute
	Value   any            // wait-for: the value that settled the gate
	Bytes   []byte         // open-media
	Strand  *adk.Strand    // fork; nil if it was refused
	Off     func()         // on-ack; nil if it was refused
}

// Perform performs the operation x, with ctx, from its kind and its inputs. It reports whether it
// could: whether the handle offers the operation, and u has what the operation needs.
func Perform(ctx context.Context, h Handle, x *adk.Crossing, u User) (Answer, bool) {
	if int(x.Kind) >= len(operations) || operations[x.Kind] == nil {
		return Answer{}, false
	}
	return operations[x.Kind](job{ctx, h, x, u})
}

// Dispatch calls a dispatch with ctx. If cause is not nil, it uses a context below ctx that has
// already ended with that cause.
func Dispatch(ctx context.Context, cause error, in adk.DispatchInput) (adk.DispatchEnd, error) {
	if cause != nil {
		below, end := context.WithCancelCause(ctx)
		end(cause)
		ctx = below
	}
	return adk.Dispatch(ctx, in)
}

// job is one operation to perform.
type job struct {
	ctx context.Context
	h   Handle
	x   *adk.Crossing
	u   User
}

// operation performs an operation and reports whether it could.
type operation func(job) (Answer, bool)

// operations are the operations, by kind. A test checks that they cover all kinds.
var operations = [...]operation{
	adk.KindNext: callNext,
	adk.KindFork: forkStrand,
	adk.KindWait: waitForStrand,

	adk.KindAdd:     onRecords,
	adk.KindRemove:  onRecords,
	adk.KindFetch:   onRecords,
	adk.KindRefresh: onRecords,
	adk.KindStore:   onRecords,
	adk.KindMutate:  onRecords,
	adk.KindDelete:  onRecords,

	adk.KindStash:     onHandle(func(j job, h adk.Handle) Answer { return answerOf(h.Stash().Set(j.x.Name, j.x.Value)) }),
	adk.KindAbort:     onHandle(func(j job, h adk.Handle) Answer { return answerOf(h.Abort(j.x.Cause)) }),
	adk.KindNow:       onHandle(func(_ job, h adk.Handle) Answer { return Answer{At: h.Now()} }),
	adk.KindNewID:     onHandle(func(_ job, h adk.Handle) Answer { return Answer{ID: h.NewID()} }),
	adk.KindSleep:     onHandle(func(j job, h adk.Handle) Answer { return answerOf(h.Sleep(j.ctx, j.x.Duration)) }),
	adk.KindWaitFor:   onHandle(waitForGate),
	adk.KindOpenMedia: onHandleIf(openMedia),
	adk.KindRegister:  onHandleIf(registerTool),
	adk.KindUnregister: onHandle(func(j job, h adk.Handle) Answer {
		found, err := h.Tools().Unregister(j.x.Name)
		return Answer{Flag: found, Err: err}
	}),
	adk.KindPrune: onHandle(func(_ job, h adk.Handle) Answer {
		pruned, err := h.Tools().PruneEphemeral()
		return Answer{Texts: pruned, Err: err}
	}),
	adk.KindEmitMessage:  onHandle(func(j job, h adk.Handle) Answer { return answerOf(h.EmitMessage(eventOf[adk.MessageEvent](j.x))) }),
	adk.KindEmitThought:  onHandle(func(j job, h adk.Handle) Answer { return answerOf(h.EmitThought(eventOf[adk.ThoughtEvent](j.x))) }),
	adk.KindEmitToolCall: onHandle(func(j job, h adk.Handle) Answer { return answerOf(h.EmitToolCall(eventOf[adk.ToolCallEvent](j.x))) }),

	adk.KindAck:     onDispatch(func(_ job, dc *adk.DispatchContext) (Answer, bool) { return answerOf(dc.Ack()), true }),
	adk.KindNack:    onDispatch(func(j job, dc *adk.DispatchContext) (Answer, bool) { return answerOf(dc.Nack(j.x.Cause)), true }),
	adk.KindOnAck:   onDispatch(addAckHandler),
	adk.KindOffAck:  onDispatch(dropAckHandler),
	adk.KindExecute: onDispatch(executeTool),

	adk.KindReportMessage: onHelpers(func(x *adk.Crossing, h *adk.Helpers) error {
		_, err := h.ReportMessage(x.Name, x.Text, x.Flag)
		return err
	}),
	adk.KindReportThought: onHelpers(func(x *adk.Crossing, h *adk.Helpers) error {
		_, err := h.ReportThought(x.Name, x.Text, x.Flag)
		return err
	}),
	adk.KindReportToolCall: onHelpers(func(x *adk.Crossing, h *adk.Helpers) error {
		_, err := h.ReportToolCall(x.Name, adk.ToolCallReport{Tool: x.Key, Args: x.Args, Results: x.Result, IsError: x.IsError, Complete: x.Flag})
		return err
	}),
	adk.KindReportLog: onHandle(func(j job, h adk.Handle) Answer {
		h.Log(adk.Level(j.x.Key), j.x.Name, j.x.Text, j.x.Value)
		return silent
	}),
}

func answerOf(err error) Answer { return Answer{Err: err} }

// silent is the answer of a method that returns nothing.
var silent = Answer{Silent: true}

// onHandle is an operation that both contexts offer.
func onHandle(make func(job, adk.Handle) Answer) operation {
	return onHandleIf(func(j job, h adk.Handle) (Answer, bool) { return make(j, h), true })
}

// onHandleIf is an operation that both contexts offer, and that needs something which may be
// missing.
func onHandleIf(make func(job, adk.Handle) (Answer, bool)) operation {
	return func(j job) (Answer, bool) {
		h, has := j.h.handle()
		if !has {
			return Answer{}, false
		}
		return make(j, h)
	}
}

// onDispatch is an operation that only the context of a dispatch offers.
func onDispatch(make func(job, *adk.DispatchContext) (Answer, bool)) operation {
	return func(j job) (Answer, bool) {
		if j.h.Dispatch == nil {
			return Answer{}, false
		}
		return make(j, j.h.Dispatch)
	}
}

// onHelpers is an operation of a dispatch's helpers.
func onHelpers(report func(*adk.Crossing, *adk.Helpers) error) operation {
	return onDispatch(func(j job, dc *adk.DispatchContext) (Answer, bool) { return answerOf(report(j.x, dc.Helpers())), true })
}

// eventOf returns the event that is given to an emit operation.
func eventOf[E any](x *adk.Crossing) E {
	event, _ := x.Payload.(E)
	return event
}

func callNext(j job) (Answer, bool) {
	if j.h.Next == nil {
		return Answer{}, false
	}
	j.h.Next(j.ctx)
	return silent, true
}

func forkStrand(j job) (a Answer, has bool) {
	switch {
	case j.h.Turn != nil:
		code := j.u.Code(j.x)
		a.Strand, a.Err = j.h.Turn.Fork(j.ctx, j.x.Name, func(ctx context.Context, tc *adk.TurnContext) error {
			return code(ctx, Handle{Turn: tc})
		})
	case j.h.Dispatch != nil:
		code := j.u.Code(j.x)
		a.Strand, a.Err = j.h.Dispatch.Fork(j.ctx, j.x.Name, func(ctx context.Context, dc *adk.DispatchContext) error {
			return code(ctx, Handle{Dispatch: dc})
		})
	default:
		return a, false
	}
	return a, true
}

func waitForStrand(j job) (Answer, bool) {
	strand := j.u.Strand(j.x)
	if strand == nil {
		return Answer{}, false
	}
	return answerOf(strand.Wait()), true
}

func waitForGate(j job, h adk.Handle) Answer {
	x := j.x
	value, err := h.WaitFor(j.ctx, adk.Gate{ID: x.Name, Reason: x.Text, Payload: x.Value, Schema: x.Schema, Timeout: x.Duration})
	return Answer{Value: value, Err: err}
}

func openMedia(j job, h adk.Handle) (Answer, bool) {
	media, ok := j.x.Record.(*adk.Media)
	if !ok {
		return Answer{}, false
	}
	data, err := h.OpenMedia(j.ctx, media)
	return Answer{Bytes: data, Err: err}, true
}

func registerTool(j job, h adk.Handle) (Answer, bool) {
	tool, has := j.u.Tool(h, j.x)
	if !has {
		return Answer{}, false
	}
	if j.x.Flag {
		return answerOf(h.Tools().Replace(tool)), true
	}
	return answerOf(h.Tools().Register(tool)), true
}

func executeTool(j job, dc *adk.DispatchContext) (Answer, bool) {
	tool, has := j.u.Tool(dc.Handle, j.x)
	if !has {
		return Answer{}, false
	}
	result, err := dc.Execute(j.ctx, tool, j.x.Args)
	return Answer{Result: result, Err: err}, true
}

func addAckHandler(j job, dc *adk.DispatchContext) (a Answer, _ bool) {
	code := j.u.Code(j.x)
	a.Off, a.Err = dc.OnAck(j.x.Name, func(ctx context.Context, dc *adk.DispatchContext) { _ = code(ctx, Handle{Dispatch: dc}) })
	return a, true
}

func dropAckHandler(j job, _ *adk.DispatchContext) (Answer, bool) {
	off := j.u.Off(j.x)
	if off == nil {
		return Answer{}, false
	}
	off()
	return silent, true
}

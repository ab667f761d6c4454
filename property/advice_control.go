package property

import (
	"cmp"
	"errors"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// gateWithoutTimeout: user code waits for a gate that has no timeout. A deadline of the caller's
// context cannot be seen in a trace.
type gateWithoutTimeout struct{}

func (w *gateWithoutTimeout) see(s *history, x *adk.Crossing) {
	if x.Kind == adk.KindWaitFor && x.Phase == adk.Begin && x.Duration == 0 {
		s.hint(s.n, s.at, nil, "gate %q has no timeout", x.Name)
	}
}

// unboundedLoop: a dispatch without any dispatch middleware starts its ninth iteration, so only the
// executor decides when it ends. It gives no hint about shorter loops, nor if there is a middleware
// that may be the bound. Whether the executor counts by itself cannot be seen.
type unboundedLoop struct{}

// manyIterations is how many iterations a dispatch may have before something should bound it.
const manyIterations = 8

func (w *unboundedLoop) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	if x.Kind != adk.KindIterationStart || !d.does(s.at) || d.started != manyIterations {
		return
	}
	if len(d.names.DispatchInput)+len(d.names.DispatchOutput) == 0 {
		s.hint(s.n, s.at, since(d.call.began), "the dispatch starts iteration %d, and no middleware could end it", d.started)
	}
}

// toolInOutput: a tool runs in a dispatch of the turn output with arguments with which it already
// ran in the turn.
type toolInOutput struct{ ran map[string]int }

func (w *toolInOutput) see(s *history, x *adk.Crossing) {
	if x.Kind != adk.KindToolExecutionStart {
		return
	}
	if before := w.ran[x.Key]; before > 0 && inTurnOutput(s.at) {
		s.hint(s.n, s.at, since(before), "a tool runs again in the turn output, with the same arguments")
	}
	put(&w.ran, x.Key, cmp.Or(w.ran[x.Key], s.n))
}

func inTurnOutput(c *seamCall) bool {
	for ; c.parent != nil; c = c.parent {
		if c.seam.Label == adk.LabelTurnOutput {
			return true
		}
	}
	return false
}

// forgedUnbound: an ephemeral tool is registered in a dispatch, and the dispatch is acked without
// its tools being bound or pruned. It gives no hint about tools that are registered in the turn,
// where there is nothing to bind.
type forgedUnbound struct{ forged []forgedTool }

type forgedTool struct {
	of   *dispatching
	name string
	at   int
}

func (w *forgedUnbound) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	if d == nil {
		return
	}
	switch x.Kind {
	case adk.KindRegister:
		if tool, ok := x.Record.(*adk.Tool); ok && tool.Ephemeral() && x.Err == nil {
			w.forged = append(w.forged, forgedTool{d, tool.Name(), s.n})
		}
	case adk.KindUnregister:
		w.forged = slices.DeleteFunc(w.forged, func(f forgedTool) bool { return f.of == d && f.name == x.Name })
	case adk.KindPrune:
		w.forged = slices.DeleteFunc(w.forged, func(f forgedTool) bool { return f.of == d })
	case adk.KindDispatchEnd:
		if x.Status == adk.StatusAck {
			w.ends(s, d)
		}
	}
}

func (w *forgedUnbound) ends(s *history, d *dispatching) {
	for _, f := range w.forged {
		if f.of == d {
			s.hint(s.n, s.at, since(f.at), "the dispatch was acked, and the ephemeral tool %s is still there", f.name)
		}
	}
}

// repeatedCall: a tool runs again in a dispatch with the same arguments, after it has given a
// result for them, and gives the same text or bytes as before. It gives no hint if the results
// differ, as for something that is polled; after a failure, which may be retried; nor if another
// tool that writes was asked for in between, because then the model may be checking what that tool
// changed.
type repeatedCall struct {
	begun map[*seamCall]oneCall // tool calls that have not returned
	gave  map[oneCall]earlierResult
	wrote map[*dispatching]map[string]int // where each tool that writes was last asked for, by its name
}

type oneCall struct {
	of *dispatching
	id string
}

type earlierResult struct {
	result    adk.Digest
	at, ended int
}

func (w *repeatedCall) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindExecute && x.Phase == adk.Begin:
		if tool, is := x.Record.(*adk.Tool); is && tool.Effect() == adk.EffectWrites {
			if w.wrote == nil {
				w.wrote = map[*dispatching]map[string]int{}
			}
			if w.wrote[s.at.dispatch] == nil {
				w.wrote[s.at.dispatch] = map[string]int{}
			}
			w.wrote[s.at.dispatch][tool.Name()] = s.n
		}
		return
	case x.Kind != adk.KindCall && x.Kind != adk.KindReturn || s.called.seam.Label != adk.LabelTool:
		return
	case x.Kind == adk.KindCall:
		if w.begun == nil {
			w.begun, w.gave = map[*seamCall]oneCall{}, map[oneCall]earlierResult{}
		}
		if _, id, err := s.fold.Called(s.called.seam.Name, x.Args); err == nil {
			w.begun[s.called] = oneCall{s.at.dispatch, id}
		}
	case x.Kind == adk.KindReturn && x.Outcome == adk.OutcomeOK && w.begun[s.called].id != "":
		call := w.begun[s.called]
		result, ok := resultDigest(x.Result)
		if before, again := w.gave[call]; ok && again && before.result == result && s.called.began > before.ended && !w.othersWrote(s.called.seam.Name, call.of, before.ended) {
			s.hint(s.n, s.called, since(before.at), "%s gives again what it gave for the same arguments", s.called.seam)
		}
		w.gave[call] = earlierResult{result, s.called.began, s.n}
	}
	if x.Kind == adk.KindReturn {
		delete(w.begun, s.called)
	}
}

// othersWrote reports whether a tool of another name that writes was asked for in the dispatch
// after the crossing behind.
func (w *repeatedCall) othersWrote(than string, in *dispatching, behind int) bool {
	for name, at := range w.wrote[in] {
		if name != than && at > behind {
			return true
		}
	}
	return false
}

// resultDigest returns a digest that identifies a result. It fails for a list of media.
func resultDigest(result adk.ToolResult) (digest adk.Digest, ok bool) {
	switch r := result.(type) {
	case adk.Bytes:
		return adk.DigestOf(r), true
	case adk.Record:
		return r.Digest(), true
	}
	return digest, false
}

// blindPostStep: a middleware stores, mutates or emits after its next has returned, although a
// middleware below it failed, other than by an abort. It gives no hint about changes of the stash
// and the sets, because those are how a middleware cleans up. Whether the middleware checked for
// the failure cannot be seen.
type blindPostStep struct{ failed map[*seamCall]int }

func (w *blindPostStep) see(s *history, x *adk.Crossing) {
	switch x.Kind {
	case adk.KindReturn:
		if s.called.isMiddleware() && s.cancelled == 0 && (x.Outcome == adk.OutcomeError || x.Outcome == adk.OutcomePanic) {
			w.fails(s)
		}
	case adk.KindStore, adk.KindMutate, adk.KindEmitMessage, adk.KindEmitThought, adk.KindEmitToolCall:
		if failed := w.failed[s.at]; failed > 0 && x.Phase == adk.Begin && !s.nextIsOpen(s.at) {
			s.hint(s.n, s.at, since(failed), "%s behind a next below which something failed", x.Kind)
		}
	}
}

// fails records a failure for all middlewares above the one that failed.
func (w *blindPostStep) fails(s *history) {
	if w.failed == nil {
		w.failed = map[*seamCall]int{}
	}
	for c := s.called.parent; c.isMiddleware(); c = c.parent {
		w.failed[c] = s.n
	}
}

func (s *history) nextIsOpen(c *seamCall) bool {
	return slices.ContainsFunc(c.running, func(op *openOp) bool { return op.kind == adk.KindNext })
}

// plainGoroutines: a seam call has operations that can only come from several goroutines. Either
// one begins while the same handle sleeps or waits for the storage, or an operation ends while a
// later one of the same handle is still open, or one is open when its seam call returns. Goroutines
// that happen to act one after the other are not noticed. An ask that is answered in pieces is
// exempt: it may be read concurrently with anything else. There is one hint for each seam call.
type plainGoroutines struct {
	said   map[*seamCall]bool
	pieces map[int]bool // open asks that had pieces, by operation
}

func (w *plainGoroutines) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindReturn:
		if x.Outcome != adk.OutcomeGoexit {
			w.returns(s)
		}
	case x.Kind == adk.KindPiece:
		put(&w.pieces, x.Op, true)
	case x.Kind.Class() != adk.ClassOperation || x.Kind == adk.KindOffAck:
	case x.Phase == adk.Done && w.pieces[x.Op]:
		delete(w.pieces, x.Op)
	case x.Phase == adk.Done:
		w.done(s, x)
	default:
		w.begins(s, x)
	}
}

func (w *plainGoroutines) begins(s *history, x *adk.Crossing) {
	for _, op := range s.at.running {
		if op != s.op && (op.kind == adk.KindSleep || op.delta.of != "") {
			w.say(s, s.at, op, "%s begins while the same handle is in a %s", x.Kind, op.kind)
		}
	}
}

func (w *plainGoroutines) done(s *history, x *adk.Crossing) {
	if s.op == nil {
		return
	}
	if x.Kind == adk.KindAsk && errors.Is(x.Err, adk.E_CONTEXT_ENDED) {
		w.say(s, s.op.call, s.op, "the seam call returns while its %s goes on", s.op.kind)
	}
	running := s.op.call.running
	if i, found := position(running, s.op.began, (*openOp).beginning); found && i+1 < len(running) {
		later := running[i+1]
		w.say(s, s.op.call, s.op, "%s is done while the %s that the same handle began later goes on", s.op.kind, later.kind)
	}
}

func (w *plainGoroutines) returns(s *history) {
	for _, op := range s.called.running {
		if !op.goexits {
			w.say(s, s.called, op, "the seam call returns while its %s goes on", op.kind)
		}
	}
}

func (w *plainGoroutines) say(s *history, c *seamCall, op *openOp, format string, args ...any) {
	if w.said[c] {
		return
	}
	put(&w.said, c, true)
	s.hint(s.n, c, since(op.began), format, args...)
}

// panics: user code panicked in a seam call, and the engine turned the panic into an error. It
// gives no hint about ack handlers, because nobody receives their panics: those are contained
// failures.
type panics struct{}

func (w *panics) see(s *history, x *adk.Crossing) {
	if x.Kind == adk.KindReturn && x.Outcome == adk.OutcomePanic && s.called.seam.Label != adk.LabelOnAck {
		s.hint(s.n, s.called, nil, "%v", x.Err)
	}
}

// containedFailure: a listener or a handler panicked, or a handle was used after its seam call
// ended, and the turn went on as if nothing had happened (EVT-3, DET-5).
type containedFailure struct{}

func (w *containedFailure) see(s *history, x *adk.Crossing) {
	if x.Kind == adk.KindContained {
		s.hint(s.n, s.at, nil, "%s: %s", x.Name, x.Text)
	}
}

// emptyAnswer: the executor of package chat logs that a model answered nothing, and its dispatch is
// acked nevertheless. It gives no hint if the dispatch is nacked or the model is asked again, nor
// about other executors, whose answers cannot be seen.
type emptyAnswer struct {
	empty map[*dispatching]emptied
}

// emptied is the place of an empty answer in the present iteration of a dispatch.
type emptied struct {
	n  int
	at *seamCall
}

// chatEmpty is the name of the log that package chat writes for an empty answer.
const chatEmpty = "empty-answer"

func (w *emptyAnswer) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	switch x.Kind {
	case adk.KindReportLog:
		if x.Name == chatEmpty && inExecutor(s.at) {
			put(&w.empty, d, emptied{s.n, s.at})
		}
	case adk.KindIterationStart:
		delete(w.empty, d)
	case adk.KindDispatchEnd:
		if was, ok := w.empty[d]; ok && d.acked > 0 {
			s.hint(was.n, was.at, nil, "the model answered nothing, and the dispatch is acked as after an answer")
		}
		delete(w.empty, d)
	}
}

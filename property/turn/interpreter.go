package turn

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/listening"
	"github.com/adkreplay/adkreplay/internal/perform"
)

// interpreter is one run of a Turn: it is the user code that performs the scripts, and its state.
type interpreter struct {
	turn   Turn
	cancel context.CancelCauseFunc
	clock  *fakes.Clock
	kept   *fakes.Storage
	root   *scope

	mu    sync.Mutex
	plans Plans
	gates map[string]*adk.TurnGate
	heard map[string]int // how many events of each kind came, if listeners may panic
	answers

	order     fakes.Order
	onFailure func(*Op)         // is called for operations that return an error; may be nil
	mine      func(*adk.Config) // replaces some of the scripted user code by other code; may be nil
}

// scope is a set of scripts, and the calls that were made of their seams. There is one for the
// turn, and one for each dispatch that user code calls.
type scope struct {
	scripts []Script
	byCall  map[scriptedCall]*Body // index of scripts, if there are many

	mu     sync.Mutex
	called map[string]int
	actors map[string]*actor // the last actor of each path
}

func newScope(scripts []Script) *scope {
	s := &scope{scripts: scripts, called: map[string]int{}, actors: map[string]*actor{}}
	if len(scripts) > fewScripts {
		s.byCall = make(map[scriptedCall]*Body, len(scripts))
		for i := len(scripts) - 1; i >= 0; i-- { // if two scripts are for one call, the first counts
			s.byCall[scriptedCall{scripts[i].Seam, scripts[i].Occurrence}] = &scripts[i].Body
		}
	}
	return s
}

// scriptedCall identifies the call for which a script is.
type scriptedCall struct {
	seam       string
	occurrence int
}

// fewScripts is how many scripts are searched one by one instead of through an index.
const fewScripts = 16

// script returns the script of a call, or nil.
func (s *scope) script(seam string, occurrence int) *Body {
	if s.byCall != nil {
		return s.byCall[scriptedCall{seam, occurrence}]
	}
	return FindScript(s.scripts, seam, occurrence)
}

// actor is what one seam call was given: its context and its handles.
type actor struct {
	scope *scope
	ctx   context.Context
	by    perform.Handle

	mu      sync.Mutex
	strands map[string]*adk.Strand
	offs    map[string]func()
}

// TooLong is the virtual time after which a turn that still waits is cancelled, so that every turn
// ends.
const TooLong = 365 * 24 * time.Hour

// ErrTooLong is the cause of that cancellation.
var ErrTooLong = errors.New("turn: nothing was left that the turn could wait for")

func newStage(t Turn, cancel context.CancelCauseFunc) *interpreter {
	s := &interpreter{turn: t, cancel: cancel, clock: fakes.NewClock(), order: InOrder(t.Order), root: newScope(t.Scripts),
		gates: map[string]*adk.TurnGate{}, heard: map[string]int{}}
	s.clock.AfterFunc(TooLong, func() { cancel(ErrTooLong) })
	kept := make([]adk.Record, len(t.Kept))
	for i, r := range t.Kept {
		kept[i] = s.own(r.Record)
	}
	s.kept = fakes.NewStorage(kept...)
	return s
}

// build makes the config and the raw turn of the run.
func (s *interpreter) build() (adk.Config, adk.RawTurn) {
	t := s.turn
	config := adk.Config{
		Executor:       s.executor(cmp.Or(t.Executor, "model"), s.root),
		Storage:        s.storage(),
		DispatchInput:  s.dispatchPipeline(adk.LabelDispatchInput, t.DispatchInput, s.root),
		DispatchOutput: s.dispatchPipeline(adk.LabelDispatchOutput, t.DispatchOutput, s.root),
		TurnInput:      s.turnPipeline(adk.LabelTurnInput, t.TurnInput),
		TurnOutput:     s.turnPipeline(adk.LabelTurnOutput, t.TurnOutput),
		Clock:          s.clock,
		Probe:          fakes.NewSchedulerOn(s.clock, s.order),
		WriteBehind:    t.WriteBehind,
	}
	for _, r := range t.Tools {
		if tool, ok := r.Record.(*adk.Tool); ok {
			config.Tools = append(config.Tools, s.tool(tool))
		}
	}
	if s.mine != nil {
		s.mine(&config)
	}
	raw := adk.RawTurn{SystemPrompt: t.Prompt, Instructions: t.Instructions}
	raw.Stash, _ = t.Stash.Get().(map[string]any)
	s.given, _ = t.Stash.Get().(map[string]any)
	s.left = raw.Stash
	s.listen(&raw)
	if t.Cancelled != nil {
		s.cancel(t.Cancelled.Err())
	}
	return config, raw
}

// The seams.

func (s *interpreter) turnPipeline(label string, names []string) []adk.TurnMiddleware {
	var all []adk.TurnMiddleware
	for _, name := range names {
		path := adk.Seam{Label: label, Name: name}.String()
		all = append(all, adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			return s.middleware(path, &actor{scope: s.root, ctx: ctx, by: perform.Handle{Turn: tc, Next: next}})
		}})
	}
	return all
}

func (s *interpreter) dispatchPipeline(label string, names []string, in *scope) []adk.DispatchMiddleware {
	var all []adk.DispatchMiddleware
	for _, name := range names {
		all = append(all, adk.DispatchMiddleware{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			path := adk.Seam{Label: label, Name: name, Iteration: dc.Iteration()}.String()
			return s.middleware(path, &actor{scope: in, ctx: ctx, by: perform.Handle{Dispatch: dc, Next: next}})
		}})
	}
	return all
}

func (s *interpreter) middleware(path string, a *actor) error {
	body := s.enter(path, a)
	if body == nil {
		a.by.Next(a.ctx)
		return nil
	}
	return s.play(a, body)
}

func (s *interpreter) executor(name string, in *scope) adk.Executor {
	return adk.Executor{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		a := &actor{scope: in, ctx: ctx, by: perform.Handle{Dispatch: dc}}
		path := adk.Seam{Label: adk.LabelExecutor, Name: name, Iteration: dc.Iteration()}.String()
		if body := s.enter(path, a); body != nil {
			return s.play(a, body)
		}
		return dc.Ack()
	}}
}

// tool returns the turn's tool with a handler that plays its scripts.
func (s *interpreter) tool(t *adk.Tool) *adk.Tool {
	path := adk.Seam{Label: adk.LabelTool, Name: t.Name()}.String()
	return t.WithHandler(func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
		a := &actor{scope: s.root, ctx: ctx, by: perform.Handle{Dispatch: dc}}
		body := s.enter(path, a)
		if body == nil {
			return adk.Text("ok"), nil
		}
		if err := s.play(a, body); err != nil {
			return nil, err
		}
		if body.End.Result == nil {
			return adk.Text("ok"), nil
		}
		result, _ := body.End.Result.V.(adk.ToolResult)
		return result, nil
	})
}

// own returns a tool with its scripted handler, and any other record unchanged.
func (s *interpreter) own(r adk.Record) adk.Record {
	if t, ok := r.(*adk.Tool); ok && t != nil {
		return s.tool(t)
	}
	return r
}

// enter counts a seam call, remembers its actor, and returns its script.
func (s *interpreter) enter(path string, a *actor) *Body {
	in := a.scope
	in.mu.Lock()
	defer in.mu.Unlock()
	n := in.called[path]
	in.called[path] = n + 1
	in.actors[path] = a
	return in.script(path, n)
}

// find returns the actor whose handle an operation uses, or nil if the path was never called.
func (s *interpreter) find(a *actor, path string) *actor {
	if path == "" {
		return a
	}
	for _, in := range []*scope{a.scope, s.root} {
		in.mu.Lock()
		found := in.actors[path]
		in.mu.Unlock()
		if found != nil {
			return found
		}
	}
	return nil
}

// play performs the operations of a body and ends as the body says.
func (s *interpreter) play(a *actor, body *Body) error {
	for i := range body.Ops {
		op := &body.Ops[i]
		err := s.perform(a, op)
		if err != nil && s.onFailure != nil {
			s.onFailure(op)
		}
		if err != nil && op.Must {
			return err
		}
	}
	return leave(body.End)
}

// leave ends a call.
func leave(end End) error {
	switch end.How {
	case adk.OutcomeError:
		return cmp.Or(end.Err.Err(), errors.New("failed"))
	case adk.OutcomePanic:
		panic(end.Err.PanicValue())
	case adk.OutcomeGoexit:
		runtime.Goexit()
	}
	return nil
}

// The listeners.

// listen adds the listeners that settle gates as planned and that panic where the turn says so.
func (s *interpreter) listen(raw *adk.RawTurn) {
	if len(s.turn.Loud) > 0 {
		raw.Functional, raw.Observability = listening.Every(func(kind adk.Kind, _ any) { s.hear(kind) })
	}
	hear := raw.Observability.TurnGateOpen
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		s.mu.Lock()
		s.gates[e.Gate.ID()] = e.Gate
		s.mu.Unlock()
		s.plans.Opened(e)
		if hear != nil {
			hear(e)
		}
	}
}

// hear counts an event and fails if the turn has a loud listener for it.
func (s *interpreter) hear(kind adk.Kind) {
	name := kind.String()
	s.mu.Lock()
	n := s.heard[name]
	s.heard[name] = n + 1
	s.mu.Unlock()
	for _, loud := range s.turn.Loud {
		if loud.Event != name || loud.Occurrence != n {
			continue
		}
		if loud.Goexit {
			runtime.Goexit()
		}
		panic(cmp.Or(loud.Text, "loud"))
	}
}

// The gates.

// settleAll settles a gate that has opened as its plan says.
func (s *interpreter) settleAll(gate *adk.TurnGate, plan []Settlement) {
	for _, one := range plan {
		if one.After > 0 {
			s.clock.AfterFunc(one.After, func() { settle(gate, one) })
		} else {
			settle(gate, one)
		}
	}
}

func settle(gate *adk.TurnGate, by Settlement) {
	switch by.Result {
	case adk.GateResolved:
		_, _ = gate.Resolve(by.By, by.Value.Get()) // a refused value is in the trace
	case adk.GateRejected:
		gate.Reject(by.By, by.Err.Err())
	case adk.GateAborted:
		gate.Abort(by.By)
	}
}

package otlp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Turn is what can be reconstructed of the turn of one agent from its spans.
type Turn struct {
	// Name is the name of the outermost span, and the beginning of its id.
	Name string
	// Trace is a trace for viewing and counting. It has what spans have: who was asked, how long
	// that took, which tools were executed, when, and how that ended, and also what was said if the
	// spans have that. Spans have no states, records, iterations, gates or steps of the engine, so
	// the trace cannot be replayed.
	Trace []byte
}

// Turns makes turns from the spans of a document, in the order in which they began. left is how
// many spans do not concern an agent. The error names a span that has no place.
func (d *Document) Turns() (turns []Turn, left int, err error) {
	var all []*Span
	for _, resource := range d.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for i := range scope.Spans {
				all = append(all, &scope.Spans[i])
			}
		}
	}
	roots, left, err := forest(all)
	if err != nil {
		return nil, left, err
	}
	for _, root := range gathered(roots) {
		root.widen()
		b := &turnBuilder{}
		b.turn(root)
		content, err := b.written(root)
		if err != nil {
			return nil, left, fmt.Errorf("span %s: %w", root.SpanID, err)
		}
		turns = append(turns, Turn{Name: root.Name + " " + root.SpanID[:8], Trace: content})
	}
	return turns, left, nil
}

// gathered returns roots that are agents. Roots that are not agents are put below a new agent, one
// for each trace of OpenTelemetry.
func gathered(roots []*node) (agents []*node) {
	stray := map[string]*node{}
	for _, root := range roots {
		if root.does == agent {
			agents = append(agents, root)
			continue
		}
		above := stray[root.TraceID]
		if above == nil {
			above = &node{Span: &Span{TraceID: root.TraceID, SpanID: root.TraceID[:16], Name: "spans without an agent", Start: root.Start, End: root.End}, does: agent}
			stray[root.TraceID] = above
			agents = append(agents, above)
		}
		above.below = append(above.below, root)
	}
	return agents
}

// turnBuilder makes the crossings of a turn from its spans.
type turnBuilder struct {
	crossings []adk.Crossing
	calls     int
	ops       int
	strands   int
}

// tell adds a crossing.
func (b *turnBuilder) tell(at Nanos, x adk.Crossing) {
	x.At = time.Unix(0, int64(at)).UTC()
	b.crossings = append(b.crossings, x)
}

// enter adds the beginning of a call, and returns its number.
func (b *turnBuilder) enter(at Nanos, in, strand int, x adk.Crossing) int {
	b.calls++
	x.Kind, x.Call, x.Strand, x.ID = adk.KindCall, in, strand, b.calls
	b.tell(at, x)
	return b.calls
}

func (b *turnBuilder) leave(at Nanos, in, strand, id int, failure string, result adk.ToolResult) {
	x := adk.Crossing{Kind: adk.KindReturn, Call: in, Strand: strand, ID: id, Outcome: adk.OutcomeOK, Result: result}
	if failure != "" {
		x.Outcome, x.Err, x.Result = adk.OutcomeError, errorOf(failure), nil
	}
	b.tell(at, x)
}

// errorOf returns the error for a kind of failure, which may be a code of the engine.
func errorOf(failure string) error {
	if strings.HasPrefix(failure, "E_") {
		return &adk.Error{Code: adk.Code(failure)}
	}
	return errors.New(failure)
}

// turn makes the turn of a root.
func (b *turnBuilder) turn(root *node) {
	run := b.enter(root.Start, 0, 0, adk.Crossing{Seam: adk.Seam{Label: adk.LabelRun}, Text: instructionsOf(root)})
	b.tell(root.Start, adk.Crossing{Kind: adk.KindTurnStart, Call: run, Name: cmp.Or(root.text("adkreplay.turn.id", "gen_ai.conversation.id"), root.SpanID)})
	b.dispatch(root, run, 0, "")
	b.tell(root.End, adk.Crossing{Kind: adk.KindTurnEnd, Call: run})
	b.leave(root.End, 0, 0, run, "", nil)
}

// dispatch makes the dispatch of an agent. If a model was asked, everything in the dispatch happens
// within one executor call.
func (b *turnBuilder) dispatch(n *node, in, strand int, name string) {
	who := cmp.Or(n.text("gen_ai.agent.name", "gen_ai.workflow.name"), "agent")
	call := adk.Crossing{Seam: adk.Seam{Label: adk.LabelDispatch, Name: name}}
	if name != "" {
		call.Seams = &adk.RunInfo{Executor: who}
	}
	dispatch := b.enter(n.Start, in, strand, call)
	b.tell(n.Start, adk.Crossing{Kind: adk.KindDispatchStart, Call: dispatch, Strand: strand, Name: cmp.Or(n.text("adkreplay.dispatch.id", "gen_ai.agent.id"), n.SpanID)})
	if slices.ContainsFunc(n.below, func(one *node) bool { return one.does == chat }) {
		executor := b.enter(n.Start, dispatch, strand, adk.Crossing{Seam: adk.Seam{Label: adk.LabelExecutor, Name: who}})
		b.children(n, executor, strand)
		b.leave(n.End, dispatch, strand, executor, "", nil)
	} else {
		b.children(n, dispatch, strand)
	}
	failure := n.failure()
	end := adk.Crossing{Kind: adk.KindDispatchEnd, Call: dispatch, Strand: strand, Status: adk.StatusAck}
	if failure != "" {
		end.Status, end.Err = adk.StatusNack, errorOf(failure)
	}
	end.Status = cmp.Or(n.text("adkreplay.dispatch.status"), end.Status)
	b.tell(n.End, end)
	if failure != "" {
		b.tell(n.End, adk.Crossing{Kind: adk.KindErrorEvent, Call: dispatch, Strand: strand, Err: errorOf(failure)})
	}
	b.leave(n.End, in, strand, dispatch, "", nil)
}

// children makes what is below a node, within a call. Children that overlap in time run in strands.
func (b *turnBuilder) children(n *node, in, strand int) {
	free := n.Start // when the call's own strand is free for the next child
	for _, one := range n.below {
		if one.Start >= free {
			free = one.End
			b.child(one, in, strand)
			continue
		}
		b.strands++
		beside, name := b.strands, cmp.Or(one.Name, string(one.does))
		b.tell(one.Start, adk.Crossing{Kind: adk.KindFork, Call: in, Strand: strand, Name: name, ID: beside})
		call := b.enter(one.Start, in, beside, adk.Crossing{Seam: adk.Seam{Label: adk.LabelStrand, Name: name}})
		b.child(one, call, beside)
		b.leave(one.End, in, beside, call, "", nil)
	}
}

func (b *turnBuilder) child(n *node, in, strand int) {
	switch n.does {
	case agent:
		b.dispatch(n, in, strand, cmp.Or(n.text("gen_ai.agent.name"), n.Name, "agent"))
	case chat:
		b.ask(n, in, strand)
		b.children(n, in, strand)
	case tool:
		b.execute(n, in, strand)
	}
}

// ask makes an ask of a model.
func (b *turnBuilder) ask(n *node, in, strand int) {
	b.ops++
	op := b.ops
	b.tell(n.Start, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Call: in, Strand: strand, Op: op,
		Name: cmp.Or(n.text("server.address", "gen_ai.provider.name", "gen_ai.system"), "model"), JSON: requestOf(n), Status: string(adk.EffectReads)})
	done := adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: in, Strand: strand, Op: op, JSON: answerOf(n)}
	if failure := n.failure(); failure != "" {
		done.Err = errorOf(failure)
	}
	b.tell(n.End, done)
}

// execute makes an execution of a tool, with everything below it.
func (b *turnBuilder) execute(n *node, in, strand int) {
	b.ops++
	op, name, failure := b.ops, cmp.Or(n.text("gen_ai.tool.name"), n.Name, "tool"), n.failure()
	args, result := argumentsOf(n), resultOf(n)
	b.tell(n.Start, adk.Crossing{Kind: adk.KindExecute, Phase: adk.Begin, Call: in, Strand: strand, Op: op, Record: toolOf(n, name), Args: args})
	b.tell(n.Start, adk.Crossing{Kind: adk.KindToolExecutionStart, Call: in, Strand: strand, Key: cmp.Or(n.text("gen_ai.tool.call.id"), n.SpanID)})
	call := b.enter(n.Start, in, strand, adk.Crossing{Seam: adk.Seam{Label: adk.LabelTool, Name: name}, Args: args})
	b.children(n, call, strand)
	b.leave(n.End, in, strand, call, failure, result)
	b.tell(n.End, adk.Crossing{Kind: adk.KindToolExecutionEnd, Call: in, Strand: strand, IsError: failure != ""})
	done := adk.Crossing{Kind: adk.KindExecute, Phase: adk.Done, Call: in, Strand: strand, Op: op}
	if failure != "" {
		done.Err = errorOf(failure)
	}
	b.tell(n.End, done)
}

// toolOf returns the tool of an execution. Spans do not have its schema.
func toolOf(n *node, name string) *adk.Tool {
	made, err := adk.NewTool(adk.ToolInit{Name: name, Description: cmp.Or(n.text("gen_ai.tool.description"), "(not said)"), InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return nil, errors.New("it was read from a span, and does nothing")
		}})
	if err != nil {
		panic(err) // impossible: the name and the description are not empty
	}
	return made
}

// written returns the trace of the crossings, ordered by time and numbered in that order.
func (b *turnBuilder) written(root *node) ([]byte, error) {
	slices.SortStableFunc(b.crossings, func(a, b adk.Crossing) int { return a.At.Compare(b.At) })
	calls, ops, strands := renumbering{}, renumbering{}, renumbering{}
	var out bytes.Buffer
	w := trace.NewWriter(&out, trace.Header{Info: adk.RunInfo{Executor: cmp.Or(root.text("gen_ai.agent.name"), "agent")}})
	for i := range b.crossings {
		x := &b.crossings[i]
		x.Call, x.Op = calls.of(x.Call), ops.of(x.Op)
		if x.Kind == adk.KindFork {
			x.ID = strands.of(x.ID)
		} else if x.Kind.Class() == adk.ClassCall {
			x.ID = calls.of(x.ID)
		}
		x.Strand = strands.of(x.Strand)
		if err := w.Write(x); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// renumbering numbers values from 1 in the order in which they occur; 0 stays 0.
type renumbering map[int]int

func (r renumbering) of(n int) int {
	if n == 0 {
		return 0
	}
	if _, met := r[n]; !met {
		r[n] = len(r) + 1
	}
	return r[n]
}

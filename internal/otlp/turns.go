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

// Turn is what of a trace can be made of the spans of one agent.
type Turn struct {
	// Name is the name of the outermost span, and the beginning of its id.
	Name string
	// Trace is a trace to be looked at and counted. It says what spans say: who was asked,
	// what that took, which tools were executed, when, and how that ended. Where they hold
	// what was said it has that too. States, records, iterations, gates and the engine's
	// steps are none of theirs, so it can not be run again.
	Trace []byte
}

// Turns makes turns of the spans of a document, in the order in which they began. left is how
// many spans say nothing of an agent. The error says which span cannot be placed.
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

// gathered are roots that are agents: what has none above it and is none itself is put below one
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

// turnBuilder makes the crossings that the spans of a turn tell of.
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

// enter adds the begin of a call, and gives its number.
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

// errorOf is the error of a kind of failure, which may be a code of the engine's.
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

// dispatch makes the dispatch of an agent: what it did is the doing of one executor call, if a
// model was asked.
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

// children makes what lies in a node, within a call: what overlaps is the doing of strands.
func (b *turnBuilder) children(n *node, in, strand int) {
	free := n.Start // when the call's own strand has time for the next one
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

// execute makes an execution of a tool, with what lies in it.
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

// toolOf is the tool of an execution. Spans do not say what arguments it takes.
func toolOf(n *node, name string) *adk.Tool {
	made, err := adk.NewTool(adk.ToolInit{Name: name, Description: cmp.Or(n.text("gen_ai.tool.description"), "(not said)"), InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return nil, errors.New("it was read from a span, and does nothing")
		}})
	if err != nil {
		panic(err) // a name and a description are all that it can lack
	}
	return made
}

// written is the trace of what was told, in the order of time, with numbers in that order.
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

// renumbering numbers what is met from 1; 0 stays.
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

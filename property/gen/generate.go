package gen

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Knobs limits what turns are generated. The zero Knobs excludes nothing.
type Knobs struct {
	// Middlewares, Iterations and Operations are the maximal numbers of middlewares in a pipeline,
	// of scripted iterations in a dispatch, and of operations in a call. Zero means 3, 3 and 6.
	Middlewares, Iterations, Operations int
	// Legal excludes what user code must not do: second nexts, late use of handles, nil records,
	// malformed gates and the like.
	Legal bool
	// OneStrand excludes forks.
	OneStrand bool
	// NoGoexit excludes runtime.Goexit, which ends the caller's goroutine.
	NoGoexit bool
}

func (k Knobs) withDefaults() Knobs {
	k.Middlewares = cmp.Or(k.Middlewares, 3)
	k.Iterations = cmp.Or(k.Iterations, 3)
	k.Operations = cmp.Or(k.Operations, 6)
	return k
}

// Turns generates whole turns, and some standalone dispatches: pipelines of any length whose
// middlewares do legal and illegal things, and executors over several iterations with streams,
// tools, gates, stores, signals, failures and cancels at any point.
func Turns(knobs Knobs) *rapid.Generator[turn.Turn] {
	k := knobs.withDefaults()
	return rapid.Custom(func(t *rapid.T) turn.Turn {
		d := &drawing{t: t, Knobs: k}
		return d.turn()
	})
}

// drawing is the state of drawing one turn.
type drawing struct {
	t *rapid.T
	Knobs
	turnSeams     []string // turn seams drawn so far, whose handles later operations may use
	dispatchSeams []string
	strands       int
	handlers      int
	iterations    int
	within        int // how many dispatches called by user code the drawing is inside
}

// Like rapid, the drawing prefers small numbers and the first entries of a list, so that failing
// turns are simple; the weights below compensate for it.

func (d *drawing) upTo(n int) int {
	if n <= 0 {
		return 0
	}
	return rapid.IntRange(0, n).Draw(d.t, "n")
}

// once reports whether to do something that should be done once in n times.
func (d *drawing) once(n int) bool {
	if n < 1 {
		panic(fmt.Sprintf("gen: once in %d times: want 1 or more", n))
	}
	yes, known := yesAt[n]
	if !known {
		yes = 2 * n / 3
	}
	return rapid.IntRange(0, n-1).Draw(d.t, "choice") == yes
}

// yesAt is the choice out of n that means yes: one near the middle, where the bias is smallest. To
// change it would change the turns that a seed gives.
var yesAt = map[int]int{2: 1, 3: 2, 4: 3, 6: 4, 8: 5, 16: 11, 32: 21}

func oneOf[T any](d *drawing, list []T) T {
	return list[rapid.IntRange(0, len(list)-1).Draw(d.t, "choice")]
}

// weighed repeats each word as often as the number after it says.
func weighed(words ...any) []string {
	var list []string
	for i := 0; i < len(words); i += 2 {
		for range words[i+1].(int) {
			list = append(list, words[i].(string))
		}
	}
	return list
}

func (d *drawing) turn() turn.Turn {
	t := turn.Turn{Prompt: "Be nice.", WriteBehind: d.once(2)}
	d.handedIn(&t)
	if t.Standalone = d.standalone(); t.Standalone == nil {
		t.TurnInput = d.names()
		t.TurnOutput = d.names()
	}
	t.DispatchInput = d.names()
	t.DispatchOutput = d.names()
	t.Tools = d.tools()
	t.Kept = d.records(d.upTo(3))
	d.iterations = d.upTo(d.Iterations)
	d.turnPipeline(&t, adk.LabelTurnInput, t.TurnInput)
	t.Scripts = append(t.Scripts, d.dispatch(t.Executor, t.DispatchInput, t.DispatchOutput, d.iterations)...)
	d.turnPipeline(&t, adk.LabelTurnOutput, t.TurnOutput)
	d.toolScripts(&t)
	d.storageFaults(&t)
	if d.once(8) {
		t.Loud = d.loud()
	}
	return t
}

// loud draws a listener that fails, most often at the most interesting event: the opening of a
// gate.
func (d *drawing) loud() []turn.Loud {
	event := oneOf(d, append([]string{"turnGateOpen", "turnGateOpen", "turnGateOpen"}, events...))
	if !d.NoGoexit && d.once(3) {
		return []turn.Loud{{Event: event, Occurrence: d.upTo(2), Goexit: true}}
	}
	return []turn.Loud{{Event: event, Occurrence: d.upTo(2), Text: "the listener fell over"}}
}

// standalone draws, now and then, that the turn is a standalone dispatch.
func (d *drawing) standalone() *turn.Standalone {
	if !d.once(8) {
		return nil
	}
	a := &turn.Standalone{Name: "planner", Gates: d.once(2)}
	for _, of := range samples.Collections {
		if of != adk.Instructions && d.once(3) {
			a.Records = append(a.Records, turn.Record{Record: d.record(of)})
		}
	}
	return a
}

// handedIn draws what is handed in, and now and then something that the engine must refuse.
func (d *drawing) handedIn(t *turn.Turn) {
	if n := d.upTo(2); n > 0 {
		t.Instructions = instructions[:n]
	}
	t.Stash = oneOf(d, stashes)
	switch {
	case d.once(32):
		t.Cancelled = oneOf(d, failures)
	case d.Legal || !d.once(32):
	case d.once(2):
		t.Prompt = ""
	case d.once(2):
		t.Instructions = []string{"Be brief.", "Be brief."}
	default:
		t.Stash = turn.ValueOf(map[string]any{"a.b": 1})
	}
}

// names draws the names of a pipeline: a, b, c and so on.
func (d *drawing) names() []string {
	var names []string
	for i := range d.upTo(d.Middlewares) {
		names = append(names, string(rune('a'+i)))
	}
	return names
}

func (d *drawing) tools() []turn.Record {
	var list []turn.Record
	for _, tool := range samples.Tools[:d.upTo(len(samples.Tools))] {
		list = append(list, turn.Record{Record: tool})
	}
	return list
}

func (d *drawing) records(n int) []turn.Record {
	var list []turn.Record
	for range n {
		list = append(list, turn.Record{Record: d.record(oneOf(d, samples.Collections))})
	}
	return list
}

// record draws a record of a collection. There are few of them, so that equal keys occur.
func (d *drawing) record(of adk.CollectionName) adk.Record { return oneOf(d, samples.Records[of]) }

func (d *drawing) turnPipeline(t *turn.Turn, label string, names []string) {
	for _, name := range names {
		path := adk.Seam{Label: label, Name: name}.String()
		d.turnSeams = append(d.turnSeams, path)
		if !d.once(3) {
			t.Scripts = append(t.Scripts, turn.Script{Seam: path, Body: d.middleware(turnOps)})
		}
	}
}

// dispatch draws the scripts of a dispatch, iteration by iteration.
func (d *drawing) dispatch(executor string, input, output []string, iterations int) []turn.Script {
	var scripts []turn.Script
	add := func(seam adk.Seam, body turn.Body) {
		scripts = append(scripts, turn.Script{Seam: seam.String(), Body: body})
	}
	for k := range iterations {
		for _, name := range input {
			seam := adk.Seam{Label: adk.LabelDispatchInput, Name: name, Iteration: k}
			if d.once(3) {
				add(seam, d.middleware(dispatchOps))
			}
			d.dispatchSeams = append(d.dispatchSeams, seam.String())
		}
		seam := adk.Seam{Label: adk.LabelExecutor, Name: cmp.Or(executor, "model"), Iteration: k}
		add(seam, d.body(executorOps, d.Operations, 0))
		d.dispatchSeams = append(d.dispatchSeams, seam.String())
		for _, name := range output {
			seam := adk.Seam{Label: adk.LabelDispatchOutput, Name: name, Iteration: k}
			if d.once(3) {
				add(seam, d.middleware(dispatchOps))
			}
			d.dispatchSeams = append(d.dispatchSeams, seam.String())
		}
	}
	return scripts
}

// middleware draws a body that calls next once, or now and then never or twice.
func (d *drawing) middleware(kinds []string) turn.Body {
	before, after := d.ops(kinds, d.Operations/2, 0), d.ops(kinds, d.Operations/2, 0)
	nexts := 1
	if !d.Legal && d.once(8) {
		nexts = d.upTo(1) * 2
	}
	ops := before
	for range nexts {
		ops = append(ops, turn.Op{Kind: "next"})
	}
	return turn.Body{Ops: append(ops, after...), End: d.end()}
}

func (d *drawing) body(kinds []string, most, depth int) turn.Body {
	return turn.Body{Ops: d.ops(kinds, most, depth), End: d.end()}
}

func (d *drawing) ops(kinds []string, most, depth int) []turn.Op {
	var ops []turn.Op
	for range d.upTo(most) {
		op := d.op(oneOf(d, kinds), depth)
		ops = append(ops, op)
		if back := d.readBack(&op); back != nil && slices.Contains(kinds, turn.OpRead) && d.once(3) {
			ops = append(ops, *back)
		}
	}
	return ops
}

// readBack returns an operation that reads what op has changed, or nil if there is nothing to read.
func (d *drawing) readBack(op *turn.Op) *turn.Op {
	switch {
	case op.Kind == "stash":
		return &turn.Op{Kind: turn.OpRead, Key: turn.ReadStash, Name: op.Name, Flag: d.once(2)}
	case op.Kind == "ack" || op.Kind == "nack":
		return &turn.Op{Kind: turn.OpRead, Key: turn.ReadSignal}
	case op.Of == adk.ToolCalls && op.Record != nil:
		return &turn.Op{Kind: turn.OpRead, Key: turn.ReadCount, Record: op.Record}
	}
	return nil
}

func (d *drawing) end() turn.End {
	if !d.once(8) {
		return turn.End{}
	}
	end := turn.End{How: oneOf(d, endings)}
	if end.How == adk.OutcomeGoexit && d.NoGoexit {
		end.How = adk.OutcomeError
	}
	if end.How == adk.OutcomeError || end.How == adk.OutcomePanic {
		end.Err = oneOf(d, failures)
	}
	return end
}

// toolScripts draws what tools do when they are executed.
func (d *drawing) toolScripts(t *turn.Turn) {
	for _, tool := range samples.Tools {
		for n := range d.upTo(2) {
			body := d.body(toolOps, 2, 1)
			body.End.Result = oneOf(d, results)
			if d.Legal && body.End.Result != nil && body.End.Result.V == nil {
				body.End.Result = nil
			}
			t.Scripts = append(t.Scripts, turn.Script{Seam: adk.Seam{Label: adk.LabelTool, Name: tool.Name()}.String(), Occurrence: n, Body: body})
		}
	}
}

// storageFaults draws failures of the storage.
func (d *drawing) storageFaults(t *turn.Turn) {
	for range d.upTo(3) {
		end := turn.End{How: adk.OutcomeError, Err: oneOf(d, failures), Kept: d.once(3)}
		if d.once(8) {
			end.How = adk.OutcomePanic
		}
		t.Scripts = append(t.Scripts, turn.Script{Seam: oneOf(d, obligations), Occurrence: oneOf(d, []int{0, 0, 0, 1, 2}), Body: turn.Body{End: end}})
	}
}

// op draws an operation of a kind.
func (d *drawing) op(kind string, depth int) turn.Op {
	op := turn.Op{Kind: kind, Must: d.once(8)}
	switch kind {
	case "add", "store", "mutate":
		op.Of = oneOf(d, samples.Collections)
		if d.Legal || !d.once(16) {
			op.Record = turn.RecordOf(d.record(op.Of))
		}
	case "remove", "delete":
		op.Of = oneOf(d, samples.Collections)
		op.Key = d.record(op.Of).Key()
	case "fetch":
		d.fetch(&op)
	case "stash":
		op.Name, op.Value, op.Flag = oneOf(d, d.paths()), oneOf(d, values), d.once(3)
		if _, nested := op.Value.Get().(map[string]any); nested && d.Legal {
			op.Value = nil
		}
	case turn.OpRead:
		d.read(&op)
	case "abort", "nack", turn.OpCancel:
		op.Cause = oneOf(d, append(failures, nil))
	case "sleep":
		op.Duration = oneOf(d, durations)
	case turn.OpAsk:
		d.ask(&op)
	case "register":
		op.Flag = d.once(3)
		if d.Legal || !d.once(16) {
			op.Record = turn.RecordOf(oneOf(d, samples.Tools))
		}
	case "unregister":
		op.Name = oneOf(d, samples.Tools).Name()
	case "execute":
		op.Name, op.Args = d.toolName(), oneOf(d, toolArgs)
	case "fork":
		d.fork(&op, depth)
	case turn.OpJoin:
		op.Name = "s" + strconv.Itoa(d.upTo(d.strands))
	case "on-ack":
		d.onAck(&op, depth)
	case "off-ack":
		if n := d.upTo(d.handlers); n > 0 { // 0 means a binding, whose name is empty
			op.Name = "h" + strconv.Itoa(n)
		}
	case "wait-for":
		d.gate(&op)
	case turn.OpSettle:
		op.Name, op.Settle = oneOf(d, gateIDs), []turn.Settlement{d.settlement()}
	case turn.OpDispatch:
		d.dispatchCall(&op, depth)
	case "late":
		return d.late(depth)
	default:
		d.report(&op)
	}
	return op
}

// ask draws the party, the request and the answer of an ask: as a whole, or in pieces.
func (d *drawing) ask(op *turn.Op) {
	op.Name = oneOf(d, services)
	op.Asked = &turn.Asked{Request: oneOf(d, requests), Effect: oneOf(d, effects), AfterAbort: d.once(4)}
	if d.once(3) {
		op.Cause = oneOf(d, failures)
	}
	if !d.once(2) {
		op.Asked.Answer = oneOf(d, answers)
		return
	}
	for range d.upTo(3) {
		op.Asked.Pieces = append(op.Asked.Pieces, oneOf(d, answers))
	}
	op.Flag = d.once(4)
}

func (d *drawing) fetch(op *turn.Op) {
	op.Of, op.Flag = oneOf(d, append(samples.Collections, adk.Tools)), !d.once(3)
	if op.Of == adk.Instructions {
		op.Kind = "refresh"
	}
}

// read draws what to read; the paths include some inside of nested trees.
func (d *drawing) read(op *turn.Op) {
	op.Key = oneOf(d, reads)
	op.Flag = d.once(2) && (op.Key == turn.ReadStash || op.Key == turn.ReadAll)
	switch op.Key {
	case turn.ReadStash, turn.ReadHas:
		op.Name = oneOf(d, readPaths)
	case turn.ReadCount:
		op.Record = turn.RecordOf(d.record(adk.ToolCalls))
	}
}

func (d *drawing) paths() []string {
	if d.Legal {
		return legalPaths
	}
	return somePaths
}

func (d *drawing) toolName() string {
	if !d.Legal && d.once(16) {
		return "nobody"
	}
	return oneOf(d, samples.Tools).Name()
}

// fork draws a strand, or another operation if forks are excluded or the nesting is too deep.
func (d *drawing) fork(op *turn.Op, depth int) {
	if d.OneStrand || depth > 1 {
		op.Kind = "now"
		return
	}
	kinds := strandOps
	d.strands++
	op.Name = "s" + strconv.Itoa(d.strands)
	body := d.body(kinds, 3, depth+1)
	op.Do = &body
	if d.once(32) {
		op.Name = ""
		if d.Legal {
			op.Name = "s"
		}
	}
}

func (d *drawing) onAck(op *turn.Op, depth int) {
	if depth > 1 {
		op.Kind = "now"
		return
	}
	d.handlers++
	op.Name = "h" + strconv.Itoa(d.handlers)
	body := d.body(toolOps, 2, depth+2)
	op.Do = &body
}

// gate draws a gate and its settlements, if any.
func (d *drawing) gate(op *turn.Op) {
	op.Name, op.Text = oneOf(d, gateIDs), "may I?"
	op.Schema = oneOf(d, gateSchemas)
	op.Duration = oneOf(d, gateTimeouts)
	for range oneOf(d, []int{1, 0, 1, 2}) {
		op.Settle = append(op.Settle, d.settlement())
	}
	if !d.Legal && d.once(16) {
		switch d.upTo(3) {
		case 0:
			op.Name = ""
		case 1:
			op.Text = ""
		case 2:
			op.Duration = -1
		case 3:
			op.Schema = []byte(`{"type":5}`)
		}
	}
}

func (d *drawing) settlement() turn.Settlement {
	s := turn.Settlement{By: oneOf(d, settlers), Result: oneOf(d, settlements), After: oneOf(d, gateDelays)}
	switch s.Result {
	case adk.GateResolved:
		s.Value = turn.ValueOf(oneOf(d, gateValues))
	case adk.GateRejected:
		s.Err = oneOf(d, failures)
	}
	return s
}

// deepest is how deep dispatches are nested at most.
const deepest = 3

// dispatchCall draws the call of a dispatch, now and then with a context that is done. If the
// nesting is too deep, it draws another operation.
func (d *drawing) dispatchCall(op *turn.Op, depth int) {
	if d.within == deepest {
		op.Kind = "now"
		return
	}
	op.Dispatch = d.nested(depth)
	op.Must = op.Must || op.Dispatch.Wrong != "" // so that the refusal is visible
	if d.once(8) {
		op.Cause = oneOf(d, failures)
	}
}

// nested draws a dispatch that user code calls. It is small, and only it uses the handles of its
// seams. At a depth above 0 the caller may be a strand; then nothing inside uses the handles of the
// turn's seams, for the same reason as in late.
func (d *drawing) nested(depth int) *turn.Nested {
	n := &turn.Nested{Name: oneOf(d, []string{"planner", "summary"}), Executor: "small"}
	if d.once(2) {
		n.Input = []string{"a"}
	}
	if d.once(4) {
		n.Output = []string{"a"}
	}
	if !d.Legal && d.once(16) {
		n.Wrong = oneOf(d, wrongs)
	}
	own := *d
	own.Operations, own.dispatchSeams = min(d.Operations, 3), nil
	if depth > 0 {
		own.turnSeams = nil
	}
	own.within++
	n.Scripts = own.dispatch(n.Executor, n.Input, n.Output, d.upTo(min(d.Iterations, 2)))
	d.strands, d.handlers = own.strands, own.handlers
	return n
}

// late draws an operation on the handle of another seam, which has ended or is still open. It does
// so only outside of strands, because a strand should use only its own handles.
func (d *drawing) late(depth int) turn.Op {
	on := d.turnSeams
	kinds := lateTurnOps
	if len(d.dispatchSeams) > 0 && d.once(2) {
		on, kinds = d.dispatchSeams, lateDispatchOps
	}
	if d.Legal || depth > 0 || len(on) == 0 {
		return turn.Op{Kind: "now"}
	}
	op := d.op(oneOf(d, kinds), 2)
	op.On = on[d.upTo(len(on)-1)]
	return op
}

// report draws streams, log lines and emitted events.
func (d *drawing) report(op *turn.Op) {
	switch op.Kind {
	case "report-message", "report-thought", "emit-message", "emit-thought":
		op.Name, op.Text, op.Flag = oneOf(d, streamIDs), oneOf(d, texts), d.once(3)
	case "report-tool-call", "emit-tool-call":
		op.Name, op.Key = oneOf(d, streamIDs), oneOf(d, []string{"peek", "", "weather"})
		op.Args, op.IsError, op.Flag = oneOf(d, toolArgs), d.once(8), d.once(3)
		if op.Flag {
			op.Result = turn.ValueOf(adk.Text("done"))
		}
		if args, ok := op.Args.Get().(map[string]any); op.Kind == "emit-tool-call" && (!ok || args == nil) {
			op.Args = nil
		}
	case "report-log":
		op.Key, op.Name, op.Text, op.Value = oneOf(d, levels), "note", oneOf(d, texts), oneOf(d, values)
	}
}

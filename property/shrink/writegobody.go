package shrink

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/turntext"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file writes seams and operations as Go.

// findHandles collects the seams whose handles other user code uses.
func (g *goWriter) findHandles() {
	seen := map[string]bool{}
	for i := range g.turn.Scripts {
		for _, op := range g.turn.Scripts[i].Ops {
			if op.On != "" && op.On != g.turn.Scripts[i].Seam && !strings.HasPrefix(op.On, adk.LabelStrand) {
				seen[op.On] = true
			}
		}
	}
	g.handles = slices.Sorted(maps.Keys(seen))
}

// variable returns the name of the variable for the handle of a seam. If several seams would get
// the same name, because they differ only in characters that a Go name cannot have, it adds a
// number.
func (g *goWriter) variable(path string) string {
	name, like := safetext.CamelCase(path), 0
	for _, before := range g.handles[:slices.Index(g.handles, path)] {
		if safetext.CamelCase(before) == name {
			like++
		}
	}
	if like > 0 {
		return fmt.Sprintf("of%s_%d", name, like+1)
	}
	return "of" + name
}

func handleField(path string) string {
	if strings.HasPrefix(path, "turn-") {
		return "tc *adk.TurnContext"
	}
	return "dc *adk.DispatchContext"
}

// keepHandle writes the statements that keep a seam's handle for other user code.
func (g *goWriter) keepHandle(path, context, next string) {
	if slices.Contains(g.handles, path) {
		v := g.variable(path)
		g.line("%s.ctx, %s.%s = ctx, %s", v, v, context, context)
		if next != "" {
			g.line("%s.next = next", v)
		}
	}
}

// executor writes an executor as a fakes.Script.
func (g *goWriter) executor(name string, scripts []turn.Script) string {
	return fmt.Sprintf("fakes.Script{\n%s}.Executor(%q)", g.script(name, scripts), name)
}

func (g *goWriter) script(name string, scripts []turn.Script) string {
	return g.inner(func() {
		for k := range max(g.iterations[name], 1) {
			path := adk.Seam{Label: adk.LabelExecutor, Name: name, Iteration: k}.String()
			body := turn.FindScript(scripts, path, 0)
			if body == nil {
				body = &turn.Body{Ops: []turn.Op{{Kind: "ack", Must: true}}}
			}
			g.line("{")
			if slices.Contains(g.handles, path) {
				g.line("fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {")
				g.keepHandle(path, "dc", "")
				g.line("return nil }),")
			}
			g.steps(body)
			g.line("},")
		}
	})
}

// steps writes a body as the steps of a script: with the steps of package fakes where they exist,
// and with functions for the operations in between.
func (g *goWriter) steps(body *turn.Body) {
	var plain []turn.Op
	flush := func() {
		if len(plain) > 0 {
			g.line("fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {")
			g.ops(plain, "dc", returned)
			g.line("return nil }),")
			plain = nil
		}
	}
	for i := 0; i < len(body.Ops); {
		step, n := g.step(body.Ops[i:])
		if n == 0 || joined(body, i) {
			plain = append(plain, body.Ops[i])
			g.failed[&plain[len(plain)-1]] = g.failed[&body.Ops[i]]
			i++
			continue
		}
		flush()
		g.line("%s,", step)
		i += n
	}
	flush()
	switch body.End.How {
	case adk.OutcomeError:
		g.line("fakes.Fail(%s),", g.failure(orFailed(body.End.Err)))
	case adk.OutcomePanic:
		g.line("fakes.Panic(%s),", g.panicValue(body.End.Err))
	case adk.OutcomeGoexit:
		g.line("fakes.Do(func(context.Context, *adk.DispatchContext, *adk.Helpers) error { %s.Goexit(); return nil }),", g.use("runtime"))
	}
}

// joined reports whether an operation is between a fork and the join of its strand, or between an
// on-ack and its off-ack. These must be in one function, because a variable connects them.
func joined(body *turn.Body, at int) bool {
	last := -1
	for i, op := range body.Ops {
		if op.Kind == turn.OpJoin || op.Kind == "off-ack" {
			last = i
		}
	}
	first := slices.IndexFunc(body.Ops, func(op turn.Op) bool { return begins(&op) })
	return first >= 0 && at >= first && at <= last
}

// step writes the first operations of the list as one step of a script, and returns their number; 0
// if there is no step for them.
func (g *goWriter) step(ops []turn.Op) (string, int) {
	op := &ops[0]
	if op.On != "" || g.failed[op] && !op.Must {
		return "", 0
	}
	switch op.Kind {
	case "report-message", "report-thought":
		return g.utterance(ops)
	case "ack":
		return "fakes.Ack()", 1
	case "nack":
		return "fakes.Nack(" + g.failure(op.Cause) + ")", 1
	case "abort":
		return "fakes.Abort(" + g.failure(op.Cause) + ")", 1
	case "sleep":
		return "fakes.Wait(" + g.duration(op.Duration) + ")", 1
	case "report-log":
		return fmt.Sprintf("fakes.Log(%q, %q, %q, %s)", op.Key, op.Name, op.Text, g.value(op.Value.Get())), 1
	}
	return "", 0
}

// utterance writes a stream, from its first delta to its last, as Say, Think or Stream.
func (g *goWriter) utterance(ops []turn.Op) (string, int) {
	var chunks []string
	for i := range ops {
		op := &ops[i]
		if op.Kind != ops[0].Kind || op.Name != ops[0].Name || op.On != "" || g.failed[op] {
			return "", 0
		}
		chunks = append(chunks, strconv.Quote(op.Text))
		if op.Flag {
			word := map[string]string{"report-message": "Say", "report-thought": "Think"}[op.Kind]
			if len(chunks) > 1 {
				if op.Kind == "report-thought" {
					return "", 0
				}
				word = "Stream"
			}
			return fmt.Sprintf("fakes.%s(%s).As(%q).NotStored()", word, strings.Join(chunks, ", "), op.Name), i + 1
		}
	}
	return "", 0
}

// pipeline writes the middlewares of a pipeline.
func (g *goWriter) pipeline(assign, label string, names []string, scripts []turn.Script, end string) {
	if len(names) == 0 {
		return
	}
	kind, context := "DispatchMiddleware", "dc *adk.DispatchContext"
	if label == adk.LabelTurnInput || label == adk.LabelTurnOutput {
		kind, context = "TurnMiddleware", "tc *adk.TurnContext"
	}
	g.out.WriteString(assign)
	g.line("[]adk.%s{", kind)
	for _, name := range names {
		g.line("{Name: %q, Run: func(ctx context.Context, %s, next adk.Next) error {", name, context)
		g.middleware(label, name, scripts, context[:2])
		g.line("}},")
	}
	g.out.WriteString("}" + end)
}

// middleware writes the body of a middleware, with one case for each iteration in which it does
// more than call next.
func (g *goWriter) middleware(label, name string, scripts []turn.Script, context string) {
	var written []int
	for k := range 100 {
		path := adk.Seam{Label: label, Name: name, Iteration: k}.String()
		if turn.FindScript(scripts, path, 0) != nil || slices.Contains(g.handles, path) {
			written = append(written, k)
		}
		if context == "tc" {
			break
		}
	}
	write := func(k int) {
		path := adk.Seam{Label: label, Name: name, Iteration: k}.String()
		g.keepHandle(path, context, "next")
		body := turn.FindScript(scripts, path, 0)
		if body == nil {
			body = &turn.Body{Ops: []turn.Op{{Kind: "next"}}}
		}
		g.body(body, context, returned)
		if body.End.How == "" || body.End.How == adk.OutcomeOK {
			g.line("return nil")
		}
	}
	switch {
	case len(written) == 0:
		g.line("next(ctx)\nreturn nil")
	case context == "tc":
		write(0)
	default:
		g.line("switch dc.Iteration() {")
		for _, k := range written {
			g.line("case %d:", k)
			write(k)
		}
		g.line("}\nnext(ctx)\nreturn nil")
	}
}

func returned(err string) string { return err }

// body writes the operations and the end of a call, except for an end without error.
func (g *goWriter) body(b *turn.Body, context string, results func(err string) string) {
	g.ops(b.Ops, context, results)
	switch b.End.How {
	case adk.OutcomeError:
		g.line("return %s", results(g.failure(orFailed(b.End.Err))))
	case adk.OutcomePanic:
		g.line("panic(%s)", g.panicValue(b.End.Err))
	case adk.OutcomeGoexit:
		g.line("%s.Goexit()", g.use("runtime"))
		g.line("return %s", results("nil"))
	}
}

func (g *goWriter) ops(ops []turn.Op, context string, results func(err string) string) {
	for i := range ops {
		g.op(ops, i, context, results)
	}
}

// ofDispatches lists the operations that a turn context does not have.
var ofDispatches = []string{"ack", "nack", "on-ack", "off-ack", turn.OpBind, "execute", "report-message", "report-thought", "report-tool-call", turn.OpRead}

// op writes one operation as a statement.
func (g *goWriter) op(ops []turn.Op, at int, context string, results func(err string) string) {
	op := &ops[at]
	on, ctx, next := context, "ctx", "next"
	if op.On != "" {
		if !slices.Contains(g.handles, op.On) {
			if context == "tc" || context == "dc" {
				on = context
			}
		} else {
			v := g.variable(op.On)
			on, ctx, next = v+"."+handleField(op.On)[:2], v+".ctx", v+".next"
		}
	}
	if turn := strings.HasSuffix(on, "tc"); turn && slices.Contains(ofDispatches, op.Kind) {
		return // the handle does not have the operation, so the turn ignores it
	}
	switch op.Kind {
	case "next":
		if op.On != "" && next != "next" {
			g.line("if %s != nil { %s(%s) }", next, next, ctx)
		} else {
			g.line("next(ctx)")
		}
		return
	case "now", "new-id":
		g.line("%s.%s()", on, adk.KindByName(op.Kind).Makes())
		return
	case turn.OpCancel:
		g.line("cancel(%s)", g.failure(orKnownCancel(op.Cause)))
		return
	case "report-log":
		g.line("%s.Log(%q, %q, %q, %s)", on, op.Key, op.Name, op.Text, g.value(op.Value.Get()))
		return
	case turn.OpRead:
		g.read(op, on)
		return
	case turn.OpSettle:
		g.settleOp(op)
		return
	}
	call, values := g.call(ops, at, on, ctx, results)
	if call == "" {
		return
	}
	if values == 0 {
		g.line("%s", call)
		return
	}
	if op.Kind == "stash" && op.Flag {
		g.used.change = true
		g.line("{\ngiven := any(%s)", g.value(op.Value.Get()))
		call = fmt.Sprintf("%s.Stash().Set(%q, given)", on, op.Name)
		defer g.line("change%s(given)\n}", g.name)
	}
	blank := strings.Repeat("_, ", values-1)
	if op.Must {
		g.line("if %serr := %s; err != nil { return %s }", blank, call, results("err"))
		return
	}
	g.line("%s_ = %s", blank, call)
}

// read writes the statements that read something, log it, and change it if the operation says so.
func (g *goWriter) read(op *turn.Op, on string) {
	answer := g.answered(op, on)
	log := func(answer string) {
		g.line("%s.Helpers().Log(adk.LevelDebug, \"read\", %q, %s)", on, turntext.Read(op.Key, op.Name), answer)
	}
	if !op.Flag {
		log(answer)
		return
	}
	g.used.change = true
	g.line("{\nread := %s", answer)
	log("read")
	g.line("change%s(read)\n}", g.name)
}

func (g *goWriter) answered(op *turn.Op, on string) string {
	switch op.Key {
	case turn.ReadStash:
		return fmt.Sprintf("%s.Stash().Get(%q, \"none\")", on, op.Name)
	case turn.ReadHas:
		return fmt.Sprintf("%s.Stash().Has(%q)", on, op.Name)
	case turn.ReadKeys:
		return fmt.Sprintf("%s.Join(%s.Stash().Keys(), \" \")", g.use("strings"), on)
	case turn.ReadAll:
		return on + ".Stash().All()"
	case turn.ReadSignal:
		return fmt.Sprintf("%s.Sprintf(\"signalled=%%t acked=%%t nacked=%%t\", %s.IsSignalled(), %[2]s.IsAcked(), %[2]s.NackError() != nil)", g.use("fmt"), on)
	}
	if call, ok := op.Record.Get().(*adk.ToolCall); ok {
		return fmt.Sprintf("%s.ToolCallCount(%s.Checksum())", on, g.record(call))
	}
	return "nil"
}

func orKnownCancel(f *turn.Failure) *turn.Failure {
	if f == nil {
		return &turn.Failure{Known: "context.Canceled"}
	}
	return f
}

// call returns the call that makes an operation, and the number of its results; 0 means that it is
// a complete statement.
func (g *goWriter) call(ops []turn.Op, at int, on, ctx string, results func(err string) string) (string, int) {
	op := &ops[at]
	switch op.Kind {
	case "ack":
		return on + ".Ack()", 1
	case "nack":
		return fmt.Sprintf("%s.Nack(%s)", on, g.failure(op.Cause)), 1
	case "abort":
		return fmt.Sprintf("%s.Abort(%s)", on, g.failure(op.Cause)), 1
	case "sleep":
		return fmt.Sprintf("%s.Sleep(%s, %s)", on, ctx, g.duration(op.Duration)), 1
	case "stash":
		return fmt.Sprintf("%s.Stash().Set(%q, %s)", on, op.Name, g.value(op.Value.Get())), 1
	case "wait-for":
		return fmt.Sprintf("%s.WaitFor(%s, %s)", on, ctx, g.planned(op)), 2
	case "report-message", "report-thought":
		word := map[string]string{"report-message": "ReportMessage", "report-thought": "ReportThought"}[op.Kind]
		return fmt.Sprintf("%s.Helpers().%s(%q, %q, %t)", on, word, op.Name, op.Text, op.Flag), 2
	case "report-tool-call":
		return fmt.Sprintf("%s.Helpers().ReportToolCall(%q, adk.ToolCallReport{%s})", on, op.Name, g.toolCallFields(op)), 2
	case "emit-message", "emit-thought":
		word := map[string]string{"emit-message": "Message", "emit-thought": "Thought"}[op.Kind]
		return fmt.Sprintf("%s.Emit%s(adk.%sEvent{ID: %q, Delta: %q, Full: %q, Complete: %t})", on, word, word, op.Name, op.Text, op.Text, op.Flag), 1
	case "emit-tool-call":
		return fmt.Sprintf("%s.EmitToolCall(adk.ToolCallEvent{ID: %q, %s})", on, op.Name, g.toolCallFields(op)), 1
	case "execute":
		return g.execute(op, on, ctx), 2
	case turn.OpAsk:
		return g.ask(op, ctx)
	case "register":
		word := map[bool]string{false: "Register", true: "Replace"}[op.Flag]
		return fmt.Sprintf("%s.Tools().%s(%s)", on, word, g.tool(op.Record.Get())), 1
	case "unregister":
		return fmt.Sprintf("%s.Tools().Unregister(%q)", on, op.Name), 2
	case "prune":
		return on + ".Tools().PruneEphemeral()", 2
	case "fork", "on-ack", turn.OpBind:
		return g.begun(ops, at, on, ctx, results)
	case turn.OpJoin, "off-ack":
		return g.end(ops, at)
	case turn.OpDispatch:
		return g.dispatch(op, on, ctx), 2
	}
	return g.records(op, on, ctx)
}

func (g *goWriter) toolCallFields(op *turn.Op) string {
	var fields []string
	if op.Key != "" {
		fields = append(fields, fmt.Sprintf("Tool: %q", op.Key))
	}
	if op.Args.Get() != nil {
		fields = append(fields, "Args: "+g.value(op.Args.Get()))
	}
	if op.Result != nil {
		fields = append(fields, "Results: "+g.result(op.Result))
	}
	if op.IsError {
		fields = append(fields, "IsError: true")
	}
	if op.Flag {
		fields = append(fields, "Complete: true")
	}
	return strings.Join(fields, ", ")
}

// ask writes an ask and the answer of the world.
func (g *goWriter) ask(op *turn.Op, ctx string) (string, int) {
	if op.Asked == nil {
		return "", 0
	}
	raw := func(text json.RawMessage) string { return "json.RawMessage(" + quotedRaw(string(text)) + ")" }
	g.use("encoding/json")
	options := fmt.Sprintf("adk.AskOptions{Effect: %q}", op.Asked.Effect)
	if op.Asked.AfterAbort {
		ctx = "context.WithoutCancel(" + ctx + ")"
		options = fmt.Sprintf("adk.AskOptions{Effect: %q, AfterAbort: true}", op.Asked.Effect)
	}
	asked := fmt.Sprintf("%s, %q, %s", ctx, op.Name, raw(op.Asked.Request))
	if op.Asked.Answer != nil {
		answer := raw(op.Asked.Answer) + ", nil"
		if op.Cause != nil {
			answer = "nil, " + g.failure(op.Cause)
		}
		return fmt.Sprintf("adk.Ask(%s, func(context.Context, json.RawMessage) (json.RawMessage, error) { return %s }, %s)", asked, answer, options), 2
	}
	world := g.inner(func() {
		for _, piece := range op.Asked.Pieces {
			g.line("if err := give(%s); err != nil { return err }", raw(piece))
		}
		g.line("return %s", g.failure(op.Cause))
	})
	content := ""
	if op.Flag {
		content = " || true"
	}
	return fmt.Sprintf("func() error {\nfor _, err := range adk.AskStream(%s, func(_ context.Context, _ json.RawMessage, give func(json.RawMessage) error) error {\n%s}, %s) {\nif err != nil%s { return err }\n}\nreturn nil\n}()",
		asked, world, options, content), 1
}

// execute writes the execution of a tool: of the one in the operation, or of the context's tool
// with that name. In the latter case the written code returns an error if there is none.
func (g *goWriter) execute(op *turn.Op, on, ctx string) string {
	tool := g.tool(op.Record.Get())
	if op.Record == nil {
		g.used.execute = true
		return fmt.Sprintf("execute%s(%s, %s, %q, %s)", g.name, ctx, on, op.Name, g.value(op.Args.Get()))
	}
	return fmt.Sprintf("%s.Execute(%s, %s, %s)", on, ctx, tool, g.value(op.Args.Get()))
}

// begun writes an operation that returns something by which to end it, and keeps that in a variable
// if a later operation uses it.
func (g *goWriter) begun(ops []turn.Op, at int, on, ctx string, results func(err string) string) (string, int) {
	op := &ops[at]
	var call string
	switch op.Kind {
	case "fork":
		context, typed := "tc", "tc *adk.TurnContext"
		if strings.HasSuffix(on, "dc") {
			context, typed = "dc", "dc *adk.DispatchContext"
		}
		call = fmt.Sprintf("%s.Fork(%s, %q, func(ctx context.Context, %s) error {\n%s})", on, ctx, op.Name, typed, g.function(op.Do, context))
	case "on-ack":
		inner := g.inner(func() {
			if op.Do != nil {
				g.body(&turn.Body{Ops: op.Do.Ops, End: withoutError(op.Do.End)}, "dc", func(string) string { return "" })
			}
		})
		call = fmt.Sprintf("%s.OnAck(%q, func(ctx context.Context, dc *adk.DispatchContext) {\n%s})", on, op.Name, inner)
	default:
		call = on + ".Tools().Bind()"
	}
	next := slices.IndexFunc(ops[at+1:], func(later turn.Op) bool { return alike(&later, op) })
	if next < 0 || !ends(&ops[at+1+next], op) {
		return call, 2
	}
	if op.Must {
		return fmt.Sprintf("%s, err := %s\nif err != nil { return %s }", ending(ops, at), call, results("err")), 0
	}
	return fmt.Sprintf("%s, _ := %s", ending(ops, at), call), 0
}

// alike reports whether later ends what op began, or begins the same anew.
func alike(later, op *turn.Op) bool {
	return ends(later, op) || (later.Kind == "fork") == (op.Kind == "fork") && begins(later) && later.Name == op.Name
}

// begins reports whether an operation returns something by which to end it.
func begins(op *turn.Op) bool {
	return op.Kind == "fork" || op.Kind == "on-ack" || op.Kind == turn.OpBind
}

// ends reports whether later ends what op began.
func ends(later, op *turn.Op) bool {
	return later.Kind == turn.OpJoin && op.Kind == "fork" && later.Name == op.Name ||
		later.Kind == "off-ack" && (op.Kind == "on-ack" || op.Kind == turn.OpBind) && later.Name == op.Name
}

// ending returns the name of the variable for what an operation begins, for example a strand. An x
// is added for each earlier one of the same name.
func ending(ops []turn.Op, at int) string {
	op := &ops[at]
	words := strings.FieldsFunc(op.Name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	name := "off"
	if op.Kind == "fork" {
		name = "strand"
	}
	name += strings.Join(words, "")
	for _, earlier := range ops[:at] {
		if begins(&earlier) && alike(&earlier, op) {
			name += "x"
		}
	}
	return name
}

func (g *goWriter) end(ops []turn.Op, at int) (string, int) {
	op := &ops[at]
	for i := at - 1; i >= 0; i-- {
		switch {
		case !ends(op, &ops[i]):
		case op.Kind == turn.OpJoin:
			return ending(ops, i) + ".Wait()", 1
		default:
			g.line("%s()", ending(ops, i))
			return "", 0
		}
	}
	return "", 0
}

// withoutError returns the end of a handler, which cannot return an error.
func withoutError(end turn.End) turn.End {
	if end.How == adk.OutcomeError {
		return turn.End{}
	}
	return end
}

func (g *goWriter) function(b *turn.Body, context string) string {
	return g.inner(func() {
		if b == nil {
			b = &turn.Body{}
		}
		g.body(b, context, returned)
		if b.End.How == "" || b.End.How == adk.OutcomeOK {
			g.line("return nil")
		}
	})
}

func (g *goWriter) dispatch(op *turn.Op, on, ctx string) string {
	n := op.Dispatch
	if n == nil {
		n = &turn.Nested{Name: "nested"}
	}
	name := cmp.Or(n.Executor, "model")
	return g.inner(func() {
		if op.Cause != nil {
			g.used.done = true
			ctx = fmt.Sprintf("done%s(%s, %s)", g.name, ctx, g.failure(op.Cause))
		}
		fmt.Fprintf(&g.out, "adk.Dispatch(%s, adk.DispatchInput{Name: %q, Source: %s,\nExecutor: %s,\n", ctx, n.Name, on, g.executor(name, n.Scripts))
		g.pipeline("Input: ", adk.LabelDispatchInput, n.Input, n.Scripts, ",\n")
		g.pipeline("Output: ", adk.LabelDispatchOutput, n.Output, n.Scripts, ",\n")
		g.out.WriteString("})")
	})
}

// methodOf returns the name of a context's method for a collection.
func methodOf(of adk.CollectionName) string { return strings.ToUpper(string(of[:1])) + string(of[1:]) }

// records writes an operation on a collection.
func (g *goWriter) records(op *turn.Op, on, ctx string) (string, int) {
	set := on + "." + methodOf(op.Of) + "()"
	switch op.Kind {
	case "fetch", "refresh":
		if !op.Flag {
			return fmt.Sprintf("%s.Fetch(%s)", set, ctx), 2
		}
		add := "_, err = " + set + ".Add(one)"
		if op.Of == adk.Tools {
			add = "err = " + set + ".Register(one)"
		}
		return fmt.Sprintf("func() error {\nall, err := %s.Fetch(%s)\nif err != nil { return err }\nvar refused error\nfor _, one := range all {\n%s\nrefused = %s.Join(refused, err)\n}\nreturn refused }()",
			set, ctx, add, g.use("errors")), 1
	case "add":
		return fmt.Sprintf("%s.Add(%s)", set, g.record(op.Record.Get())), 2
	case "remove":
		return fmt.Sprintf("%s.Remove(%q)", set, op.Key), 2
	case "store":
		return fmt.Sprintf("%s.Store(%s, %s)", set, ctx, g.record(op.Record.Get())), 1
	case "mutate":
		return fmt.Sprintf("%s.Mutate(%s, %s)", set, ctx, g.record(op.Record.Get())), 1
	case "delete":
		return fmt.Sprintf("%s.Delete(%s, %q)", set, ctx, op.Key), 1
	}
	return "", 0
}

// The gates.

// planned writes the gate to wait for, and how it is settled.
func (g *goWriter) planned(op *turn.Op) string {
	if len(op.Settle) == 0 {
		return g.gate(op)
	}
	g.used.gates = true
	settles := g.inner(func() {
		for i := range op.Settle {
			s := &op.Settle[i]
			if s.After > 0 {
				g.used.clock = true
				g.line("clock.AfterFunc(%s, func() { %s })", g.duration(s.After), g.settlement("gate", s))
			} else {
				g.line("%s", g.settlement("gate", s))
			}
		}
	})
	return fmt.Sprintf("plans.Gate(%s, func(gate *adk.TurnGate) {\n%s})", g.gate(op), settles)
}

func (g *goWriter) settlement(gate string, s *turn.Settlement) string {
	switch s.Result {
	case adk.GateResolved:
		return fmt.Sprintf("_, _ = %s.Resolve(%q, %s)", gate, s.By, g.value(s.Value.Get()))
	case adk.GateRejected:
		return fmt.Sprintf("%s.Reject(%q, %s)", gate, s.By, g.failure(s.Err))
	}
	return fmt.Sprintf("%s.Abort(%q)", gate, s.By)
}

func (g *goWriter) settleOp(op *turn.Op) {
	if len(op.Settle) == 0 {
		return
	}
	g.used.open = true
	g.line("if gate := open[%q]; gate != nil { %s }", op.Name, g.settlement("gate", &op.Settle[0]))
}

func (g *goWriter) gate(op *turn.Op) string {
	fields := fmt.Sprintf("ID: %q, Reason: %q", op.Name, op.Text)
	if op.Value.Get() != nil {
		fields += ", Payload: " + g.value(op.Value.Get())
	}
	if op.Schema != nil {
		g.use("encoding/json")
		fields += ", Schema: json.RawMessage(" + quotedRaw(string(op.Schema)) + ")"
	}
	if op.Duration != 0 {
		fields += ", Timeout: " + g.duration(op.Duration)
	}
	return "adk.Gate{" + fields + "}"
}

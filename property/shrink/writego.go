package shrink

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// WriteScenario writes a turn as a Go test. User code is written with the steps of package fakes
// where they suffice, and as plain functions otherwise. The comment of the test says what is wrong
// with the turn, if anything, and holds its transcript. The test checks the turn as CheckSubject
// does. name must be an exported Go name, for example LostMessage; pkg is the package of the test.
//
// Scripts of the storage are written only as far as they fail; the records that a script makes a
// fetch return are put into the test's storage from the beginning.
func WriteScenario(w io.Writer, pkg, name string, t turn.Turn) error {
	g := &goWriter{turn: t, name: name, imports: map[string]bool{}, failed: map[*turn.Op]bool{}}
	if err := g.observe(); err != nil {
		return err
	}
	body := g.file()
	var out bytes.Buffer
	fmt.Fprintf(&out, "package %s\n\nimport (\n", pkg)
	for _, path := range slices.Sorted(maps.Keys(g.imports)) {
		fmt.Fprintf(&out, "\t%q\n", path)
	}
	fmt.Fprintf(&out, "\n\t%q\n\t%q\n\t%q\n)\n\n", module+"adk", module+"fakes", module+"property/turn")
	out.WriteString(body)
	source, err := format.Source(out.Bytes())
	if err != nil {
		return fmt.Errorf("shrink: the scenario is no Go: %w\n%s", err, &out)
	}
	_, err = w.Write(source)
	return err
}

const module = "github.com/adkreplay/adkreplay/"

// goWriter holds the state of writing one turn.
type goWriter struct {
	turn    turn.Turn
	name    string
	imports map[string]bool

	// What a run of the turn shows: its transcript, the operations that failed, how often each seam
	// was called, how many iterations each executor began, and what is wrong.
	transcript string
	failed     map[*turn.Op]bool
	calls      map[string]int
	iterations map[string]int
	findings   []turn.Finding
	keptOn     bool // a storage was called after the run was cancelled

	out     strings.Builder
	handles []string // paths of seams whose handles other user code uses
	used    struct{ gates, open, must, execute, change, clock, done bool }
}

// observe runs the turn to learn what the scripts alone do not say.
func (g *goWriter) observe() error {
	g.findings = turn.CheckTurn(g.turn)
	recorded, refused, err := g.turn.Trace()
	if err != nil {
		return err
	}
	if refused != nil {
		g.transcript = "Run refuses the turn: " + refused.Error() + "\n"
		return nil
	}
	var text bytes.Buffer
	if err := transcript.Write(&text, bytes.NewReader(recorded)); err != nil {
		return fmt.Errorf("shrink: %w", err)
	}
	g.transcript = text.String()
	read, err := trace.Read(bytes.NewReader(recorded))
	if err != nil {
		return fmt.Errorf("shrink: %w", err)
	}
	g.calls, g.iterations = map[string]int{}, map[string]int{}
	cancelled := false
	for _, x := range read.All() {
		cancelled = cancelled || wire.IsCancel(&x.Crossing)
		if x.Kind == adk.KindCall {
			g.keptOn = g.keptOn || cancelled && x.Seam.Label == adk.LabelStorage
			g.calls[x.Seam.String()]++
			if x.Seam.Label == adk.LabelExecutor {
				g.iterations[x.Seam.Name] = max(g.iterations[x.Seam.Name], x.Seam.Iteration+1)
			}
		}
	}
	return g.turn.SubjectWith(turn.Running{Failed: func(op *turn.Op) { g.failed[op] = true }}).Run()
}

func (g *goWriter) line(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

func (g *goWriter) use(path string) string {
	g.imports[path] = true
	return path
}

// file writes everything except the imports, which are known only when the rest is written.
func (g *goWriter) file() string {
	g.findHandles()
	g.build()
	build := g.out.String()
	g.out.Reset()
	g.use("context")
	g.use("testing")
	subject := fmt.Sprintf("Name: %q, Build: build%s", strings.ToLower(g.name[:1])+g.name[1:], g.name) + g.standalone()
	for line := range strings.Lines(g.transcript) {
		g.line("//\t%s", strings.TrimRight(line, "\n"))
	}
	head := fmt.Sprintf("// Test%s %s\n//\n%s", g.name, whatWasWrong(g.findings), g.out.String())
	return head + fmt.Sprintf(`func Test%[1]s(t *testing.T) {
	for _, finding := range turn.CheckSubject(turn.Subject{%[2]s}) {
		t.Errorf("%%s: %%s", finding.Name, finding.Text)
	}
}

func build%[1]s(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
%[3]s}
%[4]s`, g.name, subject, build, g.helpers())
}

// standalone writes what a standalone dispatch has in addition to a turn.
func (g *goWriter) standalone() string {
	a := g.turn.Standalone
	if a == nil {
		return ""
	}
	fields := fmt.Sprintf("Name: %q", a.Name)
	if a.Gates {
		fields += ", Gates: true"
	}
	if len(a.Records) > 0 {
		var records []string
		for _, r := range a.Records {
			records = append(records, "{Record: "+g.record(r.Record)+"}")
		}
		fields += ", Records: []turn.Record{" + strings.Join(records, ", ") + "}"
	}
	return ", Standalone: &turn.Standalone{" + fields + "}"
}

// whatWasWrong describes the first finding of a turn and what it means for users.
func whatWasWrong(findings []turn.Finding) string {
	if len(findings) == 0 {
		return "checks this turn:"
	}
	first := findings[0]
	text, _, _ := strings.Cut(first.Text, "\n")
	said := fmt.Sprintf("checks a turn in which this went wrong:\n// %s: %s.", first.Name, strings.TrimSuffix(text, "."))
	for _, invariant := range property.Invariants() {
		if invariant.Name == first.Name {
			said += "\n// " + invariant.Breaks
		}
	}
	return said + "\n// It went like this then:"
}

func (g *goWriter) helpers() string {
	var text string
	if g.used.execute {
		text = fmt.Sprintf(`
func execute%s(ctx context.Context, dc *adk.DispatchContext, name string, args any) (adk.ToolResult, error) {
	tool, ok := dc.Tools().Get(name)
	if !ok {
		return nil, %s.Errorf("there is no tool %%q", name)
	}
	return dc.Execute(ctx, tool, args)
}
`, g.name, g.use("fmt"))
	}
	if g.used.change {
		text += fmt.Sprintf(`
// change%s changes a map or a list of which somebody else should have a copy.
func change%[1]s(own any) {
	switch own := own.(type) {
	case map[string]any:
		own["changed"] = true
	case []any:
		if len(own) > 0 {
			own[0] = "changed"
		}
	}
}
`, g.name)
	}
	if g.used.done {
		text += fmt.Sprintf(`
// done%s is a context that is done.
func done%[1]s(ctx context.Context, cause error) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	end(cause)
	return ctx
}
`, g.name)
	}
	if !g.used.must {
		return text
	}
	return text + fmt.Sprintf(`
func must%s[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
`, g.name)
}

// must wraps the call of a constructor so that it gives only a value.
func (g *goWriter) must(call string) string {
	g.used.must = true
	return "must" + g.name + "(" + call + ")"
}

// build writes the config and the raw turn.
func (g *goWriter) build() {
	t := g.turn
	outer := g.out
	g.out = strings.Builder{}
	executor := g.executor(cmp.Or(t.Executor, "model"), t.Scripts)
	g.line("config.Executor = %s", executor)
	for _, p := range []struct {
		field, label string
		names        []string
	}{
		{"TurnInput", adk.LabelTurnInput, t.TurnInput}, {"DispatchInput", adk.LabelDispatchInput, t.DispatchInput},
		{"DispatchOutput", adk.LabelDispatchOutput, t.DispatchOutput}, {"TurnOutput", adk.LabelTurnOutput, t.TurnOutput}} {
		g.pipeline("config."+p.field+" = ", p.label, p.names, t.Scripts, "\n")
	}
	for _, r := range t.Tools {
		g.line("config.Tools = append(config.Tools, %s)", g.tool(r.Record))
	}
	g.raw()
	config := g.out.String()
	g.out = outer
	g.begin()
	g.out.WriteString(config)
	g.line("return config, raw")
}

// begin writes the declarations that the rest needs; they are known only when the rest is written.
func (g *goWriter) begin() {
	g.storage()
	if g.turn.WriteBehind {
		g.line("config.WriteBehind = true")
	}
	tooLate := strings.Contains(g.transcript, turn.ErrTooLong.Error())
	if len(g.turn.Order) > 0 || g.used.clock || tooLate {
		g.line("clock := fakes.NewClock()")
		g.line("config.Clock = clock")
	}
	if len(g.turn.Order) > 0 {
		g.line("config.Probe = fakes.NewSchedulerOn(clock, turn.InOrder(%#v))", g.turn.Order)
	}
	if tooLate {
		g.line("clock.AfterFunc(%s, func() { cancel(%s) })", g.duration(turn.TooLong), g.failure(turn.Failing(turn.ErrTooLong.Error())))
	}
	if g.used.gates {
		g.line("plans := &turn.Plans{} // who settles the gates as they open")
	}
	if g.used.open {
		g.line("open := map[string]*adk.TurnGate{}")
	}
	for _, path := range g.handles {
		g.line("var %s struct { ctx context.Context; %s; next adk.Next }", g.variable(path), handleField(path))
	}
}

func (g *goWriter) raw() {
	t := g.turn
	g.line("raw := adk.RawTurn{SystemPrompt: %q}", t.Prompt)
	if len(t.Instructions) > 0 {
		g.line("raw.Instructions = %#v", t.Instructions)
	}
	if stash, ok := t.Stash.Get().(map[string]any); ok {
		g.line("raw.Stash = %s", g.value(stash))
	}
	var whenOpen string // statements of failing listeners for the opening of a gate
	for i, loud := range t.Loud {
		if wire.OpensGate(&adk.Crossing{Kind: adk.KindByName(loud.Event)}) { // one listener both settles and fails
			whenOpen += g.falls(i, loud) + "\n"
		} else {
			g.loud(i, loud)
		}
	}
	if g.used.gates || g.used.open || whenOpen != "" {
		g.line("raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {")
		if g.used.open {
			g.line("open[e.Gate.ID()] = e.Gate")
		}
		if g.used.gates {
			g.line("plans.Opened(e)")
		}
		g.line("%s}", whenOpen)
	}
	if t.Cancelled != nil {
		g.line("cancel(%s)", g.failure(t.Cancelled))
	}
}

// loud writes a listener that panics or ends its goroutine.
func (g *goWriter) loud(i int, loud turn.Loud) {
	for _, bus := range []reflect.Type{reflect.TypeFor[adk.Functional](), reflect.TypeFor[adk.Observability]()} {
		listener, found := bus.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, loud.Event) })
		if found {
			g.line("raw.%s.%s = func(%s) { %s }", bus.Name(), listener.Name, listener.Type.In(0), g.falls(i, loud))
		}
	}
}

// falls writes the counter of a listener's events, and returns the statement by which it fails.
func (g *goWriter) falls(i int, loud turn.Loud) string {
	failing := fmt.Sprintf("panic(%q)", cmp.Or(loud.Text, "loud"))
	if loud.Goexit {
		failing = g.use("runtime") + ".Goexit()"
	}
	heard := "heard"
	if len(g.turn.Loud) > 1 {
		heard += strconv.Itoa(i + 1)
	}
	g.line("%s := 0", heard)
	return fmt.Sprintf("if %s++; %[1]s == %d { %s }", heard, loud.Occurrence+1, failing)
}

// storage writes the config with a storage and its faults.
func (g *goWriter) storage() {
	var seed []string
	for _, r := range g.turn.Kept {
		seed = append(seed, g.record(r.Record))
	}
	var faults []string
	for i := range g.turn.Scripts {
		s := &g.turn.Scripts[i]
		seam, err := adk.ParseSeam(s.Seam)
		if err != nil || seam.Label != adk.LabelStorage {
			continue
		}
		of, verb, _ := strings.Cut(seam.Name, ".")
		if s.Occurrence == 0 {
			for _, r := range s.End.Records {
				seed = append(seed, g.record(r.Record))
			}
		}
		if fault := g.fault(s, of, verb); fault != "" {
			faults = append(faults, fault)
		}
	}
	made := fmt.Sprintf("fakes.NewStorage(%s)", strings.Join(seed, ", "))
	if len(faults) == 0 && !g.keptOn {
		g.line("config := adk.Config{Storage: %s.Storage()}", made)
		return
	}
	g.line("storage := %s", made)
	if g.keptOn {
		g.line("storage.IgnoreContexts()")
	}
	for _, fault := range faults {
		g.line("storage.Fail(%s)", fault)
	}
	g.line("config := adk.Config{Storage: storage.Storage()}")
}

func (g *goWriter) fault(s *turn.Script, of, verb string) string {
	if s.End.How != adk.OutcomeError && s.End.How != adk.OutcomePanic {
		return ""
	}
	if verb == "refresh" {
		verb = "fetch"
	}
	fault := fmt.Sprintf("fakes.Fault{Collection: %q, Op: %q, Occurrence: %d, ", of, verb, s.Occurrence+1)
	if s.End.How == adk.OutcomePanic {
		fault += "Panic: " + g.panicValue(s.End.Err)
	} else {
		fault += "Err: " + g.failure(orFailed(s.End.Err))
	}
	if s.End.Kept {
		fault += ", AfterWrite: true"
	}
	return fault + "}"
}

func orFailed(f *turn.Failure) *turn.Failure {
	if f == nil {
		return turn.Failing("failed")
	}
	return f
}

// tool writes a tool with one answer for each of its calls.
func (g *goWriter) tool(r adk.Record) string {
	tool, ok := r.(*adk.Tool)
	if !ok || tool == nil {
		return "nil"
	}
	path := adk.Seam{Label: adk.LabelTool, Name: tool.Name()}.String()
	var answers []string
	for n := range g.calls[path] {
		answers = append(answers, g.answer(turn.FindScript(g.turn.Scripts, path, n)))
	}
	plain := string(tool.InputSchema()) == `{"type":"object"}` && !tool.Ephemeral() && !tool.Trusted()
	made := fmt.Sprintf("fakes.NewTool(%q, %q%s)", tool.Name(), tool.Description(), listed(answers))
	if plain {
		return made + ".Tool()"
	}
	g.use("encoding/json")
	init := fmt.Sprintf("Name: %q, Description: %q, InputSchema: json.RawMessage(%s)", tool.Name(), tool.Description(), quotedRaw(string(tool.InputSchema())))
	if tool.Ephemeral() {
		init += ", Ephemeral: true"
	}
	if tool.Trusted() {
		init += ", Trusted: true"
	}
	if tool.Effect() != adk.EffectUnknown {
		init += fmt.Sprintf(", Effect: %q", tool.Effect())
	}
	if tool.OnCollision() != adk.CollisionThrow {
		init += fmt.Sprintf(", OnCollision: %q", tool.OnCollision())
	}
	return fmt.Sprintf("(&fakes.Tool{Init: adk.ToolInit{%s}, Answers: []any{%s}}).Tool()", init, strings.Join(answers, ", "))
}

func listed(answers []string) string {
	if len(answers) == 0 {
		return ""
	}
	return ", " + strings.Join(answers, ", ")
}

// answer writes what a tool returns in one call.
func (g *goWriter) answer(body *turn.Body) string {
	switch {
	case body == nil:
		return strconv.Quote("ok")
	case len(body.Ops) > 0 || body.End.How == adk.OutcomeGoexit:
		return g.handler(body)
	case body.End.How == adk.OutcomeError:
		return g.failure(orFailed(body.End.Err))
	case body.End.How == adk.OutcomePanic:
		return "fakes.Panics(" + g.panicValue(body.End.Err) + ")"
	case body.End.Result == nil:
		return strconv.Quote("ok")
	case body.End.Result.V == nil:
		return g.handler(body)
	}
	if text, ok := body.End.Result.V.(*adk.Tokenizable); ok {
		return strconv.Quote(text.String())
	}
	return g.result(body.End.Result)
}

func (g *goWriter) handler(body *turn.Body) string {
	end := body.End
	inner := g.inner(func() {
		g.body(body, "dc", func(f string) string { return "nil, " + f })
		if end.How == "" || end.How == adk.OutcomeOK {
			if end.Result == nil {
				g.line("return adk.Text(%q), nil", "ok")
			} else {
				g.line("return %s, nil", g.result(end.Result))
			}
		}
	})
	return "func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {\n" + inner + "}"
}

// inner returns what write writes, without adding it to the output.
func (g *goWriter) inner(write func()) string {
	outer := g.out.String()
	g.out.Reset()
	write()
	text := g.out.String()
	g.out.Reset()
	g.out.WriteString(outer)
	return text
}

package house_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A fact about a kind of crossing stands in the table of package adk. These files may
// name kinds all the same, as what they say of each is nobody else's to know.
var kindsByRight = map[string]string{
	"internal/state/fold.go":             "what each kind changes in the state of a run",
	"internal/state/derive.go":           "what an event has of the lines before it",
	"internal/perform/*.go":              "how each operation is made",
	"internal/page/page.go":              "what the list of traces says of one",
	"internal/storages/storages.go":      "which obligations a storage has",
	"internal/stub/perform.go":           "what an operation that is made again needs of the recording",
	"internal/stub/answers.go":           "what of an answer was recorded where",
	"property/turn/perform.go":           "how each operation of a drawn turn is made",
	"internal/describe/describe.go":      "what each operation is in words",
	"internal/describe/describeevent.go": "what each event is in words",
	"internal/describe/describegist.go":  "what of each is a name in the code",
	"property/explore/world.go":          "what is told of an ask, and so can be broken",
	"property/invariant*.go":             "an invariant is about the kinds that it names",
	"property/advice_*.go":               "a piece of advice is about the kinds that it names",
	"internal/*test/*.go":                "tests alone use it",
}

// howKinds is how a file names kinds: in comparisons alone, or as cases of a switch too.
type howKinds int

const (
	kindsCompared howKinds = iota + 1
	kindsSwitched
)

func (h howKinds) String() string {
	return [...]string{"names no kind", "names kinds", "switches over kinds"}[h]
}

// kindsByHabit are the other files that name kinds, as it was when they were first
// counted. The list may only shrink: a file that names none is struck from it, one
// that lost its last switch becomes kindsCompared, and no file is added. What a new
// kind would need there is a column of the table.
var kindsByHabit = map[string]howKinds{
	"fakes/scheduler.go":              kindsCompared,
	"fakes/suite_executor.go":         kindsCompared,
	"internal/calls/tree.go":          kindsSwitched,
	"internal/compare/inputs.go":      kindsSwitched,
	"internal/model/differential.go":  kindsCompared,
	"internal/state/checkpayload.go":  kindsCompared,
	"internal/state/visible.go":       kindsSwitched,
	"internal/stub/again.go":          kindsSwitched,
	"internal/stub/trail.go":          kindsSwitched,
	"internal/wire/decode.go":         kindsCompared,
	"internal/wire/encode.go":         kindsCompared,
	"internal/wire/media.go":          kindsCompared,
	"internal/wire/payload.go":        kindsSwitched,
	"internal/wire/seams.go":          kindsCompared,
	"internal/wire/version.go":        kindsCompared,
	"property/explore/attempt.go":     kindsSwitched,
	"property/explore/faults.go":      kindsSwitched,
	"property/explore/oracle.go":      kindsSwitched,
	"property/shrink/turnof.go":       kindsSwitched,
	"property/shrink/writego.go":      kindsSwitched,
	"property/history.go":             kindsSwitched,
	"property/turn/answers.go":        kindsSwitched,
	"property/turn/interpreter.go":    kindsSwitched,
	"replay/answers.go":               kindsSwitched,
	"replay/causal.go":                kindsSwitched,
	"replay/causalorder.go":           kindsSwitched,
	"replay/comparetraces.go":         kindsCompared,
	"replay/diff/line.go":             kindsCompared,
	"replay/diff/pair.go":             kindsCompared,
	"replay/diff/side.go":             kindsSwitched,
	"replay/diff/totals.go":           kindsSwitched,
	"replay/diff/tree.go":             kindsSwitched,
	"replay/divergence.go":            kindsCompared,
	"replay/findings.go":              kindsCompared,
	"replay/explain.go":               kindsCompared,
	"replay/golden/observe.go":        kindsCompared,
	"replay/comparison.go":            kindsSwitched,
	"replay/player.go":                kindsSwitched,
	"replay/recorder.go":              kindsCompared,
	"replay/redact/line.go":           kindsCompared,
	"replay/redact/writer.go":         kindsSwitched,
	"replay/rename.go":                kindsSwitched,
	"replay/rerecord.go":              kindsCompared,
	"replay/rerun.go":                 kindsCompared,
	"replay/transcript/excerpt.go":    kindsCompared,
	"replay/transcript/shown.go":      kindsCompared,
	"replay/transcript/state.go":      kindsSwitched,
	"replay/transcript/transcript.go": kindsSwitched,
	"replay/whatif/follow.go":         kindsSwitched,
	"replay/whatif/path.go":           kindsSwitched,
	"replay/whatif/value.go":          kindsSwitched,
}

// Nobody else names a kind of crossing.
func TestKindsAreNamedInFewFiles(t *testing.T) {
	found := map[string]howKinds{}
	for _, f := range productionFiles(t) {
		if how := kindsIn(f); how > 0 && f.dir != "adk" && !kindsAllowed(f.path) {
			found[f.path] = how
			assert.LessOrEqual(t, how, kindsByHabit[f.path], "%s %s: say it in the table of adk/crossing.go", f.path, how)
		}
	}
	for name, how := range kindsByHabit {
		assert.GreaterOrEqual(t, found[name], how, "%s %s now: say so in the list", name, found[name])
	}
}

func kindsAllowed(name string) bool {
	for pattern := range kindsByRight {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// kindsIn is how a file outside of adk names kinds, and 0 where it names none.
func kindsIn(f *source) (how howKinds) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if isKind(n) {
			how = max(how, kindsCompared)
		}
		clause, isClause := n.(*ast.CaseClause)
		if !isClause {
			return true
		}
		for _, one := range clause.List {
			ast.Inspect(one, func(n ast.Node) bool {
				if isKind(n) {
					how = kindsSwitched
				}
				return true
			})
		}
		return true
	})
	return how
}

// isKind reports whether a node is one of the constants adk.Kind…
func isKind(n ast.Node) bool {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(selector.Sel.Name, "Kind") || selector.Sel.Name == "Kind" {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name == "adk" && pkg.Obj == nil && selector.Sel.Name != "KindByName" && selector.Sel.Name != "Kinds"
}

func TestKindsIn(t *testing.T) {
	for body, want := range map[string]howKinds{
		"switch x.Kind { case adk.KindCall: }":              kindsSwitched,
		"switch { case x.Kind == adk.KindCall && x.Flag: }": kindsSwitched,
		"switch x.Name { case \"a\": f(adk.KindCall) }":     kindsCompared,
		"if x.Kind == adk.KindCall { }":                     kindsCompared,
		"kind, _ := adk.KindByName(\"call\"), adk.Kind(3)":  0,
		"f(adk.Kinds())": 0,
	} {
		f := parsed(t, "x/x.go", []byte("package x\n\nfunc f() {\n"+body+"\n}\n"))
		assert.Equal(t, want, kindsIn(f), body)
	}
}

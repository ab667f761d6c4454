package house_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A fact about a kind of crossing stands in the table of package adk. These files may
// name kinds all the same, as what they say of each is nobody else's to know. Files
// are known by their names without folders, so that they may move.
var kindsByRight = map[string]string{
	"fold.go":          "what each kind changes in the state of a run",
	"perform.go":       "how each operation is made again",
	"derive.go":        "what an event has of the lines before it",
	"describe.go":      "what each operation is in words",
	"describeevent.go": "what each event is in words",
	"invariant*.go":    "an invariant is about the kinds that it names",
	"advice_*.go":      "a piece of advice is about the kinds that it names",
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
	"again.go":          kindsSwitched,
	"agree.go":          kindsCompared,
	"answers.go":        kindsSwitched,
	"attempt.go":        kindsSwitched,
	"calltree.go":       kindsSwitched,
	"causal.go":         kindsSwitched,
	"causalorder.go":    kindsSwitched,
	"checkpayload.go":   kindsCompared,
	"classes.go":        kindsCompared,
	"comparetraces.go":  kindsCompared,
	"decode.go":         kindsCompared,
	"diffline.go":       kindsCompared,
	"diffpair.go":       kindsCompared,
	"diffshape.go":      kindsSwitched,
	"diffside.go":       kindsSwitched,
	"difftotals.go":     kindsSwitched,
	"difftree.go":       kindsSwitched,
	"divergence.go":     kindsCompared,
	"encode.go":         kindsCompared,
	"excerpt.go":        kindsCompared,
	"explain.go":        kindsCompared,
	"faults.go":         kindsSwitched,
	"format.go":         kindsCompared,
	"judge.go":          kindsSwitched,
	"media.go":          kindsCompared,
	"observe.go":        kindsCompared,
	"orders.go":         kindsSwitched,
	"outcry.go":         kindsSwitched,
	"payload.go":        kindsSwitched,
	"player.go":         kindsSwitched,
	"recorder.go":       kindsCompared,
	"redactline.go":     kindsCompared,
	"redactwriter.go":   kindsSwitched,
	"rename.go":         kindsSwitched,
	"rerecord.go":       kindsCompared,
	"scheduler.go":      kindsCompared,
	"shown.go":          kindsCompared,
	"stage.go":          kindsSwitched,
	"state.go":          kindsSwitched,
	"storage.go":        kindsCompared,
	"story.go":          kindsSwitched,
	"suite_executor.go": kindsCompared,
	"transcript.go":     kindsSwitched,
	"translate.go":      kindsCompared,
	"turnof.go":         kindsSwitched,
	"visible.go":        kindsSwitched,
	"whatiffollow.go":   kindsSwitched,
	"whatifpath.go":     kindsSwitched,
	"whatifvalue.go":    kindsSwitched,
	"writego.go":        kindsSwitched,
}

// Nobody else names a kind of crossing.
func TestKindsAreNamedInFewFiles(t *testing.T) {
	found := map[string]howKinds{}
	for _, f := range productionFiles(t) {
		if how := kindsIn(f); how > 0 && f.dir != "adk" && !kindsAllowed(path.Base(f.path)) {
			found[path.Base(f.path)] = max(found[path.Base(f.path)], how)
			assert.LessOrEqual(t, how, kindsByHabit[path.Base(f.path)], "%s %s: say it in the table of adk/crossing.go", f.path, how)
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

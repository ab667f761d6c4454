package house_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Facts about kinds of crossings belong in the table of package adk. The files listed here may still name
// kinds, because what they say about each kind is of no use anywhere else.
var kindsByRight = map[string]string{
	"internal/state/*.go":               "what each kind changes in the state of a run, and what an event has of the lines before it",
	"internal/perform/*.go":             "each operation is a method of its own",
	"internal/storages/storages.go":     "each obligation is a function of its own in adk.Storage",
	"internal/wire/course.go":           "what a line says of strands, gates, asks, tools and dispatches",
	"internal/stub/perform.go":          "what an operation that is made again needs beside its line: a context, a reader, and what a late one is given",
	"internal/describe/*.go":            "what each is in words, and what of it is a name in the code",
	"internal/otlp/turns.go":            "it makes crossings of the spans of somebody else",
	"property/turn/perform.go":          "what a turn as data says of operations that no line says, and the operations that keeping a fetch makes",
	"property/shrink/turnof.go":         "what of a turn as data each line is",
	"property/history.go":               "what each kind changes in what invariants ask of a run: it judges the table as well, and so does not ask it",
	"property/internal/wanted/write.go": "an ask is what writes, and an aborted turn makes few of them",
	"property/internal/oracle/*.go":     "an oracle is about the kinds that it names",
	"property/invariant*.go":            "an invariant is about the kinds that it names",
	"property/advice_*.go":              "a piece of advice is about the kinds that it names",
	"internal/*test/*.go":               "tests alone use it",
}

// No other file names a kind of crossing: what a new kind would need there is a column of the
// table instead.
func TestKindsAreNamedInFewFiles(t *testing.T) {
	met := map[string]bool{}
	for _, f := range productionFiles(t) {
		if f.dir == "adk" || !namesKinds(f) {
			continue
		}
		reason := ""
		for pattern, why := range kindsByRight {
			if ok, _ := path.Match(pattern, f.path); ok {
				met[pattern], reason = true, why
			}
		}
		assert.NotEmpty(t, reason, "%s names kinds: say it in the table of adk/crossing.go", f.path)
	}
	for pattern := range kindsByRight {
		assert.True(t, met[pattern], "%s names none: strike it from the list", pattern)
	}
}

// namesKinds reports whether a file outside of adk names a kind that is not in frame.
func namesKinds(f *source) (names bool) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		names = names || isKind(n)
		return !names
	})
	return names
}

// frame has the names of package adk that begin like kinds but are none, and the two kinds that frame every
// run: any code that follows a run has to know that seams are entered and left, and a new kind does
// not change that.
var frame = map[string]bool{"Kind": true, "Kinds": true, "KindByName": true, "KindCall": true, "KindReturn": true}

// isKind reports whether a node is one of the constants adk.Kind… that are not in frame.
func isKind(n ast.Node) bool {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(selector.Sel.Name, "Kind") || frame[selector.Sel.Name] {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name == "adk" && pkg.Obj == nil
}

func TestNamesKinds(t *testing.T) {
	for body, want := range map[string]bool{
		"switch x.Kind { case adk.KindNow: }":              true,
		"switch x.Name { case \"a\": f(adk.KindNow) }":     true,
		"if x.Kind == adk.KindNow { }":                     true,
		"switch x.Kind { case adk.KindCall: }":             false,
		"kind, _ := adk.KindByName(\"call\"), adk.Kind(3)": false,
		"f(adk.Kinds())":                                   false,
		"f(here.KindNow)":                                  false,
	} {
		f := parsed(t, "x/x.go", []byte("package x\n\nfunc f() {\n"+body+"\n}\n"))
		assert.Equal(t, want, namesKinds(f), body)
	}
}

package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// replayLayers are the layers within package replay, from the lowest up, by their files. They are not
// packages of their own, because the comparison needs Live and the report of a replay; but no file uses
// what a higher layer declares.
var replayLayers = [][]string{
	{"divergence.go", "report.go"},   // the result of a replay
	{"recorder.go", "production.go"}, // recording
	{"live.go"},                      // which seams are user code
	{"player.go", "beside.go", "answers.go", "findings.go"},                                         // a run in the recorded order
	{"comparison.go", "comparisonpieces.go", "explain.go", "impact.go", "repeat.go", "withhold.go"}, // two runs against each other
	{"verify.go", "rerun.go", "rerecord.go", "doc.go"},                                              // what users call
}

// Within package replay, no layer uses a higher one.
func TestLayersOfReplay(t *testing.T) {
	layer, declared := map[string]int{}, map[string]int{} // layer of each file, and of each package-level name
	for i, files := range replayLayers {
		for _, file := range files {
			layer[file] = i
		}
	}
	found := map[string]bool{}
	for _, f := range productionFiles(t) {
		if f.dir != "replay" {
			continue
		}
		name := path.Base(f.path)
		at, known := layer[name]
		assert.True(t, known, "%s stands in no layer", f.path)
		found[name] = true
		for _, one := range packageNames(f.ast) {
			declared[one] = at
		}
	}
	for name := range layer {
		assert.True(t, found[name], "there is no replay/%s: strike it from its layer", name)
	}
	for _, f := range productionFiles(t) {
		if f.dir != "replay" {
			continue
		}
		for _, used := range namesFromElsewhere(t, f) {
			if of, ours := declared[used]; ours {
				assert.LessOrEqual(t, of, layer[path.Base(f.path)], "%s uses %s, which a layer above it declares", f.path, used)
			}
		}
	}
}

// packageNames returns the package-level names that a file declares.
func packageNames(f *ast.File) (names []string) {
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				names = append(names, decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// namesFromElsewhere returns the names that a file uses and does not declare: names of its
// package, of its imports and of the language.
func namesFromElsewhere(t *testing.T, f *source) (names []string) {
	again, err := parser.ParseFile(token.NewFileSet(), f.path, f.content, 0) // parsed again, with resolved names
	assert.NoError(t, err)
	for _, id := range again.Unresolved {
		if !slices.Contains(names, id.Name) {
			names = append(names, id.Name)
		}
	}
	return names
}

func TestNamesFromElsewhere(t *testing.T) {
	f := parsed(t, "replay/x.go", []byte("package replay\n\nimport \"fmt\"\n\ntype a struct{ b c }\n\nfunc (a) d(e f) { g(e.h); fmt.Println() }\n"))
	names := strings.Join(namesFromElsewhere(t, f), " ")
	assert.Equal(t, "c f g fmt", names)
	assert.Equal(t, []string{"a"}, packageNames(f.ast))
}

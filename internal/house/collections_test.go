package house_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// adk/collections.go has the table of collections, and internal/storages loops over the obligations of all
// of them. The files listed here may still name all collections, because what they say about each depends on
// its type, or is a text about it. The list may only shrink.
var listCollections = map[string]string{
	"internal/storages/storages.go": "where typed collections meet code that treats all of them alike",
	"internal/samples/samples.go":   "a record of each to draw",
	"fakes/collections.go":          "a storage with a getter for each, and a record to check storages with",
	"example/storage.go":            "a storage as a user writes it",
	"adk/prompt/*.go":               "each is shown to a model in a way of its own (ENV-20 to 34)",
	"adk/budget/measure.go":         "the five figures are of single collections (BUD-2)",
	"replay/transcript/state.go":    "the JSON of a state has a member for each",
	"scenarios/*.go":                "a scenario says what happens to records",
	"internal/*test/*.go":           "tests alone use it",
}

// mostCollections is how many collections a file may name because it is about some of them. A file that
// names more has a list of them, to which a new collection would have to be added.
const mostCollections = 3

// No other file lists the collections.
func TestCollectionsAreListedInFewFiles(t *testing.T) {
	met := map[string]bool{}
	for _, f := range productionFiles(t) {
		named := collectionsIn(f)
		if f.dir == "adk" || len(named) <= mostCollections {
			continue
		}
		reason := ""
		for pattern, why := range listCollections {
			if ok, _ := path.Match(pattern, f.path); ok {
				met[pattern], reason = true, why
			}
		}
		assert.NotEmpty(t, reason, "%s lists collections: go through adk.Collections, or internal/storages", f.path)
	}
	for pattern := range listCollections {
		assert.True(t, met[pattern], "%s lists none: strike it from the list", pattern)
	}
}

// inGo has the names of the collections as Go code writes them.
var inGo = func() map[string]bool {
	names := map[string]bool{}
	for _, of := range adk.Collections() {
		names[strings.ToUpper(string(of[:1]))+string(of[1:])] = true
	}
	return names
}()

// collectionsIn returns the collections that a file names.
func collectionsIn(f *source) map[string]bool {
	named := map[string]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			if inGo[name.Name] {
				named[name.Name] = true
			}
		}
		return true
	})
	return named
}

func TestCollectionsIn(t *testing.T) {
	f := parsed(t, "x/x.go", []byte("package x\n\nvar s = adk.Storage{Messages: h.Thoughts(), Tools: adk.Tools}\n\nvar messages int // Memories\n"))
	assert.Equal(t, map[string]bool{"Messages": true, "Thoughts": true, "Tools": true}, collectionsIn(f))
}

package house_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// foreignNames look like names of this module, but belong to other software.
var foreignNames = map[string]string{
	"SentencePiece":      "a program of Google's",
	"PrefixedBucket":     "a function of gocloud.dev/blob",
	"toPrecision":        "a function of ECMAScript",
	"toString":           "a function of ECMAScript",
	"encodeURIComponent": "a function of ECMAScript",
	"logProbs":           "an example of a member that somebody gave a type",
}

// camel matches a name of several words in mixed case, as only code has them.
var camel = regexp.MustCompile(`\b(?:[A-Z][a-z0-9]+[A-Z]\w*|[a-z]+[A-Z]\w*)\b`)

// Comments name only things that exist, because the name of something that is gone misleads a reader.
func TestCommentsNameWhatThereIs(t *testing.T) {
	known := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.path != "internal/house/names_test.go" { // the names in this file's own list are not names of this module
			addNames(known, f.ast)
		}
	}
	met := map[string]bool{}
	for _, f := range productionFiles(t) {
		for place, name := range namesInComments(f) {
			met[name] = true
			if _, foreign := foreignNames[name]; !foreign && !known[name] && !known[strings.TrimSuffix(name, "s")] {
				t.Errorf("%s names %s, and there is none", place, name)
			}
		}
	}
	for name := range foreignNames {
		assert.True(t, met[name], "nobody names %s: strike it from the list", name)
		assert.False(t, known[name], "%s is a name of ours: strike it from the list", name)
	}
}

// addNames adds the names of a file: the identifiers of its code, and the words in its string literals, which
// contain the members of JSON and the names of other software.
func addNames(to map[string]bool, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			to[n.Name] = true
		case *ast.BasicLit:
			for _, word := range camel.FindAllString(n.Value, -1) {
				to[word] = true
			}
		}
		return true
	})
}

// namesInComments yields the names in the comments of a file, except those in indented example
// code, which may declare its own names.
func namesInComments(f *source) func(yield func(place, name string) bool) {
	return func(yield func(place, name string) bool) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//\t") {
					continue
				}
				for _, name := range camel.FindAllString(c.Text, -1) {
					if !yield(f.place(c), name) {
						return
					}
				}
			}
		}
	}
}

func TestNamesInComments(t *testing.T) {
	f := parsed(t, "x/x.go", []byte("package x\n\n// goneFor is Gone, see GoneToo:\n//\n//\texampleOnly()\nfunc f() {} // oldName\n"))
	named := []string{}
	for _, name := range namesInComments(f) {
		named = append(named, name)
	}
	assert.Equal(t, []string{"goneFor", "GoneToo", "oldName"}, named)
	known := map[string]bool{}
	addNames(known, parsed(t, "x/y.go", []byte("package x\n\nvar newName = `{\"oneMember\": 1}`\n")).ast)
	assert.Equal(t, map[string]bool{"x": true, "newName": true, "oneMember": true}, known)
}

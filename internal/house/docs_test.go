package house_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Everything that is exported has a comment.
func TestExportedIsDocumented(t *testing.T) {
	for _, f := range productionFiles(t) {
		assert.Empty(t, undocumented(f), "these need a comment")
	}
}

// manyFiles is a number of files that a reader would not search for the one with the package comment.
const manyFiles = 5

// Every package has exactly one package comment. In a public package with many files it is in doc.go.
func TestPackagesAreDocumented(t *testing.T) {
	documented, files := map[string][]string{}, map[string]int{}
	for _, f := range productionFiles(t) {
		files[f.dir]++
		if f.ast.Doc != nil {
			documented[f.dir] = append(documented[f.dir], f.path)
		}
	}
	for dir, n := range files {
		assert.Len(t, documented[dir], 1, "package %s needs one package comment", dir)
		if n >= manyFiles && !strings.Contains("/"+dir+"/", "/internal/") && !strings.HasPrefix(dir, "cmd/") && !strings.HasPrefix(dir+"/", "example/") {
			assert.Equal(t, []string{dir + "/doc.go"}, documented[dir], "its front page")
		}
	}
}

// undocumented returns the places and names of everything exported in a file that has no
// comment. A comment above a group of constants or variables counts for all of it,
// and so does a comment after a name. Fields need none, since the comment of their type is
// enough: StartedAt needs no words.
func undocumented(f *source) (names []string) {
	miss := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if !name.IsExported() {
			return
		}
		for _, doc := range docs {
			if doc != nil {
				return
			}
		}
		names = append(names, f.place(name)+" "+name.Name)
	}
	for _, decl := range f.ast.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if receiverIsExported(decl) {
				miss(decl.Name, decl.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				missSpec(decl, spec, miss)
			}
		}
	}
	return names
}

// missSpec checks the names in one line of a declaration.
func missSpec(decl *ast.GenDecl, spec ast.Spec, miss func(*ast.Ident, ...*ast.CommentGroup)) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		miss(spec.Name, spec.Doc, soleDoc(decl))
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			miss(name, spec.Doc, spec.Comment, decl.Doc)
		}
	}
}

// soleDoc returns the comment of a declaration that is not a group. It belongs to
// the only type in the declaration.
func soleDoc(decl *ast.GenDecl) *ast.CommentGroup {
	if decl.Tok == token.TYPE && !decl.Lparen.IsValid() {
		return decl.Doc
	}
	return nil
}

// receiverIsExported reports whether a function, or the type of a method's receiver, is visible outside
// of the package.
func receiverIsExported(decl *ast.FuncDecl) bool {
	if decl.Recv == nil {
		return true
	}
	receiver := decl.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return true
		}
	}
}

func TestUndocumented(t *testing.T) {
	f := parsed(t, "x/x.go", []byte(`package x

func Bare() {}

// Told is told.
func Told() {}

func hidden() {}

type Bag struct{ Field int }

func (*Bag) Method()       {}
func (b Bag) quietMethod() {}
func (hidden) Method()     {}

type hiddenType struct{ Field int }

// Shape is told.
type Shape interface{ Area() int }

// A group.
const (
	A = 1
	B = 2
)

const C = 3

var D = 4 // told

type (
	// E is told.
	E int
	F int
)
`))
	assert.Equal(t, []string{
		"x/x.go:3 Bare", "x/x.go:10 Bag", "x/x.go:12 Method", "x/x.go:27 C", "x/x.go:34 F",
	}, undocumented(f))
}

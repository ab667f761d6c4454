package house_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The exported declarations of a public room use only types that its users can look up and name, and no type
// of an internal package. If such a type is needed, an alias gives it a name in
// the room.
func TestExportedNamesNothingInternal(t *testing.T) {
	for _, f := range productionFiles(t) {
		if isPublic(f.dir) {
			assert.Empty(t, namedInternals(f), "these show a type that users cannot spell")
		}
	}
}

// isPublic reports whether a folder is a room that users import.
func isPublic(dir string) bool {
	return !strings.Contains("/"+dir+"/", "/internal/") && !strings.HasPrefix(dir, "cmd/")
}

// namedInternals returns the places in a file where an exported declaration uses a type of an internal
// package.
func namedInternals(f *source) (places []string) {
	internal := map[string]bool{}
	for i, imported := range f.imports() {
		if strings.Contains("/"+imported+"/", "/internal/") {
			name := path.Base(imported)
			if named := f.ast.Imports[i].Name; named != nil {
				name = named.Name
			}
			internal[name] = true
		}
	}
	var look func(shown ast.Node)
	look = func(shown ast.Node) {
		ast.Inspect(shown, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && internal[of.Name] {
					places = append(places, f.place(n)+" "+of.Name+"."+n.Sel.Name)
				}
				return false
			case *ast.StructType:
				for _, field := range n.Fields.List {
					if len(field.Names) == 0 || field.Names[0].IsExported() {
						look(field.Type)
					}
				}
				return false
			}
			return true
		})
	}
	for _, decl := range f.ast.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && receiverIsExported(decl) {
				look(decl.Type)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() && !spec.Assign.IsValid() {
						look(spec)
					}
				case *ast.ValueSpec:
					if spec.Names[0].IsExported() && spec.Type != nil {
						look(spec.Type)
					}
				}
			}
		}
	}
	return places
}

func TestNamedInternals(t *testing.T) {
	const text = `package x
import (
	"m/internal/wire"
	deep "m/internal/state"
	"m/trace"
)
type Member = wire.Member
type Shown struct {
	Kept wire.Kept
	own  wire.Own
	wire.Embedded
}
type Called interface{ Call(given deep.Given) trace.Line }
var Known deep.Table
var table deep.Table
func F(of wire.Of) { var _ wire.Local }
func (s *Shown) M() []deep.Fold { return nil }
func (s *hidden) M() wire.None { return nil }
func f(wire.None) {}
`
	places := namedInternals(parsed(t, "x/x.go", []byte(text)))
	assert.Equal(t, []string{
		"x/x.go:9 wire.Kept", "x/x.go:11 wire.Embedded", "x/x.go:13 deep.Given", "x/x.go:14 deep.Table", "x/x.go:16 wire.Of", "x/x.go:17 deep.Fold",
	}, places)
}

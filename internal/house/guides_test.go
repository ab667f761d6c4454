package house_test

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// guides are the documents that guide a newcomer through the tree.
var guides = []string{"README.md", "CONTRIBUTING.md", "example/README.md", "docs/tutorial.md", "docs/sessions.md", "docs/commands.md", "docs/frameworks.md", "docs/replay.md", "docs/costs.md", "docs/explore.md", "docs/crossings.md", "docs/databases.md", "docs/worlds.md"}

var (
	link   = regexp.MustCompile(`\]\(([^)#:]+)\)`)
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	quoted = regexp.MustCompile("`([^`\n]+)`")
	// A file of this module, relative to the guide's folder or to the root.
	aFile = regexp.MustCompile(`^[\w./-]+\.(?:go|md|yml|mod)$`)
	// A name that Go code declares: package.Name, type.method, or a name in mixed case.
	aName = regexp.MustCompile(`^(?:[A-Za-z]\w*\.[A-Za-z]\w*|[a-z]+[A-Z]\w*|[A-Z]+[a-z]\w*)$`)
)

// Everything that a guide refers to exists, because a recipe that names a file or a function that is
// gone misleads its reader.
func TestGuidesLeadSomewhere(t *testing.T) {
	files := treeFiles(t)
	declared := declaredNames(goFiles(t))
	for _, guide := range guides {
		text, found := files[guide]
		require.True(t, found, guide)
		text = fenced.ReplaceAll(text, nil)
		for _, target := range link.FindAllSubmatch(text, -1) {
			assert.True(t, exists(files, path.Join(path.Dir(guide), string(target[1]))), "%s links to %s", guide, target[1])
		}
		said := quoted.FindAllSubmatch(text, -1)
		require.NotEmpty(t, said, guide)
		for _, match := range said {
			switch what := string(match[1]); {
			case aFile.MatchString(what):
				assert.True(t, exists(files, path.Join(path.Dir(guide), what)) || exists(files, what), "%s names the file %s", guide, what)
			case aName.MatchString(what) && !strings.HasPrefix(what, "runtime."):
				assert.True(t, declared[what], "%s names %s, which is nowhere declared", guide, what)
			}
		}
	}
}

// The map of a turn in adk/turn.go names functions that exist.
func TestMapOfATurnLeadsSomewhere(t *testing.T) {
	files := treeFiles(t)
	declared := declaredNames(goFiles(t))
	stations := regexp.MustCompile(`\b[A-Za-z]+\.[A-Za-z]+\b`).FindAllString(string(files["adk/turn.go"]), -1)
	met := 0
	for _, one := range stations {
		if of, _, _ := strings.Cut(one, "."); declared["adk."+of] {
			assert.True(t, declared[one], "adk/turn.go names %s", one)
			met++
		}
	}
	require.Greater(t, met, 15, "the map was not found")
}

var (
	// docLink matches a link in a doc comment: [Name], [Type.Method], [room.Name].
	docLink = regexp.MustCompile(`\[\*?([A-Za-z]\w*(?:\.[A-Za-z]\w*)*)\]`)
	// docCode matches an exported name after the name of its package.
	docCode = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)\b`)
	// docRoom matches a room by its path.
	docRoom = regexp.MustCompile(`\b(?:adk|fakes|replay|property|internal|cmd)/[a-z]\w*(?:/[a-z]\w*)*`)
)

// The package comment of each public room names only what exists: rooms, exported names and
// links.
func TestFrontPagesLeadSomewhere(t *testing.T) {
	files := treeFiles(t)
	declared := declaredNames(goFiles(t))
	pages := 0
	for _, f := range productionFiles(t) {
		if path.Base(f.path) != "doc.go" || strings.Contains("/"+f.dir+"/", "/internal/") || f.ast.Doc == nil {
			continue
		}
		pages++
		for _, wrong := range strayNames(f, declared, func(room string) bool { return exists(files, room) }) {
			assert.Fail(t, "a name that leads nowhere", "%s names %s", f.path, wrong)
		}
	}
	assert.Greater(t, pages, 10, "the front pages were not found")
}

// strayNames returns the names in a package comment that are not declared anywhere.
func strayNames(f *source, declared map[string]bool, isRoom func(string) bool) (stray []string) {
	text, pkg := f.ast.Doc.Text(), f.ast.Name.Name
	for _, match := range docLink.FindAllStringSubmatch(text, -1) {
		parts := strings.Split(match[1], ".")
		last := strings.Join(parts[max(0, len(parts)-2):], ".")
		// A lower-case word in brackets is plain text, and no link.
		if name := parts[len(parts)-1]; ast.IsExported(name) && !declared[last] && !(len(parts) == 1 && declared[pkg+"."+name]) {
			stray = append(stray, match[0])
		}
	}
	stray = append(stray, strayCode(text, declared)...)
	for _, room := range docRoom.FindAllString(text, -1) {
		if !isRoom(room) {
			stray = append(stray, room)
		}
	}
	return stray
}

// strayCode returns names qualified by one of this module's packages that are not declared anywhere.
func strayCode(text string, declared map[string]bool) (stray []string) {
	for _, match := range docCode.FindAllStringSubmatch(text, -1) {
		if _, ours := declared[match[1]+".."]; ours && !declared[match[0]] {
			stray = append(stray, match[0])
		}
	}
	return stray
}

// Functions that the command tells a person to call exist.
func TestTheCommandNamesWhatThereIs(t *testing.T) {
	declared := declaredNames(goFiles(t))
	texts := 0
	for _, f := range productionFiles(t) {
		if f.dir != "cmd/adkreplay" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				texts++
				for _, wrong := range strayCode(text.Value, declared) {
					assert.Fail(t, "a name that leads nowhere", "%s says %s", f.path, wrong)
				}
			}
			return true
		})
	}
	assert.Greater(t, texts, 1000, "the texts were not found")
}

func TestStrayNames(t *testing.T) {
	f := parsed(t, "x/doc.go", []byte("// Package x has [Known], [Gone], [Known.Run], [Known.Walk], [y.Known] and [words].\n//\n//\tx.Known(x.Gone) // as in adk/known, and not adk/gone; json.Any is not ours\npackage x\n"))
	declared := map[string]bool{"x..": true, "x.Known": true, "Known.Run": true, "y.Known": true}
	assert.Equal(t, []string{"[Gone]", "[Known.Walk]", "x.Gone", "adk/gone"},
		strayNames(f, declared, func(room string) bool { return room == "adk/known" }))
}

// The package comment of a public package, which go doc prints, names only things that its user can
// name: nothing that is not exported.
func TestFrontPagesNameExportedThings(t *testing.T) {
	pages := 0
	for _, f := range productionFiles(t) {
		if f.ast.Doc == nil || strings.Contains("/"+f.dir, "/internal/") || strings.HasPrefix(f.dir, "cmd/") || strings.HasPrefix(f.dir+"/", "example/") {
			continue
		}
		pages++
		declared := declaredNames(slices.DeleteFunc(productionFiles(t), func(other *source) bool { return other.dir != f.dir }))
		for _, name := range hiddenName.FindAllString(f.ast.Doc.Text(), -1) {
			of, _, dotted := strings.Cut(name, ".")
			hidden := declared[f.ast.Name.Name+"."+name] || dotted && declared[f.ast.Name.Name+"."+of]
			assert.False(t, hidden, "%s names %s, which is not exported", f.path, name)
		}
		assert.NotRegexp(t, `\binternal/|\b\w+_?\w*\.go\b`, f.ast.Doc.Text(), "%s names what go doc does not show", f.path)
	}
	require.Greater(t, pages, 20)
}

// The code at the beginning of these package comments is a part of an example, and examples are run.
func TestFrontPagesShowWhatRuns(t *testing.T) {
	examples := map[string]string{} // by room
	for name, content := range treeFiles(t) {
		if strings.HasSuffix(name, "example_test.go") {
			examples[path.Dir(name)] += string(content)
		}
	}
	for _, f := range productionFiles(t) {
		if path.Base(f.path) != "doc.go" || !slices.Contains([]string{"adk", "fakes", "replay", "replay/trace"}, f.dir) {
			continue
		}
		_, code, found := strings.Cut(f.ast.Doc.Text(), "\n\n\t")
		require.True(t, found, "%s shows no code", f.path)
		code, _, _ = strings.Cut(code, "\n\n")
		assert.True(t, strings.Contains(examples[f.dir], "\t"+code+"\n"), "%s shows what no example has:\n%s", f.path, code)
	}
}

// Every public package has an example, which is run and shows what the package is for.
func TestPublicPackagesHaveExamples(t *testing.T) {
	files := treeFiles(t)
	with, without := map[string]bool{}, map[string]bool{}
	for name, content := range files {
		if strings.HasSuffix(name, "_test.go") && bytes.Contains(content, []byte("\nfunc Example")) && bytes.Contains(content, []byte("// Output:")) {
			with[path.Dir(name)] = true
		}
	}
	for _, f := range productionFiles(t) {
		public := !strings.Contains("/"+f.dir, "/internal/") && !strings.HasPrefix(f.dir, "cmd/") && !strings.HasPrefix(f.dir+"/", "example/")
		exports := slices.ContainsFunc(f.ast.Decls, func(decl ast.Decl) bool {
			named, ok := decl.(*ast.FuncDecl)
			return ok && named.Recv == nil && named.Name.IsExported()
		})
		if public && exports && !with[f.dir] {
			without[f.dir] = true
		}
	}
	assert.Empty(t, without)
	assert.Greater(t, len(with), 20)
}

var (
	hiddenName = regexp.MustCompile(`\b(?:[a-z]+[A-Z]\w*|[a-z]\w*\.[A-Za-z]\w*)\b`) // in mixed case, or with a dot
)

// exists reports whether a file or a folder of this name exists.
func exists(files map[string][]byte, name string) bool {
	for file := range files {
		if file == name || strings.HasPrefix(file, strings.TrimSuffix(name, "/")+"/") {
			return true
		}
	}
	return false
}

// declaredNames returns the names of functions, types, fields, constants and variables. Each is
// included alone; top-level names also qualified by their package, and methods and fields also
// qualified by their type.
func declaredNames(files []*source) map[string]bool {
	names := map[string]bool{}
	declare := func(of string, name *ast.Ident) {
		names[name.Name], names[of+"."+name.Name] = true, true
	}
	for _, f := range files {
		names[f.ast.Name.Name+".."] = true // a package of this module
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				declare(receiverOr(f.ast.Name.Name, decl), decl.Name)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					declareSpec(declare, f.ast.Name.Name, spec)
				}
			}
		}
	}
	return names
}

// receiverOr returns the receiver's type of a method, or the package of a function.
func receiverOr(pkg string, f *ast.FuncDecl) string {
	if f.Recv == nil {
		return pkg
	}
	at := f.Recv.List[0].Type
	for {
		switch t := at.(type) {
		case *ast.StarExpr:
			at = t.X
		case *ast.IndexExpr:
			at = t.X
		case *ast.Ident:
			return t.Name
		default:
			return pkg
		}
	}
}

func declareSpec(declare func(string, *ast.Ident), pkg string, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			declare(pkg, name)
		}
	case *ast.TypeSpec:
		declare(pkg, spec.Name)
		if fields, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range fields.Fields.List {
				for _, name := range field.Names {
					declare(spec.Name.Name, name)
				}
			}
		}
	}
}

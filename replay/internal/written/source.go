package written

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"

	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/shell"
)

// Source is what the source of a module says. The zero value says nothing.
type Source struct {
	words     map[string][]found // whole texts, each where it is said
	pieces    map[string][]piece // of texts, by how they begin
	longest   int                // of the pieces
	values    map[string][]value // by the path of the package that their type is of
	members   map[string][]found // what is given to members and what they are called in JSON, by the name in small letters
	deadlines []within
}

// within is something in a function.
type within struct {
	at       found
	from, to int // the lines of the function
}

// piece is a text in a literal, without what is filled in.
type piece struct {
	text string
	at   found
	raw  bool // as it stands there, line by line
}

// value is a composite literal of a type of another package, and in none of the same package.
type value struct {
	of       string // the name of the type
	at       found
	elements []element
}

// element is one of its elements that has a key, with the texts in it.
type element struct {
	key   string
	at    found
	texts []string
}

// found is something in a file.
type found struct {
	place  codeplace.Place
	isTest bool
	weight int // what has more is meant before what has less
}

// Near is where an agent is put together: what stands in the same folder is meant before what stands
// elsewhere.
type Near struct {
	Dir  string // from the root of the module; the empty one is the root
	Test bool   // in a test: what no test says is not meant alone
}

// mostSource is how much is read of a module, in bytes; of a larger one nothing is found.
const mostSource = 64 << 20

// Here is the source of the module that this program was built of, as go test runs a program
// in it; the zero value where it is not at hand. It is read once.
var Here = sync.OnceValue(func() *Source {
	info, known := debug.ReadBuildInfo()
	here, err := os.Getwd()
	root := shell.ModuleRoot(here)
	if !known || err != nil || root == "" {
		return &Source{}
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || modfile.ModulePath(module) != info.Main.Path {
		return &Source{}
	}
	return Load(os.DirFS(root))
})

// Load reads the files of Go in a module, without those of modules within, of testdata and of
// vendor. What cannot be parsed says nothing, and where not all can be read nothing does.
func Load(root fs.FS) *Source {
	s, size := &Source{words: map[string][]found{}, pieces: map[string][]piece{}, values: map[string][]value{}, members: map[string][]found{}}, 0
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || isModule(root, name)):
			return fs.SkipDir
		case path.Ext(base) != ".go" || !entry.Type().IsRegular():
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if size += len(content); size > mostSource {
			return fs.ErrInvalid
		}
		f := file{path: name, set: token.NewFileSet()}
		if f.tree, err = parser.ParseFile(f.set, name, content, parser.SkipObjectResolution); err == nil {
			s.add(f)
		}
		return nil
	})
	if err != nil {
		return &Source{}
	}
	return s
}

func isModule(root fs.FS, dir string) bool {
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

// file is one that is parsed.
type file struct {
	path string
	set  *token.FileSet
	tree *ast.File
}

// add takes in what a file says.
func (s *Source) add(f file) {
	packages := map[string]string{} // by the names that they have in the file
	for _, i := range f.tree.Imports {
		pkg, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(pkg)
		if i.Name != nil {
			name = i.Name.Name
		}
		packages[name] = pkg
	}
	ends := map[string]token.Pos{} // of the last value, by the package of its type
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			s.addText(f, n)
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if member, is := to.(*ast.SelectorExpr); is {
					s.addMember(f, member.Sel.Name, member.Sel.Pos())
				}
			}
		case *ast.KeyValueExpr:
			if key, is := n.Key.(*ast.Ident); is {
				s.addMember(f, key.Name, key.Pos())
			}
		case *ast.Field:
			if n.Tag != nil {
				tag, _ := strconv.Unquote(n.Tag.Value)
				name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				s.addMember(f, name, n.Tag.Pos())
			}
		case *ast.CallExpr:
			if of, is := n.Fun.(*ast.SelectorExpr); is && slices.Contains(setDeadlines, of.Sel.Name) {
				if name, is := of.X.(*ast.Ident); is && packages[name.Name] == "context" {
					s.deadlines = append(s.deadlines, f.within(n.Pos()))
				}
			}
		case *ast.CompositeLit:
			of, is := n.Type.(*ast.SelectorExpr)
			if !is || len(n.Elts) == 0 {
				break
			}
			if name, is := of.X.(*ast.Ident); is && packages[name.Name] != "" && n.Pos() >= ends[name.Name] {
				ends[name.Name] = n.End()
				s.values[packages[name.Name]] = append(s.values[packages[name.Name]], f.value(n, of.Sel.Name))
			}
		}
		return true
	})
}

// setDeadlines are the functions of package context that do.
var setDeadlines = []string{"WithTimeout", "WithDeadline", "WithTimeoutCause", "WithDeadlineCause"}

// addMember takes in where a member is given a value, or is called what it is in JSON.
func (s *Source) addMember(f file, name string, pos token.Pos) {
	name = strings.ToLower(name)
	s.members[name] = append(s.members[name], f.found(pos))
}

// within is a position with the function that it is in.
func (f file) within(pos token.Pos) within {
	w := within{at: f.found(pos)}
	for _, d := range f.tree.Decls {
		if pos >= d.Pos() && pos < d.End() {
			w.from, w.to = f.set.Position(d.Pos()).Line, f.set.Position(d.End()).Line
		}
	}
	return w
}

// shortest is how long a text is at least that is looked for, in bytes: shorter ones are words
// of many things.
const shortest = 12

// holes are what is filled in where a text is a format or a template.
var holes = regexp.MustCompile(`%[-+# 0]*[\d.*\[\]]*[a-zA-Z]|(?s:\{\{.*?\}\})`)

// addText takes in a literal, if it is a text.
func (s *Source) addText(f file, literal *ast.BasicLit) {
	text, err := strconv.Unquote(literal.Value)
	if literal.Kind != token.STRING || err != nil || text == "" {
		return
	}
	s.words[text] = append(s.words[text], f.found(literal.Pos()))
	raw, from := strings.HasPrefix(literal.Value, "`"), 0
	for _, hole := range append(holes.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if said := text[from:hole[0]]; len(said) >= shortest {
			at := f.found(literal.Pos())
			if raw {
				at.place.Line += strings.Count(text[:from], "\n")
			}
			at.weight = len(said)
			s.pieces[said[:shortest]] = append(s.pieces[said[:shortest]], piece{text: said, at: at, raw: raw})
			s.longest = max(s.longest, len(said))
		}
		from = hole[1]
	}
}

// value is a composite literal in the file.
func (f file) value(literal *ast.CompositeLit, of string) value {
	v := value{of: of, at: f.found(literal.Pos())}
	for _, e := range literal.Elts {
		pair, is := e.(*ast.KeyValueExpr)
		if !is {
			continue
		}
		if key, is := pair.Key.(*ast.Ident); is {
			v.elements = append(v.elements, element{key: key.Name, at: f.found(pair.Pos()), texts: textsIn(pair.Value)})
		}
	}
	return v
}

// textsIn are the texts of the literals in an expression.
func textsIn(e ast.Expr) (all []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}

// found is a position in the file.
func (f file) found(pos token.Pos) found {
	return found{isTest: strings.HasSuffix(f.path, "_test.go"),
		place: codeplace.Place{File: f.path, Line: f.set.Position(pos).Line, Func: f.tree.Name.Name + "." + f.declared(pos)}}
}

// declared is the name of what a position is in the declaration of.
func (f file) declared(pos token.Pos) string {
	has := func(n ast.Node) bool { return pos >= n.Pos() && pos < n.End() }
	for _, d := range f.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if has(d) {
				return receiver(d) + d.Name.Name
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					if has(spec) {
						return spec.Names[0].Name
					}
				case *ast.TypeSpec:
					if has(spec) {
						return spec.Name.Name
					}
				}
			}
		}
	}
	return ""
}

// receiver is the type of a method with a dot, as the runtime writes it; empty of a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	of, star := d.Recv.List[0].Type, false
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of, star = t.X, true
		case *ast.ParenExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			if star {
				return "(*" + t.Name + ")."
			}
			return t.Name + "."
		default:
			return ""
		}
	}
}

// Text is the line that says the first words that a text has in the place of others, or that which
// says what stands around those that are gone. A text may be put together of several.
func (s *Source) Text(near Near, was, now string) codeplace.Place {
	from, to := changed(was, now)
	var all []found
	for start := max(0, from-s.longest); start <= to && start+shortest <= len(now); start++ {
		for _, p := range s.pieces[now[start:start+shortest]] {
			end := start + len(p.text)
			isThere := start < to && from < end || from == to && start < from && from <= end && !isSection(was[from:])
			if !isThere || !strings.HasPrefix(now[start:], p.text) || from < end && strings.Contains(was, p.text) { // it was said before, elsewhere
				continue
			}
			at := p.at
			if p.raw {
				at.place.Line += strings.Count(now[start:max(from, start)], "\n")
			}
			all = append(all, at)
		}
	}
	if len(all) == 0 {
		return s.word(near, now)
	}
	return near.one(heaviest(near.meant(all)))
}

// word is the line that says a text as a whole: near, since it is said elsewhere of other things.
func (s *Source) word(near Near, text string) codeplace.Place {
	return near.one(near.only(s.words[text]))
}

// isSection reports whether a text begins on a line of its own, and so was not said with what stood
// before it.
func isSection(text string) bool { return strings.HasPrefix(text, "\n") }

// changed is where the second of two texts has what the first has not.
func changed(was, now string) (from, to int) {
	most := min(len(was), len(now))
	for from < most && was[from] == now[from] {
		from++
	}
	behind := 0
	for behind < most-from && was[len(was)-1-behind] == now[len(now)-1-behind] {
		behind++
	}
	return from, len(now) - behind
}

// List is the line of the list that an agent has for a pipeline, by the label of that: of several
// it is the one with most of these names, which are those that were recorded and those of today.
func (s *Source) List(near Near, engine, pipeline string, names []string) codeplace.Place {
	var all []found
	for _, v := range s.values[engine] {
		for _, e := range v.elements {
			if strings.EqualFold(e.key, strings.ReplaceAll(pipeline, "-", "")) {
				at := e.at
				for _, text := range e.texts {
					if slices.Contains(names, text) {
						at.weight++
					}
				}
				all = append(all, at)
			}
		}
	}
	return near.one(all)
}

// Options is the line of the options that an executor of a package is made of, as a whole; or that of
// one of them, where it has the name of one of these members of what is asked.
func (s *Source) Options(near Near, pkg string, members []string) (p codeplace.Place, whole bool) {
	var all, single []found
	for _, v := range s.values[pkg] {
		at := v.at
		if strings.HasSuffix(v.of, "Options") {
			at.weight = 1
		}
		all = append(all, at)
		for _, e := range v.elements {
			if slices.ContainsFunc(members, func(member string) bool { return isOption(e.key, member) }) {
				e.at.weight = at.weight
				single = append(single, e.at)
			}
		}
	}
	p = near.one(all)
	if one := near.one(single); one.Line > 0 && one.File == p.File {
		return one, false
	}
	return p, true
}

// isOption reports whether an option has the name of a member, of one or of all of them.
func isOption(key, member string) bool {
	name := strings.ReplaceAll(member, "_", "")
	return strings.EqualFold(key, name) || strings.EqualFold(key, name+"s")
}

// Member is the line in which one is given a value that has the name of a member, or that calls one
// so in JSON.
func (s *Source) Member(near Near, name string) codeplace.Place {
	return near.one(near.only(s.members[strings.ToLower(name)]))
}

// Deadline is the line that sets one, before they call, in the functions that lines are in.
func (s *Source) Deadline(callers []codeplace.Place) codeplace.Place {
	var all []found
	for _, d := range s.deadlines {
		if slices.ContainsFunc(callers, func(p codeplace.Place) bool {
			return p.File == d.at.place.File && p.Line >= d.at.place.Line && p.Line >= d.from && p.Line <= d.to
		}) {
			all = append(all, d.at)
		}
	}
	return Near{Test: true}.one(all)
}

// has reports whether something is in the folder.
func (near Near) has(f found) bool { return path.Dir(f.place.File) == path.Clean(near.Dir) }

// meant are those that no test says, unless the agent is of tests.
func (near Near) meant(all []found) []found {
	return slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.isTest && !near.Test })
}

// only are those in the folder.
func (near Near) only(all []found) []found {
	return slices.DeleteFunc(slices.Clone(all), func(f found) bool { return !near.has(f) })
}

// one is the place that is meant: near where one is, in no test but of an agent of tests, and the one of
// most weight; none where there are several.
func (near Near) one(all []found) codeplace.Place {
	all = heaviest(preferred(near.meant(all), near.has))
	if len(all) == 0 || slices.ContainsFunc(all, func(f found) bool { return f.place != all[0].place }) {
		return codeplace.Place{}
	}
	return all[0].place
}

// heaviest are those of most weight.
func heaviest(all []found) []found {
	most := 0
	for _, f := range all {
		most = max(most, f.weight)
	}
	return preferred(all, func(f found) bool { return f.weight == most })
}

// preferred are those that are something, or all where none is.
func preferred(all []found, is func(found) bool) []found {
	if slices.ContainsFunc(all, is) {
		return slices.DeleteFunc(all, func(f found) bool { return !is(f) })
	}
	return all
}

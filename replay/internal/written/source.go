package written

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
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
	"time"

	"golang.org/x/mod/modfile"

	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/shell"
)

// Source is an index of the source of a module. The zero value is empty.
type Source struct {
	words     map[string][]found // whole texts that code says
	pieces    map[string][]piece // parts of texts, by their beginnings
	longest   int                // the length of the longest piece
	values    map[string][]value // composite literals, by the path of the package of their type
	members   map[string][]found // where members are given a value, by their names in small letters
	assigned  map[string][]found // those of them that are assigned to
	tags      map[string][]found // fields, by their names in JSON
	indexed   map[string][]found // where something is looked up by a text
	said      map[string][]int   // the declarations that contain a text, sorted
	deadlines []deadline
	cancels   map[string][]found // where a context is cancelled, by the name of the cause; empty where the cause is made there
	numbers   map[string][]named // constants, by folder and name
	listed    map[string][]found // list elements that a function makes, by the path of its package
	files     map[string]bool    // those that were read
	root      fs.FS
	module    string // its path; empty where that is not known
	decls     int    // how many declarations there are
}

// piece is a part of a text literal, without what is filled in.
type piece struct {
	text string
	at   found
	raw  bool // it is in a raw literal, so that its lines are lines of the source
}

// value is a composite literal of a type of another package that is in no other literal of that
// package.
type value struct {
	of       string // the name of the type
	at       found
	elements []element
}

// element is an element of it that has a key, with the texts in the element.
type element struct {
	key   string
	at    found
	texts []string
}

// deadline is where the deadline of a context is set: the name of the context, the lines of the
// block that it is in, and the calls in its function.
type deadline struct {
	at       found
	name     string
	from, to int
	calls    []call
}

// call is a call in a line, with the names among its arguments.
type call struct {
	line  int
	names []string
}

// found is something in a file.
type found struct {
	place  codeplace.Place
	isTest bool
	decl   int // the number of the declaration that it is in
	weight int // of several, the one with the highest weight is meant
}

// Near is where an agent is put together: something in another folder is not meant.
type Near struct {
	Dir  string // from the root of the module; empty is the root
	Test bool   // it is in a test; otherwise nothing in a test is meant
}

// The limits of what is read: in a larger module nothing is found, and a larger file is ignored.
const (
	mostSource = 16 << 20
	mostFile   = 1 << 20
)

// Here is the source of the module from which this program was built, if the program is a test that
// go test runs in the module; else the zero value. It is read once, without files that were changed
// since the program was built.
var Here = sync.OnceValue(func() *Source {
	info, known := debug.ReadBuildInfo()
	root := shell.ModuleRoot(here)
	if !known || here == "" || root == "" || !shell.IsTest() {
		return &Source{}
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || modfile.ModulePath(module) != info.Main.Path {
		return &Source{}
	}
	built := time.Now()
	if program, err := os.Executable(); err == nil {
		if info, err := os.Stat(program); err == nil {
			built = info.ModTime()
		}
	}
	return Load(os.DirFS(root), built)
})

// here is the directory in which the program began: a test may change it.
var here, _ = os.Getwd()

// Load reads the Go files of a module that were not changed after built. It skips nested modules,
// testdata, vendor, generated files, and files that are not built on this system. Files that cannot
// be read or parsed are ignored.
func Load(root fs.FS, built time.Time) *Source {
	s := &Source{words: map[string][]found{}, pieces: map[string][]piece{}, values: map[string][]value{}, members: map[string][]found{},
		assigned: map[string][]found{}, tags: map[string][]found{}, indexed: map[string][]found{}, said: map[string][]int{}, cancels: map[string][]found{},
		numbers: map[string][]named{}, listed: map[string][]found{}, files: map[string]bool{}, root: root}
	if module, err := fs.ReadFile(root, "go.mod"); err == nil {
		s.module = modfile.ModulePath(module)
	}
	builds, size := build.Default, 0
	builds.OpenFile = func(name string) (io.ReadCloser, error) { return root.Open(filepath.ToSlash(name)) }
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil && entry != nil && entry.IsDir() && name != ".":
			return fs.SkipDir
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || isModule(root, name)):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(base) != ".go":
			return nil
		}
		info, err := fs.Stat(root, name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostFile || info.ModTime().After(built) {
			return nil
		}
		if size += int(info.Size()); size > mostSource {
			return fs.ErrInvalid
		}
		if ok, err := builds.MatchFile(path.Dir(name), path.Base(name)); err != nil || !ok {
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil || bytes.Contains(content[:min(len(content), headOfAFile)], []byte("DO NOT EDIT")) {
			return nil
		}
		f := file{path: name, set: token.NewFileSet()}
		if f.tree, err = parser.ParseFile(f.set, name, content, parser.SkipObjectResolution); err == nil {
			s.files[name] = true
			s.add(f)
		}
		return nil
	})
	if err != nil {
		return &Source{}
	}
	return s
}

// headOfAFile is how many bytes of a file are searched for the mark of generated files.
const headOfAFile = 2 << 10

func isModule(root fs.FS, dir string) bool {
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

// file is a parsed file.
type file struct {
	path string
	set  *token.FileSet
	tree *ast.File
}

// line is the line of a position, ignoring line directives.
func (f file) line(pos token.Pos) int { return f.set.PositionFor(pos, false).Line }

// add adds a file to the index.
func (s *Source) add(f file) {
	packages := map[string]string{} // by their names in the file
	for _, i := range f.tree.Imports {
		pkg, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(pkg)
		if i.Name != nil {
			name = i.Name.Name
		}
		packages[name] = pkg
	}
	pkg := s.packageName(f)
	of := func(n ast.Node, name string) *declaration {
		s.decls++
		d := &declaration{Source: s, file: f, packages: packages, name: pkg + "." + name, ends: map[string]token.Pos{}}
		d.read(n)
		return d
	}
	for _, d := range f.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			of(d, receiver(d)+d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					if of := of(spec, spec.Names[0].Name); d.Tok == token.CONST {
						of.constants(spec)
					}
				case *ast.TypeSpec:
					of(spec, spec.Name.Name)
				}
			}
		}
	}
}

// packageName is the name that the runtime gives in a test to the package of a file: the last
// element of its path, even for a program.
func (s *Source) packageName(f file) string {
	name := f.tree.Name.Name
	if s.module == "" {
		return name
	}
	test := ""
	if strings.HasSuffix(name, "_test") {
		test = "_test"
	}
	return path.Base(path.Join(s.module, path.Dir(f.path))) + test
}

// receiver is the type of a method followed by a dot, as the runtime writes it; empty for a
// function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	form := "%."
	for of := d.Recv.List[0].Type; ; {
		switch t := of.(type) {
		case *ast.StarExpr:
			of, form = t.X, "(*%)."
		case *ast.ParenExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return strings.Replace(form, "%", t.Name, 1)
		default:
			return ""
		}
	}
}

// declaration is a declaration of a file while it is read.
type declaration struct {
	*Source
	file
	packages map[string]string
	name     string
	ends     map[string]token.Pos // the end of the last value, by the package of its type
	above    []ast.Node           // the nodes that contain the one that is read
	cancels  []string             // the names in it of functions that cancel with a cause
}

// read adds the declaration to the index.
func (d *declaration) read(root ast.Node) {
	before := len(d.deadlines)
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			d.above = d.above[:len(d.above)-1]
			return true
		}
		d.node(n)
		d.above = append(d.above, n)
		return true
	})
	if len(d.deadlines) == before {
		return
	}
	var calls []call
	ast.Inspect(root, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			calls = append(calls, call{d.line(c.Pos()), namesIn(c.Args)}, call{d.line(c.Lparen), namesIn(c.Args)})
		}
		return true
	})
	for i := range d.deadlines[before:] {
		d.deadlines[before+i].calls = calls
	}
}

// namesIn returns the expressions that are names.
func namesIn(all []ast.Expr) (names []string) {
	for _, e := range all {
		if id, ok := e.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
	}
	return names
}

// node adds a single node to the index.
func (d *declaration) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			d.literal(n)
		}
	case *ast.AssignStmt:
		for _, to := range n.Lhs {
			if member, ok := to.(*ast.SelectorExpr); ok {
				name, at := strings.ToLower(member.Sel.Name), d.found(member.Sel.Pos())
				d.members[name], d.assigned[name] = append(d.members[name], at), append(d.assigned[name], at)
				if of, ok := member.X.(*ast.SelectorExpr); ok {
					name := strings.ToLower(of.Sel.Name)
					d.members[name] = append(d.members[name], d.found(of.Sel.Pos()))
				}
			}
		}
		d.setsEnd(n)
	case *ast.CallExpr:
		if by, ok := n.Fun.(*ast.Ident); ok && len(n.Args) == 1 && slices.Contains(d.cancels, by.Name) {
			cause := ""
			if name, ok := n.Args[0].(*ast.Ident); ok {
				cause = name.Name
			}
			d.Source.cancels[cause] = append(d.Source.cancels[cause], d.found(n.Pos()))
		}
		d.isListed(n)
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok {
			name := strings.ToLower(key.Name)
			d.members[name] = append(d.members[name], d.found(key.Pos()))
		}
	case *ast.CompositeLit:
		of, ok := n.Type.(*ast.SelectorExpr)
		if !ok || len(n.Elts) == 0 {
			return
		}
		if name, ok := of.X.(*ast.Ident); ok && d.packages[name.Name] != "" && n.Pos() >= d.ends[name.Name] {
			d.ends[name.Name] = n.End()
			pkg := d.packages[name.Name]
			d.values[pkg] = append(d.values[pkg], d.value(n, of.Sel.Name))
		}
	}
}

// isListed adds a call of a package's function that makes an element of a list.
func (d *declaration) isListed(n *ast.CallExpr) {
	if len(d.above) == 0 {
		return
	}
	_, inAList := d.above[len(d.above)-1].(*ast.CompositeLit)
	of, ok := n.Fun.(*ast.SelectorExpr)
	if !inAList || !ok {
		return
	}
	if pkg, ok := of.X.(*ast.Ident); ok && d.packages[pkg.Name] != "" {
		d.listed[d.packages[pkg.Name]] = append(d.listed[d.packages[pkg.Name]], d.found(n.Pos()))
	}
}

// literal adds a text: as one that is said, as one by which something is looked up, or as the tag
// of a field.
func (d *declaration) literal(n *ast.BasicLit) {
	text, err := strconv.Unquote(n.Value)
	if err != nil || text == "" {
		return
	}
	at := d.found(n.Pos())
	above := d.above[len(d.above)-1]
	if field, ok := above.(*ast.Field); ok && field.Tag == n {
		tag := reflect.StructTag(text)
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		d.tags[name] = append(d.tags[name], at)
		for _, key := range []string{"jsonschema", "description"} {
			d.text(tag.Get(key), at, false)
		}
		return
	}
	if len(text) <= longestName {
		if all := d.said[text]; len(all) == 0 || all[len(all)-1] != d.decls {
			d.said[text] = append(all, d.decls)
		}
	}
	switch index, ok := above.(*ast.IndexExpr); {
	case ok && index.Index == n:
		d.indexed[text] = append(d.indexed[text], at)
	case d.isSaid(n):
		d.text(text, at, strings.HasPrefix(n.Value, "`"))
	}
}

// longestName is the maximum length of a text that may be the name of a tool or of a property.
const longestName = 128

// lookers are packages whose functions look for a text, and do not say it.
var lookers = []string{"strings", "bytes", "regexp", "slices", "maps", "path", "path/filepath", "os", "flag"}

// isSaid reports whether a literal is used as a value, and not only to compare something with.
func (d *declaration) isSaid(n ast.Expr) bool {
	for _, above := range slices.Backward(d.above) {
		switch above := above.(type) {
		case *ast.ParenExpr:
			n = above
		case *ast.BinaryExpr:
			if above.Op != token.ADD {
				return false
			}
			n = above
		case *ast.CaseClause:
			return false
		case *ast.KeyValueExpr:
			return above.Key != n
		case *ast.CallExpr:
			of, ok := above.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name, ok := of.X.(*ast.Ident)
			return !ok || !slices.Contains(lookers, d.packages[name.Name])
		default:
			return true
		}
	}
	return true
}

// shortest is the minimum length, in bytes, of a text that is looked for in parts: shorter ones
// occur in many places.
const shortest = 12

// mostAlike is how many texts may have the same beginning: with more, it is not known which is
// meant.
const mostAlike = 64

// holes match what is filled in where a text is a format or a template.
var holes = regexp.MustCompile(`%[-+# 0]*[\d.*\[\]]*[a-zA-Z]|(?s:\{\{.*?\}\})`)

// text adds a text that is said.
func (d *declaration) text(text string, at found, raw bool) {
	if text == "" {
		return
	}
	d.words[text] = append(d.words[text], at)
	if len(text) < shortest {
		return
	}
	from := 0
	for _, hole := range append(holes.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if said := text[from:hole[0]]; len(said) >= shortest && len(d.pieces[said[:shortest]]) < mostAlike {
			p := piece{text: said, at: at, raw: raw}
			if raw {
				p.at.place.Line += strings.Count(text[:from], "\n")
			}
			p.at.weight = len(said)
			d.pieces[said[:shortest]] = append(d.pieces[said[:shortest]], p)
			d.longest = max(d.longest, len(said))
		}
		from = hole[1]
	}
}

// setDeadlines are the functions of package context that set a deadline.
var setDeadlines = []string{"WithTimeout", "WithDeadline", "WithTimeoutCause", "WithDeadlineCause"}

// setsEnd adds what ends a context that has a name: a deadline, or a function that cancels it with
// a cause.
func (d *declaration) setsEnd(n *ast.AssignStmt) {
	name, ok := n.Lhs[0].(*ast.Ident)
	set, isCall := n.Rhs[0].(*ast.CallExpr)
	if !ok || !isCall {
		return
	}
	of, ok := set.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if pkg, ok := of.X.(*ast.Ident); !ok || d.packages[pkg.Name] != "context" {
		return
	}
	if by, ok := n.Lhs[len(n.Lhs)-1].(*ast.Ident); ok && of.Sel.Name == "WithCancelCause" {
		d.cancels = append(d.cancels, by.Name)
	}
	if !slices.Contains(setDeadlines, of.Sel.Name) {
		return
	}
	for _, above := range slices.Backward(d.above) {
		if block, ok := above.(*ast.BlockStmt); ok {
			d.deadlines = append(d.deadlines, deadline{at: d.found(n.Pos()), name: name.Name, from: d.line(block.Pos()), to: d.line(block.End())})
			return
		}
	}
}

// value is the value of a composite literal in the declaration.
func (d *declaration) value(literal *ast.CompositeLit, of string) value {
	v := value{of: of, at: d.found(literal.Pos())}
	for _, e := range literal.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.Ident); ok {
			v.elements = append(v.elements, element{key: key.Name, at: d.found(pair.Pos()), texts: textsIn(pair.Value)})
		}
	}
	return v
}

// textsIn returns the texts of the literals in an expression.
func textsIn(e ast.Expr) (all []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}

// found is a position in the declaration.
func (d *declaration) found(pos token.Pos) found {
	return found{isTest: strings.HasSuffix(d.path, "_test.go"), decl: d.decls,
		place: codeplace.Place{File: d.path, Line: d.line(pos), Func: d.name}}
}

// Text is the line that says the first words of a text that differ from what it was, or the words
// just before the place of what is gone. A text may be put together from several literals; a
// literal that was in the old text, too, is not what differs.
func (s *Source) Text(near Near, was, now string) codeplace.Place {
	from, to := changed(was, now)
	var all []found
	for start := max(0, from-s.longest); start <= from && start+shortest <= len(now); start++ {
		alike := s.pieces[now[start:start+shortest]]
		if len(alike) == mostAlike {
			return codeplace.Place{}
		}
		for _, p := range alike {
			end, goneBehind := start+len(p.text), from == to && from == start+len(p.text) && !isSection(was[from:])
			isThere := from < end && (start < from || from < to) && !strings.Contains(was, p.text)
			if !isThere && !goneBehind || !strings.HasPrefix(now[start:], p.text) {
				continue
			}
			at := p.at
			if p.raw {
				at.place.Line += strings.Count(now[start:max(from, start)], "\n")
			}
			all = append(all, at)
		}
	}
	switch {
	case len(all) == 0:
		return s.word(near, now)
	case len(near.only(all)) == 0: // it may be in a package of prompts
		return oneOf(slices.DeleteFunc(all, func(f found) bool { return f.isTest || f.weight < longEnough }))
	}
	return near.one(all)
}

// longEnough is the length, in bytes, from which a piece counts wherever in the module it is.
const longEnough = 32

// word is the line that says exactly this text.
func (s *Source) word(near Near, text string) codeplace.Place { return near.one(s.words[text]) }

// isSection reports whether a text begins on a new line, and so was not said together with what
// came before it.
func isSection(text string) bool { return strings.HasPrefix(text, "\n") }

// changed is the range in the second of two texts that differs from the first.
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

// List is the line of the list that an agent has for a pipeline, by the label of the pipeline. Of
// several, it is the one with most of these names, which are the recorded ones and those of today.
// There is none if the list is assigned elsewhere.
func (s *Source) List(near Near, engine, pipeline string, names []string) codeplace.Place {
	field := strings.ReplaceAll(pipeline, "-", "")
	if len(near.only(s.assigned[field])) > 0 {
		return codeplace.Place{}
	}
	var all []found
	for _, v := range s.values[engine] {
		for _, e := range v.elements {
			if !strings.EqualFold(e.key, field) {
				continue
			}
			at := e.at
			for _, text := range e.texts {
				if slices.Contains(names, text) {
					at.weight++
				}
			}
			if at.weight > 0 || len(e.texts) == 0 {
				all = append(all, at)
			}
		}
	}
	return near.one(all)
}

// Tools is the line of the list of tools that an agent has. There is none if tools are assigned
// elsewhere.
func (s *Source) Tools(near Near, engine string) codeplace.Place {
	if len(near.only(s.assigned["tools"])) > 0 {
		return codeplace.Place{}
	}
	var all []found
	for _, v := range s.values[engine] {
		for _, e := range v.elements {
			if v.of == "Config" && e.key == "Tools" {
				all = append(all, e.at)
			}
		}
	}
	return near.one(all)
}

// Listed is the line of the only list element that a function of a package makes.
func (s *Source) Listed(near Near, pkg string) codeplace.Place { return near.one(s.listed[pkg]) }

// Options is the line of the options from which an executor of a package is made; or the line and
// the name of the one option that has the name of a member of what is asked. There is none if such
// an option is assigned elsewhere.
func (s *Source) Options(near Near, pkg string, fields []string) (p codeplace.Place, option string) {
	var all, single []found
	keys := map[codeplace.Place]string{} // the first one of the line
	for _, v := range s.values[pkg] {
		if !strings.HasSuffix(v.of, "Options") {
			continue
		}
		all = append(all, v.at)
		for _, e := range v.elements {
			if slices.ContainsFunc(fields, func(field string) bool { return isOption(e.key, field) }) {
				if len(near.only(s.assigned[strings.ToLower(e.key)])) > 0 {
					return codeplace.Place{}, ""
				}
				single = append(single, e.at)
				keys[e.at.place] = cmp.Or(keys[e.at.place], e.key)
			}
		}
	}
	p = near.one(all)
	if one := near.one(single); one.Line > 0 && one.File == p.File {
		return one, keys[one]
	}
	return p, ""
}

// HasHelpers reports whether the agent gives functions of its own, named helpers, to the executor
// that a library makes.
func (s *Source) HasHelpers(near Near) bool { return len(near.only(s.members["helpers"])) > 0 }

// isOption reports whether an option has the name of a member of the body that is asked, or the
// plural of the name of a member anywhere in it.
func isOption(key, field string) bool {
	member, ok := strings.CutPrefix(field, "request.body.")
	if ok && !strings.ContainsAny(member, ".[") && strings.EqualFold(key, strings.ReplaceAll(member, "_", "")) {
		return true
	}
	return ok && strings.EqualFold(key, strings.ReplaceAll(compare.LastMember(member), "_", "")+"s")
}

// Member is the line that gives a member of what describes a tool its value, by the path of the
// member: a line in a declaration that also says the name of the tool, or of the property. For a
// property that is gone, it is the line that looks it up; for a described property, the line of its
// field.
func (s *Source) Member(near Near, tool, member string, gone bool) codeplace.Place {
	parts := strings.Split(member, ".")
	name, owner := parts[len(parts)-1], tool
	if at := slices.Index(parts, "properties"); at >= 0 && at+1 < len(parts) {
		if owner = parts[at+1]; slices.Contains(parts[at+1:], "properties") {
			return codeplace.Place{}
		}
	} else if len(parts) > 1 {
		return codeplace.Place{}
	}
	switch {
	case owner == name && owner != tool, owner != tool && name == "description":
		if gone && owner == name {
			return codeplace.Place{}
		}
		return near.one(s.tags[owner])
	case gone && owner == tool:
		return codeplace.Place{}
	case gone:
		return near.one(s.indexed[owner])
	}
	isOf := func(f found) bool { _, ok := slices.BinarySearch(s.said[owner], f.decl); return ok }
	return near.one(slices.DeleteFunc(near.only(s.members[strings.ToLower(name)]), func(f found) bool { return !isOf(f) }))
}

// Deadline is the line that sets the deadline of the context that a call in one of these lines is
// given.
func (s *Source) Deadline(callers []codeplace.Place) codeplace.Place {
	var all []found
	for _, d := range s.deadlines {
		gives := func(line int) bool {
			return slices.ContainsFunc(d.calls, func(c call) bool { return c.line == line && slices.Contains(c.names, d.name) })
		}
		if slices.ContainsFunc(callers, func(p codeplace.Place) bool {
			return p.File == d.at.place.File && p.Line > d.at.place.Line && p.Line >= d.from && p.Line <= d.to && gives(p.Line)
		}) {
			all = append(all, d.at)
		}
	}
	if len(all) != 1 {
		return codeplace.Place{}
	}
	return all[0].place
}

// Cancel is the line that cancels a context with the cause that is said in a place; none if that is
// not the cause of exactly one cancellation.
func (s *Source) Cancel(said codeplace.Place) codeplace.Place {
	if said.Line == 0 || slices.ContainsFunc(s.cancels[""], func(f found) bool { return f.place == said }) {
		return said
	}
	near := Near{Dir: path.Dir(said.File), Test: strings.HasSuffix(said.File, "_test.go")}
	return near.one(s.cancels[compare.LastMember(said.Func)])
}

// only returns a copy with those that are meant.
func (near Near) only(all []found) []found {
	return slices.DeleteFunc(slices.Clone(all), func(f found) bool {
		return path.Dir(f.place.File) != path.Clean(near.Dir) || f.isTest && !near.Test
	})
}

// one is oneOf those that are meant.
func (near Near) one(all []found) codeplace.Place {
	return oneOf(near.only(all))
}

// oneOf is the place with the highest weight; none where there are several.
func oneOf(all []found) codeplace.Place {
	most := 0
	for _, f := range all {
		most = max(most, f.weight)
	}
	all = slices.DeleteFunc(all, func(f found) bool { return f.weight < most })
	if len(all) == 0 || slices.ContainsFunc(all, func(f found) bool { return f.place != all[0].place }) {
		return codeplace.Place{}
	}
	return all[0].place
}

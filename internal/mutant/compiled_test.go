package mutant_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/mutant"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// Mutants compile, because a mutant that does not is never tested: each is type-checked, without a
// build. All mutants of a package that change different places are checked together, and each
// alone only if that fails.
func TestMutantsCompile(t *testing.T) {
	if !thorough.All() {
		t.Skip("what mutants import is built: make thorough does")
	}
	all, err := mutant.All(treeRoot, mutant.Engine)
	require.NoError(t, err)
	all = append(all, harness(t)...)
	broken := mutant.Mutant{Name: "broken", File: "internal/mutant/build.go", Old: "const Few = 5", New: "const Few = many"}
	c := newChecker(t, slices.Concat(all, []mutant.Mutant{broken}))
	for _, group := range together(t, all) {
		if c.check(group...) == nil {
			continue
		}
		for _, m := range group {
			assert.NoError(t, c.check(m), "%s/%s", m.Package(), m.Name)
		}
	}
	assert.ErrorContains(t, c.check(broken), "undefined: many")
}

// checker checks the types of packages with mutants applied.
type checker struct {
	fset   *token.FileSet
	known  types.Importer
	parsed map[string]*ast.File // by path
}

// newChecker builds what the packages of the mutants import, unless it is built already.
func newChecker(t *testing.T, mutants []mutant.Mutant) *checker {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, m := range mutants {
		if folder := "./" + filepath.ToSlash(filepath.Dir(m.File)); !slices.Contains(args, folder) {
			args = append(args, folder)
		}
	}
	list := exec.CommandContext(t.Context(), "go", args...)
	list.Dir, list.Stderr = treeRoot, os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	fset := token.NewFileSet()
	known := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("nothing is exported by %s", path)
		}
		return os.Open(exports[path])
	})
	return &checker{fset: fset, known: known, parsed: map[string]*ast.File{}}
}

// together groups mutants by package, so that no two of a group change the same text.
func together(t *testing.T, all []mutant.Mutant) (groups [][]mutant.Mutant) {
	t.Helper()
	type span struct{ from, to int }
	taken := []map[string][]span{} // of each group, by file
	for _, m := range all {
		source, err := os.ReadFile(filepath.Join(treeRoot, m.File))
		require.NoError(t, err)
		at := strings.Index(string(source), m.Old)
		require.GreaterOrEqual(t, at, 0, "%s: the old text is not in %s", m.Name, m.File)
		here := span{at, at + len(m.Old)}
		overlaps := func(s span) bool { return s.from < here.to && here.from < s.to }
		fits := func(group int) bool {
			return filepath.Dir(groups[group][0].File) == filepath.Dir(m.File) && !slices.ContainsFunc(taken[group][m.File], overlaps)
		}
		group := 0
		for group < len(groups) && !fits(group) {
			group++
		}
		if group == len(groups) {
			groups, taken = append(groups, nil), append(taken, map[string][]span{})
		}
		groups[group] = append(groups[group], m)
		taken[group][m.File] = append(taken[group][m.File], here)
	}
	return groups
}

// check returns the compiler's first complaint about mutants of one package that are all applied
// together.
func (c *checker) check(mutants ...mutant.Mutant) error {
	mutated := map[string]string{}
	for _, m := range mutants {
		source, err := m.Source(treeRoot)
		if err != nil {
			return err
		}
		if before, several := mutated[m.File]; several {
			source = strings.Replace(before, m.Old, m.New, 1)
		}
		mutated[m.File] = source
	}
	dir := filepath.Dir(mutants[0].File)
	pkg, err := build.ImportDir(filepath.Join(treeRoot, dir), 0)
	if err != nil {
		return err
	}
	for path := range mutated {
		if !slices.Contains(pkg.GoFiles, filepath.Base(path)) {
			return fmt.Errorf("%s is not built here", path)
		}
	}
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		file, err := c.file(filepath.Join(dir, name), mutated)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	_, err = (&types.Config{Importer: c.known}).Check(dir, c.fset, files, nil)
	return err
}

// file returns a parsed file of the tree, or its mutated version.
func (c *checker) file(path string, mutated map[string]string) (*ast.File, error) {
	if source, ok := mutated[filepath.ToSlash(path)]; ok {
		return parser.ParseFile(c.fset, path, source, parser.SkipObjectResolution)
	}
	if c.parsed[path] == nil {
		file, err := parser.ParseFile(c.fset, filepath.Join(treeRoot, path), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		c.parsed[path] = file
	}
	return c.parsed[path], nil
}

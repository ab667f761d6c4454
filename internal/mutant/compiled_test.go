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
)

// A mutant that does not compile is never held against its tests: each is checked as
// the compiler would, one package at a time and without a build.
func TestMutantsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("what mutants import is built: not with -short")
	}
	all, err := mutant.All(treeRoot, slices.Concat(mutant.Harness, []string{mutant.Engine})...)
	require.NoError(t, err)
	broken := mutant.Mutant{Name: "broken", File: "internal/mutant/build.go", Old: "const Few = 5", New: "const Few = many"}
	c := newChecker(t, slices.Concat(all, []mutant.Mutant{broken}))
	for _, m := range all {
		assert.NoError(t, c.check(m), "%s/%s", m.Package(), m.Name)
	}
	assert.ErrorContains(t, c.check(broken), "undefined: many")
}

// checker checks the types of packages with a mutant in place.
type checker struct {
	fset   *token.FileSet
	known  types.Importer
	parsed map[string]*ast.File // by path
}

// newChecker has what the packages of the mutants import built, if it is not yet.
func newChecker(t *testing.T, mutants []mutant.Mutant) *checker {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, m := range mutants {
		args = append(args, "./"+filepath.ToSlash(filepath.Dir(m.File)))
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

// check gives what the compiler would first say against a mutant.
func (c *checker) check(m mutant.Mutant) error {
	mutated, err := m.Source(treeRoot)
	if err != nil {
		return err
	}
	dir := filepath.Dir(m.File)
	pkg, err := build.ImportDir(filepath.Join(treeRoot, dir), 0)
	if err != nil {
		return err
	}
	if !slices.Contains(pkg.GoFiles, filepath.Base(m.File)) {
		return fmt.Errorf("%s is not built here", m.File)
	}
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		file, err := c.file(filepath.Join(dir, name), m.File, mutated)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	_, err = (&types.Config{Importer: c.known}).Check(dir, c.fset, files, nil)
	return err
}

// file is a file of the tree, or the mutated one in its place.
func (c *checker) file(path, mutatedPath, mutated string) (*ast.File, error) {
	if path == filepath.FromSlash(mutatedPath) {
		return parser.ParseFile(c.fset, path, mutated, parser.SkipObjectResolution)
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

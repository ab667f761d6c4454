// Package house_test checks the rules of the house on this module's own sources: which package may
// import which, where goroutines start, that exported names have comments,
// and that no file mentions the machine it was written on.
package house_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the module's root, relative to the folder in which the tests run.
const root = "../.."

// source is a parsed file of this module.
type source struct {
	path string // relative to the root, with slashes
	dir  string
	set  *token.FileSet
	ast  *ast.File

	content []byte
}

func (s *source) imports() (paths []string) {
	for _, spec := range s.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // cannot happen: the file was parsed
		}
		paths = append(paths, path)
	}
	return paths
}

// place returns the position of a node in the form that editors understand.
func (s *source) place(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(n.Pos()).Line)
}

// productionFiles returns the Go files that are not tests.
func productionFiles(t *testing.T) (files []*source) {
	t.Helper()
	for _, f := range goFiles(t) {
		if !strings.HasSuffix(f.path, "_test.go") {
			files = append(files, f)
		}
	}
	require.Greater(t, len(files), 50, "the tree was not found")
	return files
}

// goFiles returns all Go files. They are parsed once for all tests, which must not modify them.
func goFiles(t *testing.T) []*source {
	t.Helper()
	files, err := everyGoFile()
	require.NoError(t, err)
	return files
}

var everyGoFile = sync.OnceValues(func() (files []*source, err error) {
	tree, err := everyFile()
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if strings.HasSuffix(name, ".go") {
			f, broken := parse(name, tree[name])
			files, err = append(files, f), errors.Join(err, broken)
		}
	}
	return files, err
})

// parsed returns a source with this content.
func parsed(t *testing.T, name string, content []byte) *source {
	t.Helper()
	f, err := parse(name, content)
	require.NoError(t, err)
	return f
}

func parse(name string, content []byte) (*source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, content, parser.ParseComments)
	return &source{name, path.Dir(name), set, file, content}, err
}

// treeFiles returns the files of the tree with their contents, without the files that belong to Git or are
// built. They are read once for all tests.
func treeFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := everyFile()
	require.NoError(t, err)
	return files
}

var everyFile = sync.OnceValues(func() (files map[string][]byte, err error) {
	tree := os.DirFS(root)
	files = map[string][]byte{}
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" || name == "bin":
			return skip(entry)
		case entry.IsDir() || isBuilt(name):
			return nil
		}
		files[name], err = fs.ReadFile(tree, name)
		return err
	})
	return files, err
})

// skip returns fs.SkipDir for a folder, so that all that is in it is left out, and nil for the file .git of
// a worktree.
func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// isBuilt reports whether a file is one that .gitignore excludes: a test binary or a profile.
func isBuilt(name string) bool {
	switch path.Ext(name) {
	case ".test", ".out", ".prof":
		return true
	}
	return false
}

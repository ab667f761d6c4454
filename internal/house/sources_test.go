// Package house_test holds the rules of the house against our own sources: who
// may import whom, where goroutines start, that what is exported is explained,
// and that no file tells of the machine it was written on.
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

// root is the module, as seen from the folder in which tests run.
const root = "../.."

// source is a file of ours, parsed.
type source struct {
	path string // from the root, with slashes
	dir  string
	set  *token.FileSet
	ast  *ast.File

	content []byte
}

func (s *source) imports() (paths []string) {
	for _, spec := range s.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // it was parsed
		}
		paths = append(paths, path)
	}
	return paths
}

// place is where a node stands, as editors take it.
func (s *source) place(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(n.Pos()).Line)
}

// productionFiles are the Go files that are no tests.
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

// goFiles are all Go files. They are parsed once for all tests, which change nothing in them.
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

// parsed is the file that has such a content.
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

// treeFiles are the files of the tree with their contents, but for what Git and
// builds leave in it. They are read once for all tests.
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

// skip leaves out a folder with all that is in it, or the file that .git is in
// a worktree.
func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// isBuilt tells the files that .gitignore keeps out: test binaries, profiles.
func isBuilt(name string) bool {
	switch path.Ext(name) {
	case ".test", ".out", ".prof":
		return true
	}
	return false
}

// Package house_test holds the rules of the house against our own sources: who
// may import whom, where goroutines start, that what is exported is explained,
// and that no file tells of the machine it was written on.
package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
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
	for name, content := range treeFiles(t) {
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files = append(files, parsed(t, name, content))
		}
	}
	require.Greater(t, len(files), 50, "the tree was not found")
	return files
}

func parsed(t *testing.T, name string, content []byte) *source {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, content, parser.ParseComments)
	require.NoError(t, err)
	return &source{name, path.Dir(name), set, file, content}
}

// treeFiles are the files of the tree with their contents, but for what Git and
// builds leave in it.
func treeFiles(t *testing.T) map[string][]byte {
	t.Helper()
	tree := os.DirFS(root)
	files := map[string][]byte{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
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
	require.NoError(t, err)
	return files
}

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

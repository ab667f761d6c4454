package adk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/thorough"
)

// These tests compare the contract with the tree: every rule of CONTRACT.md is named by a
// test, and every rule that the code names is in CONTRACT.md.

const treeRoot = ".." // the module's root, as a path from this package

var (
	ruleHead = regexp.MustCompile(`(?m)^- \*\*([A-Z]{3}-[0-9]+)\*\* `)
	ruleWord = regexp.MustCompile(`\b[A-Z]{3}-[0-9]{1,2}\b`)
	// notRules have the form of rules and are names of standards.
	notRules = []string{"UTF-8", "UTF-16"}
	testName = regexp.MustCompile(`^(Test|Example|Fuzz|Benchmark)([^a-z]|$)`)
)

// contractRules returns the ids of the rules in CONTRACT.md, in its order.
func contractRules(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(treeRoot, "CONTRACT.md"))
	require.NoError(t, err)
	var ids []string
	for _, match := range ruleHead.FindAllStringSubmatch(string(text), -1) {
		ids = append(ids, match[1])
	}
	return ids
}

// rulesNamed returns the rules that a text names.
func rulesNamed(text string) []string {
	return slices.DeleteFunc(ruleWord.FindAllString(text, -1), func(word string) bool { return slices.Contains(notRules, word) })
}

// goFiles returns the Go files of the whole tree, by their paths from its root.
func goFiles(t *testing.T) []string {
	t.Helper()
	var paths []string
	require.NoError(t, fs.WalkDir(os.DirFS(treeRoot), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go"):
			paths = append(paths, path)
		}
		return nil
	}))
	return paths
}

// rulesOfTests returns, for every test of a file, the rules that the comments above and inside it
// name. A table outside of any function, together with the comment above it, counts as a
// test of its own.
func rulesOfTests(t *testing.T, path string) map[string][]string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, filepath.Join(treeRoot, path), nil, parser.ParseComments)
	require.NoError(t, err)
	named := map[string][]string{}
	for _, decl := range file.Decls {
		name, from := testOf(decl)
		if name == "" {
			continue
		}
		named[name] = []string{}
		for _, comment := range file.Comments {
			if comment.Pos() >= from && comment.End() <= decl.End() {
				named[name] = append(named[name], rulesNamed(comment.Text())...)
			}
		}
	}
	return named
}

// testOf returns the name of the test that a declaration is, and where it begins, including its
// comment. The name is empty for any other declaration.
func testOf(decl ast.Decl) (name string, from token.Pos) {
	from = decl.Pos()
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv != nil || !testName.MatchString(decl.Name.Name) {
			return "", from
		}
		if decl.Doc != nil {
			from = decl.Doc.Pos()
		}
		return decl.Name.Name, from
	case *ast.GenDecl:
		if decl.Tok != token.VAR || len(decl.Specs) == 0 {
			return "", from
		}
		if decl.Doc != nil {
			from = decl.Doc.Pos()
		}
		return "table " + decl.Specs[0].(*ast.ValueSpec).Names[0].Name, from
	}
	return "", from
}

// The rules of a family have the numbers 1, 2, 3 … in this order. A family that has several parts
// begins each part at a multiple of ten: 12 is followed by 13 or by 20.
func TestContractIsNumbered(t *testing.T) {
	rules := contractRules(t)
	assert.GreaterOrEqual(t, len(rules), 100, "CONTRACT.md was read")
	last := map[string]int{}
	for _, id := range rules {
		family := id[:3]
		number, err := strconv.Atoi(id[4:])
		require.NoError(t, err)
		assert.Contains(t, []int{last[family] + 1, (last[family]/10 + 1) * 10}, number, id)
		last[family] = number
	}
}

// Every rule is named by a test.
func TestContractIsProved(t *testing.T) {
	thorough.OneGoroutine(t)
	proved := map[string]bool{}
	for _, path := range goFiles(t) {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, rules := range rulesOfTests(t, path) {
			for _, id := range rules {
				proved[id] = true
			}
		}
	}
	for _, id := range contractRules(t) {
		assert.True(t, proved[id], "%s: no test names this rule in a comment above it or inside it", id)
	}
}

// Code and tests name only rules that exist.
func TestContractIsNamedRightly(t *testing.T) {
	thorough.OneGoroutine(t)
	rules := contractRules(t)
	for _, path := range goFiles(t) {
		text, err := os.ReadFile(filepath.Join(treeRoot, path))
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			for _, id := range rulesNamed(line) {
				assert.Contains(t, rules, id, "%s:%d", path, i+1)
			}
		}
	}
}

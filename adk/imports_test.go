package adk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ours = "github.com/adkreplay/adkreplay/"

// allowed are the packages outside the standard library that the engine rests
// on, each with its reason.
var allowed = map[string]string{
	"github.com/google/uuid":                     "the default ids are UUIDs of version 6 (RUN-7)",
	"github.com/google/jsonschema-go/jsonschema": "one schema validates arguments and describes them (TOL-2)",
	"github.com/pkoukk/tiktoken-go":              "counting tokens (PRM-1)",
	"github.com/pkoukk/tiktoken-go-loader":       "the ranks of the encodings, without a network (PRM-1)",
}

// banned are packages of the standard library that the engine never imports,
// each with its reason.
var banned = map[string]string{
	"testing":   "a program that runs turns is not a test",
	"flag":      "importing the engine must not add flags to a program",
	"net/http":  "the engine talks to nobody; user code does",
	"math/rand": "ids come from the config (DET-1)",
	"log":       "the engine tells its listeners and its probe",
}

// sources parses the engine's own files.
func sources(t *testing.T) (*token.FileSet, map[string]*ast.File) {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	set, files := token.NewFileSet(), map[string]*ast.File{}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files[name], err = parser.ParseFile(set, name, nil, 0)
			require.NoError(t, err)
		}
	}
	require.NotEmpty(t, files)
	return set, files
}

func TestImports(t *testing.T) {
	_, files := sources(t)
	for name, file := range files {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			first, _, _ := strings.Cut(path, "/")
			switch {
			case banned[path] != "":
				t.Errorf("%s imports %s: %s", name, path, banned[path])
			case strings.HasPrefix(path, ours):
				assert.True(t, strings.HasPrefix(path, ours+"internal/"), "%s imports %s: arrows run down only", name, path)
			case strings.Contains(first, "."):
				assert.NotEmpty(t, allowed[path], "%s imports %s: the engine rests on few packages, each with a reason", name, path)
			}
		}
	}
}

// DET-2: the engine starts no goroutine but strands, and those in one place.
func TestOneGoStatement(t *testing.T) {
	set, files := sources(t)
	var found []string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				found = append(found, set.Position(n.Pos()).Filename)
			}
			return true
		})
	}
	assert.Equal(t, []string{"call.go"}, found)
}

// DET-1: the engine reads the time and makes ids in clock.go alone, where the
// defaults are.
func TestTimeAndIDsComeFromTheConfig(t *testing.T) {
	_, files := sources(t)
	bans := map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
		"uuid": {"New", "NewString", "NewV6", "NewV7", "NewUUID"},
	}
	for name, file := range files {
		if name == "clock.go" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok {
					assert.NotContains(t, bans[pkg.Name], sel.Sel.Name, name)
				}
			}
			return true
		})
	}
}

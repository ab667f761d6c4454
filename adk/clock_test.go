package adk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// DET-1: the engine reads the time and makes ids in clock.go alone, where the
// defaults are.
func TestTimeAndIDsComeFromTheConfig(t *testing.T) {
	bans := map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
		"uuid": {"New", "NewString", "NewV6", "NewV7", "NewUUID"},
	}
	for name, file := range sources(t) {
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

// sources parses the engine's own files.
func sources(t *testing.T) map[string]*ast.File {
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
	return files
}

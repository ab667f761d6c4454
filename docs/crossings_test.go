package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// crossings is the page of what a check reads, whose table is that of adk.
const crossings = "crossings.md"

// The page of crossings has the fields of every kind, as the table of the engine has them: with
// -update it is written.
func TestCrossingsAreDescribed(t *testing.T) {
	page, err := os.ReadFile(crossings)
	require.NoError(t, err)
	head, _, found := strings.Cut(string(page), "| kind |")
	require.True(t, found, "the table is gone")
	wanted := head + table(t)
	if updating() {
		require.NoError(t, os.WriteFile(crossings, []byte(wanted), 0o644))
		return
	}
	assert.Equal(t, wanted, string(page), "go test ./docs -update writes it")
}

// table is that of all kinds, in the order of their constants.
func table(t *testing.T) string {
	var text strings.Builder
	text.WriteString("| kind | line | what is given | what is answered |\n| --- | --- | --- | --- |\n")
	names := constants(t)
	kinds := adk.Kinds()
	require.Len(t, names, len(kinds))
	for i, kind := range kinds {
		phases := []adk.Phase{adk.Whole}
		if kind.Spanning() {
			phases = []adk.Phase{adk.Begin, adk.Done}
		}
		for _, phase := range phases {
			given, answered := []string{}, []string{}
			for _, use := range kind.Fields(phase) {
				field := "`" + use.Field.String() + "`"
				if !strings.EqualFold(use.Label, use.Field.String()) {
					field += " " + use.Label
				}
				if use.Input {
					given = append(given, field)
				} else {
					answered = append(answered, field)
				}
			}
			line := ""
			if kind.Spanning() {
				line = phase.String()
			}
			fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", names[i], line, strings.Join(given, ", "), strings.Join(answered, ", "))
		}
	}
	return text.String()
}

// constants are the names of the kinds' constants, in their order.
func constants(t *testing.T) (names []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "../adk/crossing.go", nil, 0)
	require.NoError(t, err)
	kind := regexp.MustCompile(`^Kind[A-Z]`)
	ast.Inspect(file, func(n ast.Node) bool {
		if group, ok := n.(*ast.GenDecl); ok && group.Tok == token.CONST {
			for _, spec := range group.Specs {
				if name := spec.(*ast.ValueSpec).Names[0].Name; kind.MatchString(name) {
					names = append(names, name)
				}
			}
		}
		return true
	})
	return names
}

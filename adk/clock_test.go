package adk_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// DET-1: of the engine's files only clock.go, which holds the defaults, reads the time and
// makes ids.
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

// DET-1, EVT-6: with a clock that ticks at every reading, each crossing is one tick later than the
// one before, and an event has the time of the operation that caused it. So no reading is left
// out, repeated, or delayed.
func TestEachCrossingIsOneReading(t *testing.T) {
	config, raw := busy()
	rec := &recorder{}
	config.Clock, config.Probe = &handClock{step: time.Second}, rec
	raw.Observability = settling(raw.Observability)
	require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
	told := rec.crossings()
	require.Greater(t, len(told), 40)
	caused := map[adk.Kind]bool{adk.KindMessageEvent: true, adk.KindThoughtEvent: true, adk.KindToolCallEvent: true, adk.KindLogEvent: true, adk.KindTurnGateOpen: true}
	for i := range told[1:] {
		before, x := told[i], told[i+1]
		want := time.Second
		switch {
		case caused[x.Kind]:
			want = 0
		case before.Kind == adk.KindSettle && x.Kind == adk.KindTurnGateClosed:
			want = 2 * time.Second // the waiter also checks whether its gate has timed out
		}
		assert.Equal(t, want, x.At.Sub(before.At), "crossing %d, %s behind %s", i+2, x.Kind, before.Kind)
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

package replay

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/nearest"
)

// The name of a seam comes from the trace: it must not be able to add a line that looks like part
// of the verdict, or to send sequences to the terminal.
func TestDivergenceKeepsHostileSeamsOnItsLine(t *testing.T) {
	d := &Divergence{Class: Missing, Crossing: 3, Seam: "turn-input/x\n0 divergences\x1b[2J"}
	assert.Equal(t, `missing at crossing 3, in turn-input/x\n0 divergences\x1b[2J`+"\n", d.String())
}

// A crossing of a damaged trace may belong to no call.
func TestDivergenceWithoutASeam(t *testing.T) {
	d := &Divergence{Class: Missing, Crossing: 3}
	assert.Equal(t, "missing at crossing 3\n", d.String())
}

// Two errors with the same words are never shown as if they were equal: the text names the link of
// the error chain that differs.
func TestErrorsWithTheSameWordsAreTakenApart(t *testing.T) {
	known := wire.Comparer{Sentinels: tracetest.Must(wire.NewSentinels(nil, nil))}
	err := func(err error) string {
		return known.Text(adk.FieldErr, &adk.Crossing{Err: err})
	}
	flat := errors.New("no file: EOF")
	for _, c := range []struct {
		want, got error
		says      string
	}{
		{fmt.Errorf("no file: %w", io.EOF), flat, `err.cause: expected "io.EOF", got nothing`},
		{fmt.Errorf("no file: %w", io.EOF), fmt.Errorf("no file: %w", errors.New("EOF")),
			`err.cause.sentinel: expected "io.EOF", got nothing; err.cause.text: expected nothing, got "EOF"`},
		{&adk.Error{Code: adk.E_INVALID_TOOL_ARGS, Message: "m", Stage: "a"}, &adk.Error{Code: adk.E_INVALID_TOOL_ARGS, Message: "m", Stage: "b"},
			`err.stage: expected "a", got "b"`},
		{flat, fmt.Errorf("no file: %w", errors.New("gone")), `err: expected "no file: EOF", got "no file: gone"`},
	} {
		f := compare.FieldDiff{Field: "err", Want: err(c.want), Got: err(c.got)}
		assert.Equal(t, c.says, f.String())
		if c.want.Error() == c.got.Error() {
			assert.Equal(t, strings.Fields(c.says), strings.Fields(strings.Join(f.Lines(60), " ")), "and so in lines")
		}
	}
}

// If the matching answer exists but was already given, that is the reason, and no similar recorded
// request is shown, however similar it is.
func TestASpentAnswerIsToldOfAlone(t *testing.T) {
	other := Candidate{Crossing: 55, Text: "store call2", Refused: []string{`of is "toolCalls" and not "messages"`}, Elsewhere: true}
	spent := Candidate{Crossing: 106, Text: "store m4", Refused: []string{nearest.SpentAnswer}, Spent: true}
	for name, c := range map[string]struct {
		near        []Candidate
		told, quiet string
	}{
		"behind another": {[]Candidate{other, spent}, "recorded at crossing 106: store m4", "crossing 55"},
		"before another": {[]Candidate{spent, other}, "recorded at crossing 106: store m4", "crossing 55"},
		"none is spent":  {[]Candidate{other}, "recorded at crossing 55: store call2", "crossing 106"},
	} {
		t.Run(name, func(t *testing.T) {
			said := (&Divergence{Class: Unanswered, Candidates: c.near}).String()
			assert.Contains(t, said, c.told)
			assert.NotContains(t, said, c.quiet)
		})
	}
}

// Classes lists all classes, so that a caller who selects one by name never learns that it does
// not exist.
func TestClassesAreAll(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "divergence.go", nil, 0)
	require.NoError(t, err)
	var declared []Class
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, of := spec.Type.(*ast.Ident); of && name.Name == "Class" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			declared = append(declared, Class(text))
		}
		return true
	})
	require.NotEmpty(t, declared)
	assert.ElementsMatch(t, declared, Classes())
}

func TestOneThatFollowsIsOne(t *testing.T) {
	assert.Equal(t, "1 follows from it, 1 differs on its own", (&Impact{Follow: 1, Own: 1}).Others())
	assert.Equal(t, "0 follow from it, 2 differ on their own", (&Impact{Own: 2}).Others())
}

// Two long crossings that differ only in the part cut from both are shown as one line, and not by two lengths.
func TestCrossingsThatDifferInWhatIsCutOut(t *testing.T) {
	begins := "ask model " + strings.Repeat("word ", 30)
	d := &Divergence{Class: ChangedInput, Crossing: 3, Expected: begins + "… the end (1425 bytes)", Got: begins + "… the end (1325 bytes)"}
	assert.Equal(t, []string{"    ask model word word word word word word word word word word…", ""}, strings.Split(d.String(), "\n")[1:])
}

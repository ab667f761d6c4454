package safetext_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/tracetest"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"testdata/ä b.jsonl":         "testdata/ä b.jsonl",
		"a\n::error::x":              `a\n::error::x`,
		"\x1b[2J\x7f\u009b\u202e":    `\x1b[2J\x7f\u009b\u202e`,
		"\xff\u2028\U000e0001\ufffd": `\xff\u2028\U000e0001` + "\ufffd",
		`C:\new`:                     `C:\new`,
	} {
		assert.Equal(t, want, safetext.Line(text))
	}
	assert.Equal(t, "a\nb"+`\r`+"\n", safetext.Lines("a\nb\r\n"))
	assert.Equal(t, `\x3a:error::a`+"\nb ::c\n  "+`\x23#[error]d`+"\n##e\n", safetext.Lines("::error::a\nb ::c\n  ##[error]d\n##e\n"), "no line is an order to a CI system")
}

// For any text, the result does not control a terminal, and a JSON document keeps its
// meaning.
func TestLineAndJSONOfAnything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := tracetest.DrawText(r, "text")
		line := safetext.Line(text)
		tracetest.RequirePrintable(t, line)
		require.NotContains(t, line, "\n")
		require.Equal(t, strings.Count(text, "\n"), strings.Count(safetext.Lines(text), "\n"))
		document, err := json.MarshalIndent(map[string]string{text: text}, "", "  ")
		require.NoError(t, err)
		safe := safetext.JSON(document)
		tracetest.RequirePrintable(t, string(safe))
		var before, after map[string]string
		require.NoError(t, json.Unmarshal(document, &before))
		require.NoError(t, json.Unmarshal(safe, &after))
		require.Equal(t, before, after)
	})
}

// An error about a file begins with the file's name, once.
func TestOfFile(t *testing.T) {
	for said, want := range map[string]string{
		"replay: it is empty":  "a.jsonl: it is empty",
		"a.jsonl:3: no line":   "a.jsonl:3: no line",
		"a.jsonl has no turns": "a.jsonl: a.jsonl has no turns",
	} {
		assert.Equal(t, want, safetext.OfFile("a.jsonl", errors.New(said)))
	}
}

// An error loses only the name of its package; errors.Is and errors.As still find its causes.
func TestWithoutPackage(t *testing.T) {
	for said, want := range map[string]string{
		"replay: a replay: b": "a replay: b", "sessions: replay: a": "a", "replay: cassette: a": "a", "a": "a", "a: replay: b": "a: replay: b",
	} {
		assert.EqualError(t, safetext.WithoutPackage(errors.New(said)), want)
	}
	assert.ErrorIs(t, safetext.WithoutPackage(fmt.Errorf("replay: %w", io.EOF)), io.EOF)
}

package tracetest

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// FailingWriter behaves like a full disk.
type FailingWriter struct{}

// Write always fails.
func (FailingWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// Poison puts a hostile text everywhere where a crossing may have one.
func Poison(x *adk.Crossing, hostile string) {
	x.Name, x.Key, x.Text, x.Status = x.Name+hostile, x.Key+hostile, x.Text+hostile, x.Status+hostile
	x.Outcome += adk.Outcome(hostile)
	x.Collection += adk.CollectionName(hostile)
	x.Seam.Name += hostile
	x.Seam.Label += hostile
	x.Value, x.Args = map[string]any{hostile: []any{hostile}}, map[string]any{hostile: hostile}
	x.Schema = []byte(`{"title":"` + hostile + `"}`)
	x.Err, x.Cause = errors.New(hostile), &adk.Error{Code: adk.Code(hostile), Message: hostile}
	for i := range x.Texts {
		x.Texts[i] += hostile
	}
	if x.Record != nil && x.Record.RecordKind() == adk.RecordMessage {
		x.Record = Must(adk.NewMessage(adk.MessageInit{ID: "h", Role: adk.RoleUser, Content: strings.ToValidUTF8(hostile, ""),
			Identity: adk.IdentityOf(strings.ToValidUTF8(hostile, "")), CreatedAt: FoldStart, UpdatedAt: FoldStart}))
	}
}

// RequirePrintable fails the test if a text could control a terminal.
func RequirePrintable(t *testing.T, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text))
	for line := range strings.Lines(text) {
		for _, r := range strings.TrimSuffix(line, "\n") {
			if !Printable(r) {
				t.Fatalf("%U in %q", r, line)
			}
		}
	}
}

// Printable reports whether a terminal prints a character without any other effect.
func Printable(r rune) bool { return r == ' ' || strconv.IsPrint(r) }

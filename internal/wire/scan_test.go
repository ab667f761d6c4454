package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/jsonscan"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// The scanner accepts the same texts as encoding/json, except for invalid UTF-8.
func TestScannerAgreesWithTheStandardLibrary(t *testing.T) {
	pieces := []string{"{", "}", "[", "]", ",", ":", `"`, `"a"`, `"b"`, `\u00e9`, `\n`, `\x`, "1", "-", "0", ".5", "e+3", "E", "true", "false", "null", "nul", " ", "\t", "\x01", "é"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "text"), "")
		_, err := jsonscan.Count([]byte(text))
		assert.Equal(t, json.Valid([]byte(text)), err == nil, "%q", text)
	})
}

func TestTextsAreReadAsTheStandardLibraryReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		quoted, err := json.Marshal(want) // json.Marshal also escapes <, > and &
		require.NoError(t, err)
		got, err := wire.TextOfJSON(quoted)
		require.NoError(t, err)
		assert.Equal(t, strings.ToValidUTF8(want, "\uFFFD"), got)
	})
	got, err := wire.TextOfJSON([]byte(`"\"\\\/\b\f\n\r\t\u00C9\ud83d\ude00"`))
	require.NoError(t, err)
	assert.Equal(t, "\"\\/\b\f\n\r\tÉ😀", got)
	for _, half := range []string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\n"`, `"\ud83d\u0041"`} {
		_, err := wire.TextOfJSON([]byte(half))
		assert.ErrorContains(t, err, "surrogate", half)
	}
}

func TestMembersAreUniqueAmongManyToo(t *testing.T) {
	var object strings.Builder
	for i := range 100 {
		fmt.Fprintf(&object, `,"m%d":0`, i)
	}
	_, err := wire.ScanMembers(nil, []byte("{"+object.String()[1:]+"}"))
	require.NoError(t, err)
	_, err = wire.ScanMembers(nil, []byte("{"+object.String()[1:]+`,"m7":1}`))
	assert.ErrorContains(t, err, `"m7" is there twice`)
}

func TestMessagesQuoteNoMoreThanALittle(t *testing.T) {
	text := wire.Clip(strings.Repeat("ü", 1000))
	assert.Less(t, len(text), 70)
	assert.True(t, utf8.ValidString(text))
}

// markedByUsers marshals itself as plain data, with a mark that only its own program
// knows.
type markedByUsers struct{}

func (markedByUsers) PlainTag() string             { return "money" }
func (markedByUsers) MarshalJSON() ([]byte, error) { return []byte(`{"eur":5}`), nil }

func TestAMarkThatNobodyKnowsIsKept(t *testing.T) {
	data := tracetest.WriteTrace(t, adk.Crossing{Kind: adk.KindStash, At: tracetest.TestStart, Value: []any{markedByUsers{}}})
	assert.Contains(t, string(data), `"value":[{"$money":{"eur":5}}]`)
	tracetest.RequireSameAgain(t, tracetest.ReadTrace(t, data), data)
}

func TestAPayloadThatCannotBeWrittenIsNamed(t *testing.T) {
	late := tracetest.TestStart.AddDate(9000, 0, 0)
	data := tracetest.WriteTrace(t,
		adk.Crossing{Kind: adk.KindEmitMessage, Phase: adk.Begin, At: tracetest.TestStart, Payload: adk.MessageEvent{CreatedAt: late}},
		adk.Crossing{Kind: adk.KindEmitToolCall, Phase: adk.Begin, At: tracetest.TestStart, Payload: adk.ToolCallEvent{CreatedAt: late}})
	read := tracetest.ReadTrace(t, data)
	assert.Equal(t, plain.Opaque{Type: "adk.MessageEvent"}, read.Lines()[0].Payload)
	assert.Equal(t, plain.Opaque{Type: "adk.ToolCallEvent"}, read.Lines()[1].Payload)
	tracetest.RequireSameAgain(t, read, data)
}

func TestArgumentsKeepTheShapeTheyWereGivenIn(t *testing.T) {
	for want, args := range map[string]any{
		`"args":"{\"a\":1}"`:                    json.RawMessage(`{"a":1}`),
		`"args":"{}"`:                           []byte("{}"),
		`"args":{"A":1}`:                        struct{ A int }{1},
		`"args":{}`:                             map[string]any(nil),
		`"args":[5]`:                            5,
		`"args":[{"c":{"$opaque":"chan int"}}]`: map[string]any{"c": make(chan int)},
		`"args":{"$opaque":"what a user named so"}`: map[string]any{"$opaque": "what a user named so"},
	} {
		data := tracetest.WriteTrace(t, adk.Crossing{Kind: adk.KindReportToolCall, At: tracetest.TestStart, Args: args})
		assert.Contains(t, string(data), want)
		tracetest.RequireSameAgain(t, tracetest.ReadTrace(t, data), data)
	}
}

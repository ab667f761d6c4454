package compare

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// The call, strand, operation, time and kind of a crossing are compared like its fields, each under its
// own name.
func TestCompareWhoseItIs(t *testing.T) {
	known, err := wire.NewSentinels(nil, nil)
	require.NoError(t, err)
	c := wire.Comparer{Sentinels: known}
	want := adk.Crossing{Kind: adk.KindNext, Phase: adk.Begin, At: time.Unix(1, 0), Call: 1, Strand: 2, Op: 3}
	assert.Empty(t, Crossings(c, &want, &want))
	for field, change := range map[string]func(*adk.Crossing){
		"at":     func(x *adk.Crossing) { x.At = x.At.Add(1) },
		"in":     func(x *adk.Crossing) { x.Call++ },
		"strand": func(x *adk.Crossing) { x.Strand++ },
		"op":     func(x *adk.Crossing) { x.Op++ },
		"kind":   func(x *adk.Crossing) { x.Phase = adk.Done },
	} {
		got := want
		change(&got)
		diffs := Crossings(c, &want, &got)
		if assert.Len(t, diffs, 1, field) {
			assert.Equal(t, field, diffs[0].Field)
			assert.NotEqual(t, diffs[0].Want, diffs[0].Got)
		}
	}
}

// Two errors with the same text are different if one has a code, wraps another error, or came from a
// panic, because code that inspects them can tell them apart.
func TestCompareErrorsByWhatTheyAre(t *testing.T) {
	known, err := wire.NewSentinels(nil, nil)
	require.NoError(t, err)
	coded := &adk.Error{Code: adk.E_TURN_ABORTED, Message: "stop"}
	for _, other := range []error{
		errors.New(coded.Error()),
		fmt.Errorf("%w", coded),
		&adk.PanicError{Value: coded.Error()},
		errors.Join(coded),
	} {
		assert.False(t, wire.Comparer{Sentinels: known}.SameError(coded, other), "%T", other)
		assert.True(t, wire.Comparer{Sentinels: known}.SameError(other, other), "%T", other)
	}
}

// Anywhere returns the path without what differs between crossings: without the ids of records, except a tool's
// name, and without the indexes of lists.
func TestFieldsAnywhere(t *testing.T) {
	message := func(id, text string) adk.Record {
		at := time.Unix(1, 0)
		m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: text, CreatedAt: at, UpdatedAt: at})
		require.NoError(t, err)
		return m
	}
	tool := func(says string) adk.Record {
		made, err := adk.NewTool(adk.ToolInit{Name: "weather", Description: says, InputSchema: []byte(`{"type":"object"}`),
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				return adk.Text(""), nil
			}})
		require.NoError(t, err)
		return made
	}
	records := func(label string, want, got adk.Record) []FieldDiff {
		return recordsDiff(label, []adk.Record{want}, []adk.Record{got})
	}
	for want, diffs := range map[[2]string][]FieldDiff{
		{"messages m1.0.content", "messages.content"}:              records("messages", message("m1.0", "a"), message("m1.0", "b")),
		{`messages "a b".content`, "messages.content"}:             records("messages", message("a b", "a"), message("a b", "b")),
		{"tools weather.description", "tools weather.description"}: records("tools", tool("a"), tool("b")),
		{"stash.user.list[1].name", "stash.user.list[].name"}:      JSONDiff("stash", `{"user":{"list":[1,{"name":"a"}]}}`, `{"user":{"list":[1,{"name":"b"}]}}`),
		{"prompt", "prompt"}: {{Field: "prompt", Want: `"a"`, Got: `"b"`}},
	} {
		if assert.Len(t, diffs, 1, want[0]) {
			assert.Equal(t, want, [2]string{diffs[0].Field, diffs[0].Anywhere()})
		}
	}
}

// The trees that a field stores are the same as decoding the JSON texts of the field gives.
func TestTreesOfAField(t *testing.T) {
	for _, f := range JSONDiff("f", `{"a":1,"b":[1],"c":null,"d":"x"}`, `{"a":1.0,"b":[1,2],"d":"y","e":{"g":true}}`) {
		want, got, ok := f.Trees()
		read, was, readOK := FieldDiff{Field: f.Field, Want: f.Want, Got: f.Got}.Trees()
		assert.Equal(t, []any{read, was, readOK}, []any{want, got, ok}, f.Field)
	}
	_, _, ok := FieldDiff{Want: "7 bytes", Got: "1"}.Trees()
	assert.False(t, ok)
}

// The body of an HTTP request is compared member by member, even if the trace holds it as a text or as bytes. If
// only the bytes differ, the difference is reported of the bytes.
func TestBodiesAreRead(t *testing.T) {
	request := func(member, body string) string {
		return `{"method":"POST","path":"/","` + member + `":` + body + `}`
	}
	text := func(body string) string { return request("text", QuotedJSON(body)) }
	packed := func(body string) string {
		return request("base64", QuotedJSON(base64.StdEncoding.EncodeToString([]byte(body))))
	}
	for _, c := range []struct{ label, want, got, line string }{
		{"request", text(`{"model":"a"}` + "\n"), text(`{"model":"b"}` + "\n"), `request.body.model: expected "a", got "b"`},
		{"request", request("body", `{"model":"a"}`), text(`{"model":"b"}` + "\n"), `request.body.model: expected "a", got "b"`},
		{"request", text("{\"model\":\"a\"}\n"), text("{ \"model\":\"a\"}\n"), "request.text: expected `{\"model\":\"a\"}\\n`, got `{ \"model\":\"a\"}\\n`"},
		{"request", packed("a form\xff and a"), packed("a form\xff and b"), `request.text: expected "a form\ufffd and a", got "a form\ufffd and b"`},
		{"request", packed("a form\xff"), packed("a form\xfe"), `request.base64: expected "YSBmb3Jt/w==", got "YSBmb3Jt/g=="`},
		{"request", packed("\xff\xfe\xfda"), packed("\xff\xfe\xfdb"), `request.base64: expected "//79YQ==", got "//79Yg=="`},
		{"request", `{"text":"{\"a\":1}"}`, `{"text":"{\"a\":2}"}`, `request.text.a: expected 1, got 2`},
		{"piece", text(`{"model":"a"}`), text(`{"model":"b"}`), `piece.text.model: expected "a", got "b"`},
	} {
		diffs := JSONDiff(c.label, c.want, c.got)
		if assert.Len(t, diffs, 1, c.want) {
			assert.Equal(t, c.line, strings.ReplaceAll(diffs[0].String(), "\ufffd", `\ufffd`))
		}
	}
}

// The name of a member that differs is never cut; it takes as many lines as it needs.
func TestLongMemberIsNamedWhole(t *testing.T) {
	d := FieldDiff{Field: "request.body.tools[0].function.parameters.properties.days.maximum", Want: "7", Got: "14"}
	assert.Equal(t, []string{d.Field + ":", "    expected 7", "    got      14"}, d.Lines(70))
	assert.Equal(t, []string{"request.body.tools[0].function.parameters.properties", "  .days.maximum:", "    expected 7", "    got      14"}, d.Lines(56))
	deep := FieldDiff{Field: "request" + strings.Repeat("[0].member", 1000), Want: "7", Got: "14"}
	lines := deep.Lines(68)
	assert.Len(t, lines, mostOfAPath+2)
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 68)
	}
}

// Elements in another order are reported as moved, and not each as different.
func TestMovedElements(t *testing.T) {
	for _, c := range []struct{ want, got, line string }{
		{`{"m":[{"a":1},{"b":2},{"c":3}]}`, `{"m":[{"a":1},{"c":3},{"b":2}]}`, "body.m[1]: moved from [2], [2] from [1]"},
		{`["a","b"]`, `["b","a"]`, `body[0]: "b" moved from [1], [1] "a" from [0]`},
		{`[1,2,3,4,5,6]`, `[6,5,4,3,2,1]`, "body[0]: moved from [5], [1] from [4], [2] from [3], [3] from [2], …"},
		{`[[1,2],[3,4]]`, `[[2,1],[3,4]]`, "body[0][0]: moved from [1], [1] from [0]"},
		{`["a","b"]`, `["b","b"]`, `body[0]: expected "a", got "b"`},
	} {
		diffs := JSONDiff("body", c.want, c.got)
		if assert.Len(t, diffs, 1, c.want) {
			assert.Equal(t, c.line, diffs[0].String())
			assert.Equal(t, []string{c.line}, diffs[0].Lines(120))
		}
	}
}

// A value that consists of words takes a second line if it needs one. No line is longer than
// allowed.
func TestValuesTakeTwoLines(t *testing.T) {
	words := strings.Repeat("word ", 13) + "last"
	lines := FieldDiff{Field: "text", Want: QuotedJSON(words), Got: QuotedJSON("short")}.Lines(60)
	assert.Equal(t, []string{"text:", `    expected "word word word word word word word word word`, `             word word word word last"`, `    got      "short"`}, lines)
	for _, line := range (FieldDiff{Field: "text", Want: QuotedJSON(strings.Repeat("x", 200)), Got: QuotedJSON("short")}).Lines(60) {
		assert.LessOrEqual(t, len([]rune(line)), 60, line)
	}
}

// If one text is the beginning of the other, both look the same where they are cut, so their lengths are shown.
func TestTruncatedTextsSayHowLongTheyAre(t *testing.T) {
	whole := strings.Repeat("Whales are large and live in the sea. ", 20)
	lines := func(want, got string) string {
		return strings.Join(strings.Fields(strings.Join(FieldDiff{Field: "text", Want: QuotedJSON(want), Got: QuotedJSON(got)}.Lines(80), " ")), " ")
	}
	assert.Contains(t, lines(whole, whole[:300]), "(760 characters, now 300, truncated)")
	assert.Contains(t, lines(whole, whole[:300]+"…"), "(760 characters, now 301, truncated)")
	assert.Contains(t, lines(whole[:300]+"...", whole), "(303 characters, now 760, continued)")
	assert.NotContains(t, lines(whole, strings.Replace(whole, "large", "small", 1)+"and more"), "characters", "they differ where it is shown")
}

// An error is cut as plain text, and not as the JSON that a trace writes for it, so that the cause of a change
// appears in the error's own words.
func TestCutOfAnError(t *testing.T) {
	was, now := FieldDiff{Field: "err", Of: adk.FieldErr, Want: `{"text":"503 from the service"}`}.Cut()
	assert.Equal(t, `"503 from the service"`, was)
	assert.Empty(t, now)
}

// A removed field and an added field of the same name are one change. If there are more of either, it is unknown
// which one replaced which.
func TestReplaced(t *testing.T) {
	gone, come := FieldDiff{Field: "tool", Want: `"a"`}, FieldDiff{Field: "tool", Got: `"b"`}
	both, other := FieldDiff{Field: "tool", Want: `"a"`, Got: `"b"`}, FieldDiff{Field: "prompt", Want: `"p"`}
	for _, c := range []struct{ fields, want []FieldDiff }{
		{nil, nil},
		{[]FieldDiff{gone}, []FieldDiff{gone}},
		{[]FieldDiff{gone, other, come}, []FieldDiff{both, other}},
		{[]FieldDiff{come, gone}, []FieldDiff{both}},
		{[]FieldDiff{gone, gone}, []FieldDiff{gone, gone}},
		{[]FieldDiff{both, come}, []FieldDiff{both, come}},
		{[]FieldDiff{gone, come, come}, []FieldDiff{gone, come, come}},
	} {
		assert.Equal(t, c.want, Replaced(c.fields))
	}
}

// A server on this machine has another port in each run, so a difference in such ports alone is the system's choice.
// A difference in an address elsewhere, or in anything else, is not.
func TestDifferInPorts(t *testing.T) {
	of := func(texts ...string) (fields []FieldDiff) {
		for i := 0; i < len(texts); i += 2 {
			fields = append(fields, FieldDiff{Want: texts[i], Got: texts[i+1]})
		}
		return fields
	}
	for name, c := range map[string]struct {
		fields []FieldDiff
		want   bool
	}{
		"none":           {nil, false},
		"ports":          {of("GET http://127.0.0.1:39217/x: 404", "GET http://localhost:1/x: 404"), true},
		"IPv6":           {of("dial [::1]:80", "dial 127.0.0.1:80"), true},
		"a status too":   {of("GET http://127.0.0.1:39217/x: 404", "GET http://127.0.0.1:39218/x: 500"), false},
		"a field beside": {of("127.0.0.1:1", "127.0.0.1:2", "a", "b"), false},
		"elsewhere":      {of("192.0.2.1:80", "192.0.2.1:81"), false},
		"nothing there":  {of("", "127.0.0.1:1"), false},
	} {
		assert.Equal(t, c.want, DifferInPorts(c.fields), name)
	}
}

// A new member differs in the same way if it is the only member of a new object, or is added to an object.
func TestFieldsThatAreAlike(t *testing.T) {
	diff := func(field, want, got string) []FieldDiff { return []FieldDiff{{Field: field, Want: want, Got: got}} }
	header := diff("request.headers.x-client", "", `"travel/2"`)
	assert.True(t, AreAlike(header, diff("request.headers", "", `{"x-client":"travel/2"}`)))
	assert.True(t, AreAlike(diff("request", `{"headers":{"x-client":"travel/2"}}`, ""), diff("request.headers.x-client", `"travel/2"`, "")))
	assert.False(t, AreAlike(header, diff("request.headers", "", `{"x-client":"travel/2","y":"z"}`)))
	assert.False(t, AreAlike(header, diff("request.headers", "", `{"x-client":"travel/3"}`)))
	assert.False(t, AreAlike(header, diff("request.headers", `{"x-client":"travel/2"}`, "")))
	assert.False(t, AreAlike(header, diff("request.headers", `{"y":"z"}`, `{"x-client":"travel/2"}`)))
	assert.False(t, AreAlike(nil, nil), "that nothing differs is nothing alike")
}

// Numbers in a text may differ in their values. Placeholders may differ only in their numbers. Where a placeholder
// stands for a number, code that gets the value from the trace has 0.
func TestDifferInNumbers(t *testing.T) {
	for _, c := range []struct {
		want, got string
		is        bool
	}{
		{`"12 of 345"`, `"6 of 7"`, true},
		{`"12 of 345"`, `"6 or 7"`, false},
		{`"12 of 345"`, `"6 of "`, false},
		{`"card [redacted:card:1], 12"`, `"card [redacted:card:2], 13"`, true},
		{`"card [redacted:card:1]"`, `"card [redacted:mail:1]"`, false},
		{`"card [redacted:card:1], 12"`, `"card 0, 13"`, true},
		{`"card [redacted:card:1]"`, `"card 7"`, false},
		{`"card 0"`, `"card [redacted:card:1]"`, false},
	} {
		assert.Equal(t, c.is, DifferInNumbers([]FieldDiff{{Want: c.want, Got: c.got}}), "%s and %s", c.want, c.got)
	}
	assert.False(t, DifferInNumbers(nil))
}

// A number that a trace omits is shown as 0 if 0 is a value of that field, and as nothing otherwise.
func TestZeroIsAValue(t *testing.T) {
	for want, pair := range map[string][2]adk.Crossing{
		"iteration: expected 7, got 0":         {{Kind: adk.KindIterationStart, N: 7}, {Kind: adk.KindIterationStart}},
		"iterations: expected 0, got 2":        {{Kind: adk.KindDispatchEnd}, {Kind: adk.KindDispatchEnd, N: 2}},
		`timeout: expected nothing, got "5ms"`: {{Kind: adk.KindWaitFor, Phase: adk.Begin}, {Kind: adk.KindWaitFor, Phase: adk.Begin, Duration: 5 * time.Millisecond}},
	} {
		for _, fields := range [][]FieldDiff{Common(&pair[0], &pair[1]), CompareInputs(wire.Comparer{Sentinels: wire.OnlyCommon}, &pair[0], &pair[1])} {
			for _, f := range fields { // the number of an iteration is no input
				assert.Equal(t, want, f.String())
			}
		}
		assert.Len(t, Common(&pair[0], &pair[1]), 1)
	}
}

// Numbers are compared by their decimal digits, even if a float64 cannot represent them. Their spelling makes no
// difference, except between whole numbers and others.
func TestNumbersAreExact(t *testing.T) {
	for pair, lines := range map[[2]string][]string{
		{`{"id":18446744073709551615,"n":1}`, `{"id":18446744073709551614,"n":2}`}: {"request.id: expected 18446744073709551615, got 18446744073709551614", "request.n: expected 1, got 2"},
		{`{"id":18446744073709551615}`, `{"id":18446744073709551614}`}:             {"request.id: expected 18446744073709551615, got 18446744073709551614"},
		{`{"x":[0.1,0]}`, `{"x":[0.10000000000000001,0]}`}:                         {"request.x[0]: expected 0.1, got 0.10000000000000001"},
		{`{"x":[1,2.000000000000000001]}`, `{"x":[1]}`}:                            {"request.x[1]: expected 2.000000000000000001, got nothing"},
		{`[1e400]`, `[2e400]`}:                    {"request[0]: expected 1e400, got 2e400"},
		{`[1e-400]`, `[12e-9999999999999999999]`}: {"request[0]: expected 1e-400, got 12e-9999999999999999999"},
		{`[7]`, `[7.0]`}:                          {"request[0]: expected 7, got 7.0"},
		{`[-0.0]`, `[0.0]`}:                       {"request[0]: expected -0.0, got 0.0"},
		{`[1e2,1.50,-0,0.10000000000000001,18446744073709551615,1e400]`, `[100.0,15e-1,0,1.0000000000000001e-1,18446744073709551615.0,0.1e401]`}: nil,
		{`[100000000000000000000]`, `[1e20]`}: nil,
	} {
		var said []string
		for _, f := range JSONDiff("request", pair[0], pair[1]) {
			said = append(said, f.String())
			want, got, _ := f.Trees()
			readWant, readGot, _ := FieldDiff{Field: f.Field, Want: f.Want, Got: f.Got}.Trees()
			assert.Equal(t, []any{readWant, readGot}, []any{want, got}, "of %s", f.Field)
		}
		assert.Equal(t, lines, said, "%s and %s", pair[0], pair[1])
	}
}

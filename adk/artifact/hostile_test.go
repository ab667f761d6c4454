package artifact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/race"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// laughs is YAML of a few lines whose aliases expand to a billion values.
func laughs() string {
	var b strings.Builder
	b.WriteString("---\na0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for n := 1; n < 10; n++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", n, n, strings.Repeat(fmt.Sprintf("*a%d,", n-1), 8), n-1)
	}
	return b.String() + "---\n# Ha\n"
}

// hostileBodies are documents of the kinds that have made parsers hang or crash.
var hostileBodies = map[string]string{
	"nothing": "", "blank": " \n\t\n", "binary": "\x00\x01\xff\xfe\x80\n\x00", "not UTF-8": "{\"a\":\"\xff\xc3\"}", "a mark of order": "\uFEFF{}", "carriage returns": "a\rb\r\nc",
	"deep lists": strings.Repeat("[", 50_000), "closed deep lists": strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000), "deep objects": strings.Repeat(`{"a":`, 20_000),
	"a long number": "[" + strings.Repeat("9", 50_000) + "]", "a huge exponent": `{"a":1e999999999}`, "many keys": `{` + strings.Repeat(`"a":1,`, 10_000) + `"a":2}`,
	"halves of pairs": `{"a":"\ud800","b":"\udc00\ud800"}`, "comments without end": "/*" + strings.Repeat("*", 10_000), "many lines": strings.Repeat("\n", 90_000), "a long line": strings.Repeat("x", 90_000),
	"laughs": laughs(), "an alias of itself": "---\na: &a [*a]\n---\n", "a merge of itself": "---\na: &a\n  <<: *a\n---\n", "frontmatter of a list": "---\n- a\n---\n", "frontmatter without end": "---\n" + strings.Repeat("a: b\n", 300), "a date": "---\nd: 2026-13-45\n---\n",
	"deep quotes": strings.Repeat(">", 30_000) + "a", "deep marks of lists": strings.Repeat("- ", 20_000) + "a", "open brackets": strings.Repeat("[", 30_000), "open pictures": strings.Repeat("![", 20_000), "stars": strings.Repeat("*a_", 20_000),
	"backticks": strings.Repeat("`", 30_000) + "a" + strings.Repeat("``", 10_000), "a reference to itself": "[a]\n\n[a]: [a]\n[b]: <b\n", "many references": strings.Repeat("[a]: /u\n", 5_000) + strings.Repeat("[a]", 5_000),
	"a table": strings.Repeat("|a", 2_000) + "\n" + strings.Repeat("|-", 2_000) + "\n" + strings.Repeat("|b\n", 500), "tags": strings.Repeat("<a href='", 10_000), "entities": strings.Repeat("&#0;&NotEqualTilde;&", 5_000), "links": strings.Repeat("www.a.b ", 5_000),
}

// hostileQuestions are the arguments of questions, by tool. Each tool is also asked without arguments.
var hostileQuestions = map[string][]string{
	"artifact_grep":            {`"pattern":"(a*)*b"`, `"pattern":"(((((x{50}){50})"`, `"pattern":"\\x00"`, `"pattern":"(?i)ſ"`, `"pattern":""`},
	"artifact_cat":             {`"start":9007199254740991`, `"start":5,"end":2`},
	"artifact_head":            {`"n":9007199254740991`},
	"artifact_tail":            {`"n":9007199254740991`},
	"artifact_estimate_tokens": {`"encoding":"o200k_base"`},
	"artifact_json_get":        {`"path":"$..*"`, `"path":"$..[?@..[?@..*]]"`, `"path":"$[9007199254740991]"`, `"path":"$[::0]"`, `"path":"$[?match(@.a,'(a*)*b')]"`, `"path":"` + strings.Repeat("[", 1000) + `"`},
	"artifact_json_filter":     {`"path":"$..a"`},
	"artifact_json_slice":      {`"start":3,"end":1`},
	"artifact_json_pluck":      {`"path":"$..*..*"`},
	"artifact_md_links":        {`"startLine":9007199254740991`, `"startLine":1,"endLine":2`},
}

// ART-14 to ART-19: whatever the document and the question are, there is an answer or an error of
// the tool with a code, and no answer costs more than 64 MiB.
func TestHostileDocuments(t *testing.T) {
	thorough.Long(t)
	questions := 0
	for name, body := range hostileBodies {
		if !thorough.Takes(name, 4) {
			continue
		}
		calls := []*adk.ToolCall{call(t, "text", made(t, artifact.Text, body)), call(t, "json", made(t, artifact.JSON, body)), call(t, "md", made(t, artifact.Markdown, body))}
		holding(t, calls, func(ctx context.Context, dc *adk.DispatchContext) {
			forged := forge(t, dc, artifact.Config{})
			for _, tool := range forged.All() {
				ids := enumOf(t, tool)
				for _, asked := range append([]string{""}, hostileQuestions[tool.Name()]...) {
					args := fmt.Sprintf(`{"callId":%q}`, ids[len(ids)-1])
					if asked != "" {
						args = fmt.Sprintf(`{"callId":%q,%s}`, ids[len(ids)-1], asked)
					}
					var err error
					allocated := allocs.Bytes(func() { _, err = answer(ctx, dc, forged, tool.Name(), args) })
					if err != nil && !errors.Is(err, adk.E_TOOL_DOWNSTREAM_ERROR) && !errors.Is(err, adk.E_INVALID_TOOL_ARGS) {
						t.Errorf("%s of %s: %.200s: %v", tool.Name(), name, args, err)
					}
					assert.True(t, allocated < 64<<20 || race.Detector, "%s of %s: %.200s: %d bytes", tool.Name(), name, args, allocated)
					questions++
				}
			}
		})
	}
	require.Greater(t, questions, thorough.Of(1000, 1000, 100))
}

// ART-15, ART-16: no trees are kept of many records, and many records answer as a few do.
func TestManyRecords(t *testing.T) {
	const records = 30_000
	var text strings.Builder
	for i := range records {
		fmt.Fprintf(&text, `{"n":%d,"of":[1,2,{"name":"record"}]}`+"\n\n", i)
	}
	body := text.String()
	ask := func(body string) artifact.JSONQuestions {
		return opened(t, artifact.JSON, body)["stream"].JSON()
	}
	n, err := ask(body).Length(t.Context())
	require.NoError(t, err)
	assert.Equal(t, records, n)
	q := ask(body)
	allocated := allocs.Bytes(func() { _, err = q.Length(t.Context()) })
	require.NoError(t, err)
	assert.True(t, allocated < 6*uint64(len(body)) || race.Detector, "%d bytes for %d", allocated, len(body))
	keys, found, err := ask(body).Keys(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []any{[]string{"n", "of"}, true}, []any{keys, found})
	matches, err := ask(body).Get(t.Context(), "$[?@ == 29999]")
	require.NoError(t, err)
	assert.Equal(t, "[29999]", oneLine(matches))
	chosen, err := ask(body).Filter(t.Context(), "$[?@ == 7]")
	require.NoError(t, err)
	assert.Equal(t, `[{"n":7,"of":[1,2,{"name":"record"}]}]`, oneLine(chosen))
	for _, c := range []struct {
		from, to *int
		want     int
	}{{new(29_990), nil, 10}, {new(-5), new(3), 3}, {new(5), new(2), 0}, {new(40_000), new(50_000), 0}} {
		slice, err := ask(body).Slice(t.Context(), c.from, c.to)
		require.NoError(t, err)
		assert.Len(t, slice, c.want)
	}
	_, err = ask(body + "{\"n\":}\n").Length(t.Context())
	assert.ErrorIs(t, err, adk.E_ARTIFACT_FORMAT)
	_, err = ask(body + strings.Repeat("[", 501) + strings.Repeat("]", 501)).Length(t.Context())
	assert.ErrorIs(t, err, adk.E_ARTIFACT_FORMAT)
}

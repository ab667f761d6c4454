package artifact_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// dense are documents of a given size that hold as many values in each byte as their format allows.
var dense = map[string]map[string]func(size int) string{
	"json": {
		"numbers": filled("[", "1,", "1]"), "lists": filled("[", "[],", "[]]"), "objects": filled("[", `{"":0},`, `0]`), "one key": filled("{", `"":0,`, `"":0}`),
		"keys": counted("{", `"%x":0,`, `"":0}`), "texts": filled("[", `"",`, `""]`), "deep": filled("[", strings.Repeat("[", 490)+strings.Repeat("]", 490)+",", "0]"),
		"deep around": func(size int) string {
			return strings.Repeat("[", 490) + strings.Repeat("0,", size/2) + "0" + strings.Repeat("]", 490)
		},
		"deep keys": filled("[", strings.Repeat(`{"":`, 490)+"0"+strings.Repeat("}", 490)+",", "0]"),
		"records":   filled("", "1\n", ""), "record lists": filled("", "[1,2]\n", ""), "json5": filled("[", "a?1,", "]"), "loose": filled("{", `a:'"""""""""""""""""""""""""""""',`, "}"), "loose numbers": filled("[", "1,", ".5,]"),
		"a long text": filled(`["`, "x", `"]`), "escapes": filled(`["`, `\n`, `"]`), "controls": filled(`["`, `\u0001`, `"]`), "usual": counted("[", `{"id":%d,"name":"Ada","tags":["a","b"],"price":1.5},`, "0]"),
		"broken": filled("[", "1,", "]]"), "not UTF-8": filled(`["`, "\xff", `"]`),
	},
	"text": {
		"newlines": filled("", "\n", ""), "a line": filled("", "x", ""), "controls": filled("", "\x01", ""), "broken": filled("", "\xff", ""), "short lines": filled("", "a\n", ""), "two lines": func(size int) string {
			return strings.Repeat("x", size/2) + "\n" + strings.Repeat("y", size/2)
		},
	},
	"md": {
		"headings": filled("", "#\n", ""), "fences": filled("", "~~~\n", ""), "stars": filled("", "*a*", ""), "star blocks": filled("", "*a*\n\n", ""), "brackets": filled("", "[", ""), "links": filled("", "[](a)", ""), "link blocks": filled("", "[](a)\n\n", ""), "images": filled("", "![](a)\n\n", ""),
		"lists": filled("", "- a\n", ""), "rules": filled("", "***\n", ""), "quotes": filled("", "> a\n\n", ""), "frontmatter": filled("---\n", "a: [1,1,1,1,1,1,1]\n", "---\n"), "codes": filled("", "`a`", ""), "entities": filled("", "&amp;", ""), "table": filled("|a|b|\n|-|-|\n", "|1|2|\n", ""), "urls": filled("", "<a:>", ""), "html": filled("", "<a>", ""), "breaks": filled("", "a\\\n", ""), "strikes": filled("", "~a~\n\n", ""),
	},
}

func filled(begin, piece, end string) func(size int) string {
	return func(size int) string { return begin + strings.Repeat(piece, size/len(piece)) + end }
}

func counted(begin, piece, end string) func(size int) string {
	return func(size int) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, piece, i)
		}
		return b.String() + end
	}
}

// denseQuestions are the arguments of questions, by tool. Each tool is also asked without arguments.
var denseQuestions = map[string][]string{
	"artifact_grep":            {`"pattern":""`, `"pattern":"x"`, `"pattern":"zzz"`},
	"artifact_head":            {`"n":9007199254740991`},
	"artifact_tail":            {`"n":9007199254740991`},
	"artifact_cat":             {`"start":100000,"end":100010`},
	"artifact_estimate_tokens": {`"encoding":"o200k_base"`, `"encoding":"claude"`},
	"artifact_json_get": {
		`"path":"$"`, `"path":"$[*]"`, `"path":"$..*"`, `"path":"$[::-1]"`, `"path":"$[-1]"`, `"path":"$[?@ == 7]"`, `"path":"$[?@ == $]"`, `"path":"$[?$ == $]"`, `"path":"$[?$[-1] == $[0]]"`, `"path":"$[?length(@) > 3]"`, `"path":"$[?search($[0],'y$')]"`, `"path":"$[?@.id == 7]"`, `"path":"$[999999]"`,
		`"path":"$.f"`, `"path":"$[?count($.*) > 1]"`, `"path":"$[?$['']]"`,
	},
	"artifact_json_filter": {`"path":"$"`, `"path":"$..a"`},
	"artifact_json_slice":  {`"start":3,"end":1000`},
	"artifact_json_pluck":  {`"path":"$.name"`},
	"artifact_md_text":     {`"startLine":0,"endLine":200000`, `"startLine":0,"endLine":20000`, `"startLine":0,"endLine":5000`},
	"artifact_md_ast":      {`"startLine":0,"endLine":200000`, `"startLine":0,"endLine":20000`, `"startLine":0,"endLine":5000`},
	"artifact_md_links":    {`"startLine":0,"endLine":200000`, `"startLine":0,"endLine":20000`},
	"artifact_md_images":   {`"startLine":0,"endLine":200000`},
}

// ART-6: an answer below 8 MiB is given. A body has no bound, and Text and Bytes return all of it.
func TestAnswersHaveABound(t *testing.T) {
	item := `"` + strings.Repeat("x", 1<<20) + `",`
	for items, given := range map[int]bool{5: true, 9: false} {
		body := "[" + strings.Repeat(item, items) + "0]"
		a, err := artifact.Open(&reading{}, made(t, artifact.JSON, body), artifact.Config{})
		require.NoError(t, err)
		found, err := a.JSON().Get(t.Context(), "$")
		assert.Equal(t, given, err == nil)
		assert.True(t, !given || len(found) == 1 && string(found[0]) == body)
		text, err := a.Text(t.Context())
		require.NoError(t, err)
		assert.True(t, text == body)
		data, err := a.Bytes(t.Context())
		require.NoError(t, err)
		assert.True(t, string(data) == body)
	}
}

// No question to a document that is as dense as its format allows holds more than 64 MiB above the
// body, and none takes long. With ADKREPLAY_LARGE=all the documents have 10 MiB, and the live heap is
// measured at every collection. Otherwise they have 4 KiB, and everything that is allocated counts,
// because memory that grows with each value of a document shows there as well.
func TestDenseDocuments(t *testing.T) {
	thorough.Long(t)
	allocs.Countable(t)
	size := 4 << 10
	large := os.Getenv("ADKREPLAY_LARGE") == "all"
	if large {
		size = 10 << 20
	}
	constructors := map[string]adk.ArtifactConstructor{"json": artifact.JSON, "text": artifact.Text, "md": artifact.Markdown}
	for flavour, shapes := range dense {
		for name, shape := range shapes {
			t.Run(flavour+"/"+name, func(t *testing.T) {
				calls := []*adk.ToolCall{call(t, "x", made(t, constructors[flavour], shape(size)))}
				holding(t, calls, func(ctx context.Context, dc *adk.DispatchContext) { askAll(ctx, t, dc, large) })
			})
		}
	}
}

// askAll asks the only artifact of a dispatch every question.
func askAll(ctx context.Context, t *testing.T, dc *adk.DispatchContext, large bool) {
	forged := forge(t, dc, artifact.Config{RecordLimit: 1}) // so that every question is a crossing
	adk.EstimateTokens("x", adk.EncodingO200kBase)          // loads the ranks before the measurement
	for _, tool := range forged.All() {
		for _, asked := range append([]string{""}, denseQuestions[tool.Name()]...) {
			var err error
			ask := func() {
				_, err = answer(ctx, dc, forged, tool.Name(), strings.TrimSuffix(`{"callId":"x",`+asked, ",")+`}`)
			}
			held := int64(0)
			if large {
				held = allocs.Peak(ask)
				t.Logf("%s of %s: %d MiB: %.120v", tool.Name(), asked, held>>20, err)
			} else {
				held = int64(allocs.Bytes(ask))
			}
			if most := boundOf(tool.Name(), large); held > most {
				t.Errorf("%s of %s: %d bytes, want at most %d", tool.Name(), asked, held, most)
			}
			if err != nil && !errors.Is(err, adk.E_TOOL_DOWNSTREAM_ERROR) && !errors.Is(err, adk.E_INVALID_TOOL_ARGS) {
				t.Errorf("%s of %s: %v", tool.Name(), asked, err)
			}
		}
	}
}

// boundOf is how many bytes a question may hold above a large body, or may allocate in total for a
// small one. Questions to the index of a JSON document take less than a tree of it; an answer takes a
// few times its size; an answer from JSON takes the buffers that grow up to its bound.
func boundOf(tool string, large bool) int64 {
	switch {
	case large:
		return 64 << 20
	case tool == "artifact_json_length", tool == "artifact_json_type":
		return 96 << 10
	case strings.HasPrefix(tool, "artifact_json_"):
		return 160 << 20
	case strings.HasPrefix(tool, "artifact_md_"):
		return 8 << 20
	}
	return 2 << 20
}

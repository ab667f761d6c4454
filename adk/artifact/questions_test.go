package artifact_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// reading is an opener that counts how often it opened a media.
type reading struct{ opened int }

func (r *reading) OpenMedia(ctx context.Context, media *adk.Media) ([]byte, error) {
	r.opened++
	return media.Bytes(ctx)
}

// opened returns the ways to ask one body: read whole through the context, from a reader that
// supports ranges, and from one that does not.
func opened(t testing.TB, construct adk.ArtifactConstructor, body string) map[string]*artifact.Artifact {
	t.Helper()
	media := made(t, construct, body)
	ways := map[string]*artifact.Artifact{}
	for name, c := range map[string]struct {
		media *adk.Media
		limit int64
	}{
		"memory": {media, 0}, "ranges": {media, -1},
		"stream": {media.WithReader(adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(&dripping{strings.NewReader(body)}), nil
		})), -1},
	} {
		a, err := artifact.Open(&reading{}, c.media, artifact.Config{RecordLimit: c.limit})
		require.NoError(t, err)
		ways[name] = a
	}
	return ways
}

// dripping returns a few bytes in each Read, and more of a large body.
type dripping struct{ *strings.Reader }

func (d *dripping) Read(p []byte) (int, error) {
	return d.Reader.Read(p[:min(len(p), 7+int(d.Size()>>9))])
}

// ART-12, ART-13, ART-14: the questions that every body answers.
func TestLines(t *testing.T) {
	thorough.OneGoroutine(t)
	bodies := map[string][]string{
		"": nil, "a": {"a"}, "a\nb\n": {"a", "b", ""}, "a\r\nb": {"a\r", "b"}, "\n": {"", ""}, "\xffa\xe2\x82\nb": {"\uFFFDa\uFFFD", "b"},
		strings.Repeat("0123456789\n", 30_000): append(strings.Split(strings.Repeat("0123456789 ", 30_000), " ")[:30_000], ""),
		strings.Repeat("é", 150_000) + "\nend": {strings.Repeat("é", 150_000), "end"},
	}
	for body, want := range bodies {
		for way, a := range opened(t, artifact.Text, body) {
			ctx, label := t.Context(), fmt.Sprintf("%s of %.20q", way, body)
			assert.Equal(t, []any{int64(len(body)), len(want)}, []any{a.ByteLength(), a.LineCount()}, label)
			for _, n := range []int{-1, 0, 1, 2, 3, len(want) + 1} {
				head, err := a.Head(ctx, n)
				require.NoError(t, err, label)
				assert.True(t, same(head, want[:max(0, min(n, len(want)))]), "%s: head %d", label, n)
				tail, err := a.Tail(ctx, n)
				require.NoError(t, err, label)
				assert.True(t, same(tail, want[len(want)-max(0, min(n, len(want))):]), "%s: tail %d: %.100q", label, n, tail)
			}
			data, err := a.Bytes(ctx)
			require.NoError(t, err)
			assert.Equal(t, body, string(data), label)
		}
	}
	for way, a := range opened(t, artifact.Text, "alpha\nbeta\ngamma\nbanana\n") {
		ctx := t.Context()
		cat := func(from, to *int) []string {
			lines, err := a.Cat(ctx, from, to)
			require.NoError(t, err)
			return lines
		}
		assert.Equal(t, []string{"beta", "gamma"}, cat(new(1), new(3)), way)
		assert.Equal(t, []string{"alpha", "beta", "gamma", "banana", ""}, cat(nil, nil), way)
		assert.Equal(t, []string{"alpha"}, cat(new(-5), new(1)), way)
		assert.Equal(t, []string{"banana", ""}, cat(new(3), new(99)), way)
		assert.Empty(t, cat(new(4), new(2)), way)
		for pattern, want := range map[string][]string{"^b": {"beta", "banana"}, "(?i)A$": {"alpha", "beta", "gamma", "banana"}, "nan": {"banana"}, "x": {}, "^$": {""}, "a\nb": {}, "(ph|nan)a": {"alpha", "banana"}, ".": {"alpha", "beta", "gamma", "banana"}} {
			lines, err := a.Grep(ctx, regexp.MustCompile(pattern))
			require.NoError(t, err)
			assert.Equal(t, want, lines, "%s %s", way, pattern)
		}
		tokens, err := a.EstimateTokens(ctx, adk.EncodingClaude)
		require.NoError(t, err)
		assert.Equal(t, 7, tokens)
		text, err := a.Text(ctx)
		require.NoError(t, err)
		assert.Equal(t, "alpha\nbeta\ngamma\nbanana\n", text)
	}
}

func same(a, b []string) bool {
	return slices.Equal(a, b)
}

// ART-12: grep, which searches block by block, finds the same lines as a search line by line.
func TestGrepAcrossBlocks(t *testing.T) {
	var body strings.Builder
	var want []string
	for i := range 60_000 {
		line := fmt.Sprintf("line %d %s", i, strings.Repeat("x", i%17))
		if i%991 == 0 {
			line += " needle"
			want = append(want, line)
		}
		body.WriteString(line + "\n")
	}
	for way, a := range opened(t, artifact.Text, body.String()) {
		for _, pattern := range []string{"needle", "nee[d]le$", "(needle)+"} {
			lines, err := a.Grep(t.Context(), regexp.MustCompile(pattern))
			require.NoError(t, err)
			assert.Equal(t, want, lines, "%s %s", way, pattern)
		}
	}
}

// ART-21, ART-22, ART-23: each question reads the body once. A body that a trace may hold is read through
// the context. What is read has to match the mark.
func TestBodiesAreChecked(t *testing.T) {
	media := made(t, artifact.Text, "a\nb")
	opener := &reading{}
	a, err := artifact.Open(opener, media, artifact.Config{})
	require.NoError(t, err)
	_, err = a.Head(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, 1, opener.opened)
	a, err = artifact.Open(opener, media, artifact.Config{RecordLimit: 2})
	require.NoError(t, err)
	_, err = a.Head(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, 1, opener.opened, "a larger body does not go through the context")

	for _, other := range []string{"a\nc", "a\nbc", "a", ""} {
		changed, err := artifact.Open(opener, media.WithReader(adk.MediaBytes([]byte(other))), artifact.Config{})
		require.NoError(t, err)
		_, err = changed.Head(t.Context(), 1)
		assert.ErrorIs(t, err, adk.E_ARTIFACT_CHANGED, other)
	}
	broken, err := artifact.Open(opener, media.WithReader(adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("a"), errReader{})), nil
	})), artifact.Config{})
	require.NoError(t, err)
	_, err = broken.Text(t.Context())
	assert.ErrorIs(t, err, errBroken)

	// Without a reader, the spool of the config is asked.
	text, err := media.MarshalJSON()
	require.NoError(t, err)
	read, err := adk.ParseRecord(adk.RecordMedia, text)
	require.NoError(t, err)
	gone, err := artifact.Open(opener, read.(*adk.Media), artifact.Config{})
	require.NoError(t, err)
	_, err = gone.Head(t.Context(), 1)
	assert.ErrorIs(t, err, adk.E_NOT_A_SPOOL_READER)
	assert.ErrorContains(t, err, media.ID())
	spool := artifact.NewMemorySpool()
	entry, err := spool.Write(t.Context(), "key", strings.NewReader("a\nb"))
	require.NoError(t, err)
	keyed, err := artifact.New(artifact.Init{ID: "k", Flavour: artifact.TextFlavour, Filename: "k", Reader: adk.MediaBytes(nil), TrustTier: adk.TrustFirstParty, Known: &entry})
	require.NoError(t, err)
	for _, limit := range []int64{0, -1} {
		a, err = artifact.Open(opener, keyed.WithReader(nil), artifact.Config{Spool: spool, RecordLimit: limit})
		require.NoError(t, err)
		lines, err := a.Tail(t.Context(), 1)
		require.NoError(t, err)
		assert.Equal(t, []string{"b"}, lines)
	}
	plain, err := adk.NewUserAttachment(adk.MediaInit{ID: "p", Kind: adk.MediaDocument, MIMEType: "text/plain", Filename: "p", Reader: adk.MediaBytes(nil)})
	require.NoError(t, err)
	_, err = artifact.Open(opener, plain, artifact.Config{})
	assert.ErrorIs(t, err, adk.E_NOT_A_SPOOL_READER)
}

var errBroken = errors.New("broken off")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errBroken }

func flat(items []json.RawMessage) string {
	return "[" + string(bytes.Join(rawBytes(items), []byte(","))) + "]"
}

func rawBytes(items []json.RawMessage) [][]byte {
	all := make([][]byte, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}

// ART-15, ART-16, ART-17: JSON is parsed once, and its keys and digits are kept.
func TestJSONQuestions(t *testing.T) {
	type answers struct {
		kind                       string
		length                     int
		keys, get, filtered, slice string
	}
	for body, want := range map[string]answers{
		`{"z":1,"a":[{"n":9007199254740993},{"n":2.50}]}`:       {"json", 1, "z a", `[9007199254740993,2.5]`, `[{"z":1,"a":[{"n":9007199254740993},{"n":2.5}]}]`, `[{"z":1,"a":[{"n":9007199254740993},{"n":2.5}]}]`},
		"{\"n\":1,\"b\":0}\n\n{\"c\":1,\"b\":2}\n[{\"n\":3}]\n": {"jsonl", 3, "n b c", `[1,3]`, `[{"n":1,"b":0},[{"n":3}]]`, `[{"c":1,"b":2}]`},
		"// note\n{n: 1, 'm': .5,}":                             {"json5", 1, "n m", `[1]`, `[{"n":1,"m":0.5}]`, `[{"n":1,"m":0.5}]`},
		`[1,2]`:                                                 {"json", 1, "(none)", `[]`, `[]`, `[[1,2]]`},
		`{}`:                                                    {"json", 1, "", `[]`, `[]`, `[{}]`},
	} {
		for way, a := range opened(t, artifact.JSON, body) {
			ctx, q := t.Context(), a.JSON()
			kind, err := q.Type(ctx)
			require.NoError(t, err, body)
			length, err := q.Length(ctx)
			require.NoError(t, err)
			keys, found, err := q.Keys(ctx)
			require.NoError(t, err)
			get, err := q.Get(ctx, "$..n")
			require.NoError(t, err)
			plucked, err := q.Pluck(ctx, "$..n")
			require.NoError(t, err)
			filtered, err := q.Filter(ctx, "$..n")
			require.NoError(t, err)
			slice, err := q.Slice(ctx, new(1), new(2))
			require.NoError(t, err)
			named := strings.Join(keys, " ")
			if !found {
				named = "(none)"
			}
			assert.Equal(t, want, answers{kind, length, named, flat(get), flat(filtered), flat(slice)}, "%s: %s", way, body)
			assert.Equal(t, get, plucked)
		}
	}
}

// ART-15, ART-17: a body that is not JSON gives E_ARTIFACT_FORMAT with the place on first use.
func TestJSONFaults(t *testing.T) {
	for body, place := range map[string]string{"": "line 1", " \n": "line 2", "{\"a\":": "line 1, column 6", strings.Repeat("[", 600) + strings.Repeat("]", 600): "nested more than 500"} {
		for _, a := range opened(t, artifact.JSON, body) {
			_, err := a.JSON().Type(t.Context())
			assert.ErrorIs(t, err, adk.E_ARTIFACT_FORMAT, body)
			assert.ErrorContains(t, err, place)
			assert.NotContains(t, err.Error(), `"a"`)
		}
	}
	hinted := func(format, body string) error {
		media, err := artifact.New(artifact.Init{ID: "x", Flavour: artifact.JSONFlavour, Filename: "x", Reader: adk.MediaBytes([]byte(body)), TrustTier: adk.TrustFirstParty, Format: format})
		require.NoError(t, err)
		a, err := artifact.Open(&reading{}, media, artifact.Config{})
		require.NoError(t, err)
		kind, err := a.JSON().Type(t.Context())
		if err == nil {
			assert.Equal(t, format, kind)
		}
		return err
	}
	assert.NoError(t, hinted("ndjson", "1\n2"))
	assert.NoError(t, hinted("jsonl", ""))
	assert.NoError(t, hinted("json5", "{a:1}"))
	assert.ErrorContains(t, hinted("jsonl", "1\n\n{x}"), "line 3, column 2")
	assert.ErrorIs(t, hinted("json", "{a:1}"), adk.E_ARTIFACT_FORMAT)
	assert.ErrorContains(t, hinted("jsonl", "\xff"+strings.Repeat("1\n", 8<<20)), "is no jsonl: it is not valid UTF-8")
	a := opened(t, artifact.JSON, "["+strings.Repeat("1,", 300_000)+"1]")["memory"]
	_, err := a.JSON().Get(t.Context(), "$[")
	assert.ErrorIs(t, err, adk.E_ARTIFACT_FORMAT)
	assert.ErrorContains(t, err, "column 3")
	_, err = a.JSON().Get(t.Context(), "$[*,*,*,*]")
	assert.ErrorIs(t, err, adk.E_ARTIFACT_FORMAT)
	assert.ErrorContains(t, err, "too many nodes")
}

// A question whose context has ended gets no answer, also when the document was read before.
func TestJSONQuestionsEndWithTheirContext(t *testing.T) {
	q, why := opened(t, artifact.JSON, "{}\n{}")["memory"].JSON(), errors.New("enough")
	_, err := q.Length(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err = q.Get(ctx, "$")
	assert.ErrorIs(t, err, why)
	_, err = q.Filter(ctx, "$")
	assert.ErrorIs(t, err, why)
	_, _, err = q.Keys(ctx)
	assert.ErrorIs(t, err, why)
	_, err = q.Slice(ctx, nil, nil)
	assert.ErrorIs(t, err, why)
}

// oneLine formats Markdown's answers in one line.
func oneLine(v any) string { text, _ := json.Marshal(v); return string(text) }

const page = "---\ntitle: Page\ntags: [a, b]\n---\n# One #\n\nSee [here](https://example.org \"T\") and <https://auto.example>, ![pic](p.png), [ref][r].\n\n```go title=x\n# no heading\n```\n## Two\n~~~\ncode\n# still code\n~~~~\n### Three\n#No\n    # no\n#\ttabbed\n[r]: /ref 'R'\n"

// ART-18, ART-19: the outline of a Markdown document.
func TestMarkdownOutline(t *testing.T) {
	for way, a := range opened(t, artifact.Markdown, page) {
		ctx, q := t.Context(), a.Markdown()
		front, found, err := q.Frontmatter(ctx)
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, `{"title":"Page","tags":["a","b"]}`, string(front), way)
		headings, err := q.Headings(ctx, 0)
		require.NoError(t, err)
		assert.Equal(t, `[{"depth":1,"text":"One","startLine":4,"endLine":18},{"depth":2,"text":"Two","startLine":11,"endLine":18},{"depth":3,"text":"Three","startLine":16,"endLine":18},{"depth":1,"text":"tabbed","startLine":19,"endLine":21}]`, oneLine(headings), way)
		headings, err = q.Headings(ctx, 2)
		require.NoError(t, err)
		assert.Len(t, headings, 1)
		blocks, err := q.CodeBlocks(ctx, nil)
		require.NoError(t, err)
		assert.Equal(t, `[{"lang":"go","startLine":8,"endLine":10},{"lang":null,"startLine":12,"endLine":15}]`, oneLine(blocks), way)
		blocks, err = q.CodeBlocks(ctx, new(""))
		require.NoError(t, err)
		assert.Len(t, blocks, 1)
		blocks, err = q.CodeBlocks(ctx, new("rust"))
		require.NoError(t, err)
		assert.Empty(t, blocks)
		sections, err := q.Sections(ctx, 1)
		require.NoError(t, err)
		assert.Equal(t, `[{"depth":1,"heading":"One","headingLine":4,"bodyStartLine":5,"bodyEndLine":18},{"depth":1,"heading":"tabbed","headingLine":19,"bodyStartLine":20,"bodyEndLine":21}]`, oneLine(sections), way)
	}
	for body, want := range map[string]string{
		"---\na: 1\n" + strings.Repeat("x\n", 300) + "---\n# H": `[{"depth":1,"text":"H","startLine":303,"endLine":303}]`,
		"---\n# H\nno end":          `[{"depth":1,"text":"H","startLine":1,"endLine":2}]`,
		"```\n# H\nno end":          `[]`,
		"# \n## ##\n# a \\# b ##\n": `[{"depth":1,"text":"","startLine":0,"endLine":1},{"depth":2,"text":"","startLine":1,"endLine":1},{"depth":1,"text":"a \\# b","startLine":2,"endLine":3}]`,
		"# A\r\n\r\n# B\r\n":        `[{"depth":1,"text":"A","startLine":0,"endLine":1},{"depth":1,"text":"B","startLine":2,"endLine":3}]`,
		"":                          `[]`,
	} {
		q := opened(t, artifact.Markdown, body)["memory"].Markdown()
		headings, err := q.Headings(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, want, oneLine(headings), "%.20q", body)
		_, found, err := q.Frontmatter(t.Context())
		require.NoError(t, err)
		assert.False(t, found, "%.20q", body)
	}
	for body, heading := range map[string]int{"\ufeff# H": 0, "\ufeff---\na: 1\n---\n# H": 3} { // as some editors write it
		q := opened(t, artifact.Markdown, body)["memory"].Markdown()
		headings, err := q.Headings(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf(`[{"depth":1,"text":"H","startLine":%d,"endLine":%[1]d}]`, heading), oneLine(headings), "%q", body)
		_, found, err := q.Frontmatter(t.Context())
		require.NoError(t, err)
		assert.Equal(t, heading > 0, found, "%q", body)
		text, err := q.PlainText(t.Context(), nil, nil)
		require.NoError(t, err)
		assert.Equal(t, "H", text, "%q", body)
	}
	for _, body := range []string{"---\n- a\n---\n", "---\na: [\n---\n"} {
		_, _, err := opened(t, artifact.Markdown, body)["memory"].Markdown().Frontmatter(t.Context())
		assert.ErrorIs(t, err, adk.E_ARTIFACT_FORMAT)
	}
}

// ART-18, ART-19: what goldmark finds in ranges of lines.
func TestMarkdownRanges(t *testing.T) {
	for way, a := range opened(t, artifact.Markdown, page) {
		ctx, q := t.Context(), a.Markdown()
		links, err := q.Links(ctx, nil, nil)
		require.NoError(t, err)
		assert.Equal(t, `[{"text":"here","url":"https://example.org","title":"T"},{"text":"https://auto.example","url":"https://auto.example"},{"text":"ref","url":"/ref","title":"R"}]`, oneLine(links), way)
		links, err = q.Links(ctx, new(0), new(4))
		require.NoError(t, err)
		assert.Empty(t, links, "all of it is frontmatter")
		links, err = q.Links(ctx, new(6), new(7))
		require.NoError(t, err)
		assert.Len(t, links, 2, "the definition is not in the range")
		images, err := q.Images(ctx, nil, nil)
		require.NoError(t, err)
		assert.Equal(t, `[{"alt":"pic","url":"p.png"}]`, oneLine(images), way)
		text, err := q.PlainText(ctx, new(0), new(11))
		require.NoError(t, err)
		assert.Equal(t, "One\nSee here and https://auto.example, pic, [ref][r].\n# no heading", text, way)
		tree, err := q.Tree(ctx, new(0), new(1))
		require.NoError(t, err)
		assert.Equal(t, `{"type":"root","children":[]}`, string(tree), way)
	}
	body := "1. *a* **b** `c`\n2. ~~d~~\\\n   e\n\n- [x] done\n- [ ] open\n\n| h | i |\n|:--|--|\n| 1 | &amp; |\n\n> q\n\n---\n\n<b>raw</b>\n\n```go meta x\ncode\n```\n\n    old\n"
	tree, err := opened(t, artifact.Markdown, body)["memory"].Markdown().Tree(t.Context(), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, `{"type":"root","children":[`+
		`{"type":"list","ordered":true,"start":1,"spread":false,"children":[{"type":"listItem","spread":false,"children":[{"type":"paragraph","children":[{"type":"emphasis","children":[{"type":"text","value":"a"}]},{"type":"text","value":" "},{"type":"strong","children":[{"type":"text","value":"b"}]},{"type":"text","value":" "},{"type":"inlineCode","value":"c"}]}]},`+
		`{"type":"listItem","spread":false,"children":[{"type":"paragraph","children":[{"type":"delete","children":[{"type":"text","value":"d"}]},{"type":"break"},{"type":"text","value":"e"}]}]}]},`+
		`{"type":"list","ordered":false,"spread":false,"children":[{"type":"listItem","spread":false,"checked":true,"children":[{"type":"paragraph","children":[{"type":"text","value":"done"}]}]},{"type":"listItem","spread":false,"checked":false,"children":[{"type":"paragraph","children":[{"type":"text","value":"open"}]}]}]},`+
		`{"type":"table","align":["left",null],"children":[{"type":"tableRow","children":[{"type":"tableCell","children":[{"type":"text","value":"h"}]},{"type":"tableCell","children":[{"type":"text","value":"i"}]}]},{"type":"tableRow","children":[{"type":"tableCell","children":[{"type":"text","value":"1"}]},{"type":"tableCell","children":[{"type":"text","value":"\u0026"}]}]}]},`+
		`{"type":"blockquote","children":[{"type":"paragraph","children":[{"type":"text","value":"q"}]}]},{"type":"thematicBreak"},{"type":"paragraph","children":[{"type":"html","value":"\u003cb\u003e"},{"type":"text","value":"raw"},{"type":"html","value":"\u003c/b\u003e"}]},`+
		`{"type":"code","lang":"go","meta":"meta x","value":"code"},{"type":"code","value":"old"}]}`, oneLine(tree))
}

// ART-19: hostile Markdown is answered or refused within a short time.
func TestMarkdownIsBounded(t *testing.T) {
	refused := 0
	for name, body := range map[string]string{
		"quotes": strings.Repeat(">", 50_000), "brackets": strings.Repeat("[", 20_000), "links": strings.Repeat("[a](", 10_000), "stars": strings.Repeat("*a **a ", 10_000), "lists": strings.Repeat("- ", 20_000) + "a",
		"backticks": strings.Repeat("`", 10_000) + "a" + strings.Repeat("``", 5_000), "images": strings.Repeat("![", 10_000), "html": strings.Repeat("<a ", 20_000), "table": "|" + strings.Repeat("a|", 3000) + "\n|" + strings.Repeat("-|", 3000) + "\n" + strings.Repeat("|\n", 1000),
		"definitions": strings.Repeat("[a]: b\n", 10_000), "entities": strings.Repeat("&amp;", 20_000), "large": strings.Repeat("word ", 300_000), "binary": "\x00\xff\xfe" + strings.Repeat("\x01", 1000),
	} {
		a := opened(t, artifact.Markdown, body)["memory"]
		if _, err := a.Markdown().Tree(t.Context(), nil, nil); err != nil {
			assert.ErrorIs(t, err, adk.E_ARTIFACT_FORMAT, name)
			refused++
		}
	}
	assert.Equal(t, 8, refused)
}

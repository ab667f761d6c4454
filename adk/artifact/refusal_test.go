package artifact_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

// ART-6, ART-17: whatever the reason is for which a question is refused, the error is
// E_ARTIFACT_FORMAT and says which artifact it is about, why, and what to ask instead.
func TestRefusals(t *testing.T) {
	thorough.Long(t)
	line := strings.Repeat("x", 8<<20+1)
	long := `["` + line + `"]`
	for name, c := range map[string]struct {
		construct    adk.ArtifactConstructor
		body         string
		ask          func(ctx context.Context, a *artifact.Artifact) error
		why, instead string
	}{
		"a long answer": {artifact.Text, strings.Repeat("\n", 1<<18), func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.Cat(ctx, nil, nil)
			return err
		}, "the answer is longer than 8388608 bytes", "ask for fewer lines, for a smaller range"},
		"a long line": {artifact.Text, line, func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.Head(ctx, 1)
			return err
		}, "a line of the answer is longer than 8388608 bytes alone", "ask for other lines"},
		"a long last line": {artifact.Text, line, func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.Tail(ctx, 1)
			return err
		}, "is longer than 8388608 bytes", "ask for"},
		"grep of a long line": {artifact.Text, line + line, func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.Grep(ctx, regexp.MustCompile("x$"))
			return err
		}, "a line that may match has more than 8388608 bytes", "look for a text that only other lines have"},
		"grep of many steps": {artifact.Text, strings.Repeat("x", 1<<20), func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.Grep(ctx, regexp.MustCompile("(x?y?){999}"))
			return err
		}, "the expression takes too many steps in a line of 1048576 bytes", "ask with a shorter one"},
		"a long value": {artifact.JSON, long, func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.JSON().Get(ctx, "$")
			return err
		}, "the answer is longer", "with a narrower pattern or path"},
		"a long record": {artifact.JSON, long, func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.JSON().Slice(ctx, nil, nil)
			return err
		}, "the answer is longer", "for a smaller range"},
		"long keys": {artifact.JSON, `{"` + line + `":0}`, func(ctx context.Context, a *artifact.Artifact) error {
			_, _, err := a.JSON().Keys(ctx)
			return err
		}, "the answer is longer", "ask for fewer lines"},
		"many nodes": {artifact.JSON, "[" + strings.Repeat("1,", 300_000) + "1]", func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.JSON().Get(ctx, "$[*,*,*,*]")
			return err
		}, "the question visits too many nodes", "ask for less of the document"},
		"no path": {artifact.JSON, "1", func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.JSON().Get(ctx, "$[")
			return err
		}, "the path is none of RFC 9535: column 3", "want"},
		"no JSON": {artifact.JSON, "{", func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.JSON().Length(ctx)
			return err
		}, "is no json: line 1, column 2", "ask for its lines"},
		"much Markdown": {artifact.Markdown, strings.Repeat("word ", 300_000), func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.Markdown().PlainText(ctx, nil, nil)
			return err
		}, "more than 1048576 bytes of Markdown at once", "ask for fewer lines"},
		"tangled Markdown": {artifact.Markdown, strings.Repeat("[", 2_000), func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.Markdown().Links(ctx, nil, nil)
			return err
		}, "a block has more than 1000 brackets open", "ask for fewer lines"},
		"a long heading": {artifact.Markdown, "# " + strings.Repeat("x", 2<<20), func(ctx context.Context, a *artifact.Artifact) error {
			_, err := a.Markdown().Headings(ctx, 0)
			return err
		}, "line 1: a heading, a fence or a frontmatter of more than 1048576 bytes", "ask for its lines"},
		"frontmatter that is a list": {artifact.Markdown, "---\n- a\n---\n", func(ctx context.Context, a *artifact.Artifact) error {
			_, _, err := a.Markdown().Frontmatter(ctx)
			return err
		}, "the frontmatter is no map", "ask for its lines"},
	} {
		if !thorough.Takes(name, 4) {
			continue
		}
		media := made(t, c.construct, c.body)
		for limit, times := range map[int64]int{64 << 20: 2, -1: 1} { // in memory, where the second question is answered from what the first found out, and from a reader
			a, err := artifact.Open(&reading{}, media, artifact.Config{RecordLimit: limit})
			require.NoError(t, err)
			for range times {
				err := c.ask(t.Context(), a)
				require.Error(t, err, name)
				refused(t, err, media.ID(), c.why, c.instead)
			}
		}
	}
}

// refused checks that an error names its artifact exactly once and contains these parts.
func refused(t *testing.T, err error, id string, parts ...string) {
	t.Helper()
	require.ErrorIs(t, err, adk.E_ARTIFACT_FORMAT)
	assert.Equal(t, 1, strings.Count(err.Error(), `artifact "`+id+`": `), "%.300s", err)
	for _, part := range parts {
		assert.ErrorContains(t, err, part)
	}
}

// ART-17: the keys of an object that has too many keys to tell them apart are refused.
func TestTooManyKeys(t *testing.T) {
	media := made(t, artifact.JSON, "{"+strings.Repeat(`"":0,`, 2_000_000)+`"":0}`)
	a, err := artifact.Open(&reading{}, media, artifact.Config{})
	require.NoError(t, err)
	_, _, err = a.JSON().Keys(t.Context())
	refused(t, err, media.ID(), "more than 2000000 keys", "ask for less of the document")
}

// ART-6, ART-20: the answers of a user's own flavour have the same bound, whatever their type, and a
// refusal that they pass on names its artifact once.
func TestRefusalsOfOwnFlavours(t *testing.T) {
	thorough.OneGoroutine(t)
	text := strings.Repeat("x", 9<<20)
	answers := map[string]any{"text": text, "texts": []string{text}, "map": map[string]any{"a": text}, "struct": artifact.Link{Text: text}, "many": make([]string, 1<<19)}
	own := artifact.Flavour{Name: "own", Title: "Own artifact", MIMEType: "text/x-own", Ext: "own", Methods: []artifact.Method{{
		Tool: "own_ask", Description: "Answers.", Args: json.RawMessage(`{"type":"object","required":["what"],"properties":{"what":{"type":"string"}}}`),
		Run: func(ctx context.Context, a *artifact.Artifact, args map[string]any) (any, error) {
			if args["what"] == "handed on" {
				_, err := a.Head(ctx, 1)
				return nil, fmt.Errorf("the first line: %w", err)
			}
			return answers[args["what"].(string)], nil
		},
	}}}
	media := made(t, own.Constructor(), text)
	holding(t, []*adk.ToolCall{call(t, "o", media)}, func(ctx context.Context, dc *adk.DispatchContext) {
		for _, limit := range []int64{64 << 20, 1} {
			forged, err := artifact.Forge(dc, artifact.Config{Flavours: []artifact.Flavour{own}, RecordLimit: limit})
			require.NoError(t, err)
			for _, what := range append(slices.Collect(maps.Keys(answers)), "handed on") {
				_, err := answer(ctx, dc, forged, "artifact_own_ask", `{"callId":"o","what":"`+what+`"}`)
				assert.ErrorIs(t, err, adk.E_TOOL_DOWNSTREAM_ERROR)
				refused(t, err, media.ID(), "longer than 8388608 bytes", "ask for")
			}
		}
	})
}

package artifact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/fakes"
)

// holding runs do in a dispatch that holds the given tool calls.
func holding(t *testing.T, calls []*adk.ToolCall, do func(ctx context.Context, dc *adk.DispatchContext), watch ...adk.Probe) {
	t.Helper()
	inTurn(t, fakes.NewStorage().Storage(), func(ctx context.Context, dc *adk.DispatchContext) {
		for _, call := range calls {
			_, err := dc.ToolCalls().Add(call)
			require.NoError(t, err)
		}
		do(ctx, dc)
	}, watch...)
}

func forge(t *testing.T, dc *adk.DispatchContext, config artifact.Config) *adk.Registry {
	t.Helper()
	forged, err := artifact.Forge(dc, config)
	require.NoError(t, err)
	return forged
}

func names(r *adk.Registry) string {
	var names []string
	for _, tool := range r.All() {
		names = append(names, tool.Name())
	}
	return strings.Join(names, " ")
}

// answer returns what a forged tool answers, or its error.
func answer(ctx context.Context, dc *adk.DispatchContext, forged *adk.Registry, name, args string) (string, error) {
	tool, known := forged.Get(name)
	if !known {
		return "", fmt.Errorf("no tool %s", name)
	}
	result, err := dc.Execute(ctx, tool, args)
	if err != nil {
		return "", err
	}
	return result.(*adk.Tokenizable).String(), nil
}

const (
	baseNames = "artifact_head artifact_tail artifact_grep artifact_cat artifact_byte_length artifact_line_count artifact_estimate_tokens"
	jsonNames = " artifact_json_type artifact_json_keys artifact_json_length artifact_json_get artifact_json_filter artifact_json_slice artifact_json_pluck"
	mdNames   = " artifact_md_frontmatter artifact_md_headings artifact_md_code_blocks artifact_md_sections artifact_md_links artifact_md_images artifact_md_text artifact_md_ast"
)

// FRG-1, FRG-2, FRG-12: Forge gives base tools for all artifacts, and a flavour's tools for its artifacts.
// There are no tools for a media list, a text, a plain media or the answer of a forged tool.
func TestForge(t *testing.T) {
	list, err := adk.NewToolCall(adk.ToolCallInit{ID: "list", Tool: "x", Args: map[string]any{}, Results: adk.MediaList{made(t, artifact.Text, "a")}, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch, CompletedAt: fakes.Epoch})
	require.NoError(t, err)
	init := call(t, "query", made(t, artifact.Text, "a")).Init()
	init.FromArtifactTool = true
	query, err := adk.NewToolCall(init)
	require.NoError(t, err)
	none := []*adk.ToolCall{list, query, call(t, "text", adk.Text("x"))}
	holding(t, none, func(_ context.Context, dc *adk.DispatchContext) {
		assert.Zero(t, forge(t, dc, artifact.Config{}).Len())
	})
	log := artifact.Flavour{Name: "log", Title: "Log", MIMEType: "text/plain", Ext: "log"}
	for want, calls := range map[string][]*adk.ToolCall{
		baseNames:                       {call(t, "t", made(t, artifact.Text, "a"))},
		baseNames + jsonNames:           {call(t, "j", made(t, artifact.JSON, "1")), call(t, "l", made(t, log.Constructor(), "a"))},
		baseNames + jsonNames + mdNames: {call(t, "m", made(t, artifact.Markdown, "#")), call(t, "j", made(t, artifact.JSON, "1"))},
	} {
		holding(t, append(calls, none...), func(_ context.Context, dc *adk.DispatchContext) {
			forged := forge(t, dc, artifact.Config{})
			assert.Equal(t, want, names(forged))
			again := forge(t, dc, artifact.Config{})
			for i, tool := range forged.All() {
				// FRG-3, FRG-8: forging twice from the same tool calls makes equal tools.
				assert.Equal(t, again.All()[i].Digest(), tool.Digest())
				assert.True(t, artifact.IsTool(tool) && tool.Ephemeral() && !tool.Trusted(), tool.Name())
				assert.Equal(t, []any{adk.CollisionReplace, adk.EffectReads}, []any{tool.OnCollision(), tool.Effect()})
				assert.Contains(t, tool.Description(), "callId selects it")
				assert.Equal(t, enumOf(t, tool), calledOf(calls, tool.Name()), tool.Name())
			}
		})
	}
}

// enumOf returns the call ids that a tool accepts.
func enumOf(t *testing.T, tool *adk.Tool) []string {
	var schema struct {
		Required   []string
		Properties struct{ CallID struct{ Enum []string } }
	}
	require.NoError(t, json.Unmarshal(tool.InputSchema(), &schema))
	assert.Contains(t, schema.Required, "callId")
	return schema.Properties.CallID.Enum
}

func calledOf(calls []*adk.ToolCall, tool string) (ids []string) {
	for _, call := range calls {
		flavour := map[bool]string{strings.HasPrefix(tool, "artifact_json"): "json", strings.HasPrefix(tool, "artifact_md"): "markdown"}[true]
		if mark, _ := artifact.Of(call.Results().(*adk.Media)); flavour == "" || mark.Flavour == flavour {
			ids = append(ids, call.ID())
		}
	}
	return ids
}

// FRG-4, FRG-5, FRG-7: what each forged tool is asked, and what it answers.
func TestForgedAnswers(t *testing.T) {
	calls := []*adk.ToolCall{
		call(t, "t", made(t, artifact.Text, "alpha\nbeta\ngamma\nbanana")),
		call(t, "j", made(t, artifact.JSON, `{"z":{"b":[],"a":"x"},"n":9007199254740993,"t":["p","q"],"u":null}`)),
		call(t, "m", made(t, artifact.Markdown, page)),
		call(t, "l", made(t, artifact.Text, strings.Repeat("x\n", 20))),
		call(t, "e", made(t, artifact.Text, "")),
		call(t, "r", made(t, artifact.JSON, "{\"a\":1}\n{\"a\":2}\n")),
	}
	holding(t, calls, func(ctx context.Context, dc *adk.DispatchContext) {
		forged := forge(t, dc, artifact.Config{})
		for _, c := range [][3]string{
			{"artifact_head", `{"callId":"t","n":2}`, "alpha\nbeta"}, {"artifact_head", `{"callId":"l"}`, strings.TrimSuffix(strings.Repeat("x\n", 10), "\n")}, {"artifact_tail", `{"callId":"t","n":1}`, "banana"}, {"artifact_head", `{"callId":"e"}`, "(empty list)"},
			{"artifact_grep", `{"callId":"t","pattern":"^b"}`, "beta\nbanana"}, {"artifact_grep", `{"callId":"t","pattern":"^B","flags":"iu"}`, "beta\nbanana"}, {"artifact_grep", `{"callId":"t","pattern":"x"}`, "(empty list)"}, {"artifact_cat", `{"callId":"t","start":1,"end":3}`, "beta\ngamma"}, {"artifact_cat", `{"callId":"t","start":3}`, "banana"},
			{"artifact_byte_length", `{"callId":"t"}`, "23"}, {"artifact_line_count", `{"callId":"t"}`, "4"}, {"artifact_estimate_tokens", `{"callId":"t","encoding":"claude"}`, "7"}, {"artifact_json_type", `{"callId":"j"}`, "json"}, {"artifact_json_keys", `{"callId":"j"}`, "z\nn\nt\nu"}, {"artifact_json_length", `{"callId":"r"}`, "2"},
			{"artifact_json_get", `{"callId":"j","path":"$.z"}`, "[\n  {\n    \"b\": [],\n    \"a\": \"x\"\n  }\n]"}, {"artifact_json_get", `{"callId":"j","path":"$.n"}`, "[\n  9007199254740993\n]"}, {"artifact_json_get", `{"callId":"j","path":"$.t[*]"}`, "p\nq"}, {"artifact_json_get", `{"callId":"j","path":"$.u"}`, "[\n  null\n]"}, {"artifact_json_get", `{"callId":"j","path":"$.none"}`, "(empty list)"},
			{"artifact_json_filter", `{"callId":"r","path":"$[?@ == 2]"}`, "[\n  {\n    \"a\": 2\n  }\n]"}, {"artifact_json_slice", `{"callId":"r","start":1}`, "[\n  {\n    \"a\": 2\n  }\n]"}, {"artifact_json_pluck", `{"callId":"r","path":"$.a"}`, "[\n  1,\n  2\n]"},
			{"artifact_md_frontmatter", `{"callId":"m"}`, "{\n  \"title\": \"Page\",\n  \"tags\": [\n    \"a\",\n    \"b\"\n  ]\n}"}, {"artifact_md_headings", `{"callId":"m","depth":2}`, "[\n  {\n    \"depth\": 2,\n    \"text\": \"Two\",\n    \"startLine\": 11,\n    \"endLine\": 18\n  }\n]"}, {"artifact_md_code_blocks", `{"callId":"m","lang":""}`, "[\n  {\n    \"lang\": null,\n    \"startLine\": 12,\n    \"endLine\": 15\n  }\n]"},
			{"artifact_md_sections", `{"callId":"m","depth":3}`, "[\n  {\n    \"depth\": 3,\n    \"heading\": \"Three\",\n    \"headingLine\": 16,\n    \"bodyStartLine\": 17,\n    \"bodyEndLine\": 18\n  }\n]"}, {"artifact_md_images", `{"callId":"m"}`, "[\n  {\n    \"alt\": \"pic\",\n    \"url\": \"p.png\"\n  }\n]"}, {"artifact_md_links", `{"callId":"m","startLine":0,"endLine":3}`, "(empty list)"}, {"artifact_md_text", `{"callId":"m","startLine":4,"endLine":5}`, "One"}, {"artifact_md_ast", `{"callId":"m","startLine":5,"endLine":6}`, "{\n  \"type\": \"root\",\n  \"children\": []\n}"},
		} {
			got, err := answer(ctx, dc, forged, c[0], c[1])
			require.NoError(t, err, c[0])
			assert.Equal(t, c[2], got, "%s %s", c[0], c[1])
		}
		keys, err := answer(ctx, dc, forged, "artifact_json_keys", `{"callId":"r"}`)
		require.NoError(t, err)
		assert.Equal(t, "a", keys)
		for _, c := range [][2]string{
			{"artifact_head", `{}`}, {"artifact_head", `{"callId":"nobody"}`}, {"artifact_head", `{"callId":"t","n":0}`}, {"artifact_json_get", `{"callId":"t","path":"$"}`}, {"artifact_md_ast", `{"callId":"t"}`}, {"artifact_grep", `{"callId":"t","pattern":"a","flags":"g"}`}, {"artifact_grep", `{"callId":"t","pattern":"a","flags":"y"}`}, {"artifact_grep", `{"callId":"t"}`}, {"artifact_cat", `{"callId":"t","start":-1}`}, {"artifact_md_headings", `{"callId":"m","depth":7}`}, {"artifact_estimate_tokens", `{"callId":"t","encoding":"own"}`},
		} {
			_, err := answer(ctx, dc, forged, c[0], c[1])
			assert.ErrorIs(t, err, adk.E_INVALID_TOOL_ARGS, "%s %s", c[0], c[1])
		}
		for _, c := range [][3]string{{"artifact_grep", `{"callId":"t","pattern":"("}`, "RE2"}, {"artifact_grep", `{"callId":"t","pattern":"a(?=b)"}`, "look-around"}, {"artifact_json_get", `{"callId":"j","path":"$["}`, "column 3"}} {
			_, err := answer(ctx, dc, forged, c[0], c[1])
			assert.ErrorIs(t, err, adk.E_TOOL_DOWNSTREAM_ERROR, c[1])
			assert.ErrorContains(t, err, c[2])
		}
	})
}

// FRG-5: a user's flavour may answer null, nothing, and any plain data. ART-20.
func TestOwnFlavour(t *testing.T) {
	answers := map[string]any{"null": nil, "int": 42, "big": int64(1) << 60, "float": 2.5, "text": "words", "texts": []string{"a", "b"}, "none": []string{}, "map": map[string]any{"b": 1, "a": []any{}}, "struct": artifact.Link{Text: "t", URL: "u"}, "truth": true, "opaque": make(chan int), "failed": errors.New("boom")}
	own := artifact.Flavour{Name: "own", Title: "Own artifact", MIMEType: "text/x-own", Ext: "own", Methods: []artifact.Method{{
		Tool: "own_ask", Description: "Answers.", Args: json.RawMessage(`{"type":"object","required":["what"],"properties":{"what":{"type":"string"}}}`),
		Run: func(_ context.Context, a *artifact.Artifact, args map[string]any) (any, error) {
			assert.Equal(t, map[string]any{"what": args["what"]}, args)
			if err, failed := answers[args["what"].(string)].(error); failed {
				return nil, err
			}
			return answers[args["what"].(string)], nil
		}}}}
	holding(t, []*adk.ToolCall{call(t, "o", made(t, own.Constructor(), "x"))}, func(ctx context.Context, dc *adk.DispatchContext) {
		forged := forge(t, dc, artifact.Config{Flavours: []artifact.Flavour{own}, Prefix: "doc"})
		assert.Equal(t, strings.ReplaceAll(baseNames, "artifact_", "doc_")+" doc_own_ask", names(forged)) // FRG-10
		for what, want := range map[string]string{"null": "null", "int": "42", "big": "1152921504606846976", "float": "2.5", "text": "words", "texts": "a\nb", "none": "(empty list)", "map": "{\n  \"a\": [],\n  \"b\": 1\n}", "struct": "{\n  \"text\": \"t\",\n  \"url\": \"u\"\n}", "truth": "true"} {
			got, err := answer(ctx, dc, forged, "doc_own_ask", `{"callId":"o","what":"`+what+`"}`)
			require.NoError(t, err, what)
			assert.Equal(t, want, got, what)
		}
		for _, what := range []string{"opaque", "failed"} {
			_, err := answer(ctx, dc, forged, "doc_own_ask", `{"callId":"o","what":"`+what+`"}`)
			assert.ErrorIs(t, err, adk.E_TOOL_DOWNSTREAM_ERROR, what)
		}
		// ART-20: an error names all faults of a config at once.
		twice := own
		twice.Methods = append([]artifact.Method{{Tool: "head", Description: "x", Args: json.RawMessage(`{"properties":{"callId":{}}}`)}, {Args: json.RawMessage(`[]`)}}, own.Methods...)
		_, err := artifact.Forge(dc, artifact.Config{Flavours: []artifact.Flavour{own, twice, {}}, MaxResult: -1})
		assert.ErrorIs(t, err, adk.E_INVALID_ARTIFACT_CONFIG)
		for _, part := range []string{"MaxResult", `the name "own" comes twice`, `the tool "head" comes twice`, "callId is an argument", `the tool "own_ask" comes twice`, "Flavours[2]: want a name", "Flavours[1].Methods[1]", "no JSON object"} {
			assert.ErrorContains(t, err, part)
		}
	})
	holding(t, []*adk.ToolCall{call(t, "j", made(t, artifact.JSON, "[1]"))}, func(ctx context.Context, dc *adk.DispatchContext) {
		keys, err := answer(ctx, dc, forge(t, dc, artifact.Config{}), "artifact_json_keys", `{"callId":"j"}`)
		require.NoError(t, err)
		assert.Equal(t, "(undefined)", keys)
	})
}

// FRG-6: when its artifact is gone by the time the tool runs, the tool says so in its answer.
func TestForgedToolOfWhatIsGone(t *testing.T) {
	calls := []*adk.ToolCall{call(t, "a", made(t, artifact.JSON, "1")), call(t, "b", made(t, artifact.JSON, "1")), call(t, "c", made(t, artifact.JSON, "1"))}
	holding(t, calls, func(ctx context.Context, dc *adk.DispatchContext) {
		forged := forge(t, dc, artifact.Config{})
		_, err := dc.ToolCalls().Remove("a")
		require.NoError(t, err)
		_, err = dc.ToolCalls().Add(call(t, "b", adk.Text("now words")))
		require.NoError(t, err)
		_, err = dc.ToolCalls().Add(call(t, "c", made(t, artifact.Text, "now text")))
		require.NoError(t, err)
		for _, c := range [][3]string{
			{"artifact_head", `{"callId":"a"}`, "Error: no tool call with id a in this turn"}, {"artifact_head", `{"callId":"b"}`, "Error: the results of call b are no artifact"},
			{"artifact_json_type", `{"callId":"c"}`, "Error: the results of call c are no JSON artifact"}, {"artifact_head", `{"callId":"c"}`, "now text"},
		} {
			got, err := answer(ctx, dc, forged, c[0], c[1])
			require.NoError(t, err)
			assert.Equal(t, c[2], got)
		}
	})
}

// FRG-11: an answer that is too long is cut at the end of a whole line, or of a whole rune.
func TestMaxResult(t *testing.T) {
	calls := []*adk.ToolCall{call(t, "t", made(t, artifact.Text, "alpha\nbeta\ngamma")), call(t, "l", made(t, artifact.Text, "éééééééééé"))}
	holding(t, calls, func(ctx context.Context, dc *adk.DispatchContext) {
		for most, want := range map[int][2]string{
			12: {"alpha\nbeta\n(cut: 10 of 16 bytes; ask for less)", "éééééé\n(cut: 12 of 20 bytes; ask for less)"}, 10: {"alpha\nbeta\n(cut: 10 of 16 bytes; ask for less)", "ééééé\n(cut: 10 of 20 bytes; ask for less)"},
			3: {"alp\n(cut: 3 of 16 bytes; ask for less)", "é\n(cut: 2 of 20 bytes; ask for less)"}, 20: {"alpha\nbeta\ngamma", "éééééééééé"},
		} {
			forged := forge(t, dc, artifact.Config{MaxResult: most})
			for i, id := range []string{"t", "l"} {
				got, err := answer(ctx, dc, forged, "artifact_head", `{"callId":"`+id+`"}`)
				require.NoError(t, err)
				assert.Equal(t, want[i], got)
			}
		}
	})
}

// FRG-9: using forged tools locally does not change the dispatch's tools. Install replaces tools that
// differ and removes tools that are no longer forged. It makes no crossing where nothing changes.
func TestInstall(t *testing.T) {
	var crossed []string
	watch := watching(func(x *adk.Crossing) {
		switch x.Kind {
		case adk.KindRegister, adk.KindUnregister, adk.KindOnAck, adk.KindPrune:
			crossed = append(crossed, x.Kind.String())
		}
	})
	json := call(t, "j", made(t, artifact.JSON, "1"))
	holding(t, []*adk.ToolCall{call(t, "t", made(t, artifact.Text, "a")), json}, func(_ context.Context, dc *adk.DispatchContext) {
		forged := forge(t, dc, artifact.Config{})
		merged, err := dc.Tools().Merge(adk.CollisionReplace, forged)
		require.NoError(t, err)
		assert.Equal(t, baseNames+jsonNames, names(merged))
		assert.Empty(t, dc.Tools().All())
		require.NoError(t, artifact.Install(dc, forged))
		assert.Len(t, crossed, 15)
		require.NoError(t, artifact.Install(dc, forge(t, dc, artifact.Config{})))
		assert.Len(t, crossed, 15, "equal tools cross nothing")
		_, err = dc.ToolCalls().Remove("j")
		require.NoError(t, err)
		require.NoError(t, artifact.Install(dc, forge(t, dc, artifact.Config{})))
		assert.Len(t, dc.Tools().All(), 7)
		assert.Len(t, crossed, 15+7+7)
	}, watch)
	assert.Equal(t, "prune", crossed[len(crossed)-1], "the ack prunes them")
}

// watching is a probe that calls a function with the crossings of a run.
type watching func(x *adk.Crossing)

func (w watching) Observe(adk.RunInfo) adk.Observer { return watcher{w} }

type watcher struct{ tell watching }

func (watcher) Begin(adk.Step)         {}
func (watcher) Park(int, func() bool)  {}
func (watcher) Resume(int)             {}
func (w watcher) Tell(x *adk.Crossing) { w.tell(x) }

// ART-21: a question opens its media through the context of the tool that asks it.
func TestQuestionsCross(t *testing.T) {
	opened := 0
	holding(t, []*adk.ToolCall{call(t, "t", made(t, artifact.Text, "a\nb"))}, func(ctx context.Context, dc *adk.DispatchContext) {
		forged := forge(t, dc, artifact.Config{})
		for range 3 {
			_, err := answer(ctx, dc, forged, "artifact_head", `{"callId":"t"}`)
			require.NoError(t, err)
		}
	}, watching(func(x *adk.Crossing) {
		if x.Kind == adk.KindOpenMedia && x.Phase == adk.Done {
			opened++
			assert.Equal(t, []byte("a\nb"), x.Value)
		}
	}))
	assert.Equal(t, 3, opened)
}

// Forging for 50 artifacts takes less than a millisecond.
func BenchmarkForge(b *testing.B) {
	var calls []*adk.ToolCall
	for i := range 50 {
		construct := []adk.ArtifactConstructor{artifact.Text, artifact.JSON, artifact.Markdown}[i%3]
		made, err := construct(b.Context(), adk.Text(fmt.Sprint(i)))
		if err != nil {
			b.Fatal(err)
		}
		call, err := adk.NewToolCall(adk.ToolCallInit{ID: fmt.Sprint("call-", i), Tool: "x", Args: map[string]any{}, Results: made, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch, CompletedAt: fakes.Epoch})
		if err != nil {
			b.Fatal(err)
		}
		calls = append(calls, call)
	}
	runner, err := adk.NewRunner(adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "x", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, call := range calls {
			if _, err := dc.ToolCalls().Add(call); err != nil {
				return err
			}
		}
		for b.Loop() {
			if forged, err := artifact.Forge(dc, artifact.Config{}); err != nil || forged.Len() != 22 {
				b.Fatal(forged.Len(), err)
			}
		}
		return dc.Ack()
	}}})
	if err != nil {
		b.Fatal(err)
	}
	if err := runner.Run(b.Context(), adk.RawTurn{SystemPrompt: "x"}); err != nil {
		b.Fatal(err)
	}
}

// ART-16, FRG-4: an array is one document, which is answered whole. The tools that would count, cut or
// choose among records say so, and the path that they suggest instead selects the array's elements.
func TestForgedOfAnArray(t *testing.T) {
	array := []*adk.ToolCall{call(t, "j", made(t, artifact.JSON, `[{"price":20},{"price":1},{"price":2},{"price":3},{"price":30},{"price":4}]`))}
	holding(t, array, func(ctx context.Context, dc *adk.DispatchContext) {
		forged := forge(t, dc, artifact.Config{})
		ask := func(tool, args string) string {
			got, err := answer(ctx, dc, forged, "artifact_json_"+tool, `{"callId":"j"`+args+`}`)
			require.NoError(t, err)
			return got
		}
		whole := ask("get", `,"path":"$"`)
		for tool, c := range map[string]struct {
			args, gives, says, path string
			elements                int
		}{
			"length": {"", "1", "One document counts 1, also where it is an array.", "", 0},
			"slice":  {`,"start":0,"end":5`, whole, "One document is given whole whatever is asked, also where it is an array:", "$[0:5]", 5},
			"filter": {`,"path":"$[?@.price < 10]"`, whole, "One document is one record and given whole, also where it is an array:", "$[?@.price < 10]", 4},
		} {
			assert.Equal(t, c.gives, ask(tool, c.args), tool)
			told, _ := forged.Get("artifact_json_" + tool)
			assert.Contains(t, told.Description(), c.says)
			if c.path != "" {
				assert.Contains(t, told.Description(), "by a JSON path such as "+c.path+".")
				assert.Equal(t, c.elements, strings.Count(ask("get", `,"path":"`+c.path+`"`), "price"), c.path)
			}
		}
	})
}

// FRG-1, FRG-3: with HandlesOnly there are no tools while no artifact is shown by a handle, and the tools
// accept no id of an artifact that the prompt shows inline.
func TestForgedOfHandlesOnly(t *testing.T) {
	short, long := call(t, "short", made(t, artifact.Text, "1")), call(t, "long", made(t, artifact.JSON, `{"a":1}`))
	holding(t, []*adk.ToolCall{short, long}, func(ctx context.Context, dc *adk.DispatchContext) {
		handles := artifact.Config{HandlesOnly: true}
		assert.Equal(t, 0, forge(t, dc, handles).Len(), "all are inline")
		all := forge(t, dc, artifact.Config{}).Len()
		require.NoError(t, artifact.Handles(artifact.HandleOptions{From: 5}).Run(ctx, dc, func(context.Context) {}))
		forged := forge(t, dc, handles)
		assert.Equal(t, all, forged.Len(), "those of a text, and those of JSON")
		for _, tool := range forged.All() {
			assert.Contains(t, string(tool.InputSchema()), `"enum":["long"]`, tool.Name())
		}
		got, err := answer(ctx, dc, forged, "artifact_json_get", `{"callId":"long","path":"$.a"}`)
		require.NoError(t, err)
		assert.Contains(t, got, "1")
		_, err = answer(ctx, dc, forged, "artifact_head", `{"callId":"short"}`)
		assert.ErrorIs(t, err, adk.E_INVALID_TOOL_ARGS)
	})
}

// FRG-4, ART-5: Offers lists the same tools for a flavour as Forge makes, in the same order.
func TestOffers(t *testing.T) {
	names := func(flavour string, config artifact.Config) (string, []string) {
		title, offers, err := config.Offers(flavour)
		require.NoError(t, err)
		var all []string
		for _, offer := range offers {
			all = append(all, offer.Name)
			assert.Contains(t, offer.Description, "callId selects it.")
		}
		return title, all
	}
	base := []string{"artifact_head", "artifact_tail", "artifact_grep", "artifact_cat", "artifact_byte_length", "artifact_line_count", "artifact_estimate_tokens"}
	title, all := names(artifact.FlavourText, artifact.Config{})
	assert.Equal(t, "Text artifact", title)
	assert.Equal(t, base, all)
	title, all = names(artifact.FlavourMarkdown, artifact.Config{})
	assert.Equal(t, "Markdown artifact", title)
	assert.Equal(t, base, all[:7])
	assert.Len(t, all, 15)
	title, all = names("log", artifact.Config{Prefix: "ask"})
	assert.Equal(t, "log", title, "a flavour that nobody knows has its name and the base tools")
	assert.Equal(t, "ask_head", all[0])
	assert.Len(t, all, 7)
	_, _, err := artifact.Config{MaxResult: -1}.Offers("text")
	assert.ErrorIs(t, err, adk.E_INVALID_ARTIFACT_CONFIG)
}

// FRG-1, FRG-9: without a dispatch Forge and Install return an error that says what is missing.
func TestForgeOfNothing(t *testing.T) {
	_, err := artifact.Forge(nil, artifact.Config{})
	assert.EqualError(t, err, "artifact: Forge has no dispatch context, want the one that the executor was called with")
	assert.ErrorContains(t, artifact.Install(nil, &adk.Registry{}), "Install has no dispatch context or no registry")
	holding(t, nil, func(_ context.Context, dc *adk.DispatchContext) {
		assert.ErrorContains(t, artifact.Install(dc, nil), "Install has no dispatch context or no registry")
	})
}

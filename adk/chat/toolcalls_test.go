package chat_test

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
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// wanting is a plain answer that wants calls, each with an id, a name and arguments.
func wanting(calls ...[3]string) reply {
	var wanted []string
	for _, c := range calls {
		wanted = append(wanted, fmt.Sprintf(`{"id":%s,"function":{"name":%s,"arguments":%s}}`, quoted(c[0]), quoted(c[1]), quoted(c[2])))
	}
	return plain(`{"choices":[{"message":{"tool_calls":[` + strings.Join(wanted, ",") + `]}}]}`)
}

// CAL-1, CAL-5: a call is reported, executed, reported complete and stored. The next request holds the
// call, with its artifact as text.
func TestToolTurn(t *testing.T) {
	p := play(t, scene{options: whole(), replies: []reply{calling("call-1", "weather", `{"city":"Oslo"}`), saying("4 °C.")},
		tools: []*adk.Tool{weather(t)}, records: []adk.Record{asking(t, "Oslo?")}}).acked(t)
	assert.Equal(t, []string{"said 4 °C."}, p.texts())
	assert.Equal(t, []string{`call-1 weather{"city":"Oslo"}: artifact 4 °C in Oslo`}, p.results(t))
	assert.Equal(t, []string{"call call-1 weather", "call call-1 weather complete"}, p.reports[:2])
	sent := p.messages(t, 1)
	require.Len(t, sent, 4)
	assert.Equal(t, `{"role":"assistant","content":null,"tool_calls":[{"id":"call-1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`, sent[2])
	assert.Contains(t, sent[3], `{"role":"tool","tool_call_id":"call-1","content":"<untrusted_content_`)
	assert.True(t, p.storage.ToolCalls()[0].Inline())
}

// CAL-1, CAL-2, CAL-3, CAL-4: what the model reads about each call. A call that fails does not
// prevent the others from running.
func TestWhatBecomesOfCalls(t *testing.T) {
	failing := tool(t, "failing", func(map[string]any) (adk.ToolResult, error) { return nil, errors.New("no service") })
	for name, c := range map[string]struct {
		call [3]string
		runs int
		want string
	}{
		"good":            {[3]string{"c", "weather", `{"city":"Oslo"}`}, 1, `c weather{"city":"Oslo"}: artifact 4 °C in Oslo`},
		"no JSON":         {[3]string{"c", "weather", `{"city":`}, 0, `failed c weather{}: The arguments of this call are not valid JSON. They were: {"city":`},
		"a list":          {[3]string{"c", "weather", `[1]`}, 0, `failed c weather{}: The arguments of this call must be a JSON object, but are array. They were: [1]`},
		"null":            {[3]string{"c", "weather", `null`}, 0, `failed c weather{}: The arguments of this call must be a JSON object, but are null. They were: null`},
		"a text":          {[3]string{"c", "weather", `"Oslo"`}, 0, `failed c weather{}: The arguments of this call must be a JSON object, but are string. They were: "Oslo"`},
		"a number":        {[3]string{"c", "weather", ` 1 `}, 0, `failed c weather{}: The arguments of this call must be a JSON object, but are number. They were:  1 `},
		"a boolean":       {[3]string{"c", "weather", `true`}, 0, `failed c weather{}: The arguments of this call must be a JSON object, but are boolean. They were: true`},
		"beyond":          {[3]string{"c", "weather", `{"city":1e999,"x":"` + strings.Repeat("y", 9000) + `"}`}, 0, `failed c weather{}: The arguments of this call have the number 1e999, which is beyond what an argument can hold. They began: {"city":1e999,"x":"` + strings.Repeat("y", 181) + "!"},
		"deep":            {[3]string{"c", "weather", strings.Repeat(`{"a":`, 1002) + "1" + strings.Repeat("}", 1002)}, 0, `failed c weather{}: The arguments of this call are nested too deep: lists and objects can stand 1000 deep in one another. They began: ` + strings.Repeat(`{"a":`, 40) + "!"},
		"too deep":        {[3]string{"c", "weather", strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)}, 0, `failed c weather{}: The arguments of this call are nested too deep: lists and objects can stand 1000 deep in one another. They began: ` + strings.Repeat(`{"a":`, 40) + "!"},
		"of a wrong type": {[3]string{"c", "weather", `{"city":4}`}, 0, "failed c weather{\"city\":4}: E_INVALID_TOOL_ARGS"},
		"too short":       {[3]string{"c", "weather", `{"city":"O"}`}, 0, "failed c weather{\"city\":\"O\"}: E_INVALID_TOOL_ARGS"},
		"empty":           {[3]string{"c", "weather", ``}, 0, "failed c weather{}: E_INVALID_TOOL_ARGS"},
		"unknown":         {[3]string{"c", "whether", `{"a":1}`}, 0, `failed c whether{"a":1}: There is no tool "whether". Tools: failing, weather.`},
		"nameless":        {[3]string{"c", "", `{}`}, 0, `failed c unnamed{}: There is no tool "unnamed". Tools: failing, weather.`},
		"failing":         {[3]string{"c", "failing", `{"city":"Oslo"}`}, 1, "failed c failing{\"city\":\"Oslo\"}: E_TOOL_DOWNSTREAM_ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			good := [3]string{"d", "weather", `{"city":"Bergen"}`}
			p := play(t, scene{options: whole(), replies: []reply{wanting(c.call, good), saying("A")}, tools: []*adk.Tool{weather(t), failing}}).acked(t)
			results := p.results(t)
			require.Len(t, results, 2)
			whole, ends := strings.CutSuffix(c.want, "!")
			assert.True(t, strings.HasPrefix(results[0], whole) && (!ends || results[0] == whole), results[0])
			assert.Equal(t, `d weather{"city":"Bergen"}: artifact 4 °C in Bergen`, results[1])
			assert.Equal(t, c.runs+1, p.toolRuns)
			assert.Len(t, p.bodies, 2)
		})
	}
	// A refusal names each path, and a failure names its cause.
	p := play(t, scene{options: whole(), replies: []reply{calling("c", "weather", `{"place":"Oslo"}`), calling("d", "failing", `{"city":"Oslo"}`), saying("A")},
		tools: []*adk.Tool{weather(t), failing}}).acked(t)
	assert.Contains(t, p.results(t)[0], "/place")
	assert.Contains(t, p.results(t)[0], "city")
	assert.Contains(t, p.results(t)[1], "no service")
}

// CAL-2, SSE-9: a call without arguments has none if the answer says that it ended. Otherwise the answer
// broke off before the arguments: the tool does not run, and the model learns why. The other parts of
// the answer are kept, and calls whose arguments arrived run.
func TestArgumentsThatNeverCame(t *testing.T) {
	const ended = `{"choices":[{"delta":{},"finish_reason":`
	call := func(args string) string {
		return `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"cancel","arguments":` + quoted(args) + `}}]}}]}`
	}
	plainly := func(finish string) reply {
		return plain(`{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"cancel","arguments":""}}]}` + finish + `}]}`)
	}
	const brokeOff = "failed c cancel{}: The answer broke off before the arguments of this call."
	for name, c := range map[string]struct {
		options func() chat.Options
		reply   reply
		want    string
	}{
		"no end at all":              {streaming, stream(call("")), brokeOff},
		"blanks, and no end":         {streaming, stream(call(" \n")), brokeOff},
		"for want of tokens":         {streaming, events(call(""), ended+`"length"}]}`), brokeOff},
		"by a filter":                {streaming, events(call(""), ended+`"content_filter"}]}`), brokeOff},
		"for want of tokens, whole":  {whole, plainly(`,"finish_reason":"length"`), brokeOff},
		"the end is said":            {streaming, events(call("")), "c cancel{}: artifact cancelled"},
		"a reason, and no [DONE]":    {streaming, stream(call("") + "\n\ndata: " + ended + `"tool_calls"}]}`), "c cancel{}: artifact cancelled"},
		"the arguments came, no end": {streaming, stream(call("{}")), "c cancel{}: artifact cancelled"},
		"whole, without a reason":    {whole, plainly(""), "c cancel{}: artifact cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			cancel := tool(t, "cancel", func(map[string]any) (adk.ToolResult, error) { return adk.Text("cancelled"), nil },
				func(init *adk.ToolInit) { init.InputSchema = []byte(`{"type":"object"}`) })
			p := play(t, scene{options: c.options(), replies: []reply{c.reply, saying("A")}, tools: []*adk.Tool{cancel}}).acked(t)
			assert.Equal(t, []string{c.want}, p.results(t))
		})
	}
}

// CAL-2, TOL-4: a tool never gets another number than the one that the model wrote: a rounded id would
// cancel another order.
func TestNumbersThatNoArgumentHolds(t *testing.T) {
	for args, became := range map[string]string{
		`{"id":9007199254740993}`:                       "9007199254740992",
		`{"of":[1,{"id":-9007199254740993}]}`:           "-9007199254740992",
		`{"id":123456789012345678901234567890}`:         "123456789012345677877719597056",
		`{"id":9007199254740992}`:                       "",
		`{"id":-0,"part":0.1,"many":1e300}`:             "",
		`{"id":"9007199254740993","at":1764441000}`:     "",
		`{"id":18014398509481984,"9007199254740993":1}`: "",
	} {
		ran := false
		cancel := tool(t, "cancel", func(map[string]any) (adk.ToolResult, error) { ran = true; return adk.Text("cancelled"), nil },
			func(init *adk.ToolInit) { init.InputSchema = []byte(`{"type":"object"}`) })
		p := play(t, scene{options: whole(), replies: []reply{calling("c", "cancel", args), saying("A")}, tools: []*adk.Tool{cancel}}).acked(t)
		assert.Equal(t, became == "", ran, args)
		if became != "" {
			assert.Contains(t, p.results(t)[0], "which no argument can hold: it would become "+became+". Give it as a string", args)
		}
	}
}

// CAL-3: if the turn has no tools, the model learns that.
func TestNoTools(t *testing.T) {
	p := play(t, scene{options: whole(), replies: []reply{calling("c", "weather", `{}`), saying("A")}}).acked(t)
	assert.Contains(t, p.results(t)[0], `There is no tool "weather". There are no tools in this turn.`)
	assert.NotContains(t, p.bodies[0], `"tools"`)
}

// PRO-6, IDN-1, CAL-3: a tool name that a model made up is sent back as a name that its provider accepts, which
// would otherwise refuse every later request. Records keep the model's name. Names in the registry stay unchanged.
func TestMadeUpNames(t *testing.T) {
	dotted := tool(t, "own.tool", func(map[string]any) (adk.ToolResult, error) { return adk.Text("x"), nil })
	for made, sent := range map[string]string{
		"functions.weather <b>":       "functions_weather__b_",
		"väder":                       "v_der",
		strings.Repeat("weather", 20): strings.Repeat("weather", 20)[:64],
		"whether":                     "whether",
		"own.tool":                    "own.tool",
	} {
		p := play(t, scene{options: whole(), replies: []reply{calling("c", made, `{"city":"Oslo"}`), saying("A")}, tools: []*adk.Tool{weather(t), dotted}}).acked(t)
		assert.Contains(t, p.bodies[1], `"tool_calls":[{"id":"c","type":"function","function":{"name":`+quoted(sent)+`,`)
		assert.Equal(t, made, p.storage.ToolCalls()[0].Tool())
	}
}

// CAL-6: the checksum of a call does not depend on the order of the keys.
func TestChecksum(t *testing.T) {
	p := play(t, scene{options: whole(), replies: []reply{wanting([3]string{"c", "x", `{"a":1,"b":2}`}, [3]string{"d", "x", `{"b":2.0,"a":1}`}), saying("A")}}).acked(t)
	calls := p.storage.ToolCalls()
	assert.Equal(t, calls[0].Checksum(), calls[1].Checksum())
	assert.Contains(t, p.bodies[1], `"arguments":"{\"a\":1,\"b\":2}"`)
}

// CAL-7: a call whose id another call has already, in this answer or an earlier one, does not replace that call.
func TestIDsOfCalls(t *testing.T) {
	city := func(id, name string) [3]string { return [3]string{id, "weather", `{"city":` + quoted(name) + `}`} }
	p := play(t, scene{options: whole(), tools: []*adk.Tool{weather(t)}, replies: []reply{
		wanting(city("call_0", "Oslo"), city("call_0", "Rome"), city("", "Bonn")),
		wanting(city("call_0", "Kiel"), city("own", "Graz")), saying("A")}}).acked(t)
	calls := p.storage.ToolCalls()
	require.Len(t, calls, 5)
	ids := map[string]bool{}
	for _, call := range calls {
		ids[call.ID()] = true
	}
	assert.Len(t, ids, 5)
	assert.True(t, ids["call_0"] && ids["own"])
	assert.Contains(t, p.results(t)[0], "call_0 weather")
}

// CAL-7, ANS-3: calls to which a server gives no id get unique ids, across all turns of a storage, also
// where no turn loads the calls of the one before.
func TestIDsOverTurns(t *testing.T) {
	for name, options := range map[string]func() chat.Options{"streamed": streaming, "whole": whole} {
		t.Run(name, func(t *testing.T) {
			storage := fakes.NewStorage()
			for _, city := range []string{"Oslo", "Rome"} {
				wants := wanting([3]string{"", "weather", `{"city":` + quoted(city) + `}`})
				if name == "streamed" {
					wants = events(strings.Replace(wants.body, "message", "delta", 1))
				}
				p := play(t, scene{options: options(), tools: []*adk.Tool{weather(t)}, storage: storage, replies: []reply{wants, saying("A")},
					change: func(c *adk.Config) { c.TurnInput, c.IDs = nil, fakes.NewIDs(city) }}).acked(t)
				id := storage.ToolCalls()[len(storage.ToolCalls())-1].ID()
				assert.Contains(t, p.bodies[1], `"tool_calls":[{"id":`+quoted(id))
				assert.Contains(t, p.bodies[1], `"tool_call_id":`+quoted(id))
			}
			assert.Len(t, storage.ToolCalls(), 2)
		})
	}
}

// CAL-7: the id of a call that was removed from the dispatch counts as taken all the same.
func TestIDOfARemovedCall(t *testing.T) {
	p := play(t, scene{options: whole(), tools: []*adk.Tool{weather(t)}, replies: []reply{
		calling("call_0", "weather", `{"city":"Oslo"}`), calling("call_0", "weather", `{"city":"Rome"}`), saying("A")},
		change: func(c *adk.Config) {
			c.DispatchInput = []adk.DispatchMiddleware{{Name: "shed", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
				if _, err := dc.ToolCalls().Remove("call_0"); err != nil {
					return err
				}
				next(ctx)
				return nil
			}}}
		}}).acked(t)
	assert.Len(t, p.results(t), 2)
	assert.Contains(t, p.results(t)[1], "Rome")
}

// CAL-7: with IDsAlnum9, both messages of a pair are sent with an id of nine letters and digits, and
// records keep their own ids.
func TestAlnum9(t *testing.T) {
	options := whole()
	options.ToolCallIDs = chat.IDsAlnum9
	p := play(t, scene{options: options, tools: []*adk.Tool{weather(t)}, replies: []reply{
		wanting([3]string{"call_a-very-long-id", "weather", `{"city":"Oslo"}`}, [3]string{"abcDEF123", "weather", `{"city":"Rome"}`}), saying("A")}}).acked(t)
	assert.Equal(t, "call_a-very-long-id", p.storage.ToolCalls()[0].ID())
	sent := p.messages(t, 1)
	const short = "1lYWwfh4F"
	assert.Contains(t, sent[1], `"tool_calls":[{"id":"`+short+`"`)
	assert.Contains(t, sent[2], `"tool_call_id":"`+short+`"`)
	assert.Contains(t, sent[3], `"tool_calls":[{"id":"abcDEF123"`)
	assert.Contains(t, sent[4], `"tool_call_id":"abcDEF123"`)
}

// CAL-1, CAL-4, RTY-5: after an abort within a call, the calls behind it are neither run nor stored, and
// nothing is signalled. If the tool fails, the dispatch ends with its error.
func TestAbortWithinACall(t *testing.T) {
	aborting := func(fails bool) *adk.Tool {
		return must[*adk.Tool](t)(adk.NewTool(adk.ToolInit{Name: "stop", Description: "Stops.", InputSchema: []byte(`{"type":"object"}`),
			Handler: func(_ context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				if err := dc.Abort(errors.New("enough")); err != nil || fails {
					return nil, errors.Join(err, errors.New("half done"))
				}
				return adk.Text("done"), nil
			}}))
	}
	for name, fails := range map[string]bool{"a good one": false, "a failing one": true} {
		t.Run(name, func(t *testing.T) {
			p := play(t, scene{options: whole(), replies: []reply{wanting([3]string{"c", "stop", `{}`}, [3]string{"d", "weather", `{"city":"Oslo"}`})},
				tools: []*adk.Tool{aborting(fails), weather(t)}})
			assert.Equal(t, adk.StatusAborted, p.end.Status)
			assert.Empty(t, p.results(t))
			assert.Empty(t, p.failures)
			assert.Equal(t, 1, p.toolRuns)
			assert.NotContains(t, strings.Join(p.reports, " "), "call d")
			if fails {
				assert.ErrorContains(t, p.end.Error, "half done")
			}
		})
	}
}

// REQ-13, REQ-12, CAL-5: tools are forged from the artifacts that the dispatch holds, and come after its own
// tools. Their results are texts, from which nothing is forged, and no forged tool stays registered.
func TestForgedTools(t *testing.T) {
	p := play(t, scene{options: whole(), tools: []*adk.Tool{weather(t)}, replies: []reply{
		calling("c", "weather", `{"city":"Oslo"}`), calling("d", "artifact_head", `{"callId":"c"}`), saying("A")}}).acked(t)
	assert.NotContains(t, p.bodies[0], "artifact_head")
	assert.Less(t, strings.Index(p.bodies[1], `"name":"weather","description"`), strings.Index(p.bodies[1], `"name":"artifact_head"`))
	assert.Contains(t, p.bodies[2], `"enum":["c"]`)
	assert.NotContains(t, p.bodies[2], `"enum":["c","d"]`)
	call := p.storage.ToolCalls()[1]
	assert.True(t, call.FromArtifactTool())
	assert.Equal(t, `d artifact_head{"callId":"c"}: 4 °C in Oslo`, p.results(t)[1])
}

// ART-5, ART-6, CAL-5: a result is whole in the prompt unless a middleware sets the size from which on it
// is shown by a handle. The model can then ask it with tools, and the storage holds the same result
// either way.
func TestHandles(t *testing.T) {
	for name, c := range map[string]struct {
		handles []adk.DispatchMiddleware
		whole   bool
	}{
		"none":        {nil, true},
		"larger ones": {[]adk.DispatchMiddleware{artifact.Handles(artifact.HandleOptions{From: 14})}, true},
		"as large":    {[]adk.DispatchMiddleware{artifact.Handles(artifact.HandleOptions{From: 13})}, false},
		"all":         {[]adk.DispatchMiddleware{artifact.Handles(artifact.HandleOptions{})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, scene{options: whole(), tools: []*adk.Tool{weather(t)}, live: []string{replay.Middleware}, change: func(config *adk.Config) {
				config.DispatchInput = c.handles
			}, replies: []reply{calling("c", "weather", `{"city":"Oslo"}`), calling("d", "artifact_head", `{"callId":"c"}`), saying("A")}}).acked(t)
			for _, body := range p.bodies[1:] {
				assert.Contains(t, body, `"enum":["c"]`)
				assert.Equal(t, !c.whole, strings.Contains(body, `- callId: c\n- kind: Text artifact\n- byteLength: 13\n`))
			}
			assert.Equal(t, c.whole, strings.Contains(p.bodies[1], "4 °C in Oslo"))
			assert.Contains(t, p.bodies[2], "4 °C in Oslo", "the answer of a forged tool is a text")
			assert.True(t, p.storage.ToolCalls()[0].Inline())
		})
	}
}

// CAL-5, CAL-4: when a constructor fails, its call fails.
func TestConstructorFails(t *testing.T) {
	broken := tool(t, "weather", func(map[string]any) (adk.ToolResult, error) { return adk.Text("x"), nil }, func(init *adk.ToolInit) {
		init.Effect = adk.EffectReads
		init.ArtifactConstructor = func(context.Context, adk.ToolResult) (adk.ToolResult, error) { return nil, errors.New("no form") }
	})
	own := tool(t, "json", func(map[string]any) (adk.ToolResult, error) { return adk.Text(`{"a":1}`), nil }, func(init *adk.ToolInit) {
		init.ArtifactConstructor, init.Effect = artifact.JSON, adk.EffectReads
	})
	p := play(t, scene{options: whole(), tools: []*adk.Tool{broken, own}, live: []string{"run/tools", "tool/*"}, replies: []reply{
		wanting([3]string{"c", "weather", `{"city":"Oslo"}`}, [3]string{"d", "json", `{"city":"Oslo"}`}), saying("A")}}).acked(t)
	assert.Contains(t, p.results(t)[0], "failed c weather")
	assert.Contains(t, p.results(t)[0], "E_ARTIFACT_CONSTRUCTOR")
	assert.Equal(t, `d json{"city":"Oslo"}: artifact {"a":1}`, p.results(t)[1])
}

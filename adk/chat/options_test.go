package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

type object = map[string]any

// stashed plays a turn whose stash holds the options.
func stashed(t *testing.T, options object, change ...func(*scene)) *played {
	t.Helper()
	sc := scene{options: whole(), replies: []reply{saying("A")}, raw: adk.RawTurn{Stash: object{chat.StashKey: options}}}
	for _, c := range change {
		c(&sc)
	}
	return play(t, sc)
}

// OPT-1, OPT-3: which values each option accepts. An option accepts the same values in a stash and in
// Options, so they are tried in a stash, which can hold any value.
func TestValuesOfOptions(t *testing.T) {
	list := func(all ...any) []any { return all }
	schema := object{"type": "object"}
	for name, c := range map[string]struct{ good, bad []any }{
		"model":                    {list("x"), list("", 1, true)},
		"baseURL":                  {list("http://localhost/v1", "https://x.example"), list("", "example.com", "ftp://x", "http://", 1)},
		"headers":                  {list(object{"X-Team": "a"}, object{}), list("x", object{"X-Team": 1}, object{"X Team": "a"}, object{"X-Team": "a\nb"}, list("x"))},
		"stream":                   {list(true, false), list("true", 1)},
		"streamIdleTimeoutMs":      {list(0, 30000, 120000, 5.0), list(-1, 1.5, "1", true)},
		"requestTimeoutMs":         {list(0, 30000, 120000), list(-1, 1.5, "1", true)},
		"retry":                    {list(object{}, object{"maxAttempts": 3}, object{"maxAttempts": 1, "baseDelayMs": 0, "maxDelayMs": 1, "retriableStatuses": list(100, 599), "honorRetryAfter": false}), list(3, list(), object{"maxAttempts": 0}, object{"maxAttempts": 1.5}, object{"baseDelayMs": -1}, object{"maxDelayMs": 0}, object{"retriableStatuses": "429"}, object{"retriableStatuses": list(600)}, object{"retriableStatuses": list(99)}, object{"honorRetryAfter": "yes"}, object{"jitter": 1})},
		"selfIdentity":             {list("assistant", "bot 2"), list("", 1)},
		"thoughtSurfacing":         {list("all-self", "latest-self", "all"), list("", "none", 1)},
		"replayCompatibility":      {list(list(), list("claude/1")), list("claude/1", list(""), list(1))},
		"reasoningFieldPrecedence": {list(list("reasoning"), list("reasoning_content", "reasoning")), list(list(), list("thought"), list("reasoning", "reasoning"), "reasoning")},
		"bucketOrder":              {list(list(), list("timeline"), list("timeline", "memories")), list(list("messages"), list("timeline", "timeline"), "timeline")},
		"contextWindow":            {list(1, 128000), list(0, -1, 1.5, "1")},
		"unsupportedMediaPolicy":   {list("throw", "fallback-stash", "synthetic-description", object{"mode": "fallback-stash", "stashKeys": list("text:x")}), list("", "x", 1, object{"stashKeys": list("x")}, object{"mode": "throw", "stashKeys": list("x")}, object{"mode": "fallback-stash", "stashKeys": list("")}, object{"mode": "throw", "x": 1})},
		"strictToolChoice":         {list(true), list("x")},
		"autoAck":                  {list(true), list(1)},
		"toolCallIds":              {list("as-is", "alnum9"), list("", "x", 9)},
		"extraBody":                {list(object{}, object{"top_k": 3}), list(1, object{"model": "x"}, object{"messages": list()}, object{"tools": list()}, object{"_adk_reasoning_payloads": 1}, object{"autoAck": true})},
		"resets":                   {list(list(), list("temperature")), list("temperature", list("tempo"), list(1))},
		"temperature":              {list(0, 2, 0.5), list(3, -1, "1")},
		"top_p":                    {list(0, 1), list(1.5, -0.1)},
		"frequency_penalty":        {list(-2, 2), list(-3, 3)},
		"presence_penalty":         {list(-2, 2), list(5)},
		"n":                        {list(1), list(0, -1, 1.5)},
		"max_tokens":               {list(1), list(0)},
		"max_completion_tokens":    {list(1), list(0)},
		"top_logprobs":             {list(0, 20), list(21, -1)},
		"logprobs":                 {list(true), list(1)},
		"logit_bias":               {list(object{"50256": -100}), list(object{"1": "x"}, list())},
		"seed":                     {list(0, -7), list(1.5, "x")},
		"stop":                     {list("x", list("x", "y")), list(1, list(1))},
		"user":                     {list("u"), list(1)},
		"store":                    {list(true), list("x")},
		"metadata":                 {list(object{"a": "b"}), list(object{"a": 1}, "x")},
		"safety_identifier":        {list("s"), list(1)},
		"prompt_cache_key":         {list("p"), list(1)},
		"prompt_cache_retention":   {list("in_memory", "24h"), list("7d")},
		"reasoning_effort":         {list("none", "minimal", "low", "medium", "high"), list("extreme")},
		"service_tier":             {list("auto", "default", "flex", "priority", "scale"), list("gold")},
		"verbosity":                {list("low", "medium", "high"), list("max")},
		"response_format":          {list(object{"type": "text"}, object{"type": "json_object"}, object{"type": "json_schema", "json_schema": object{"name": "x", "schema": schema, "strict": true, "description": "d"}}), list("text", object{"type": "foo"}, object{"type": "json_schema"}, object{"type": "json_schema", "json_schema": object{"name": "x"}}, object{"type": "text", "x": 1})},
		"tool_choice":              {list("none", "auto", "required", object{"type": "function", "function": object{"name": "x"}}, object{"type": "custom", "custom": object{"name": "x"}}, object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": list(object{"type": "function", "function": object{"name": "x"}})}}), list("all", object{"type": "function"}, object{"type": "function", "function": object{}}, object{"type": "allowed_tools", "allowed_tools": object{"mode": "none", "tools": list()}}, object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": list("x")}})},
		"parallel_tool_calls":      {list(false), list("x")},
		"stream_options":           {list(object{}, object{"include_usage": true, "include_obfuscation": false}), list(object{"x": true}, true)},
		"modalities":               {list(list("text", "audio")), list(list("video"), "text")},
		"audio":                    {list(object{"voice": "alloy", "format": "wav"}), list(object{"voice": "alloy"}, object{"voice": "alloy", "format": "aac"})},
		"prediction":               {list(object{"type": "content", "content": "x"}, object{"type": "content", "content": list(object{"type": "text", "text": "x"})}), list("x", object{"type": "text", "content": "x"}, object{"type": "content", "content": list("x")})},
		"web_search_options":       {list(object{}, object{"search_context_size": "low", "user_location": object{"type": "approximate", "approximate": object{"city": "Oslo", "country": "NO", "region": "x", "timezone": "Europe/Oslo"}}}), list(object{"search_context_size": "all"}, object{"user_location": object{"type": "exact"}})},
		"function_call":            {list("none", "auto", object{"name": "x"}), list("required", object{})},
		"functions":                {list(list(object{"name": "x", "description": "d", "parameters": schema})), list(list(object{"description": "d"}), list("x"))},
	} {
		t.Run(name, func(t *testing.T) {
			for _, value := range c.good {
				p := stashed(t, object{name: value})
				assert.Empty(t, p.failures, "%v", value)
				assert.Len(t, p.bodies, 1)
			}
			for _, value := range c.bad {
				p := stashed(t, object{name: value})
				err := p.failure(t)
				assert.ErrorIs(t, err, adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS, "%v", value)
				assert.ErrorContains(t, err, name)
				assert.Empty(t, p.bodies, "%v", value)
				assert.Equal(t, adk.StatusNack, p.end.Status)
			}
		})
	}
}

// OPT-3, OPT-4: which names are refused in a stash, and which are refused everywhere.
func TestWhatIsNoOption(t *testing.T) {
	for name, c := range map[string]struct{ stash, says string }{
		"a key":              {`{"apiKey":"k"}`, "apiKey cannot stand in a stash"},
		"a transport":        {`{"transport":"x"}`, "transport cannot stand in a stash"},
		"a counter":          {`{"counter":"x"}`, "counter cannot"},
		"sets":               {`{"helperSets":{}}`, "helperSets cannot"},
		"an authorization":   {`{"headers":{"authorization":"x"}}`, "headers.authorization is a secret"},
		"a key of one's own": {`{"headers":{"X-My-Key":"x"}}`, "headers.X-My-Key is a secret"},
		"a cookie":           {`{"headers":{"Cookie":"x"}}`, "headers.Cookie is a secret"},
		"a name":             {`{"helpers":"mine"}`, `helpers is "mine", and no set has that name`},
		"helpers":            {`{"helpers":{}}`, "helpers in the stash is no text"},
		"unknown":            {`{"tempo":1}`, "tempo is unknown"},
		"former":             {`{"bucketBudgets":{},"maxInlineToolResultFraction":1,"trustedTools":[]}`, "bucketBudgets is unknown; maxInlineToolResultFraction is unknown; trustedTools is unknown"},
		"several":            {`{"temperature":3,"top_p":"x"}`, "temperature is out of bounds, want 0 to 2; top_p is a string, want a number"},
	} {
		t.Run(name, func(t *testing.T) {
			var options object
			require.NoError(t, json.Unmarshal([]byte(c.stash), &options))
			p := stashed(t, options)
			assert.ErrorContains(t, p.failure(t), c.says)
			assert.Empty(t, p.bodies)
		})
	}
	p := play(t, scene{options: whole(), raw: adk.RawTurn{Stash: object{chat.StashKey: "x"}}})
	assert.ErrorContains(t, p.failure(t), "openaiChatCompletions in the stash is no map")
}

// OPT-1: New names every fault at once, and never a value.
func TestNew(t *testing.T) {
	_, err := chat.New(chat.Options{BaseURL: "nowhere", Temperature: new(3.0), RequestTimeout: new(time.Microsecond), Seed: new(1), Headers: map[string]string{"X-Key": "secret\n"}, Resets: []string{"tempo"}})
	assert.ErrorIs(t, err, adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS)
	var failure *adk.Error
	require.ErrorAs(t, err, &failure)
	var paths []string
	for _, f := range failure.Faults {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{"baseURL", "headers.X-Key", "requestTimeoutMs", "temperature", "model", "resets"}, paths)
	assert.NotContains(t, err.Error(), "secret\n")
	_, err = chat.New(chat.Options{Model: "m", APIKey: "secret\n"})
	assert.ErrorContains(t, err, "apiKey has a control character")
	assert.NotContains(t, err.Error(), "secret")
	_, err = chat.New(chat.Options{})
	assert.ErrorContains(t, err, "model is missing")
	for _, number := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err = chat.New(chat.Options{Model: "m", Temperature: &number})
		assert.ErrorContains(t, err, fmt.Sprintf("temperature is %v, want a number", number))
	}
	_, err = chat.New(chat.Options{Model: "m"})
	assert.NoError(t, err)
	// BUD-1, TOK-4: an encoding without a window is a fault of an iteration; an unknown encoding is one of New.
	_, err = chat.New(chat.Options{Model: "m", TokenEncoding: "o200k_base"})
	assert.NoError(t, err)
	_, err = chat.New(chat.Options{Model: "m", TokenEncoding: "mine"})
	assert.ErrorContains(t, err, "tokenEncoding")
	_, err = chat.New(chat.Options{Model: "m", TokenEncoding: "mine", Counter: func(string, adk.Encoding) (int, bool, bool) { return 1, true, true }})
	assert.NoError(t, err)
	p := play(t, scene{options: chat.Options{TokenEncoding: "o200k_base"}})
	assert.ErrorContains(t, p.failure(t), "contextWindow is missing beside tokenEncoding")
	assert.Empty(t, p.bodies)
}

// OPT-2: overrides win over the constructor's options, and the stash wins over both. Headers and Retry are
// merged by key. What is not set stays, and what is reset gets its default.
func TestLayers(t *testing.T) {
	options := whole()
	options.Temperature, options.TopP, options.User, options.Stop = new(0.1), new(0.1), "one", []string{"x", "y"}
	options.Headers = map[string]string{"X-One": "1", "x-two": "1", "X-Three": "1"}
	options.Retry = chat.Retry{MaxAttempts: new(2), MaxDelay: new(time.Second)}
	busy := refusing(503, "busy", "Retry-After", "9")
	p := play(t, scene{options: options, replies: []reply{busy, busy, saying("A")},
		overrides: []chat.Options{
			{TopP: new(0.2), Headers: map[string]string{"X-Two": "2", "x-three": "2"}, Retry: chat.Retry{MaxAttempts: new(3)}, Resets: []string{"temperature"}},
			{PresencePenalty: new(0.0)}},
		raw: adk.RawTurn{Stash: object{chat.StashKey: object{"user": "three", "headers": object{"X-Three": "3"}, "stop": []any{"z"},
			"retry": object{"maxDelayMs": 2000}, "resets": []any{"presence_penalty"}}}}}).acked(t)
	body := p.bodies[2]
	assert.NotContains(t, body, "temperature")
	assert.NotContains(t, body, "presence_penalty")
	assert.Contains(t, body, `"top_p":0.2,"stop":["z"],"user":"three"`)
	assert.Equal(t, []time.Duration{2 * time.Second, 2 * time.Second}, p.slept(t))
	header := p.asked[2].Header
	assert.Equal(t, []string{"1", "2", "3"}, []string{header.Get("X-One"), header.Get("X-Two"), header.Get("X-Three")})
}

// OPT-2: null resets an option where a value can be null, as in a stash. A window can be removed for
// one iteration (BUD-8).
func TestResets(t *testing.T) {
	options := whole()
	options.TokenEncoding, options.ContextWindow = "o200k_base", new(1)
	p := play(t, scene{options: options, replies: []reply{saying("A")}})
	assert.ErrorIs(t, p.failure(t), adk.E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW)
	assert.Empty(t, p.bodies)
	overflow, found := budget.OverflowOf(p.failure(t))
	require.True(t, found)
	assert.Equal(t, 1, overflow.Window)
	assert.Equal(t, []string{budget.LogUsage}, p.kinds())
	for _, said := range []object{{"resets": []any{"tokenEncoding"}}, {"tokenEncoding": json.RawMessage("null")}, {"contextWindow": 100}} {
		p := stashed(t, said, func(sc *scene) { sc.options = options })
		assert.Empty(t, p.failures, "%v", said)
		assert.Len(t, p.bodies, 1)
	}
}

// OPT-2: one adapter serves several executors, and its options cannot be changed from outside.
func TestAdapterIsStateless(t *testing.T) {
	headers := map[string]string{"X-A": "1"}
	s := &server{replies: []reply{saying("A"), saying("B")}}
	adapter, err := chat.New(chat.Options{Model: "one", Stream: new(false), AutoAck: new(true), Transport: s, Headers: headers})
	require.NoError(t, err)
	for i, executor := range []adk.Executor{adapter.Executor("a", chat.Options{Model: "two"}), adapter.Executor("b")} {
		play(t, scene{options: whole(), alone: true, change: func(c *adk.Config) { c.Executor = executor }}).acked(t)
		assert.Contains(t, s.bodies[i], `"model":"`+[]string{"two", "one"}[i]+`"`)
		headers["X-A"] = "2"
		assert.Equal(t, "1", s.asked[i].Header.Get("X-A"))
	}
}

// OPT-3: a stash chooses helpers by the name of their set, for the turn's iterations.
func TestHelperSets(t *testing.T) {
	quiet := chat.Helpers{}
	quiet.Instructions = func(_ context.Context, texts []string, _ string) (string, error) {
		return "RULES " + strings.Join(texts, ","), nil
	}
	options := whole()
	options.HelperSets = map[string]chat.Helpers{"quiet": quiet}
	raw := adk.RawTurn{Instructions: []string{"Be brief."}, Stash: object{chat.StashKey: object{"helpers": "quiet"}}}
	p := play(t, scene{options: options, replies: []reply{saying("A")}, raw: raw}).acked(t)
	assert.Contains(t, p.bodies[0], "RULES Be brief.")
	raw.Stash = nil
	p = play(t, scene{options: options, replies: []reply{saying("A")}, raw: raw}).acked(t)
	assert.Contains(t, p.bodies[0], "<system_instructions")
}

// OPT-4: the fields of Options and the rows of the table are the same. The names of all options that
// are sent are those in the request body.
func TestOptionsAndTable(t *testing.T) {
	tagged := map[string]bool{}
	for f := range reflect.TypeFor[chat.Options]().Fields() {
		tagged[f.Tag.Get("option")] = true
	}
	for _, name := range chat.OptionNames() {
		assert.True(t, tagged[name], name)
		delete(tagged, name)
	}
	assert.Empty(t, tagged)
}

// IDN-2, PRO-1, IDN-4: the options of the prompt are passed on to it.
func TestPromptOptions(t *testing.T) {
	options := whole()
	options.SelfIdentity, options.BucketOrder = "bot", []prompt.Bucket{prompt.Timeline}
	p := play(t, scene{options: options, replies: []reply{saying("A")}, records: []adk.Record{asking(t, "Hi.")},
		raw: adk.RawTurn{SystemPrompt: "Be.", Instructions: []string{"Dropped."}}}).acked(t)
	assert.NotContains(t, p.bodies[0], "Dropped")
	assert.Equal(t, "bot", p.storage.Messages()[1].Identity().Identifier())
}

// OPT-1, ART-20: one error names every fault, including those of bounds, of artifacts and of options that
// depend on another option, whatever else is wrong. A window that is refused is not reported as
// missing as well.
func TestAllFaultsAtOnce(t *testing.T) {
	_, err := chat.New(chat.Options{
		Temperature: new(3.0), TokenEncoding: "nope", ContextWindow: new(-5), BucketOrder: []prompt.Bucket{"x", "timeline", "timeline"},
		ExtraBody: object{"model": "x"}, Resets: []string{"tempo"}, ThoughtSurfacing: "some",
		Artifacts: artifact.Config{MaxResult: -1, RecordLimit: -2, Flavours: []artifact.Flavour{artifact.TextFlavour, artifact.TextFlavour}},
	})
	require.ErrorIs(t, err, adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS)
	var paths []string
	for _, f := range err.(*adk.Error).Faults {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{"contextWindow", "temperature", "model", "bucketOrder", "bucketOrder", "thoughtSurfacing", "tokenEncoding",
		"artifacts.MaxResult", "artifacts.RecordLimit", "artifacts.Flavours[1]", "resets", "extraBody.model"}, paths, err)
	assert.ErrorContains(t, err, "artifacts.MaxResult is -1, want 0 or more bytes")

	p := play(t, scene{options: whole(), overrides: []chat.Options{{TokenEncoding: "o200k_base", ContextWindow: new(-5)}}, alone: true})
	assert.NotContains(t, p.failure(t).Error(), "missing")
}

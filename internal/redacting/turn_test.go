package redacting_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// recordedWith runs a turn and returns the trace of a recorder with these options.
func recordedWith(t testing.TB, prepare func(*tracetest.SampleKit), options replay.RecordOptions) []byte {
	t.Helper()
	var file bytes.Buffer
	recorder := replay.Record(&file, options)
	tracetest.SampleTurn{Prepare: func(kit *tracetest.SampleKit) {
		prepare(kit)
		kit.Config.Probe = adk.MultiProbe(kit.Config.Probe, recorder)
	}}.Run(t)
	require.NoError(t, recorder.Err())
	return file.Bytes()
}

// secret is placed in the turns of these tests.
const secret = "hunter2.is/my#secret"

// undotted is a secret without a dot, which can be a key of a stash.
const undotted = "hunter2-as-a-key"

var secretPattern = &redact.Rules{Patterns: []redact.Pattern{{Kind: "mine", Expr: `hunter2\.is/my#secret`}, {Kind: "key", Expr: undotted}}}

// leaks returns the ways in which a trace contains the secret, or a part of it from which the secret can
// be guessed.
func leaks(file []byte) []string {
	var found []string
	for _, part := range []string{secret, "hunter2", "my#secret", base64.StdEncoding.EncodeToString([]byte(secret))} {
		if bytes.Contains(file, []byte(part)) {
			found = append(found, part)
		}
	}
	return found
}

// secretiveTurn returns a turn with the secret wherever user code can put it. text returns a text with
// the secret, and deltas splits such a text.
func secretiveTurn(text func() string, deltas func(string) []string) func(*tracetest.SampleKit) {
	return func(t *tracetest.SampleKit) {
		named := func(label string) string { return label + " " + secret }
		tool := tracetest.Must(adk.NewTool(adk.ToolInit{Name: named("tool"), Description: text(), Meta: map[string]any{named("meta"): text()},
			InputSchema: []byte(`{"type":"object","description":"` + secret + `","properties":{
				"q":{"type":"string","default":"` + secret + `"},"` + secret + `":{"type":"integer"}},"required":["` + secret + `"]}`),
			Handler: func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
				if args["fail"] != nil {
					return nil, errors.New(text())
				}
				return adk.Bytes(text()), nil
			}}))
		t.Raw = adk.RawTurn{SystemPrompt: text(), Instructions: []string{named("first"), named("second")},
			Stash: map[string]any{undotted: text(), "n": map[string]any{"list": []any{text(), []string{text()}, []byte(text()), map[string][]string{secret: {text()}}}}}}
		t.Raw.Functional.Message = func(e adk.MessageEvent) {
			if e.Complete {
				panic(text())
			}
		}
		t.Raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
			_, _ = e.Gate.Resolve(named("mallory"), 5)
			_, _ = e.Gate.Resolve(named("alice"), map[string]any{"why": text()})
		}
		t.Kept[adk.Messages].Kept = []adk.Record{tracetest.AMessage(named("m"), adk.RoleUser, text())}
		t.Kept[adk.Memories].Refuse = errors.New(text())
		t.Config.Tools = []*adk.Tool{tool}
		t.Config.TurnInput = []adk.TurnMiddleware{tracetest.TurnStep(named("hydrate"), tracetest.Hydrate), tracetest.TurnStep(named("emits"), func(ctx context.Context, tc *adk.TurnContext) error {
			full := ""
			for _, delta := range deltas(text()) {
				full += delta
				_ = tc.EmitMessage(adk.MessageEvent{ID: named("own"), Delta: delta, Full: full})
			}
			_ = tc.EmitThought(adk.ThoughtEvent{ID: named("own"), Delta: text(), Full: text(), Complete: true})
			_ = tc.EmitToolCall(adk.ToolCallEvent{ID: named("own"), Tool: secret, Args: map[string]any{secret: text()}, Results: adk.Text(text())})
			strand := tracetest.Must(tc.Fork(ctx, named("strand"), func(context.Context, *adk.TurnContext) error { panic(errors.New(text())) }))
			_ = strand.Wait()
			return tc.Stash().Set(named("path"), text())
		})}
		t.Config.Executor = adk.Executor{Name: named("model"), Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			answer := named(fmt.Sprintf("answer %d", dc.Iteration()))
			for _, delta := range deltas(text()) {
				_ = tracetest.Must(h.ReportMessage(answer, delta, false))
				_ = tracetest.Must(h.ReportThought(answer, delta, false))
			}
			_ = tracetest.Must(h.ReportMessage(answer, "", true))
			_, _ = h.ReportMessage(answer, text(), false)
			args := fmt.Sprintf(`{%q: 1, "more": %q}`, secret, text())
			_ = tracetest.Must(h.ReportToolCall(named("call"), adk.ToolCallReport{Tool: tool.Name(), Args: args}))
			_, _ = dc.Execute(ctx, tool, args)
			_, err := dc.Execute(ctx, tool, map[string]any{secret: 1, "fail": text()})
			_, invalid := dc.Execute(ctx, tool, map[string]any{secret: text()})
			_, _ = dc.Execute(ctx, tool, "no object "+text())
			h.Log(adk.LevelWarn, named("kind"), text(), map[string]any{secret: text(), "err": err.Error()})
			_ = dc.ToolCalls().Store(ctx, tracetest.AToolCall(named("call"), text(), text()))
			_ = dc.Thoughts().Store(ctx, tracetest.AThought(named("thought"), text()))
			_ = dc.Memories().Store(ctx, tracetest.AMemory(named("memory"), text()))
			_ = dc.Messages().Delete(ctx, named("m"))
			_, _ = dc.WaitFor(ctx, adk.Gate{ID: named("gate"), Reason: text(), Payload: text(), Schema: []byte(`{"type":"object","description":"` + secret + `"}`)})
			if dc.Iteration() == 0 {
				_ = tracetest.Must(dc.OnAck(named("handler"), func(context.Context, *adk.DispatchContext) { panic(text()) }))
				return nil
			}
			if strings.HasPrefix(text(), secret) {
				return errors.Join(fmt.Errorf("%s: %w", text(), invalid), dc.Nack(err))
			}
			return dc.Ack()
		}}
		t.Config.TurnOutput = []adk.TurnMiddleware{tracetest.TurnStep(named("fails"), func(context.Context, *adk.TurnContext) error { return errors.New(text()) })}
	}
}

// Wherever a secret comes from, and however a stream splits it, no part of it is in the file, and the
// file replays.
func TestASecretIsNowhereInATrace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := func() string {
			return rapid.SampledFrom([]string{"", "a ", "é\n", "hunter"}).Draw(r, "before") + secret + rapid.SampledFrom([]string{"", " z", "\"", secret}).Draw(r, "after")
		}
		deltas := func(text string) []string {
			parts := []string{rapid.SampledFrom([]string{"", "\xff", "\xc3"}).Draw(r, "broken")}
			for len(text) > 0 {
				n := rapid.IntRange(1, len(text)).Draw(r, "delta")
				parts, text = append(parts, text[:n]), text[n:]
			}
			return parts
		}
		file := recordedWith(t, secretiveTurn(text, deltas), replay.RecordOptions{Redact: secretPattern})
		if found := leaks(file); len(found) > 0 {
			at := bytes.Index(file, []byte(found[0]))
			r.Fatalf("%q in …%s…", found, file[max(0, at-300):min(len(file), at+200)])
		}
		report := verifies(t, file, "redacted")
		assert.Contains(t, strings.Join(report.NotCompared, "\n"), "what was redacted")
	})
}

// If a secret is spread over the deltas of a stream, the stream keeps its lines, and the placeholder is
// where the secret began.
func TestASecretInDeltas(t *testing.T) {
	whole := "it is " + secret + ", isn't it? hunt!"
	for at := range len(whole) + 1 {
		for second := at; second <= len(whole); second++ {
			s := redacting.NewRedactStream(redacting.NewRedactor(mustRules(t, secretPattern)))
			var places [][2]int
			for _, delta := range []string{whole[:at], whole[at:second], whole[second:]} {
				from, to := s.Add(delta, false)
				places = append(places, [2]int{from, to})
			}
			s.End()
			var joined []string
			for i, p := range places {
				joined = append(joined, s.Between(p[0], p[1]))
				assert.Equal(t, strings.Join(joined, ""), s.UpTo(p[1]), "after %d", i)
			}
			assert.Equal(t, "it is [redacted:mine:1], isn't it? hunt!", strings.Join(joined, ""), "parted at %d and %d", at, second)
			if begins := len("it is "); at > begins {
				assert.Contains(t, joined[0], "[redacted:mine:1]", "parted at %d and %d", at, second)
			}
		}
	}
}

func mustRules(t require.TestingT, r *redact.Rules) *redacting.Compiled {
	rules, err := redacting.Compile(r)
	require.NoError(t, err)
	return rules
}

// Lines wait only while a secret may have begun, and are then written in their original
// order.
func TestLinesWaitForAStreamNoLongerThanTheyMust(t *testing.T) {
	var file bytes.Buffer
	w := redacting.NewWriter(&file, trace.Header{}, mustRules(t, secretPattern), trace.Options{})
	lines := func() int { return bytes.Count(file.Bytes(), []byte("\n")) - 1 }
	seq := 0
	tell := func(c adk.Crossing) {
		seq++
		c.Seq, c.At = seq, tracetest.FoldStart
		require.NoError(t, w.Write(&c))
	}
	say := func(id, text string) {
		tell(adk.Crossing{Kind: adk.KindReportMessage, Call: 2, Name: id, Text: text})
	}
	tell(adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelDispatch, Name: "d"}})
	tell(adk.Crossing{Kind: adk.KindCall, Call: 1, ID: 2, Seam: adk.Seam{Label: adk.LabelExecutor, Name: "m"}})
	say("a", "the hun")
	assert.Equal(t, 2, lines(), "it may have begun")
	say("b", "meanwhile")
	tell(adk.Crossing{Kind: adk.KindNow, Call: 2})
	assert.Equal(t, 2, lines(), "the order stays")
	say("a", "ters")
	assert.Equal(t, 6, lines(), "it has not begun")
	say("a", " hunter2.is/my")
	assert.Equal(t, 6, lines())
	say("a", "#secret")
	say("a", "!")
	assert.Equal(t, 9, lines(), "it has ended")
	say("a", "hunter2")
	assert.Equal(t, 9, lines())
	tell(adk.Crossing{Kind: adk.KindDispatchEnd, Call: 1, Status: adk.StatusAck})
	assert.Equal(t, 11, lines(), "the streams of the dispatch have ended")
	require.NoError(t, w.Close())
	assert.Contains(t, file.String(), `"delta":" [redacted:mine:1]"}`)
	assert.Contains(t, file.String(), `"delta":"hunter2"}`)
	assert.Contains(t, file.String(), `{"end":11,"redacted":1,"sha256":`)
}

// There is a limit on how long lines wait for what may be a secret.
func TestWhatWaitsIsBounded(t *testing.T) {
	thorough.Long(t)
	thorough.OneGoroutine(t)
	t.Parallel()
	rules := mustRules(t, &redact.Rules{Patterns: []redact.Pattern{{Kind: "block", Expr: `BEGIN[^!]*!`}}})
	file := recordedWith(t, func(kit *tracetest.SampleKit) {
		kit.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			_ = tracetest.Must(h.ReportMessage("m", "a BEGIN of ", false))
			for range 3 * redacting.MaxHeld / 1000 {
				_ = tracetest.Must(h.ReportMessage("m", strings.Repeat("x", 1000), false))
			}
			_ = tracetest.Must(h.ReportMessage("m", "the end! and more", true))
			return dc.Ack()
		}
	}, replay.RecordOptions{Redact: &redact.Rules{Patterns: []redact.Pattern{{Kind: "block", Expr: `BEGIN[^!]*!`}}}})
	require.NotNil(t, rules)
	assert.Less(t, len(file), 3*redacting.MaxHeld/2, "the text was cut")
	assert.NotContains(t, string(file), "xxx")
	assert.NotContains(t, string(file), "more", "it is taken for a secret to the end of its stream")
	assert.Contains(t, string(file), `a [redacted:unended:1]`)
	verifies(t, file, "cut")
}

// A path names a field by the last names on the way to it.
func TestPaths(t *testing.T) {
	turn := func(kit *tracetest.SampleKit) {
		kit.Raw.Stash = map[string]any{"auth": map[string]any{"token": "one-two-three", "n": 5, "f": 2.5, "on": true, "at": tracetest.FoldStart, "none": nil, "i": int64(7), "d": []byte("four-five")}}
		kit.Config.Tools = []*adk.Tool{tracetest.ATool("weather", "one-two-three inside", false, tracetest.Weatherless)}
		kit.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			_ = dc.Stash().Set("auth.second", []string{"six-seven-eight"})
			_ = tracetest.Must(h.ReportMessage("m", "it was one-two-", false))
			_ = tracetest.Must(h.ReportMessage("m", "three", true))
			_ = dc.Messages().Store(ctx, tracetest.AMessage("m", adk.RoleAssistant, "it was one-two-three, not token"))
			_ = tracetest.Must(h.ReportToolCall("c", adk.ToolCallReport{Tool: "weather", Args: `{"AUTH":{"x":[1,"nine"]}, "city":"Oslo"}`}))
			return dc.Ack()
		}
	}
	file := recordedWith(t, turn, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"auth"}}})
	verifies(t, file, "by path")
	for _, gone := range []string{"one-two", "three", "four", "six", "nine", "2.5", "2025-01-01T09:00:00Z\"},", "true,"} {
		assert.NotContains(t, string(file), gone)
	}
	for _, there := range []string{
		`"token":"[redacted:auth:2]"`, `"n":0`, `"f":0.0`, `"on":false`, `"none":null`, `"i":{"$int64":"0"}`, `"at":{"$time":"1970-01-01T00:00:00Z"}`,
		`"description":"[redacted:auth:2] inside"`, `{"$[]string":["[redacted:auth:3]"]}`,
		`it was [redacted:auth:2], not token`, `{\"AUTH\":{\"x\":[0,\"[redacted:auth:4]\"]},\"city\":\"Oslo\"}`,
	} {
		assert.Contains(t, string(file), there)
	}
	for path, found := range map[string]bool{"stash.auth.token": true, "STASH.AUTH.TOKEN": true, "auth.*": true, "*.token": true, "token": true,
		"args.token": false, "stash.token": false, "token.auth": false, "to": false, "*.stash.auth.token": false, "auth": true} {
		file := recordedWith(t, turn, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{path}}})
		assert.Equal(t, found, !strings.Contains(string(file), `"token":"one-two-three"`), path)
		verifies(t, file, path)
	}
}

// A placeholder may make arguments invalid for a tool's schema, or make invalid ones valid. The recorded
// verdict is kept, and the report says so.
func TestRedactedArgumentsAreNotValidatedAgain(t *testing.T) {
	for _, c := range []struct {
		schema, args string
		valid        bool
		unvalidated  string // in the footer
	}{
		{`{"type":"object","properties":{"pin":{"type":"string"}}}`, `{"pin":"1234"}`, true, ""},
		{`{"type":"object","properties":{"pin":{"type":"string","pattern":"^[0-9]{4}$"},"x":{"type":"string","default":"y"}}}`, `{"pin":"1234"}`, true, `"unvalidated":1`},
		{`{"type":"object","properties":{"pin":{"type":"integer","minimum":1000}}}`, `{"pin":1234}`, true, `"unvalidated":1`},
		{`{"type":"object","properties":{"pin":{"type":"string","maxLength":4}}}`, `{"pin":"12345"}`, false, ""},
		{`{"type":"object","properties":{"pin":{"type":"string","minLength":4}}}`, `{"pin":"123"}`, false, `"unvalidated":1`},
		{`{"type":"object","properties":{"pin":{"type":"string","minLength":4,"maxLength":8}}}`, `{"pin":"123"}`, false, `"unvalidated":1`},
		{`{"type":"object","properties":{"pin":{"type":"array","items":{"type":"integer","maximum":5}}}}`, `{"pin":[9,4]}`, false, `"unvalidated":1`},
		{`{"type":"object","properties":{"pin":{"anyOf":[{"const":"1234"},{"const":"5"}]}}}`, `{"pin":"1234"}`, true, ""},
		{`{"type":"object","properties":{"pin":{"allOf":[{"pattern":"^1"},{"pattern":"4$"}]},"q":{"type":"string","default":"z"}}}`, `{"pin":"1234"}`, true, `"unvalidated":1`},
		{`{"type":"object","properties":{"pin":{"type":"string","pattern":"^[0-9]*$","default":"4711"}}}`, `{}`, true, ""},
	} {
		file := recordedWith(t, func(kit *tracetest.SampleKit) {
			tool := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "pay", Description: "Pays.", InputSchema: []byte(c.schema), Handler: tracetest.Weatherless}))
			kit.Config.Tools = []*adk.Tool{tool}
			kit.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				_, err := dc.Execute(ctx, tool, c.args)
				if assert.Equal(t, c.valid, err == nil, "%s: %v", c.schema, err); err != nil {
					return fmt.Errorf("the tool says: %w", err)
				}
				return dc.Ack()
			}
		}, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"pin"}}})
		report := verifies(t, file, c.schema)
		for _, gone := range []string{`1234`, `\"123\"`, `"123"`, "4711", "9,4"} {
			assert.NotContains(t, string(file), gone, c.schema)
		}
		assert.Equal(t, c.unvalidated != "", strings.Contains(string(file), `"unvalidated"`), "%s\n%s", c.schema, file)
		assert.Equal(t, c.unvalidated != "", strings.Contains(strings.Join(report.NotCompared, "\n"), "not validated again"), c.schema)
	}
}

// The redacted trace of a broken engine diverges in the same way.
func TestRedactionHidesNoBreak(t *testing.T) {
	recorded, err := trace.Read(bytes.NewReader(recordedWith(t, tracetest.WeatherTurn, replay.RecordOptions{})))
	require.NoError(t, err)
	for _, kind := range []adk.Kind{adk.KindState, adk.KindToolCallEvent, adk.KindToolExecutionStart} {
		broken := *recorded
		broken.SetLines(append([]trace.Line(nil), recorded.Lines()...))
		for i := range broken.Lines() {
			if x := &broken.Lines()[i]; x.Kind == kind {
				x.Digest, x.Key = adk.Digest{1}, "another"
			}
		}
		file := tracetest.Redacted(t, &broken, redact.Rules{Patterns: []redact.Pattern{{Kind: "city", Expr: "Oslo"}}})
		report, err := replay.Verify(context.Background(), bytes.NewReader(file), replay.Live{})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence, kind)
		assert.Equal(t, kind, recorded.Lines()[report.Divergence.Crossing-1].Kind)
	}
}

func TestAWrongRedactionRecordsNothing(t *testing.T) {
	var file bytes.Buffer
	recorder := replay.Record(&file, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"a..b", ""}, Patterns: []redact.Pattern{{Kind: "x", Expr: "("}, {Kind: "x", Expr: "a*"}, {Kind: "Not a kind", Expr: "a"}}}})
	assert.Nil(t, recorder.Observe(adk.RunInfo{}))
	for _, wrong := range []string{`"a..b"`, `the path ""`, "missing closing", "matches the empty text", "lowercase letters"} {
		assert.ErrorContains(t, recorder.Err(), wrong)
	}
	assert.Zero(t, file.Len())
}

// A path that names the deltas covers a stream as a whole.
func TestAPathCoversStreams(t *testing.T) {
	file := recordedWith(t, func(kit *tracetest.SampleKit) {
		kit.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for _, delta := range []string{"", "all ", "is ", "private"} {
				_ = tracetest.Must(h.ReportMessage("m", delta, delta == "private"))
			}
			_ = dc.EmitMessage(adk.MessageEvent{ID: "e", Delta: "private", Full: "all is private"})
			return errors.Join(dc.Messages().Store(ctx, tracetest.AMessage("m", adk.RoleAssistant, "all is private")), dc.Ack())
		}
	}, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"delta", "full", "message.content"}}})
	assert.NotContains(t, string(file), "private")
	assert.NotContains(t, string(file), "all ")
	verifies(t, file, "covered")
}

// Whichever turn is recorded, with one of its words secret, it replays like the same turn without a secret. If
// that one diverges from its recording, because a listener used the executor's helpers, it diverges at the same
// crossing.
func TestRedactedTurnsReplay(t *testing.T) {
	t.Parallel()
	for _, turn := range tracetest.AllTurns {
		plain := divergesAt(t, recordedWith(t, turn.Prepare, replay.RecordOptions{}))
		for _, word := range []string{"Oslo", "weather", "Ann", "disk", "Hello", "tea", "refund", "approve"} {
			file := recordedWith(t, turn.Prepare, replay.RecordOptions{Redact: &redact.Rules{Patterns: []redact.Pattern{{Kind: "word", Expr: `\b` + word + `\b`}}}})
			assert.Equal(t, plain, divergesAt(t, file), "%s without %s", turn.Name, word)
		}
	}
}

// divergesAt returns the crossing at which a replay diverges, or 0 if it does not.
func divergesAt(t *testing.T, file []byte) int {
	t.Helper()
	report, err := replay.Verify(context.Background(), bytes.NewReader(file), replay.Live{})
	require.NoError(t, err)
	if report.Divergence == nil {
		return 0
	}
	return report.Divergence.Crossing
}

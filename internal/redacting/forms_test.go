package redacting_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// onDisk records a turn into a file, and returns the file's bytes.
func onDisk(t *testing.T, rules *redact.Rules, config adk.Config, raw adk.RawTurn) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "turn.jsonl")
	file, err := os.Create(path)
	require.NoError(t, err)
	recorder := replay.Record(file, replay.RecordOptions{Redact: rules})
	config.Storage = fakes.NoOpStorage()
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, recorder)))
	require.NoError(t, runner.Run(t.Context(), raw))
	require.NoError(t, errors.Join(recorder.Err(), file.Close()))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	return written
}

// jsonOf returns what Go's JSON encoder writes for a value.
func jsonOf(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func unquotedJSON(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.Trim(strings.TrimSpace(b.String()), `"`)
}

// A secret that a path has found does not reach the disk, in whatever form a text spells it.
func TestASecretIsFoundInEveryForm(t *testing.T) {
	const secret = `p&ss<w/rd>+é~1"x"`
	python := strings.NewReplacer("é", `\u00e9`, `"`, `\"`).Replace(secret)
	dotNet := strings.NewReplacer("é", `\u00E9`, `"`, `\u0022`, "&", `\u0026`, "<", `\u003C`, ">", `\u003E`, "+", `\u002B`).Replace(secret)
	forms := map[string]string{
		"JSON as Go writes it":   jsonOf(map[string]string{"key": secret}),
		"JSON in JSON":           jsonOf(jsonOf(secret)),
		"JSON of upper case":     strings.NewReplacer(`\u003c`, `\u003C`, `\u003e`, `\u003E`).Replace(jsonOf(secret)),
		"JSON as Python has it":  python,
		"JSON as .NET has it":    dotNet,
		"JSON of Python in JSON": jsonOf(python),
		"JSON of .NET in JSON":   jsonOf(dotNet),
		"quoted in JSON":         jsonOf(fmt.Sprintf("%q", secret)),
		"quoted":                 fmt.Sprintf("%q", secret),
		"quoted in ASCII":        fmt.Sprintf("%+q", secret),
		"a query":                "https://example.com/?key=" + url.QueryEscape(secret) + "&x=1",
		"a query in lower case":  strings.ToLower(url.QueryEscape(secret)),
		"a path":                 "https://example.com/" + url.PathEscape(secret),
		"hex":                    hex.EncodeToString([]byte(secret)),
		"hex in upper case":      strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64 behind no byte":  base64.StdEncoding.EncodeToString([]byte(secret + " and more")),
		"base64 behind one byte": base64.StdEncoding.EncodeToString([]byte(":" + secret)),
		"base64 behind two":      base64.RawStdEncoding.EncodeToString([]byte("u:" + secret)),
		"base64 behind a user":   base64.StdEncoding.EncodeToString([]byte("alice:" + secret)),
		"base64 for URLs":        base64.URLEncoding.EncodeToString([]byte("x" + secret + "yz")),
		"unpadded, for URLs":     base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			executor := func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				h.Log(adk.LevelInfo, "sent", form, nil)
				for _, delta := range []string{form[:len(form)/2], form[len(form)/2:]} {
					if _, err := h.ReportMessage("m", delta, false); err != nil {
						return err
					}
				}
				return dc.Ack()
			}
			written := onDisk(t, &redact.Rules{Paths: []string{"stash.password"}}, adk.Config{Executor: adk.Executor{Name: "model", Run: executor}},
				adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{"password": secret}})
			middle := form[len(form)/2-4 : len(form)/2+4]
			assert.NotContains(t, string(written), unquotedJSON(middle))
			assert.GreaterOrEqual(t, bytes.Count(written, []byte("[redacted:password:1]")), 3, "in the stash, the log and the message")
			verifies(t, written, name)
		})
	}
}

// A pattern also finds a secret that only Go's JSON encoder has escaped, and every form of a secret has the same
// placeholder.
func TestAPatternFindsWhatJSONEscapes(t *testing.T) {
	r := redacting.NewRedactor(mustRules(t, &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `key<[a-z&]+>`}}}))
	assert.Equal(t, `{"a":"é [redacted:key:1]."} [redacted:key:1]`, r.Text(`{"a":"é key\u003cab\u0026c\u003e."} key<ab&c>`))
	assert.Equal(t, `\u00e9 \u0026 & nothing`, r.Text(`\u00e9 \u0026 & nothing`))
}

// In a text that comes as a whole, a secret is found however often it was escaped, and by which encoder.
func TestASecretIsFoundBelowEscapes(t *testing.T) {
	r := redacting.NewRedactor(mustRules(t, &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `key<[a-z&"\\é😀\n]+>`}}}))
	const secret = "key<a&\"\\é😀\nb>"
	assert.Equal(t, "[redacted:key:1]", r.Text(secret))
	said := strings.NewReplacer("é", `\u00E9`, "😀", `\uD83D\uDE00`, "&", `\u0026`, `\"`, `\u0022`).Replace(unquotedJSON(secret))
	for range 4 {
		assert.Equal(t, "é [redacted:key:1] é", r.Text("é "+said+" é"), said)
		said = unquotedJSON(said)
	}
	for _, nothing := range []string{`\`, `\u`, `\u00e`, `\ud83d`, `C:\dir \x "\`} {
		assert.Equal(t, nothing+"[redacted:key:1]", r.Text(nothing+secret))
	}
}

// piecesOf asks the world, and yields the texts as the pieces of one answer.
func piecesOf(pieces []any) adk.Executor {
	return adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		answer := adk.AskStream(ctx, "model", "go on", func(_ context.Context, _ string, hand func(any) error) error {
			for _, piece := range pieces {
				if err := hand(piece); err != nil {
					return err
				}
			}
			return nil
		})
		for _, err := range answer {
			if err != nil {
				return err
			}
		}
		return dc.Ack()
	}}
}

// A secret that is cut across the pieces of an answer does not reach the disk, not even in part, and the
// pieces keep their lines.
func TestASecretInPieces(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	rules := &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `\bsk-[0-9a-f]{16}`}}}
	delta := func(text string) any {
		return map[string]any{"type": "delta", "choices": []any{map[string]any{"index": 0.0, "text": text}}}
	}
	for at := range len(secret) + 1 {
		written := onDisk(t, rules, adk.Config{Executor: piecesOf([]any{delta("it is " + secret[:at]), map[string]any{"type": "ping"}, delta(secret[at:] + ", is it?"), delta(secret)})}, adk.RawTurn{SystemPrompt: "Help."})
		for _, part := range []string{secret, secret[:8], secret[11:]} {
			assert.NotContains(t, string(written), part, "cut at %d", at)
		}
		assert.Equal(t, 4, bytes.Count(written, []byte(`"kind":"piece"`)))
		assert.Equal(t, 2, bytes.Count(wholeLines(t, written), []byte(`[redacted:key:1]`)), "cut at %d", at)
		verifies(t, written, "pieces")
	}
}

// Two members whose names differ only in a ~ are two texts, with a stream each.
func TestASecretInPiecesBesideOtherMembers(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	rules := &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `\bsk-[0-9a-f]{16}`}}}
	both := func(text, other string) any { return map[string]any{"a/b": text, "a~1b": other} }
	written := onDisk(t, rules, adk.Config{Executor: piecesOf([]any{both(secret[:9], "one"), both(secret[9:], "two")})}, adk.RawTurn{SystemPrompt: "Help."})
	assert.NotContains(t, string(written), secret[9:])
	assert.Contains(t, string(written), "[redacted:key:1]")
	verifies(t, written, "pieces")
}

// What a pattern finds in a stream is also looked for in its other forms after that point, wherever they are
// cut, although the line that contains it still waits for others. The same holds within one text.
func TestFormsOfASecretInPieces(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	rules := &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `\bsk-[0-9a-f]{16}`}, {Kind: "word", Expr: `delta+!`}}}
	delta := func(text string) any {
		return map[string]any{"type": "delta", "choices": []any{map[string]any{"index": 0.0, "text": text}}}
	}
	for at := range len(encoded) {
		written := onDisk(t, rules, adk.Config{Executor: piecesOf([]any{delta("it is " + secret + ", or "), delta(encoded[:at]), delta(encoded[at:] + ", isn't it?")})}, adk.RawTurn{SystemPrompt: "Help."})
		whole := string(wholeLines(t, written))
		for from := range len(encoded) - 12 {
			assert.NotContains(t, whole, encoded[from:from+8], "cut at %d", at)
		}
		assert.Equal(t, 2, strings.Count(whole, "[redacted:key:1]"), "cut at %d", at)
		verifies(t, written, "pieces")
	}
	r := redacting.NewRedactor(mustRules(t, rules))
	assert.NotContains(t, r.Text(secret+" is "+encoded), encoded[:8])
}

// A value that a transport has already left out is no secret: there is nothing to hide, and the same words
// elsewhere are kept.
func TestWhatIsLeftOutIsNoSecret(t *testing.T) {
	executor := adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		request := map[string]any{"query": map[string]string{"apikey": "left out"}}
		_, err := adk.Ask(ctx, "weather", request, func(context.Context, map[string]any) (string, error) { return "Nothing was left out.", nil })
		return errors.Join(err, dc.Ack())
	}}
	written := onDisk(t, redact.UsualSecrets(), adk.Config{Executor: executor}, adk.RawTurn{SystemPrompt: "Help."})
	assert.Contains(t, string(written), `{"apikey":"left out"}`)
	assert.Contains(t, string(written), "Nothing was left out.")
	verifies(t, written, "left out")
}

// The names of seams do not reveal what the first line hides. A secret that is found after the header does
// not change a name. In both cases the trace replays.
func TestNamesOfSeamsKeepWhatLinesHide(t *testing.T) {
	const secret = "hunter2-and-more"
	config := adk.Config{
		TurnInput: []adk.TurnMiddleware{tracetest.TurnStep("auth/"+secret, func(ctx context.Context, tc *adk.TurnContext) error {
			strand, err := tc.Fork(ctx, "with "+secret, func(context.Context, *adk.TurnContext) error { return nil })
			if err != nil {
				return err
			}
			return errors.Join(strand.Wait(), tc.Stash().Set("password", secret))
		})},
		TurnOutput: []adk.TurnMiddleware{tracetest.TurnStep("leave/"+secret, func(context.Context, *adk.TurnContext) error { return nil })},
		Executor:   adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }},
	}
	rules := &redact.Rules{Paths: []string{"password"}}
	known := onDisk(t, rules, config, adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{"password": secret}})
	assert.NotContains(t, string(known), secret)
	assert.Contains(t, strings.Split(string(known), "\n")[0], "auth/[redacted:password:1]")
	assert.Contains(t, string(known), fmt.Sprintf(`"redacted":%d,`, placeholders(known)), "the count in the footer")
	verifies(t, known, "known before the header")

	late := onDisk(t, rules, config, adk.RawTurn{SystemPrompt: "Help."})
	header, lines, _ := strings.Cut(string(late), "\n")
	assert.Contains(t, header, "auth/"+secret)
	assert.NotContains(t, lines, `"password","value":"`+secret)
	verifies(t, late, "known behind the header")
}

// WLD-7: a secret in a history that every ask sends again is nowhere on disk, and does not come back when a
// request is restored.
func TestASecretInAHistoryThatIsSentAgain(t *testing.T) {
	const secret = "pw-0123456789abcdef"
	config := adk.Config{Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		history := []string{strings.Repeat("You are a helpful assistant. ", 9)}
		for n := range 6 {
			history = append(history, fmt.Sprintf("message %d", n))
			if n == 2 {
				history = append(history, "my key is "+secret)
			}
			_ = tracetest.Must(adk.Ask(ctx, "model", history, func(context.Context, []string) (string, error) { return "ok", nil }))
		}
		return dc.Ack()
	}}}
	data := onDisk(t, &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: "pw-[0-9a-f]+"}}}, config, adk.RawTurn{SystemPrompt: "Help."})
	assert.Contains(t, string(data), `"request":{"$from":`)
	for _, form := range []string{secret, "0123456789abcdef", base64.StdEncoding.EncodeToString([]byte(secret))} {
		assert.NotContains(t, string(data), form)
	}
	asks := 0
	for _, line := range tracetest.ReadTrace(t, data).Lines() {
		if line.Kind == adk.KindAsk && line.Phase == adk.Begin {
			asks++
			assert.NotContains(t, string(line.JSON), secret)
			assert.Equal(t, asks > 2, strings.Contains(string(line.JSON), "my key is [redacted:key:1]"), string(line.JSON))
		}
	}
	assert.Equal(t, 6, asks)
	verifies(t, data, "restored")
}

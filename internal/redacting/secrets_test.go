package redacting_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// A stream is redacted like the same text alone, with the same kinds, however the deltas split it. This holds for
// paths and patterns, and for secrets that are prefixes of each other, contain each other, or
// overlap.
func TestAStreamIsRedactedAsATextAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 14, -1)
		secrets := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 8, 12, -1), 1, 4).Draw(t, "secrets")
		rules := redact.Rules{Paths: []string{"password", "token"}}
		for i, expr := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{`a+b`, `abc`, `ca`, `b[ac]+b`, `c{3,}`, secrets[0][:3] + `.`, secrets[0][:5]}), rapid.ID).Draw(t, "patterns") {
			rules.Patterns = append(rules.Patterns, redact.Pattern{Kind: fmt.Sprint("kind", i), Expr: expr})
		}
		var text strings.Builder
		for _, said := range rapid.SliceOfN(rapid.OneOf(letters, rapid.SampledFrom(secrets)), 1, 6).Draw(t, "text") {
			text.WriteString(said)
		}
		r := redacting.NewRedactor(mustRules(t, &rules))
		for i, secret := range secrets {
			r.Meet(rules.Paths[i%2], secret)
		}
		_ = r.Text(text.String()) // all that could be found in the middle is known
		want := r.SpansAlone(text.String())
		s := redacting.NewRedactStream(r)
		for rest := text.String(); rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "delta")
			s.Add(rest[:n], false)
			rest = rest[n:]
		}
		s.End()
		assert.Equal(t, want, s.Spans, "%q", text.String())
	})
}

// After a secret in a stream, its other forms are also looked for if the stream ends while another pattern still
// waits.
func TestFormsOfASecretAtTheEndOfAStream(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	rules := mustRules(t, &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `sk-[0-9a-f]{16}`}, {Kind: "block", Expr: `(?s)<begin>.*<end>`}}})
	s := redacting.NewRedactStream(redacting.NewRedactor(rules))
	s.Add("<begin> "+secret+" is ", false)
	_, to := s.Add(hex.EncodeToString([]byte(secret))+".", true)
	assert.Equal(t, "<begin> [redacted:key:1] is [redacted:key:1].", s.UpTo(to))
}

// A secret that becomes known in the meantime is looked for in everything that a stream has not decided yet, even
// where it has already searched.
func TestASecretThatIsLearnedWhileAStreamWaits(t *testing.T) {
	rules := mustRules(t, &redact.Rules{Paths: []string{"password"}, Patterns: []redact.Pattern{{Kind: "short", Expr: "abcdefg[h]"}, {Kind: "long", Expr: "fgh+z"}}})
	r := redacting.NewRedactor(rules)
	s := redacting.NewRedactStream(r)
	s.Add("x abcdefghhhh", false)
	r.Meet("password", "bcdefghhhh1")
	_, to := s.Add("1 y", true)
	assert.Equal(t, "x [redacted:short:2] y", s.UpTo(to))
}

// A secret that a path finds may be bytes that are not valid text. Its forms in hex and in base64 are looked
// for as well.
func TestASecretOfBytesIsFoundInEveryForm(t *testing.T) {
	key := []byte("\xff\xfe\x00\x9f a key/of bytes \xc3")
	written := onDisk(t, &redact.Rules{Paths: []string{"stash.key"}}, adk.Config{Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		h.Log(adk.LevelInfo, "sign", fmt.Sprintf("with %x, or %s", key, base64.StdEncoding.EncodeToString(key)), nil)
		return dc.Ack()
	}}}, adk.RawTurn{SystemPrompt: "Sign.", Stash: map[string]any{"key": key}})
	assert.Contains(t, string(written), `"with [redacted:key:1], or [redacted:key:1]"`)
	verifies(t, written, "bytes")
}

// However many secrets are known, a text is searched once. The number of places that are examined closely does not
// grow, and a stream takes no more memory.
func TestManySecretsAreLookedForAtOnce(t *testing.T) {
	allocs.Countable(t)
	text := strings.Repeat("signed in as postgres://the-service: and all is well, ", 20)
	costs := func(secrets int) (steps int, allocated float64) {
		r := redacting.NewRedactor(mustRules(t, &redact.Rules{Paths: []string{"password"}}))
		for n := range secrets {
			r.Meet("password", "postgres://the-service:"+aKey(n))
		}
		before := r.Texts.Steps
		assert.Equal(t, text, r.Text(text))
		steps = r.Texts.Steps - before
		allocated = allocs.PerRun(5, func() {
			s := redacting.NewRedactStream(r)
			s.Add(text, false)
			s.End()
		})
		return steps, allocated
	}
	_, once := costs(100)
	for _, secrets := range []int{1_000, 2_000} {
		steps, allocated := costs(secrets)
		assert.Less(t, steps, len(text)/4, "%d secrets", secrets)
		assert.LessOrEqual(t, allocated, once, "%d secrets", secrets)
	}
}

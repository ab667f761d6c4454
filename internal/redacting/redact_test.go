package redacting_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/streamre"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// verifies replays a trace, and requires that everything agrees.
func verifies(t testing.TB, file []byte, about string) *replay.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Long)
	defer cancel()
	report, err := replay.Verify(ctx, bytes.NewReader(file), replay.Live{})
	require.NoError(t, err, about)
	if report.Divergence != nil {
		require.Fail(t, about, "%s", report.Divergence)
	}
	return report
}

// formatSays reports whether a word may occur in any trace, because the format uses it.
func formatSays(word string) bool {
	for _, k := range adk.Kinds() {
		if strings.Contains(k.String(), word) {
			return true
		}
		for _, p := range []adk.Phase{adk.Whole, adk.Begin, adk.Done} {
			if slices.ContainsFunc(k.Fields(p), func(use adk.FieldUse) bool { return strings.Contains(use.Label, word) }) {
				return true
			}
		}
	}
	if _, err := adk.ParseSeam(word + "/name#0"); err == nil { // a label
		return true
	}
	return strings.Contains(`kind end adkreplay trace version contract start seams phase begin done sha256 redacted unvalidated
		turn-input turn-output dispatch-input dispatch-output writeBehind source score
		messages memories retrievables thoughts toolCalls instructions toolCall memory retrievable thought instruction
		role user assistant createdAt updatedAt completedAt text panic cause causes code sentinel stage faults path keyword context.Canceled io.EOF
		inputSchema properties required type object string additionalProperties false true enum const default integer number
		description minimum maximum array items null results inline ephemeral effect onCollision trustTier confidence importance
		first-party third-party-public third-party-private content identity identifier representation
		storage/tools.fetch reads writes media image mimeType filename derivedFrom inert opaque-perceptual modalityHazard document extractable-instructions application/x-redacted fromArtifactTool
		meta pattern minLength maxLength ack nack aborted resolved rejected refused timeout outside abort goexit word
		$from head tail size`, word)
}

// engineSays reports whether a word may come from the engine itself: from the message of one of its errors, or
// from a contained failure. A replay writes it again.
func engineSays(recorded *trace.Trace, word string) bool {
	var says func(err error) bool
	says = func(err error) bool {
		own, ok := errors.AsType[*adk.Error](err)
		return ok && (strings.Contains(own.Message+string(own.Code), word) || own.Cause != nil && says(own.Cause))
	}
	return slices.ContainsFunc(recorded.Lines(), func(l trace.Line) bool {
		return says(l.Err) || says(l.Cause) || l.Kind == adk.KindContained && strings.Contains(l.Name, word)
	})
}

var (
	wordOf  = regexp.MustCompile(`[A-Za-z]{3,}`)
	escapes = regexp.MustCompile(`\\[nrt]`) // their letter begins no word
	inBytes = regexp.MustCompile(`"\$?bytes":"([^"]*)"`)
	onlyHex = regexp.MustCompile(`^[a-f]+$`) // digests contain these by chance
)

// placeholders returns the number of placeholders in a file, including those within bytes and in the places
// of MIME types.
func placeholders(file []byte) int {
	n := bytes.Count(file, []byte("[redacted:")) + bytes.Count(file, []byte("application/x-redacted"))
	for _, encoded := range inBytes.FindAllSubmatch(file, -1) {
		data, _ := base64.StdEncoding.DecodeString(string(encoded[1]))
		n += bytes.Count(data, []byte("[redacted:"))
	}
	return n
}

// wholeLines converts a trace to the last version of the format in which each line contains all that it
// means.
func wholeLines(t *testing.T, data []byte) []byte {
	recorded := tracetest.ReadTrace(t, data)
	recorded.Version = 3
	var out bytes.Buffer
	_, err := recorded.WriteTo(&out)
	require.NoError(t, err)
	return out.Bytes()
}

// Whichever word of a recorded turn is secret, the redacted trace does not contain it, and replays
// without a divergence. A normal run tries every fourth word, and other words for each fixture. With the
// variable of the engine's mutants, every word is tried.
func TestRedactedTracesReplay(t *testing.T) {
	thorough.Long(t)
	thorough.OneGoroutine(t)
	t.Parallel()
	every := tracetest.AllMutants()
	tracetest.EachFixture(t, func(t *testing.T, recorded *trace.Trace) {
		var file bytes.Buffer
		_, err := recorded.WriteTo(&file)
		require.NoError(t, err)
		secrets := map[string]bool{}
		for _, word := range wordOf.FindAllString(escapes.ReplaceAllString(inBytes.ReplaceAllString(file.String(), ""), " "), -1) {
			if !formatSays(word) && !engineSays(recorded, word) && !onlyHex.MatchString(word) {
				secrets[word] = true
			}
		}
		for _, secret := range slices.Sorted(maps.Keys(secrets)) {
			if !every && crc32.ChecksumIEEE([]byte(t.Name()+secret))%4 != 0 {
				continue
			}
			got := tracetest.Redacted(t, recorded, redact.Rules{Patterns: []redact.Pattern{{Kind: "word", Expr: regexp.QuoteMeta(secret)}}})
			if strings.Contains(string(got), secret) {
				at := strings.Index(string(got), secret)
				t.Errorf("%q is in …%s…", secret, got[max(0, at-200):min(len(got), at+100)])
				continue
			}
			verifies(t, got, fmt.Sprintf("without %q", secret))
			assert.Contains(t, string(got), fmt.Sprintf(`"redacted":%d,`, placeholders(wholeLines(t, got))), "the count in the footer")
		}
	})
}

// ART-25: if there is nothing to redact, redaction changes only the footer, and the marks of
// artifacts, from which the hash is missing.
func TestWithoutSecretsATraceIsAsItWas(t *testing.T) {
	tracetest.EachFixture(t, func(t *testing.T, recorded *trace.Trace) {
		var file bytes.Buffer
		_, err := recorded.WriteTo(&file)
		require.NoError(t, err)
		got := tracetest.Redacted(t, recorded, *redact.UsualSecrets())
		want, _, _ := strings.Cut(file.String(), `{"end":`)
		lines, _, _ := strings.Cut(string(got), `{"end":`)
		if strings.Contains(want, `"stash":{"artifact":`) {
			assert.NotContains(t, lines, `"sha256":`)
			assert.Equal(t, strings.Count(want, "\n"), strings.Count(lines, "\n"))
			verifies(t, got, "without hashes")
			return
		}
		assert.Equal(t, want, lines)
		assert.Contains(t, string(got), `,"redacted":0,"sha256":`)
	})
}

// The matcher finds the same as package regexp, in whatever pieces the text comes.
func TestTheMatcherFindsWhatRegexpFinds(t *testing.T) {
	exprs := []string{`a+b?`, `a|ab`, `ab|a`, `(a|b)*c`, `\bab\b`, `^a`, `a$`, `a.*?b`, `a.*b`, `(?i)AB`, `[^a]b`, `é+`, `ab{2,3}`, `(ab)+`, `(?s)a.b`, `(?m)^b$`, `aab|b`, `a(bc|b)c?`, `\Ba`, `x+x+y`}
	rapid.Check(t, func(t *rapid.T) {
		expr := rapid.SampledFrom(exprs).Draw(t, "expr")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aabbcxyé \n")), 0, 24, -1).Draw(t, "text") + rapid.SampledFrom([]string{"", "\xff", "\xc3"}).Draw(t, "tail")
		p, err := streamre.Compile("x", expr)
		require.NoError(t, err)
		var want []streamre.Span
		for _, at := range regexp.MustCompile(expr).FindAllStringIndex(text, -1) {
			want = append(want, streamre.Span{From: at[0], To: at[1], Kind: "x"})
		}
		assert.Equal(t, want, streamre.NewMatcher(p, 0).Whole(text), "%s in %q", expr, text)

		s := redacting.NewRedactStream(redacting.NewRedactor(mustRules(t, &redact.Rules{Patterns: []redact.Pattern{{Kind: "x", Expr: expr}}})))
		for rest := text; ; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "delta")
			last := n == len(rest) && rapid.Bool().Draw(t, "last")
			s.Add(rest[:n], last)
			if rest = rest[n:]; last {
				break
			}
		}
		assert.Equal(t, want, s.Spans, "%s in pieces of %q", expr, text)
	})
}

// FuzzMatcher looks for a pattern in a text that comes in two pieces, and compares the matches with those of
// package regexp.
func FuzzMatcher(f *testing.F) {
	f.Add(`a+b?|\bc`, "xaab c", 3)
	f.Add(`(?i)k[éE]*?`, "K\xc3\xa9\xff", 2)
	f.Add(`\b|a`, "a", 0)
	f.Fuzz(func(t *testing.T, expr, text string, cut int) {
		if _, err := streamre.Compile("x", expr); err != nil || len(expr) > 50 || len(text) > 500 || cut < 0 || cut > len(text) {
			return
		}
		s := redacting.NewRedactStream(redacting.NewRedactor(mustRules(t, &redact.Rules{Patterns: []redact.Pattern{{Kind: "x", Expr: expr}}})))
		s.Add(text[:cut], false)
		s.Add(text[cut:], true)
		var want, got [][]int
		for _, at := range regexp.MustCompile(expr).FindAllStringIndex(text, -1) {
			if at[0] < at[1] {
				want = append(want, at)
			}
		}
		for _, at := range s.Spans {
			got = append(got, []int{at.From, at.To})
		}
		require.Equal(t, want, got, "%q in %q", expr, text)
	})
}

// A pattern that can match the empty text is refused: where it can match in two ways, it could choose the
// one that hides no secret.
func TestAPatternThatMatchesNothingIsRefused(t *testing.T) {
	for _, expr := range []string{``, `a*`, `\b|a`, `a|\b`, `$`, `^`, `(?:\ba?)`, `(?m)a?$`, `\Ba*`} {
		_, err := redacting.Compile(&redact.Rules{Patterns: []redact.Pattern{{Kind: "x", Expr: expr}}})
		assert.ErrorContains(t, err, "it matches the empty text", "%q", expr)
	}
	for _, expr := range []string{`\ba`, `a\b`, `(?m)^a$`, `(?:\b|a)b`} {
		_, err := redacting.Compile(&redact.Rules{Patterns: []redact.Pattern{{Kind: "x", Expr: expr}}})
		assert.NoError(t, err, "%q", expr)
	}
}

// isEngineWord reports whether a field contains only words of the engine itself: statuses, and
// checksums in events.
func isEngineWord(x *adk.Crossing, f adk.Field) bool {
	return f == adk.FieldStatus || f == adk.FieldKey && x.Kind.Class() == adk.ClassEvent
}

// A secret is taken out of every field that can contain one.
func TestEveryFieldIsRedacted(t *testing.T) {
	const secret = "classified-0123456789"
	rules := redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `classified-[0-9]{10}`}}}
	tracetest.EachUse(t, func(t *testing.T, x adk.Crossing, use adk.FieldUse) {
		for _, v := range tracetest.Saying(t, x.Kind, use.Field, secret) {
			if use.Field == adk.FieldCollection {
				return // a trace names it only by the engine's seven words
			}
			trace := tracetest.ReadTrace(t, tracetest.WriteTrace(t, tracetest.With(x, use.Field, v.Value)))
			left := bytes.Contains(tracetest.Redacted(t, trace, rules), []byte(secret))
			assert.Equal(t, isEngineWord(&x, use.Field), left, v.Where)
		}
	})
}

// The fuzz corpus of the matcher is committed, and small.
func TestTheCorpusOfTheMatcherIsCommitted(t *testing.T) {
	files, err := os.ReadDir("testdata/fuzz/FuzzMatcher")
	require.NoError(t, err)
	assert.NotEmpty(t, files)
}

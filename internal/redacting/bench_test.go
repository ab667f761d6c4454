package redacting_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// secretiveRun is a run that contains this many different secrets.
type secretiveRun struct {
	name  string
	rules redact.Rules
	say   func(h *adk.Helpers, n int) error
}

// aKey returns the n-th of many keys that do not resemble each other.
func aKey(n int) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, n)))[:24] }

var secretiveRuns = []secretiveRun{
	{"by-path", redact.Rules{Paths: []string{"password"}}, func(h *adk.Helpers, n int) error {
		h.Log(adk.LevelInfo, "login", "signed in, and all is well", map[string]any{"password": aKey(n)})
		return nil
	}},
	{"with-one-beginning", redact.Rules{Paths: []string{"password"}}, func(h *adk.Helpers, n int) error {
		const beginning = "postgres://the-service:"
		h.Log(adk.LevelInfo, "login", "no "+beginning, map[string]any{"password": beginning + aKey(n)})
		return nil
	}},
	{"in-a-stream", redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `\bsk-[0-9a-f]{24}`}}}, func(h *adk.Helpers, n int) error {
		_, err := h.ReportMessage("m", "another is sk-"+aKey(n)+", ", false)
		return err
	}},
	{"in-one-delta", redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `\bsk-[0-9a-f]{24}`}}}, nil},
}

func (s secretiveRun) recorded(t testing.TB, secrets int) *trace.Trace {
	t.Helper()
	run := func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if s.say == nil {
			var all bytes.Buffer
			for n := range secrets {
				fmt.Fprintf(&all, "another is sk-%s, ", aKey(n))
			}
			_, err := h.ReportMessage("m", all.String(), false)
			return errors.Join(err, dc.Ack())
		}
		for n := range secrets {
			if err := s.say(h, n); err != nil {
				return err
			}
		}
		return dc.Ack()
	}
	var out bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}, replay.Record(&out))))
	require.NoError(t, runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Sign in."}))
	return tracetest.ReadTrace(t, out.Bytes())
}

// BenchmarkSecrets doubles the number of different secrets in a run; ns/secret should stay the same.
func BenchmarkSecrets(b *testing.B) {
	for _, s := range secretiveRuns {
		rules := mustRules(b, &s.rules)
		for _, secrets := range []int{1, 1_000, 2_000, 4_000, 8_000} {
			recorded := s.recorded(b, secrets)
			b.Run(fmt.Sprintf("%s/%d", s.name, secrets), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					w := redacting.NewWriter(io.Discard, recorded.Header, rules, trace.Options{})
					for _, line := range recorded.All() {
						require.NoError(b, w.Write(&line.Crossing))
					}
					require.NoError(b, w.Close())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*secrets), "ns/secret")
			})
		}
	}
}

// BenchmarkNested looks for members in deeply nested JSON, and in JSON within texts. Twice the depth should
// take twice as long.
func BenchmarkNested(b *testing.B) {
	rules, err := redacting.Compile(&redact.Rules{Paths: []string{"phone", "args.pin"}})
	require.NoError(b, err)
	for _, depth := range []int{25_000, 50_000, 100_000} {
		for name, level := range map[string]string{"objects": `{"a":`, "texts": `{"b":"{\"c\":1}","a":`} {
			text := strings.Repeat(level, depth)
			b.Run(fmt.Sprintf("%s/%d", name, depth), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					rules.Text(text)
				}
			})
		}
	}
}

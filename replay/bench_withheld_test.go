package replay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// BenchmarkWithheld doubles the number of different secrets in live code for which the recording
// has placeholders. ns/secret must stay constant.
func BenchmarkWithheld(b *testing.B) {
	rules := &redact.Rules{Paths: []string{"password"}}
	for _, secrets := range []int{1_000, 2_000, 4_000, 8_000} {
		run := func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for n := range secrets {
				h.Log(adk.LevelInfo, "login", "signed in, and all is well", map[string]any{"password": fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, n)))[:24]})
			}
			return dc.Ack()
		}
		var trace bytes.Buffer
		runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}, replay.Record(&trace, replay.RecordOptions{Redact: rules})))
		require.NoError(b, err)
		require.NoError(b, runner.Run(b.Context(), adk.RawTurn{SystemPrompt: "Sign in."}))
		for name, redaction := range map[string]*redact.Rules{"by-rules": rules, "by-placeholders": nil} {
			live := replay.LiveExecutor(run)
			live.Redact = redaction
			b.Run(fmt.Sprintf("%s/%d", name, secrets), func(b *testing.B) {
				for b.Loop() {
					report, err := replay.Verify(b.Context(), bytes.NewReader(trace.Bytes()), live)
					require.NoError(b, err)
					require.Equal(b, redaction == nil, report.Divergence != nil)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*secrets), "ns/secret")
			})
		}
	}
}

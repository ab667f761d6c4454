package corpus_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/redact"
)

var houseSecrets = &redact.Rules{Paths: []string{"password"}, Patterns: []redact.Pattern{{Kind: "key", Expr: `key-[0-9a-f]{8,}`}}}

// agentWith is an agent that emits its secrets in every way; says is an additional log line.
func agentWith(password, key, says string) adk.Config {
	return adk.Config{
		Storage: fakes.NoOpStorage(),
		TurnInput: []adk.TurnMiddleware{{Name: "auth", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			defer next(ctx)
			return tc.Stash().Set("password", password)
		}}},
		Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for _, delta := range []string{"Your key is " + key[:4], key[4:], ", keep it."} {
				if _, err := h.ReportMessage("m", delta, false); err != nil {
					return err
				}
			}
			h.Log(adk.LevelInfo, "sent", "with "+key, map[string]any{"password": password, "url": "https://example.com/?key=" + key})
			if says != "" {
				h.Log(adk.LevelDebug, "debug", says, nil)
			}
			return dc.Ack()
		}},
	}
}

// recordedWith is the redacted trace of the agent's turn. The stash is the turn's initial stash, or nil.
func recordedWith(t *testing.T, config adk.Config, stash map[string]any) fs.FS {
	var file bytes.Buffer
	recorder := replay.Record(&file, replay.RecordOptions{Redact: houseSecrets})
	runner, err := adk.NewRunner(fakes.Deterministic(config, recorder))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help.", Stash: stash}))
	require.NoError(t, recorder.Err())
	return fstest.MapFS{"turn.jsonl": {Data: file.Bytes()}}
}

// A report on a redacted trace prints no secret of the live code in any form, neither where the
// recording has a placeholder nor anywhere else.
func TestAReportPrintsNoLiveSecret(t *testing.T) {
	const password, key = "hunter2-and-more", "key-0123456789"
	recorded := recordedWith(t, agentWith(password, key, ""), nil)
	sources, err := corpus.Sources(recorded)
	require.NoError(t, err)
	rotated := "a-rotated-secret"
	for name, live := range map[string]adk.Config{
		"the same":          agentWith(password, key, "more"),
		"others":            agentWith(rotated, "another-key-of-a-kind", ""),
		"said once more":    agentWith(rotated, key, "the password is "+rotated),
		"a usual one":       agentWith(password, key, "it is sk-"+"abcdefghijklmnopqrstuvwxyz"),
		"in other words":    agentWith("s1", "key=", ""),
		"quoted by a panic": agentWith(rotated, "key-aaaaaaaa\"<&>", "\"key-aaaaaaaa\\\"<&>\""),
	} {
		for _, rules := range []*redact.Rules{nil, houseSecrets} {
			if rules != nil && name == "a usual one" {
				continue // the default rules do not find it
			}
			report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
				return replay.Live{Config: live, Seams: []string{replay.Middleware, replay.Executor}, Redact: rules}
			})
			require.NoError(t, err, name)
			require.Empty(t, report.Traces[0].Error)
			for form, write := range map[string]func(io.Writer) error{
				"JSON": report.WriteJSON, "JUnit": report.WriteJUnit, "annotations": func(w io.Writer) error { return report.WriteAnnotations(w) },
				"text": func(w io.Writer) error {
					_, err := io.WriteString(w, report.String()+report.Traces[0].Report.String()+report.DescribeCauses())
					return err
				},
			} {
				var out bytes.Buffer
				require.NoError(t, write(&out))
				for _, secret := range []string{password, "and-more", key, "23456789", rotated, "rotated", "another-key", "abcdefghijklm", "aaaaaaaa"} {
					assert.NotContains(t, out.String(), secret, "%s of %q", form, name)
				}
			}
			if rules == nil {
				require.NotNil(t, report.Traces[0].Divergence, name)
				assert.Contains(t, report.Traces[0].Report.String(), "[redacted:live-", name)
			}
		}
	}
}

// With the rules by which the recording was redacted, unchanged live code is as recorded, and new
// text in it differs.
func TestLiveCodeIsRedactedByTheRulesOfTheRecording(t *testing.T) {
	const password, key = "hunter2-and-more", "key-0123456789"
	sources, err := corpus.Sources(recordedWith(t, agentWith(password, key, ""), nil))
	require.NoError(t, err)
	for says, same := range map[string]bool{"": true, "more": false} {
		report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
			return replay.Live{Config: agentWith(password, key, says), Seams: []string{replay.Middleware, replay.Executor}, Redact: houseSecrets}
		})
		require.NoError(t, err)
		assert.Equal(t, same, report.Traces[0].Divergence == nil, "%q\n%s", says, report)
	}
}

// A report prints the name of a live seam, so the name is redacted like any other text.
func TestAReportPrintsNoSecretInANameOfASeam(t *testing.T) {
	named := func(name string) adk.Config {
		config := agentWith("hunter2-and-more", "key-0123456789", "")
		config.TurnInput[0].Name = name
		return config
	}
	for name, stash := range map[string]map[string]any{"auth key-0123456789": nil, "auth rotated-and-more": {"password": "rotated-and-more"}} {
		sources, err := corpus.Sources(recordedWith(t, named(name), stash))
		require.NoError(t, err)
		for _, does := range []string{name, name + " again"} {
			report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
				return replay.Live{Config: named(does), Turn: adk.RawTurn{Stash: stash}, Seams: []string{replay.Stash, replay.Middleware, replay.Executor}, Redact: houseSecrets}
			})
			require.NoError(t, err)
			var out bytes.Buffer
			require.NoError(t, report.WriteJSON(&out))
			assert.Equal(t, does == name, report.Traces[0].Divergence == nil, "%s", out.String())
			assert.NotRegexp(t, "0123456789|rotated", out.String()+report.Traces[0].Report.String())
		}
	}
}

// The same holds for the name of a seam in a second run of the same live code.
func TestAReportPrintsNoSecretInANameOfASecondRun(t *testing.T) {
	runs := 0
	config := agentWith("hunter2-and-more", "key-0123456789", "")
	config.TurnInput = append(config.TurnInput, adk.TurnMiddleware{Name: "moody", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		defer next(ctx)
		defer func() { runs++ }()
		if runs == 0 {
			return nil
		}
		name := "below key-0123456789"
		if runs > 1 {
			name = "hunter2-and-more"
		}
		_, err := adk.Dispatch(ctx, adk.DispatchInput{Name: name, Source: tc, Executor: adk.Executor{Name: name, Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }}})
		return err
	}})
	sources, err := corpus.Sources(recordedWith(t, config, nil))
	require.NoError(t, err)
	for _, rules := range []*redact.Rules{nil, houseSecrets} {
		runs = 1
		report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
			return replay.Live{Config: config, Seams: []string{replay.Middleware}, Redact: rules}
		})
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, report.WriteJSON(&out))
		said := out.String() + report.Traces[0].Report.String()
		require.Regexp(t, `second run[^/]*dispatch/[^/]*\[redacted:`, said)
		assert.NotRegexp(t, "0123456789|and-more", said)
	}
}

package whatif_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/whatif"
)

// FuzzRun applies an override to a trace of any lines: it ends, the replay itself does not fail,
// and the trace of the new run can be read.
func FuzzRun(f *testing.F) {
	for name, set := range map[string]string{
		"hello": "run.prompt=another", "tool-round-trip": "22.result=cold", "gate-timeout": "23.cancel=enough",
		"hydration": "6.records[0].content=other", "parallel-tools": "executor/model#1.error=limited", "gate-approved": "24.value={}",
	} {
		file := tracetest.FixtureNamed(f, name).Bytes
		f.Add(file[:bytes.LastIndex(file, []byte(`{"end":`))], set)
	}
	f.Fuzz(func(t *testing.T, lines []byte, set string) {
		override, err := whatif.ParseOverride(set)
		if err != nil {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			report, err := whatif.Run(ctx, bytes.NewReader(tracetest.Resealed(lines)), replay.Live{}, []whatif.Override{override}, trace.Options{MaxLine: 1 << 20})
			require.NoError(t, ctx.Err(), "it did not end")
			if err != nil {
				assert.NotContains(t, err.Error(), "the replay itself failed")
				return
			}
			var written, text bytes.Buffer
			_, err = report.Trace.WriteTo(&written)
			require.NoError(t, err)
			_, err = trace.Read(&written)
			require.NoError(t, err)
			_, err = report.WriteTo(&text)
			require.NoError(t, err)
			tracetest.RequirePrintable(t, text.String())
			_, err = json.Marshal(report)
			require.NoError(t, err)
		})
	})
}

// FuzzParseOverride reads any text: an accepted override names a path, and holds JSON or the text
// behind the path.
func FuzzParseOverride(f *testing.F) {
	for _, text := range []string{"22.result=cold", `19.args={"town":"Oslo"}`, "=x", "x", "a==", "24.value=null", "a=\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		override, err := whatif.ParseOverride(text)
		if err != nil {
			assert.Equal(t, whatif.Override{}, override)
			return
		}
		require.NotEmpty(t, override.Path)
		switch value := override.Value.(type) {
		case json.RawMessage:
			assert.True(t, json.Valid(value))
			assert.Equal(t, text, override.Path+"="+string(value))
		default:
			assert.Equal(t, text, override.Path+"="+value.(string))
		}
	})
}

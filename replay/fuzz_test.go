package replay_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// FuzzRerecord rerecords a trace of any lines. It ends, the replay itself does not fail, and the
// new trace verifies in every later run; on an error nothing is written. In a bubble time advances
// only when all goroutines are blocked.
func FuzzRerecord(f *testing.F) {
	tracetest.AddBodies(f)
	f.Fuzz(func(t *testing.T, lines []byte) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			var written bytes.Buffer
			_, err := replay.Rerecord(ctx, bytes.NewReader(tracetest.Resealed(lines)), &written, replay.Live{}, trace.Options{MaxLine: 1 << 20})
			require.NoError(t, ctx.Err(), "it did not end")
			if err != nil {
				assert.NotContains(t, err.Error(), "the replay itself failed")
				assert.Zero(t, written.Len(), "nothing is written")
				return
			}
			report, err := replay.Verify(ctx, bytes.NewReader(written.Bytes()), replay.Live{})
			require.NoError(t, err)
			assert.Nil(t, report.Divergence)
		})
	})
}

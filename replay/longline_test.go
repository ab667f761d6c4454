package replay_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// recordAgain tells a recorder what a trace tells.
func recordAgain(recorded *trace.Trace, options replay.RecordOptions) ([]byte, error) {
	var out bytes.Buffer
	recorder := replay.Record(&out, options)
	run := recorder.Observe(recorded.Info)
	for i := range recorded.Lines() {
		run.Tell(&recorded.Lines()[i].Crossing)
	}
	return out.Bytes(), recorder.Err()
}

// What a recorder writes its reader reads: what one line does not take is in several, also
// where it is compressed, and where something is taken out before.
func TestWhatIsWrittenCanBeRead(t *testing.T) {
	t.Parallel()
	for _, options := range []replay.RecordOptions{{}, {Compress: true}, {Redact: &redact.Rules{}}} {
		tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
			longest, header := int64(0), int64(bytes.IndexByte(f.Bytes, '\n')+1)
			for line := range bytes.Lines(f.Bytes) {
				longest = max(longest, int64(len(line)))
			}
			for _, most := range []int64{longest + 64, longest, longest - 1, longest / 2, header, 1} {
				options := options
				options.MaxLine = max(most, 72)
				written, err := recordAgain(f.Trace, options)
				read, readErr := trace.Read(bytes.NewReader(written), trace.Options{MaxLine: options.MaxLine})
				if options.MaxLine < header {
					assert.ErrorContains(t, err, "Options.MaxLine can allow more")
					assertFault(t, readErr, trace.FaultTruncated)
					continue
				}
				require.NoError(t, err)
				require.NoError(t, readErr, "lines of %d", most)
				assert.Len(t, read.Lines(), len(f.Trace.Lines()))
			}
		})
	}
}

// largeVariable has the tests run that need hundreds of megabytes.
const largeVariable = "ADKREPLAY_LARGE"

// A media of 51 MB is more than a line: the recorder says so, and with a limit that is
// raised for both it is written, read and run again.
func TestALargeMedia(t *testing.T) {
	if os.Getenv(largeVariable) == "" {
		t.Skipf("it takes half a gigabyte: `make heavy` sets %s", largeVariable)
	}
	bytesOf := make([]byte, 51_000_000)
	media, err := adk.NewMedia(adk.MediaInit{ID: "film", Kind: adk.MediaVideo, MIMEType: "video/mp4", Filename: "film.mp4",
		TrustTier: adk.TrustFirstParty, ModalityHazard: adk.HazardInert,
		Reader: adk.MediaFunc(func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(bytesOf)), nil })})
	require.NoError(t, err)
	for _, most := range []int64{0, 128 << 20} {
		var out bytes.Buffer
		recorder := replay.Record(&out, replay.RecordOptions{MaxLine: most})
		runner, err := adk.NewRunner(adk.Config{Storage: noStorage, Probe: recorder, Executor: adk.Executor{Name: "model",
			Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, err := dc.OpenMedia(ctx, media)
				require.NoError(t, err)
				return dc.Ack()
			}}})
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), rawTurn))
		report, readErr := replay.Verify(t.Context(), bytes.NewReader(out.Bytes()), replay.Live{}, trace.Options{MaxLine: most})
		if most == 0 {
			require.ErrorContains(t, recorder.Err(), "Options.MaxLine can allow more")
			assertFault(t, readErr, trace.FaultTruncated)
			continue
		}
		require.NoError(t, recorder.Err())
		require.NoError(t, readErr)
		assert.Nil(t, report.Divergence)
	}
}

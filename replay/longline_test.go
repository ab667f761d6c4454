package replay_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// recordAgain feeds the crossings of a trace to a recorder.
func recordAgain(recorded *trace.Trace, options replay.RecordOptions) ([]byte, error) {
	var out bytes.Buffer
	recorder := replay.Record(&out, options)
	run := recorder.Observe(recorded.Info)
	for i := range recorded.Lines() {
		run.Tell(&recorded.Lines()[i].Crossing)
	}
	return out.Bytes(), recorder.Err()
}

// What a recorder writes, a reader can read: a crossing that is too long for one line is written
// in several lines, also in a compressed trace, and after redaction.
func TestWhatIsWrittenCanBeRead(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, options := range []replay.RecordOptions{{}, {Compress: true}, {Redact: &redact.Rules{}}}[:thorough.Of(3, 3, 1)] {
		tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
			if !thorough.Takes(f.Name, 4) {
				return
			}
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

// largeVariable is the environment variable that enables the tests which need hundreds of megabytes.
const largeVariable = "ADKREPLAY_LARGE"

// A media of 51 MB, and a fetch of a million messages, do not fit into one line. They are
// recorded, read and replayed like any other crossing.
func TestALargeCrossing(t *testing.T) {
	if os.Getenv(largeVariable) == "" {
		t.Skipf("it takes more than a gigabyte: `make heavy` sets %s", largeVariable)
	}
	for name, size := range map[string]int{"film": 68, "fetch": 100} {
		at := slices.IndexFunc(large.Heavy, func(s large.Shape) bool { return s.Name == name })
		var out bytes.Buffer
		require.NoError(t, large.Heavy[at].Write(&out, size))
		assert.Greater(t, bytes.Count(out.Bytes(), []byte("\n{\"left\":")), 60, name)
		report, err := replay.Verify(t.Context(), bytes.NewReader(out.Bytes()), replay.Live{})
		require.NoError(t, err, name)
		assert.Nil(t, report.Divergence, name)
	}
}

package replay_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// A file that changed after it was written is never taken for whole, wherever it is cut, whichever
// byte differs, and in whatever order its lines are. A normal run damages a sample of the lines of
// each fixture, with another first line for each; with the variable of the engine's mutants, every
// line.
func TestVerifyRefusesDamagedFiles(t *testing.T) {
	t.Parallel()
	lineStep, flips := thorough.Of(16, 64, 256), thorough.Of(8, 2, 1)
	if tracetest.AllMutants() {
		lineStep, flips = 1, 100
	}
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		if !thorough.Takes(f.Name, 4) {
			return
		}
		lines := bytes.SplitAfter(bytes.TrimSuffix(f.Bytes, []byte("\n")), []byte("\n"))
		lines[len(lines)-1] = append(slices.Clone(lines[len(lines)-1]), '\n')
		for i := len(f.Name) % lineStep; i < len(lines); i += lineStep {
			refuses(t, tracetest.Join(lines[:i]), "cut before line %d", i+1)
			refuses(t, append(tracetest.Join(lines[:i]), lines[i][:len(lines[i])/2]...), "cut within line %d", i+1)
			refuses(t, tracetest.Join(slices.Insert(slices.Clone(lines), i, lines[i])), "line %d twice", i+1)
			refuses(t, tracetest.Join(slices.Delete(slices.Clone(lines), i, i+1)), "without line %d", i+1)
			if i > 0 && !bytes.Equal(lines[i-1], lines[i]) {
				swapped := slices.Clone(lines)
				swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
				refuses(t, tracetest.Join(swapped), "lines %d and %d swapped", i, i+1)
			}
		}
		random := rand.New(rand.NewPCG(1, uint64(len(f.Bytes))))
		for range flips {
			damaged := slices.Clone(f.Bytes)
			at, bit := random.IntN(len(damaged)), random.IntN(8)
			damaged[at] ^= 1 << bit
			refuses(t, damaged, "bit %d of byte %d flipped", bit, at)
		}
	})
}

// refuses verifies a damaged file, which must be unreadable or diverge.
func refuses(t *testing.T, file []byte, format string, args ...any) {
	ctx, cancel := context.WithTimeout(t.Context(), patience.Long)
	defer cancel()
	report, err := replay.Verify(ctx, bytes.NewReader(file), replay.Live{})
	what := append([]any{format}, args...)
	require.NoError(t, ctx.Err(), what...)
	if err == nil {
		assert.NotNil(t, report.Divergence, what...)
		return
	}
	var unreadable *trace.FormatError
	assert.ErrorAs(t, err, &unreadable, what...)
}

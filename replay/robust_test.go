package replay_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay"
)

// A file that something changed after it was written is never taken for whole:
// wherever it is cut, whichever byte is another, however its lines lie. A normal
// run damages every fourth line of each fixture, beginning with another one in
// each; with the variable of the engine's mutants every line.
func TestVerifyRefusesDamagedFiles(t *testing.T) {
	t.Parallel()
	lineStep, flips := 4, 25
	if os.Getenv(mutantsVariable) == "all" {
		lineStep, flips = 1, 100
	}
	forEachFixture(t, func(t *testing.T, f fixture) {
		lines := bytes.SplitAfter(bytes.TrimSuffix(f.bytes, []byte("\n")), []byte("\n"))
		lines[len(lines)-1] = append(slices.Clone(lines[len(lines)-1]), '\n')
		for i := len(f.name) % lineStep; i < len(lines); i += lineStep {
			refuses(t, join(lines[:i]), "cut before line %d", i+1)
			refuses(t, append(join(lines[:i]), lines[i][:len(lines[i])/2]...), "cut within line %d", i+1)
			refuses(t, join(slices.Insert(slices.Clone(lines), i, lines[i])), "line %d twice", i+1)
			refuses(t, join(slices.Delete(slices.Clone(lines), i, i+1)), "without line %d", i+1)
			if i > 0 && !bytes.Equal(lines[i-1], lines[i]) {
				swapped := slices.Clone(lines)
				swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
				refuses(t, join(swapped), "lines %d and %d swapped", i, i+1)
			}
		}
		random := rand.New(rand.NewPCG(1, uint64(len(f.bytes))))
		for range flips {
			damaged := slices.Clone(f.bytes)
			at, bit := random.IntN(len(damaged)), random.IntN(8)
			damaged[at] ^= 1 << bit
			refuses(t, damaged, "bit %d of byte %d flipped", bit, at)
		}
	})
}

// join puts lines together.
func join(lines [][]byte) []byte { return slices.Concat(lines...) }

// refuses verifies a damaged file, which must be found unreadable or to diverge.
func refuses(t *testing.T, file []byte, format string, args ...any) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	report, err := replay.Verify(ctx, bytes.NewReader(file), replay.Live{})
	what := append([]any{format}, args...)
	require.NoError(t, ctx.Err(), what...)
	if err == nil {
		assert.NotNil(t, report.Divergence, what...)
		return
	}
	var unreadable *replay.FormatError
	assert.ErrorAs(t, err, &unreadable, what...)
}

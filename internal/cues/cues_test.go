package cues_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/cues"
)

// What is left out of a script is played by nobody, and what stands behind it moves up;
// other scripts, and runs that nobody looks at, play all.
func TestPlayed(t *testing.T) {
	cut := cues.Cut{}
	cut.Leave("model", 2)
	cut.Leave("model", 0)
	ctx := context.WithValue(t.Context(), cues.PrompterKey{}, cues.Prompter(cut.Played))
	played := func(ctx context.Context, executor string) (all []int) {
		for n := range 4 {
			all = append(all, cues.Played(ctx, executor, n))
		}
		return all
	}
	assert.Equal(t, []int{1, 3, 4, 5}, played(ctx, "model"))
	assert.Equal(t, []int{0, 1, 2, 3}, played(ctx, "another"))
	assert.Equal(t, []int{0, 1, 2, 3}, played(t.Context(), "model"))
	assert.Equal(t, []int{0, 1, 2, 3}, played(context.WithValue(t.Context(), cues.PrompterKey{}, cues.Prompter(nil)), "model"))
}

package cues_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/cues"
)

// An iteration that is left out of a script is not played, and the later ones move up. Other scripts, and
// runs without a prompter, play every iteration.
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

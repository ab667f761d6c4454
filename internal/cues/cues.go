// Package cues lets a test choose which iterations of a script are played: a test of a variant of a
// turn leaves some of them out.
package cues

import (
	"context"
	"slices"
)

// Prompter returns the iteration of an executor's script to play as an iteration of a dispatch.
// Both count from 0. A Prompter that leaves none out returns its argument. An iteration after the
// last one of the script does not exist.
type Prompter func(executor string, iteration int) (played int)

// PrompterKey is the key of the Prompter in the context of a run.
type PrompterKey struct{}

// Played returns the iteration of an executor's script to play: the one that the context's Prompter
// returns or, without a Prompter, iteration itself.
func Played(ctx context.Context, executor string, iteration int) int {
	if prompter, ok := ctx.Value(PrompterKey{}).(Prompter); ok && prompter != nil {
		return prompter(executor, iteration)
	}
	return iteration
}

// Cut lists the iterations of scripts that are left out, by executor and in order; nil leaves out
// none.
type Cut map[string][]int

// Leave leaves out an iteration of an executor's script.
func (c Cut) Leave(executor string, iteration int) {
	c[executor] = append(c[executor], iteration)
	slices.Sort(c[executor])
}

// Played is a Prompter. It skips each iteration that is left out.
func (c Cut) Played(executor string, iteration int) int {
	for _, out := range c[executor] {
		if out <= iteration {
			iteration++
		}
	}
	return iteration
}

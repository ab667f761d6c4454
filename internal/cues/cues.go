// Package cues has scripts ask which of their iterations is played: who tries what becomes
// of a turn leaves some of them out.
package cues

import (
	"context"
	"slices"
)

// Prompter gives the iteration of an executor's script that is played as the iteration of
// a dispatch. Both count from 0; who leaves none out gives what it is given. An iteration
// behind the script's last is what the script has not.
type Prompter func(executor string, iteration int) (played int)

// PrompterKey is what a context is asked for the Prompter of its run with.
type PrompterKey struct{}

// Played is which iteration of an executor's script is played: what the context's Prompter
// says, or the one that it is.
func Played(ctx context.Context, executor string, iteration int) int {
	if prompter, ok := ctx.Value(PrompterKey{}).(Prompter); ok && prompter != nil {
		return prompter(executor, iteration)
	}
	return iteration
}

// Cut are the iterations of scripts that are left out, by their executors and in order; nil
// leaves out none.
type Cut map[string][]int

// Leave leaves out an iteration of an executor's script, whoever plays it.
func (c Cut) Leave(executor string, iteration int) {
	c[executor] = append(c[executor], iteration)
	slices.Sort(c[executor])
}

// Played is a Prompter: it plays one iteration later for each that is left out before.
func (c Cut) Played(executor string, iteration int) int {
	for _, out := range c[executor] {
		if out <= iteration {
			iteration++
		}
	}
	return iteration
}

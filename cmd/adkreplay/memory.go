package main

import (
	"os"
	"runtime/debug"
)

// memoryGoal is what the command takes at most, as far as collecting garbage more often
// can do something for it: what it holds is bounded by the limits of reading.
const memoryGoal = 900 << 20

// bound tells the runtime what it may take, unless the environment says otherwise. Where
// memory is lacking all the same the runtime ends the process, with the exit code 2 of
// wrong usage; with this traceback it does so by a signal.
func bound() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
	debug.SetTraceback("crash")
}

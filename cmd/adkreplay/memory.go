package main

import (
	"os"
	"runtime/debug"
)

// memoryGoal is the memory limit of the runtime. The limits of reading bound what the command
// holds; this limit makes the runtime collect garbage more often.
const memoryGoal = 900 << 20

// bound sets the runtime's memory limit, unless the environment does. If memory runs out anyway,
// the runtime ends the process, by default with exit code 2, which is that of wrong usage. With the
// traceback level crash, it ends by a signal instead.
func bound() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
	debug.SetTraceback("crash")
}

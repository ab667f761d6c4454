package describe

import "github.com/adkreplay/adkreplay/adk"

// EventOf is the event that says the same as an operation, and stands behind it; 0
// where there is none. Two that an operation causes stand around what lies between.
func EventOf(operation adk.Kind) adk.Kind {
	if events := operation.Causes(); len(events) == 1 {
		return events[0]
	}
	return 0
}

// Indent is by how much a line stands further in than what it is part of.
const Indent = "  "

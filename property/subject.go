package property

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
)

// Subject is a turn, or a dispatch called alone, that can be run again and again.
type Subject struct {
	// Name is what reports call it by.
	Name string
	// Build makes what one run needs, fresh: storage, tools and whatever else
	// remembers. Clock, ids, scheduling and probe are set by whoever runs it; a
	// *fakes.Clock that the config brings is kept, for user code that waits by it.
	// Cancel ends the context that is given to Run.
	Build func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn)
	// Alone makes it a dispatch that is called alone; nil is a turn.
	Alone *Alone
}

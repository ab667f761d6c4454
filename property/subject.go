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
	// Goroutines that it starts may outlive the run.
	Build func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn)
	// Open stands in the place of Build where a run needs what has to be closed
	// again, such as a server or a pool of connections. The function that it gives,
	// which may be nil, is called once, when the run is over and was judged; not
	// where the run hangs.
	Open func(cancel context.CancelCauseFunc) (config adk.Config, raw adk.RawTurn, closeAll func())
	// Alone makes it a dispatch that is called alone; nil is a turn.
	Alone *Alone
}

// open is Build or Open, whichever there is; what closes is never nil.
func (s Subject) open(cancel context.CancelCauseFunc) (config adk.Config, raw adk.RawTurn, closeAll func()) {
	if s.Open == nil {
		config, raw = s.Build(cancel)
	} else {
		config, raw, closeAll = s.Open(cancel)
	}
	if closeAll == nil {
		closeAll = func() {}
	}
	return config, raw, closeAll
}

package explore

import (
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property/internal/strays"
)

// This file says where in user code the rows and transactions were opened that a run leaves open: package
// sql starts a goroutine for each, which knows no more than that it was package sql. A run that is made
// again to show what it leaves is looked at at every crossing, and what is new was opened before it.

// openings are what package sql has opened in a run.
type openings struct {
	at   map[int]string // by the number of the goroutine that waits for its end
	open []int          // at the last crossing
	asks []openAsk      // those under way, in their order
}

type openAsk struct {
	op int
	of string
}

// noteOpened takes in what is open at a crossing.
func (a *attempt) noteOpened(x *adk.Crossing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.ofSQL
	o.open = strays.Open(a.label, a.earlier)
	for _, id := range o.open {
		if o.at[id] != "" {
			continue
		}
		o.at[id] = fmt.Sprintf("opened before crossing %d", x.Seq)
		if n := len(o.asks); n > 0 {
			o.at[id] += ", while " + o.asks[n-1].of + " was asked"
		}
		if where := watchdog.Here().Where(); where != "" {
			o.at[id] += ", " + where
		}
	}
	switch {
	case wire.Asks(x):
		o.asks = append(o.asks, openAsk{x.Op, x.Name})
	case wire.EndsAsk(x):
		o.asks = slices.DeleteFunc(o.asks, func(open openAsk) bool { return open.op == x.Op })
	}
}

// leftOpen says of each that was open to the end where it was opened.
func (a *attempt) leftOpen() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range a.ofSQL.open {
		all = append(all, a.ofSQL.at[id])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

package explore

import (
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property/internal/strays"
)

// This file finds out where user code opened the rows and transactions that a run leaves open.
// Package sql starts a goroutine for each of them, whose stack does not show the code that opened
// it. So a run is made once more and looked at at every crossing: what is new there was opened
// before it.

// openings holds what package sql has opened in a run.
type openings struct {
	at   map[int]string // where it was opened, by the number of the goroutine that waits for its end
	open []int          // what was open at the last crossing
	asks []openAsk      // the asks under way, in their order
}

type openAsk struct {
	op int
	of string
}

// noteOpened records what is open at a crossing.
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

// leftOpen says where each row or transaction that stayed open was opened.
func (a *attempt) leftOpen() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range a.ofSQL.open {
		all = append(all, a.ofSQL.at[id])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mostLooks is how many asks of the undisturbed run are looked at for what is open meanwhile. A look
// is expensive, and a turn may ask many thousand times.
const mostLooks = 100

// noteHolding records the ask that begins at a crossing of the undisturbed run if rows or a
// transaction are open then.
func (a *attempt) noteHolding(x *adk.Crossing) {
	if a.looked++; a.looked <= mostLooks && len(strays.Open(a.label, a.earlier)) > 0 {
		a.holding = append(a.holding, x.Seq)
	}
}

// asksHolding reports whether a fault breaks the answer to an ask during which the undisturbed run
// keeps rows or a transaction open. Code that gives up then may forget to end them.
func (a *attempt) asksHolding(f *planned) bool {
	return f.world != nil && slices.Contains(a.holding, f.world.first)
}

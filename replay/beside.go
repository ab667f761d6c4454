package replay

import (
	"maps"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/makers"
)

// besides makes operations and dispatches on goroutines of their own, where user code made them on
// goroutines that it started itself. While one of them waits, the rest of its call goes on.
//
// Makers says which of the goroutines made a recorded crossing.
type besides struct {
	makers.Makers
	goroutines map[int]int // the numbers that Makers gave, by the runtime's goroutine ids
	nested     bool        // some crossing came between an operation and its event, on one goroutine
	alive      int
	running    sync.WaitGroup
	settled    sync.Cond // signalled when a goroutine has ended, or waits inside the engine
}

// isBeside reports whether a goroutine that user code started made the operation or dispatch x, and
// not the goroutine that runs the call. That is so where x is made through the handle of another
// strand's call, or where the call does something else, or returns, before x is over. mu is held.
func (p *player) isBeside(x *adk.Crossing, strand int) bool {
	operates := x.Kind.Class() == adk.ClassOperation && x.Phase == adk.Begin && !wire.IsAsk(x) && x.Op != 0
	if !operates && !wire.IsDispatched(x) || p.besides.Knows(x) {
		return false
	}
	return x.Strand != strand || p.besides.Overlaps(x)
}

// comesBetween reports whether the head x was made, by a goroutine that user code started, between
// an operation of another goroutine and the event of that operation. w has announced the event,
// which comes later; x must be made first. mu is held.
func (p *player) comesBetween(x *adk.Crossing, w wait) bool {
	return w.step.Kind.Class() == adk.ClassEvent && wire.IsPerformed(x) &&
		x.Strand == w.strand && p.takes(w, x) && p.besides.ComesSoon(w.step)
}

// beside makes the operation or dispatch x, which is the head, on a goroutine of its own. mu is
// held.
func (p *player) beside(x *adk.Crossing) {
	b := &p.besides
	number := b.Begin(x)
	p.claimed = p.matched + 1
	b.alive++
	p.alive++
	p.performing(x, 1)
	before := p.matched
	b.running.Go(func() {
		_, err := stub.OwnGoroutine(func() error {
			p.begins(number)
			p.stage.Operate(x)
			return nil
		})
		p.over(number, x, before, err)
	})
}

// begins stores the number of the present goroutine.
func (p *player) begins(number int) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.besides.goroutines[watchdog.ID()] = number
}

// over notes that the operation x, which was made on a goroutine of its own, is over.
func (p *player) over(number int, x *adk.Crossing, before int, err error) {
	if err != nil {
		p.fail(err)
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	delete(p.returned, -number)
	maps.DeleteFunc(p.besides.goroutines, func(_, its int) bool { return its == number })
	p.performing(x, -1)
	p.besides.alive--
	p.alive--
	if p.matched == before && !p.Stopped { // no crossing came: user code cannot have made it there
		p.missing(x)
	}
	p.act()
	p.check()
	p.wake()
	p.besides.settled.Broadcast()
}

// endBesides ends the goroutines that outlive the run. It first waits until each of them has ended
// or waits inside the engine; crossings after the end of the run are not observed. mu is held.
func (p *player) endBesides() {
	if !p.besides.Any() {
		return
	}
	p.wakeAll()
	for !p.Stopped && p.blocked() < p.besides.alive {
		p.besides.settled.Wait()
	}
	p.stop()
	p.unlocked(p.besides.running.Wait)
}

// byNumber is the number of the present goroutine; 0 for every goroutine without a number.
func (b *besides) byNumber() int {
	if len(b.goroutines) == 0 {
		return 0
	}
	return b.goroutines[watchdog.ID()]
}

// presentIn is a key for the present goroutine: its own number, negated, or else its strand.
func (b *besides) presentIn(strand int) int {
	if by := b.byNumber(); by != 0 {
		return -by
	}
	return strand
}

// isOf reports whether the head x is for the waiter w to make, and not for another goroutine of its
// strand. An event that no operation explains is made by the goroutine that announced it. mu is
// held.
func (b *besides) isOf(w wait, x *adk.Crossing) bool {
	if !b.Any() {
		return true
	}
	switch by, certain := b.Of(x); {
	case certain:
		return by == w.by
	case w.scripted: // it makes misuse of a handle, and dispatches; the engine makes what else is uncertain
		return by == w.by && (wire.IsContained(x) || wire.IsDispatched(x))
	default:
		return by == w.by || w.step.Kind == x.Kind && w.step.Call == x.Call
	}
}

// told is a recorded crossing. Where goroutines of user code are at work, it has the payload of the
// new crossing, which shows whose crossing it is.
func (b *besides) told(recorded, got *adk.Crossing) *adk.Crossing {
	if !b.Any() && !b.nested || got.Payload == nil {
		return recorded
	}
	told := *recorded
	told.Payload = got.Payload
	return &told
}

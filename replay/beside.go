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

// besides are the operations and dispatches that a replay makes on goroutines of their own, as user code
// that begins some itself did: while one waits, what else its call does goes on.
//
// Which of them made a crossing is for Makers to say.
type besides struct {
	makers.Makers
	goroutines map[int]int // the numbers that Makers gave, by the runtime's
	nested     bool        // something came between an operation and its event, on one goroutine
	alive      int
	running    sync.WaitGroup
	settled    sync.Cond // one is over, or waits inside the engine
}

// isBeside reports whether a goroutine of user code's own makes the operation or dispatch x, and not the
// one that runs a call of the strand: it is through the handle of another one, or the call
// does something else before it is over, or returns. mu is held.
func (p *player) isBeside(x *adk.Crossing, strand int) bool {
	operates := x.Kind.Class() == adk.ClassOperation && x.Phase == adk.Begin && !wire.IsAsk(x) && x.Op != 0
	if !operates && !wire.IsDispatched(x) || p.besides.Knows(x) {
		return false
	}
	return x.Strand != strand || p.besides.Overlaps(x)
}

// comesBetween reports whether a goroutine of user code's own made the head x between what
// another one did and the event of that, which w has announced and which comes behind it. It
// is to be made there. mu is held.
func (p *player) comesBetween(x *adk.Crossing, w wait) bool {
	return w.step.Kind.Class() == adk.ClassEvent && wire.IsPerformed(x) &&
		x.Strand == w.strand && p.takes(w, x) && p.besides.ComesSoon(w.step)
}

// beside makes the operation or dispatch x, which is the head, on a goroutine of its own. mu is held.
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

// begins notes that the present goroutine has a number.
func (p *player) begins(number int) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.besides.goroutines[watchdog.ID()] = number
}

// over notes that the operation x is over, which was made beside.
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
	if p.matched == before && !p.Stopped { // user code cannot have made it there, or it told nothing
		p.missing(x)
	}
	p.act()
	p.check()
	p.wake()
	p.besides.settled.Broadcast()
}

// endBesides ends what outlives the run, once that has told what it could: what comes behind
// the end of the run is told to nobody. mu is held.
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

// byNumber is the number of the present goroutine; 0 is every one that has none.
func (b *besides) byNumber() int {
	if len(b.goroutines) == 0 {
		return 0
	}
	return b.goroutines[watchdog.ID()]
}

// presentIn tells the present goroutine of a strand from those of all strands.
func (b *besides) presentIn(strand int) int {
	if by := b.byNumber(); by != 0 {
		return -by
	}
	return strand
}

// isOf reports whether the head x is for who waits to make: no other goroutine of its strand
// does. Of an event that nothing explains it is whoever announced it. mu is held.
func (b *besides) isOf(w wait, x *adk.Crossing) bool {
	if !b.Any() {
		return true
	}
	switch by, certain := b.Of(x); {
	case certain:
		return by == w.by
	case w.scripted: // it makes misuse of a handle, and dispatches; what else is uncertain is the engine's
		return by == w.by && (wire.IsContained(x) || wire.IsDispatched(x))
	default:
		return by == w.by || w.step.Kind == x.Kind && w.step.Call == x.Call
	}
}

// told is a recorded crossing, with the payload of the new one where that tells whose it is.
func (b *besides) told(recorded, got *adk.Crossing) *adk.Crossing {
	if !b.Any() && !b.nested || got.Payload == nil {
		return recorded
	}
	told := *recorded
	told.Payload = got.Payload
	return &told
}

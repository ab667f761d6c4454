package bycause

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/replay/internal/circle"
)

// This file handles new runs that do not end.
//
// That user code is blocked proves nothing: somebody outside the run may still wake it, however
// late. Such a run is waited for until the replay's own context ends. But only its own goroutine
// can end a strand. Where a strand waits for a second strand, which waits for a third, and so on
// back to the first, none of them can ever end. Such a run is given up as soon as nothing else in
// it goes on.

// leaveAfter is how long a run that was told to stop may take, twice, before it is left behind.
const leaveAfter = watchdog.Grace

// run runs the new run, and reports whether it has ended. A run that does not end after its context
// has ended, or after it was given up, is left behind.
func (p *player) run(ctx context.Context, name string, run func() error) (refused, err error, ended bool) {
	label := p.rest.Label()
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	limit := watchdog.NewLimit(leaving, 0, leaveAfter)
	defer limit.Close()
	if p.live.Any { // live code may wait for a strand that waits for its step, or for itself; scripted code never does
		defer watchdog.Watch(label, p.progress.Load, func(found watchdog.Action) {
			if found >= watchdog.Deadlock && p.givesUp() {
				leave()
				return
			}
			p.passBlocked()
		})()
		defer watchdog.Hear(ctx, name, label, p.progress.Load)()
		over := make(chan struct{})
		var serving sync.WaitGroup
		serving.Go(func() { p.rest.Serve(over, p.progress.Load, p.isDue, p.atRest) })
		defer func() {
			if close(over); ended { // else user code may hold mu for ever, as it keeps the run from ending
				serving.Wait()
			}
		}()
	}
	var is struct{ refused, err error }
	ended = limit.Wait(func() {
		is.refused, is.err = stub.OwnGoroutine(func() error {
			defer label.Begin()()
			p.strands[0].goroutine = watchdog.ID()
			return run()
		})
	})
	if !ended {
		label.Lose()
		return nil, nil, false
	}
	return is.refused, is.err, true
}

// neverEnded is the error of a run that was left behind. It describes what its goroutines do.
func (p *player) neverEnded(ctx context.Context) error {
	why := fmt.Errorf("replay: the new run never ends: %s", strings.Join(p.Endless, ", "))
	if ctx.Err() != nil {
		why = stub.Interrupted(ctx)
	}
	all := watchdog.Of(p.rest.Label())
	who := fmt.Sprintf("%s of the run left behind, not ended\n%s", safetext.Counted(len(all), "goroutine"), watchdog.Describe(all))
	return &stub.LeftBehindError{Why: why, Who: who}
}

// givesUp gives the run up if its strands wait for one another in a circle, and reports whether it
// did. What the run did until then stays valid.
func (p *player) givesUp() bool {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.Mu.Lock()
	defer p.Mu.Unlock()
	strands, by := circle.Find(p.needs(), func(n circle.Need) int { return n.Of })
	for i, n := range strands {
		p.Endless = append(p.Endless, by[i].Text(n, p.callers.Of(&adk.Crossing{Seq: by[i].Seq})))
	}
	if p.Endless != nil {
		p.stop()
	}
	return p.Endless != nil
}

// awaits is a wait for a strand.
type awaits struct {
	strand    int // the strand that is waited for; zero is none
	goroutine int // the goroutine that waits
	seq       int // the crossing that began it
}

// awaiting is the wait that a crossing begins. It must be called on the goroutine that waits.
func awaiting(x *adk.Crossing) awaits { return awaits{x.ID, watchdog.ID(), x.Seq} }

// begins notes the call of a strand. It must be called on the strand's goroutine.
func (s *newStrand) begins(x *adk.Crossing) { s.call, s.goroutine = x.ID, watchdog.ID() }

// needs returns, for every strand that has not ended, the strands without whose end it cannot end:
// those that it waits for, and those that its call forked, because a call returns only after the
// strands that it forked (DET-7). mu is held.
func (p *player) needs() map[int][]circle.Need {
	calls, goroutines, all := map[int]int{}, map[int]int{}, map[int][]circle.Need{}
	for n, s := range p.strands {
		if s.call != 0 {
			calls[s.call], goroutines[s.goroutine] = n, n
		}
	}
	for _, op := range p.ops {
		if n, ok := goroutines[op.awaits.goroutine]; ok && op.awaits.strand != 0 {
			all[n] = append(all[n], circle.Need{Of: op.awaits.strand, Seq: op.awaits.seq})
		}
	}
	for _, forked := range slices.Sorted(maps.Keys(p.strands)) {
		if n, ok := calls[p.strands[forked].forkedIn]; ok {
			all[n] = append(all[n], circle.Need{Of: forked})
		}
	}
	return all
}

package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// The player's findings. mu is held in all of these functions; only the first finding is kept.

func (p *player) differs(want, got *adk.Crossing, fields []compare.FieldDiff) {
	class := classOf(want, fields)
	if fields[0].Field == "kind" {
		class = p.misplaced(got)
		fields = nil
	}
	fields = compare.InDetail(want, got, fields)
	p.report(divergence(p.namer, class, want, got, fields), want)
}

// misplacedReach is how many crossings ahead misplaced looks for a crossing that came too early.
const misplacedReach = 16

// misplaced classifies a crossing of another kind than the recorded one: if it was recorded further
// on, those before it are missing; otherwise it is extra.
func (p *player) misplaced(got *adk.Crossing) Class {
	for i := 1; i <= misplacedReach; i++ {
		x := p.peek(i)
		if x == nil {
			break
		}
		if compare.MovedOnly(p.comparer, x, got) {
			return Missing
		}
	}
	return Extra
}

// missing reports a recorded crossing that the new run does not make.
func (p *player) missing(want *adk.Crossing) {
	p.report(divergence(p.namer, Missing, want, nil, nil), want)
}

// deadlock is missing where no goroutine can go on. It also says who waits for what.
func (p *player) deadlock(want *adk.Crossing) {
	d := divergence(p.namer, Missing, want, nil, nil)
	if p.alive > 1 { // a single goroutine can only wait for this
		d.Waiting = p.waiting()
	}
	p.report(d, want)
}

// unended reports that the recording ends while all goroutines wait inside the engine, for a timer
// or for the settlement of a gate that is not recorded any more.
func (p *player) unended() {
	d := divergence(p.namer, Missing, nil, nil, nil)
	d.Waiting = append(p.waiting(), "and the recording ends here")
	last := &adk.Crossing{At: p.began}
	if p.matched > 0 {
		last = &p.recent[(p.matched-1)%len(p.recent)].Crossing
	}
	p.report(d, last)
}

// waiting says for each strand what it waits for.
func (p *player) waiting() (said []string) {
	for _, n := range slices.Sorted(maps.Keys(p.strands)) {
		s := p.strands[n]
		for range s.blocked() {
			said = append(said, fmt.Sprintf("strand %d inside the engine", n))
		}
		for range s.held {
			said = append(said, fmt.Sprintf("strand %d for a crossing of its own", n))
		}
	}
	return said
}

// extra reports a crossing after the recording's end.
func (p *player) extra(got *adk.Crossing) {
	p.report(divergence(p.namer, Extra, nil, got, nil), got)
}

// report keeps a divergence at the crossing at, with what is known of its place, and stops the
// replay.
func (p *player) report(d *Divergence, at *adk.Crossing) {
	if p.Stopped {
		return
	}
	if d.Crossing == 0 {
		d.Crossing = p.matched + 1
	}
	d.Strand = at.Strand
	d.Seam = seamIn(p.calls, at)
	if !p.began.IsZero() {
		d.At = at.At.Sub(p.began)
	}
	for i := range p.recent {
		if line := p.recent[(p.matched+i)%len(p.recent)].Line; line != nil {
			d.agreed(&line.Crossing, p.namer.Line(&line.Crossing))
		}
	}
	if p.outdated {
		d.Class = NewContract
	}
	p.found = d
	p.stop()
}

// seamIn is the path of the seam call that a crossing belongs to, if calls has it; else the path of
// the crossing's own seam.
func seamIn(calls map[int]*adk.Crossing, x *adk.Crossing) string {
	if call := calls[wire.CallOf(x)]; call != nil && x.Kind != adk.KindCall {
		x = call
	}
	return x.Seam.String()
}

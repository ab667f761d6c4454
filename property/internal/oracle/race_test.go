package oracle

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// Two goroutines ask, and one gets its answer. If the caller's leaving then ends the other ask, the agent does heed
// the abort, whichever came first. It does not heed the abort if nobody was answered, if the other ask began only
// then, or if one goroutine makes both asks.
func TestWhoLosesARaceHeedsTheAbort(t *testing.T) {
	const cancel = 0 // stands for a cancel in place of an ask
	type step struct {
		op   int
		done bool
		err  error
	}
	left := context.Canceled
	for name, c := range map[string]struct {
		steps  []step
		askers int
		deaf   bool
	}{
		"answered before":   {[]step{{op: 1}, {op: 2}, {op: 1, done: true}, {op: cancel}, {op: 2, done: true, err: left}}, 2, false},
		"answered behind":   {[]step{{op: 1}, {op: 2}, {op: cancel}, {op: 2, done: true, err: left}, {op: 1, done: true}}, 2, false},
		"answered by none":  {[]step{{op: 1}, {op: 2}, {op: cancel}, {op: 1, done: true, err: left}, {op: 2, done: true, err: left}}, 2, true},
		"asked behind it":   {[]step{{op: 1}, {op: 1, done: true}, {op: cancel}, {op: 2}, {op: 2, done: true, err: left}}, 2, true},
		"by one goroutine":  {[]step{{op: 1}, {op: 2}, {op: 1, done: true}, {op: cancel}, {op: 2, done: true, err: left}}, 1, true},
		"nobody has left":   {[]step{{op: 1}, {op: 2}, {op: 1, done: true}, {op: 2, done: true, err: left}}, 2, false},
		"left when all was": {[]step{{op: 1}, {op: 2}, {op: 1, done: true}, {op: 2, done: true}, {op: cancel}}, 2, false},
	} {
		var crossings []adk.Crossing
		tell := func(x adk.Crossing) {
			x.Seq = len(crossings) + 1
			crossings = append(crossings, x)
		}
		for id, label := range []string{adk.LabelRun, adk.LabelDispatch, adk.LabelExecutor} {
			tell(adk.Crossing{Kind: adk.KindCall, ID: id + 1, Call: id, Seam: adk.Seam{Label: label, Name: "x"}})
		}
		for _, s := range c.steps {
			switch {
			case s.op == cancel:
				tell(adk.Crossing{Kind: adk.KindCancel, Call: 1})
			case s.done:
				tell(adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 3, Op: s.op, Err: s.err})
			default:
				tell(adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Call: 3, Op: s.op, Name: "mirror"})
			}
		}
		tell(adk.Crossing{Kind: adk.KindAck, Phase: adk.Begin, Call: 3, Op: 3})
		var now, usually Reader
		run, undisturbed := now.Read(Run{Crossings: crossings}), usually.Read(Run{Crossings: crossings, Askers: map[int]int{3: c.askers}})
		assert.Equal(t, c.deaf, len(deafToAbort(run, undisturbed)) > 0, name)
	}
}

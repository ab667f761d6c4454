package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file holds what a run tells, and does, against what came of what it asked.

// partTold: what was asked for failed, the turn was acked, nobody was told, and the reader is
// given nothing, or the usual words with other figures: a sum of some of its parts. It is
// silent where the same was asked once more, and where the words are others: those may say
// that something is missing.
func partTold(r, undisturbed *reading) []exhibit {
	if r.status != adk.StatusAck || undisturbed.status != adk.StatusAck || r.cancelled > 0 {
		return nil
	}
	for _, f := range r.faults {
		x := r.failedAsk(f)
		if x == nil || r.tells(x.Seq) || r.askedTheSame(x) {
			continue
		}
		switch said, usual := r.said(), undisturbed.said(); {
		case said == usual:
		case said == "":
			return []exhibit{r.exhibit(x, "%s failed, the turn was acked, and the reader was told nothing: no answer, no error event, no log", f.world.of)}
		case numbers.ReplaceAllString(said, "#") == numbers.ReplaceAllString(usual, "#"):
			return []exhibit{r.exhibit(x, "%s failed, and the answer is the usual one with other figures: nobody was told that something is missing", f.world.of)}
		}
	}
	return nil
}

// panicHidden: user code panicked, recovered, and returned as if it had not; the turn was
// acked and nobody was told. Either that was a tool, and gave nothing in the place of
// something, or what it was about to write is never written, and the reader is told the same
// as ever. It is silent about all else that a panic may keep from happening: a turn can do
// without.
func panicHidden(r, undisturbed *reading) (found []exhibit) {
	if r.status != adk.StatusAck || r.cancelled > 0 {
		return nil
	}
	for _, f := range r.faults {
		if f.Kind != turn.Panic || !f.broke || f.call >= len(r.calls) || r.calls[f.call].outcome != adk.OutcomeOK || r.tells(f.At-1) {
			continue
		}
		if f.call >= len(undisturbed.calls) || undisturbed.calls[f.call].seam != r.calls[f.call].seam || f.At > len(undisturbed.crossings) {
			continue // goroutines of user code have gone another way
		}
		c, x := r.calls[f.call], &undisturbed.crossings[f.At-1]
		switch {
		case c.seam.Label == adk.LabelTool && isNothing(r.crossings[c.ended].Result) && !isNothing(undisturbed.crossings[undisturbed.calls[f.call].ended].Result):
			found = append(found, exhibit{c.ended + 1, c.seam.String(), fmt.Sprintf("%s panicked, recovered, and gave nothing as its result; the turn was acked, and nobody was told", c.seam)})
		case isWrite(x) && !r.begins(x, f.At-1) && r.said() == undisturbed.said():
			found = append(found, exhibit{f.At, c.seam.String(), fmt.Sprintf("%s panicked before %s and recovered; it was never written, the turn was acked, and nobody was told: no error event, no log, no other answer", c.seam, x.Kind)})
		}
	}
	return found
}

// isNothing reports whether a tool's result says nothing.
func isNothing(result adk.ToolResult) bool {
	return result == nil || slices.Contains([]string{"", "null", "[]", "{}"}, strings.TrimSpace(textOf(result)))
}

// isWrite reports whether an operation begins that writes.
func isWrite(x *adk.Crossing) bool {
	tool, _ := x.Record.(*adk.Tool)
	switch {
	case x.Phase != adk.Begin:
		return false
	case x.Kind == adk.KindExecute:
		return tool != nil && tool.Effect() == adk.EffectWrites
	case x.Kind == adk.KindAsk:
		return x.Status == string(adk.EffectWrites)
	}
	return x.Kind == adk.KindStore || x.Kind == adk.KindMutate || x.Kind == adk.KindDelete
}

// begins reports whether the same operation begins from a crossing on.
func (r *reading) begins(like *adk.Crossing, from int) bool {
	return slices.ContainsFunc(r.crossings[from:], func(x adk.Crossing) bool {
		return x.Kind == like.Kind && x.Phase == adk.Begin && x.Name == like.Name && keyOf(&x) == keyOf(like) && string(x.JSON) == string(like.JSON)
	})
}

// failedAsk is where an ask that a fault broke came to its end; nil where it did not fail.
func (r *reading) failedAsk(f planned) *adk.Crossing {
	if f.world == nil {
		return nil
	}
	refused := slices.Contains([]turn.FaultKind{turn.AskBusy, turn.AskFailed, turn.AskUnavailable, turn.AskUnauthorized}, f.Kind)
	at := slices.IndexFunc(r.crossings, func(x adk.Crossing) bool {
		return x.Kind == adk.KindAsk && x.Op == f.op && x.Phase == adk.Done && (x.Err != nil || refused)
	})
	if at < 0 {
		return nil
	}
	return &r.crossings[at]
}

// askedTheSame reports whether what an ask that has ended asked for was asked for again.
func (r *reading) askedTheSame(done *adk.Crossing) bool {
	begins := func(x adk.Crossing) bool { return x.Kind == adk.KindAsk && x.Phase == adk.Begin }
	first := slices.IndexFunc(r.crossings, func(x adk.Crossing) bool { return begins(x) && x.Op == done.Op })
	return first >= 0 && slices.ContainsFunc(r.crossings[done.Seq:], func(x adk.Crossing) bool {
		return begins(x) && x.Name == r.crossings[first].Name && string(x.JSON) == string(r.crossings[first].JSON)
	})
}

// noUnheeded: somebody settled a gate with a no that is usually settled with a yes, and all
// that the turn writes behind it, with tools and asks, is written as usual, and the same is
// said. It is silent where nothing is written behind it: a gate may ask for less.
func noUnheeded(r, undisturbed *reading) (found []exhibit) {
	if r.status != adk.StatusAck || r.cancelled > 0 {
		return nil
	}
	for _, f := range r.faults {
		no, yes := r.settled(f.At), undisturbed.settled(f.At)
		if f.Kind != turn.GateEarly || no == nil || yes == nil || no.Status == yes.Status {
			continue
		}
		if x := r.wroteAllTheSame(undisturbed, no.Seq); x != nil && r.said() == undisturbed.said() {
			found = append(found, r.exhibit(x, "the gate %q was settled with a no at crossing %d, and what is written behind it is written as after a yes", no.Name, no.Seq))
		}
	}
	return found
}

// settled is how the gate was settled that opened at a crossing; nil where it was not.
func (r *reading) settled(opened int) *adk.Crossing {
	if opened > len(r.crossings) {
		return nil
	}
	for i := range r.crossings[opened:] {
		if x := &r.crossings[opened+i]; x.Kind == adk.KindSettle && x.Name == r.crossings[opened-1].Name {
			return x
		}
	}
	return nil
}

// wroteAllTheSame is the first write behind a crossing, if the run has written what the
// undisturbed one has.
func (r *reading) wroteAllTheSame(undisturbed *reading, behind int) (first *adk.Crossing) {
	mine, usual := r.writes(), undisturbed.writes()
	for what, all := range usual {
		if len(mine[what]) != len(all) {
			return nil
		}
		for _, x := range mine[what] {
			if x.Seq > behind && (first == nil || x.Seq < first.Seq) {
				first = x
			}
		}
	}
	return first
}

// callDropped: a model wanted the same tool twice at once, the turn was acked, and it did
// what it does for one call. It is silent where the id of the second is heard of again: who
// does it once may answer both.
func callDropped(r, undisturbed *reading) []exhibit {
	if r.status != adk.StatusAck || r.cancelled > 0 || r.executes() > undisturbed.executes() || undisturbed.executes() == 0 {
		return nil
	}
	for _, f := range r.faults {
		at := slices.IndexFunc(r.crossings, func(x adk.Crossing) bool {
			return f.Kind == turn.ChatSeveral && x.Kind == adk.KindAsk && x.Op == f.op && x.Phase == adk.Done
		})
		if at < 0 || r.tells(at) || slices.ContainsFunc(r.crossings[at+1:], func(x adk.Crossing) bool { return isOfTwin(&x) }) {
			continue
		}
		return []exhibit{r.exhibit(&r.crossings[at], "%s wanted a tool twice at once, and what follows is what follows of one call: no second one, no result, no error", f.world.of)}
	}
	return nil
}

// isOfTwin reports whether a crossing names the call that ChatSeveral has added.
func isOfTwin(x *adk.Crossing) bool {
	return strings.Contains(string(x.JSON), chatfault.AgainMark) || strings.Contains(x.Name, chatfault.AgainMark) || x.Record != nil && strings.Contains(x.Record.Key(), chatfault.AgainMark)
}

// executes is how many tools were called.
func (r *reading) executes() (n int) {
	for i := range r.calls {
		if r.calls[i].seam.Label == adk.LabelTool {
			n++
		}
	}
	return n
}

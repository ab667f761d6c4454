package explore

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file makes faults that last: what fails goes on failing, a number of times, for ever, or for
// one of those whom an agent works for.
//
//  - How often: longer returns schedules in which the last fault happens another number of
//    times. The run itself shows which numbers are worth a try: an agent that asks five times
//    behaves differently after three failures and after four.
//  - In a run: lasts begins such a fault; goesOn says of each later call whether it fails too.
//  - For whom: wanted.GroupsOf finds the members of records, arguments and requests that
//    distinguish calls made for one person or thing from calls for another. variants makes a
//    fault for each.

// mostTimes is up to which number every number of failures is tried.
const mostTimes = 6

// longer returns the schedules in which the last fault of a run happens more often, or stops after
// some times, where that can matter.
func (e *exploring) longer(t *tried) (all []candidate) {
	n := &t.candidate
	if len(n.faults) == 0 || n.random != 0 || n.orders || t.hits < 2 {
		return nil
	}
	last := n.faults[len(n.faults)-1]
	repeated := func(kind turn.FaultKind, times int, each bool) {
		if times < 1 || !slices.Contains(e.options.Faults, kind) {
			return
		}
		p := last
		p.Kind, p.Times, p.left, p.Each = kind, times, times-1, each
		again := *n
		again.faults = append(slices.Clone(n.faults[:len(n.faults)-1]), p)
		again.again = false
		all = append(all, again)
	}
	switch {
	case last.Kind == turn.Down:
		for times := range fewerThan(t.hits, 3) {
			repeated(turn.Flaky, times, false)
		}
		repeated(turn.Flaky, t.same-1, true)
	case last.Kind == turn.AskDown:
		for times := range fewerThan(t.hits, 2) {
			repeated(turn.AskRefused, times, false)
		}
		repeated(turn.AskRefused, t.same-1, true)
	case !last.Kind.OfWorld() || !last.Kind.Repeats() || last.Kind == turn.AskRefused: // here AskDown goes on
	case last.Times == 0:
		repeated(last.Kind, turn.EachTime, false)
	case last.Times == turn.EachTime && t.hits > 2:
		repeated(last.Kind, t.hits-1, false)
	}
	return all
}

// fewerThan yields numbers of failures from least to hits-1: those up to mostTimes, and the last.
func fewerThan(hits, least int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for times := least; times < hits; times++ {
			if times > mostTimes {
				times = hits - 1
			}
			if !yield(times) {
				return
			}
		}
	}
}

// lasts sets up how long a fault goes on, if its kind does.
func (p *planned) lasts(s *faultPoint) {
	switch p.Kind {
	case turn.Down, turn.AskDown:
		p.left = math.MaxInt
	case turn.Flaky:
		p.left = 1
	case turn.DownOne:
		p.left, p.one = math.MaxInt, wanted.At(s.x).Part(p.Member)
	case turn.AskAgain:
		p.left = math.MaxInt
	case turn.AskDownOne:
		p.left, p.one = math.MaxInt, wanted.What{Request: s.world.request}.Part(p.Member)
	}
	if p.Times > 0 {
		p.left = p.Times - 1
	}
	switch {
	case p.world != nil:
		p.down = p.world.of
	case p.left > 0 || p.Each:
		p.down = provider(s.seam)
	}
}

// goesOn reports whether a fault that has happened happens again to a call of what is named of, and
// counts the call. mu is held.
func (p *planned) goesOn(of string, what wanted.What) bool {
	switch {
	case p.Each:
		return isTool(of) == isTool(p.down) && !strings.HasPrefix(of, adk.FaultPoints) && p.count(of, what) <= p.Times
	case p.left == 0 || of != p.down || p.one != "" && p.one != what.Part(p.Member):
		return false
	case p.Kind == turn.AskAgain && !p.world.isLike(what.Request):
		return false
	}
	p.left--
	if p.mine == what.Part("") {
		p.same++
	}
	return true
}

// first records the call with which the fault begins. mu is held.
func (p *planned) first(of string, what wanted.What) {
	p.mine, p.same = what.Part(""), 1
	if p.Each {
		p.count(of, what)
	}
}

func isTool(provided string) bool { return strings.HasPrefix(provided, adk.LabelTool+"/") }

// count counts the calls of the same for the same, and returns their number.
func (p *planned) count(of string, what wanted.What) int {
	if p.each == nil {
		p.each = map[string]int{}
	}
	p.each[of+" "+what.Part("")]++
	return p.each[of+" "+what.Part("")]
}

// howOften says how often a fault happens, and for whom, where that is not the usual.
func (p *planned) howOften() string {
	text := ""
	switch {
	case p.Times == turn.EachTime:
		text = ", each time"
	case p.Kind == turn.Flaky && p.Times == 0:
		text = ", 2 times in all"
	case p.Each:
		text = fmt.Sprintf(", %s each, and so does all that is called like it", inWords(p.Times, "time"))
	case p.Times > 0:
		text = ", " + strconv.Itoa(p.Times) + " times in all"
	}
	if p.Member != "" {
		text += fmt.Sprintf(", where %s is %s", p.Member, p.one)
	}
	return text
}

// callsOf holds the calls of a run, by provider: the writes to a collection, the calls of a tool,
// or the asks of one name.
type callsOf struct {
	crossings []adk.Crossing
	all       map[string][]wanted.Call
}

func (c *callsOf) of(provider string) []wanted.Call {
	if c.all == nil {
		c.gather()
	}
	return c.all[provider]
}

func (c *callsOf) gather() {
	c.all = map[string][]wanted.Call{}
	for _, w := range inOrder(askedIn(c.crossings)) {
		if !w.isPoint() {
			c.all[askOf(w.of)] = append(c.all[askOf(w.of)], wanted.Call{At: w.first, Members: wanted.What{Request: w.request}.Members()})
		}
	}
	for i := range c.crossings {
		x := &c.crossings[i]
		begins := x.Kind.Class() == adk.ClassCall && x.Outcome == ""
		if begins && (x.Seam.Label == adk.LabelTool || x.Seam.Label == adk.LabelStorage && !readsOnly(x.Seam.Name)) {
			c.all[provider(x.Seam)] = append(c.all[provider(x.Seam)], wanted.Call{At: i + 1, Members: wanted.At(x).Members()})
		}
	}
}

// askOf returns the key of callsOf for asks of a name.
func askOf(name string) string { return "ask/" + name }

// onlyOne holds, for each kind, a list with one fault of that kind.
var onlyOne = func() (all [turn.FaultKindEnd][1]turn.Fault) {
	for k := range all {
		all[k][0].Kind = turn.FaultKind(k)
	}
	return all
}()

// variants returns the faults of a kind at the spot. That is one fault; for a kind that can be
// limited to one (OfOne), one more for each member by which calls can be grouped.
func (s *faultPoint) variants(k turn.FaultKind) []turn.Fault {
	all := onlyOne[k][:]
	if !k.OfOne() {
		return all
	}
	provided := provider(s.seam)
	if k == turn.AskDownOne {
		provided = askOf(s.world.of)
	}
	for _, member := range wanted.GroupsOf(s.calls.of(provided), s.at) {
		all = append(all, turn.Fault{Kind: k, Member: member})
	}
	return all
}

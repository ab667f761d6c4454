package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Faults that last: what fails goes on failing, so many times and then no more, for ever, or
// for one of those whom an agent works for.
//
//   - How often: longer gives schedules in which the last fault happens another number of
//     times than it did. Which are worth a try an agent shows itself: one that asks five times
//     is another one after three failures than after four.
//   - In a run: lasts begins such a fault, goesOn says of each later call whether it fails too.
//   - For whom: groupsOf finds the members of records, arguments and requests by which some
//     calls are for another one than the others, and variants makes a fault for each.

// mostTimes is up to how often a failure is repeated one by one.
const mostTimes = 6

// longer are the schedules in which the last fault of a run happens more often, or less
// often than each time, where that can make a difference.
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
	case !last.Kind.OfWorld() || !last.Kind.Repeats() || last.Kind == turn.AskRefused: // for which it is AskDown that goes on
	case last.Times == 0:
		repeated(last.Kind, turn.EachTime, false)
	case last.Times == turn.EachTime && t.hits > 2:
		repeated(last.Kind, t.hits-1, false)
	}
	return all
}

// fewerThan are numbers of times from least on, below the one at which it went on to the
// end: the first ones and the last.
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

// lasts has a fault go on where it is of a kind that does.
func (p *planned) lasts(s *faultPoint) {
	switch p.Kind {
	case turn.Down, turn.AskDown:
		p.left = math.MaxInt
	case turn.Flaky:
		p.left = 1
	case turn.DownOne:
		p.left, p.one = math.MaxInt, wantedAt(s.x).part(p.Member)
	case turn.AskDownOne:
		p.left, p.one = math.MaxInt, wanted{request: s.world.request}.part(p.Member)
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

// goesOn reports whether a fault that has happened happens again to what is called of
// somebody, and counts it. mu is held.
func (p *planned) goesOn(of string, what wanted) bool {
	switch {
	case p.Each:
		return isTool(of) == isTool(p.down) && !strings.HasPrefix(of, adk.FaultPoints) && p.count(of, what) <= p.Times
	case p.left == 0 || of != p.down || p.one != "" && p.one != what.part(p.Member):
		return false
	}
	p.left--
	if p.mine == what.part("") {
		p.same++
	}
	return true
}

// first knows the call that the fault begins with. mu is held.
func (p *planned) first(of string, what wanted) {
	p.mine, p.same = what.part(""), 1
	if p.Each {
		p.count(of, what)
	}
}

func isTool(provided string) bool { return strings.HasPrefix(provided, adk.LabelTool+"/") }

// count counts how often the same was called.
func (p *planned) count(of string, what wanted) int {
	if p.each == nil {
		p.each = map[string]int{}
	}
	p.each[of+" "+what.part("")]++
	return p.each[of+" "+what.part("")]
}

// howOften says how often a fault happens, and for whom, where that is not as usual.
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

// wanted is what a storage, a tool or the world is called for: a record or its key,
// arguments, or a request.
type wanted struct {
	record  adk.Record
	key     string
	args    map[string]any
	request json.RawMessage
}

// wantedAt is what a seam is called for.
func wantedAt(x *adk.Crossing) wanted {
	args, _ := x.Args.(map[string]any)
	return wanted{record: x.Record, key: x.Key, args: args}
}

// part is the part of what is wanted that a member names, in a text: equal texts are equal
// parts. Without a member it is the record's key, or all arguments, or the whole request.
// It is empty where there is none.
func (w wanted) part(member string) string {
	if member != "" {
		return w.members()[member]
	}
	switch {
	case w.request != nil:
		return string(w.request)
	case w.record != nil:
		return w.record.Key()
	case len(w.args) == 0:
		return w.key
	}
	text, err := json.Marshal(w.args)
	if err != nil {
		return ""
	}
	return string(text)
}

// deepest is how deep members are looked at: whom a call is for stands near its top.
const deepest = 4

// members are the texts and numbers in what is wanted, by their paths, and what stands
// before the first / or : of a text.
func (w wanted) members() map[string]string {
	var tree any
	switch {
	case w.request != nil:
		tree = treeOf(w.request)
	case w.record != nil:
		tree = treeOf(w.record.AppendJSON(nil))
	case w.args != nil:
		tree = w.args
	default:
		tree = map[string]any{"key": w.key}
	}
	all := map[string]string{}
	gatherMembers(all, "", tree, deepest)
	return all
}

// treeOf is a JSON text with its numbers as they are spelled, since an id may be longer than a
// float64 holds; nil of what is none.
func treeOf(text []byte) (tree any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&tree) != nil {
		return nil
	}
	return tree
}

func gatherMembers(all map[string]string, path string, value any, depth int) {
	switch v := value.(type) {
	case map[string]any:
		for name, child := range v {
			if depth > 0 && !strings.Contains(name, ".") {
				gatherMembers(all, strings.TrimPrefix(path+"."+name, "."), child, depth-1)
			}
		}
	case string:
		putMember(all, path, strconv.Quote(v))
		for _, mark := range []string{"/", ":"} {
			if before, _, found := strings.Cut(v, mark); found && before != "" {
				putMember(all, path+mark, strconv.Quote(before))
			}
		}
	case json.Number, float64, int, int64, bool:
		putMember(all, path, fmt.Sprint(v))
	}
}

func putMember(all map[string]string, path, text string) {
	if turn.IsMember(path) {
		all[path] = text
	}
}

// callsOf are the calls of a run, by whom they call: a collection's writes, a tool, or who
// is asked.
type callsOf struct {
	crossings []adk.Crossing
	all       map[string][]oneCall
}

// oneCall is one of them.
type oneCall struct {
	at      int
	members map[string]string
}

func (c *callsOf) of(provider string) []oneCall {
	if c.all == nil {
		c.gather()
	}
	return c.all[provider]
}

func (c *callsOf) gather() {
	c.all = map[string][]oneCall{}
	for _, w := range inOrder(askedIn(c.crossings)) {
		if !w.isPoint() {
			c.all[askOf(w.of)] = append(c.all[askOf(w.of)], oneCall{w.first, wanted{request: w.request}.members()})
		}
	}
	for i := range c.crossings {
		x := &c.crossings[i]
		begins := x.Kind.Class() == adk.ClassCall && x.Outcome == ""
		if begins && (x.Seam.Label == adk.LabelTool || x.Seam.Label == adk.LabelStorage && !readsOnly(x.Seam.Name)) {
			c.all[provider(x.Seam)] = append(c.all[provider(x.Seam)], oneCall{i + 1, wantedAt(x).members()})
		}
	}
}

// askOf is how callsOf names whom is asked.
func askOf(name string) string { return "ask/" + name }

// mostMembers is for how many groups of calls something fails at one call of them.
const mostMembers = 2

// onlyOne has each kind of fault by itself.
var onlyOne = func() (all [turn.FaultKindEnd][1]turn.Fault) {
	for k := range all {
		all[k][0].Kind = turn.FaultKind(k)
	}
	return all
}()

// variants are the faults of a kind at the spot: one, and where it is of one alone, one for
// each group of calls that are for the same.
func (s *faultPoint) variants(k turn.FaultKind) []turn.Fault {
	all := onlyOne[k][:]
	if !k.OfOne() {
		return all
	}
	provided := provider(s.seam)
	if k == turn.AskDownOne {
		provided = askOf(s.world.of)
	}
	for _, member := range groupsOf(s.calls.of(provided), s.at) {
		all = append(all, turn.Fault{Kind: k, Member: member})
	}
	return all
}

// groupsOf are the members by which some calls, the one at a crossing among them and one
// behind it, are for another one than the others: shallow members first, and of those that
// make the same groups one.
func groupsOf(calls []oneCall, at int) (members []string) {
	mine := slices.IndexFunc(calls, func(c oneCall) bool { return c.at == at })
	if mine < 0 || len(calls) < 3 {
		return nil
	}
	known := []group{groupIn(calls, func(c oneCall) bool { return maps.Equal(c.members, calls[mine].members) })}
	for _, path := range shallowFirst(calls[mine].members) {
		g := groupIn(calls, func(c oneCall) bool { return c.members[path] == calls[mine].members[path] })
		if g[len(g)-1] == mine || len(g) == len(calls) || slices.ContainsFunc(known, g.equal) {
			continue
		}
		known = append(known, g)
		if members = append(members, path); len(members) == mostMembers {
			break
		}
	}
	return members
}

// group are some of several calls, by their places among them.
type group []int

func groupIn(calls []oneCall, alike func(oneCall) bool) (g group) {
	for i, c := range calls {
		if alike(c) {
			g = append(g, i)
		}
	}
	return g
}

func (g group) equal(other group) bool { return slices.Equal(g, other) }

func shallowFirst(members map[string]string) []string {
	return slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(strings.Count(a, ".")-strings.Count(b, "."), strings.Compare(a, b))
	})
}

package oracle

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/unescaped"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// The oracles of this file compare what a run says and does with the outcome of what it asked.

// partTold finds a part that is passed on as the whole. An ask failed, the turn was acked, and the
// failure was reported to nobody. Either the reader receives nothing, or the usual words with other
// figures (such as a sum of some of the parts) or without some of them; or the tool that asked
// returns nothing instead of something, or such words. It is silent if the same was asked again and
// answered; if as many answers came as usual, as some then came from elsewhere; and if there are
// other words, as those may say that something is missing. It also finds a tool that failed and, in
// a later call, returns such figures from what it kept of the failure.
func partTold(r, undisturbed *Run) []exhibit {
	if r.status != adk.StatusAck || undisturbed.status != adk.StatusAck || r.cancelled > 0 {
		return nil
	}
	for _, f := range r.Faults {
		x := r.failedAsk(f)
		if x == nil {
			continue
		}
		if later := r.gaveOtherFiguresUnasked(r.toolOf(x.Call), undisturbed); later > 0 {
			mine, usual, _ := r.gave(later, undisturbed)
			gives, usually := safetext.Excerpts(Text(mine), Text(usual), longestClip)
			return []exhibit{r.exhibit(&r.Crossings[r.calls[later].ended], "%s had failed, and %s gives the usual words with other figures, %s in the place of %s, and asks nobody for them", f.Of, r.calls[later].seam, gives, usually)}
		}
		if r.tells(x.Seq, undisturbed) {
			continue
		}
		if same := sameAs(r.asks()[x.Op].begun); r.isAnswered(x.Seq, same) || !undisturbed.isAnswered(0, sameButForIDs(r.asks()[x.Op].begun)) { // what always fails is not the fault's doing
			continue
		}
		if tool := r.toolOf(x.Call); tool > 0 && r.gaveNothing(tool, undisturbed) {
			return []exhibit{r.exhibit(x, "%s failed, and %s gives what is left as if that were all: nobody was told\nit gives nothing", f.Of, r.calls[tool].seam)}
		}
		if tool := r.toolOf(x.Call); tool > 0 && r.answeredIn(tool) < undisturbed.answeredIn(tool) {
			mine, usual, _ := r.gave(tool, undisturbed)
			with := ""
			switch {
			case r.gaveOtherFigures(tool, undisturbed):
				with = "the usual words with other figures"
			case r.gaveLess(tool, undisturbed):
				with = "a part of the usual words"
			}
			if with != "" { // which words are missing differs from run to run, and the mistake is one
				gives, usually := safetext.Excerpts(Text(mine), Text(usual), longestClip)
				return []exhibit{r.exhibit(x, "%s failed, and %s gives what is left as if that were all: nobody was told\nit gives %s, %s in the place of %s", f.Of, r.calls[tool].seam, with, gives, usually)}
			}
		} else if tool == 0 {
			if mine, usual, with := r.heardLess(x, undisturbed); mine != nil {
				gives, usually := safetext.Excerpts(mine.Text, usual.Text, longestClip)
				return []exhibit{r.exhibit(x, "%s failed, and the tool %s gives what is left as if that were all: nobody was told\nit gives %s, %s in the place of %s", f.Of, mine.Tool, with, gives, usually)}
			}
		}
		switch said, usual := r.said(), undisturbed.said(); {
		case said == usual:
		case said == "":
			return []exhibit{r.exhibit(x, "%s failed, the turn was acked, and the reader was told nothing: no answer, no error event, no log", f.Of)}
		case r.answeredIn(0) >= undisturbed.answeredIn(0):
		case numbers.ReplaceAllString(said, "#") == numbers.ReplaceAllString(usual, "#"):
			return []exhibit{r.exhibit(x, "%s failed, and the answer is the usual one with other figures: nobody was told that something is missing", f.Of)}
		case isLess(said, usual):
			return []exhibit{r.exhibit(x, "%s failed, and the answer is the usual one without a part of it: nobody was told that something is missing\nit is %s", f.Of, safetext.Said(said, longestClip))}
		}
	}
	return nil
}

// unheardOf finds a sub-agent that failed while the turn was acked, and whose caller says only what
// it usually says, and less of it: the findings without those of the sub-agent. The error event of
// the sub-agent's dispatch reaches observers, but not whoever asked. It is silent if anything is
// logged afterwards or a tool fails, if as many sub-agents of the name succeed as usual, and if
// other words are said, which may name what is missing or another source.
func unheardOf(r, undisturbed *Run) (found []exhibit) {
	if len(r.Faults) == 0 || r.status != adk.StatusAck || undisturbed.status != adk.StatusAck || r.cancelled > 0 || len(undisturbed.failedBelow()) > 0 {
		return nil
	}
	for call, end := range r.failedBelow() {
		c := r.calls[call]
		if r.tells(c.ended, undisturbed) || r.succeeded(c.seam.Name) >= undisturbed.succeeded(c.seam.Name) {
			continue
		}
		said, usual, by := r.said(), undisturbed.said(), "the answer"
		if tool := r.toolOf(call); tool > 0 {
			mine, theirs, both := r.gave(tool, undisturbed)
			if !both {
				continue
			}
			said, usual, by = Text(mine), Text(theirs), "what "+r.calls[tool].seam.String()+" gives"
		}
		if isLess(said, usual) {
			found = append(found, r.exhibit(end, "%s failed, the turn was acked, and %s is the usual one without its part: %s", c.seam, by, safetext.Said(said, longestClip)))
		}
	}
	slices.SortFunc(found, func(a, b exhibit) int { return a.at - b.at })
	return found
}

// toolUnheard finds a tool that failed while the turn was acked, and after which the usual things
// are said, but less of them. The error with which the tool's execution ends reaches observers, but
// not whoever asked. It is silent if anything is logged or emitted as an error afterwards, if tools
// succeed as often as usual, and if other words are said to the reader or in a later request.
func toolUnheard(r, undisturbed *Run) []exhibit {
	if len(r.Faults) == 0 || r.status != adk.StatusAck || undisturbed.status != adk.StatusAck || r.cancelled > 0 {
		return nil
	}
	succeeds := func(r *Run) (failed, done int) {
		for call, c := range r.calls {
			switch {
			case c.seam.Label != adk.LabelTool || c.ended == 0:
			case c.outcome == adk.OutcomeOK:
				done++
			case failed == 0:
				failed = call
			}
		}
		return failed, done
	}
	failed, done := succeeds(r)
	if usually, usual := succeeds(undisturbed); failed == 0 || usually > 0 || done >= usual || !isLess(r.said(), undisturbed.said()) {
		return nil
	}
	end := &r.Crossings[r.calls[failed].ended]
	if r.tellsBeyondTools(end.Seq, undisturbed) {
		return nil
	}
	for _, one := range r.asks() {
		if one.begun.Seq > end.Seq && !undisturbed.asksNoOtherWords(one.begun) {
			return nil
		}
	}
	by := r.calls[r.calls[failed].parent].seam // it may call many tools, but the mistake is one
	return []exhibit{{end.Seq, by.String(), "a tool failed, the turn was acked, and the answer is the usual one without its part: " + safetext.Said(r.said(), longestClip)}}
}

// asksNoOtherWords reports whether all words of a request occur in requests of the run.
func (r *Run) asksNoOtherWords(x *adk.Crossing) bool {
	words := func(all map[string]bool, x *adk.Crossing) {
		for _, word := range letters.FindAllString(string(x.JSON), -1) {
			all[word] = true
		}
	}
	usual, now := map[string]bool{}, map[string]bool{}
	for _, one := range r.asks() {
		words(usual, one.begun)
	}
	words(now, x)
	for word := range now {
		if !usual[word] {
			return false
		}
	}
	return true
}

// letters matches words without digits, as digits tell ids apart.
var letters = regexp.MustCompile(`\pL+`)

// failedBelow returns the ends of the sub-agents that user code dispatched and that failed, by
// call.
func (r *Run) failedBelow() map[int]*adk.Crossing {
	failed := map[int]*adk.Crossing{}
	for i := range r.Crossings {
		if x := &r.Crossings[i]; x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusNack && r.calls[x.Call].dispatched && r.calls[x.Call].ended > 0 {
			failed[x.Call] = x
		}
	}
	return failed
}

// succeeded returns how many sub-agents of a name were acked.
func (r *Run) succeeded(name string) (n int) {
	for i := range r.Crossings {
		if x := &r.Crossings[i]; x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck && r.calls[x.Call].dispatched && r.calls[x.Call].seam.Name == name {
			n++
		}
	}
	return n
}

// toolOf returns the call of a tool that call is or belongs to; 0 if there is none.
func (r *Run) toolOf(call int) int {
	for ; call > 0; call = r.calls[call].parent {
		if r.calls[call].seam.Label == adk.LabelTool {
			return call
		}
	}
	return 0
}

// isLess reports whether text has no word that than lacks, and lacks some of its words. It ignores
// punctuation, which may remain where words are gone, and numbers in text, which may say how much
// is left. In JSON, null where than has a list or an object is no word: Go writes it for a list that
// nothing was put into. If than has something in that list, text lacks it, although the same words
// may stand elsewhere.
func isLess(text, than string) bool {
	text, misses := withoutNulls(text, than)
	noWord := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsPunct(c) }
	isFigure := func(word string) bool { return strings.Trim(word, "0123456789") == "" }
	has := map[string]bool{}
	for word := range strings.FieldsFuncSeq(than, noWord) {
		has[word] = true
	}
	left := len(has)
	for word := range strings.FieldsFuncSeq(text, noWord) {
		switch had, known := has[word]; {
		case !known && !isFigure(word):
			return false
		case had:
			has[word] = false
			left--
		}
	}
	return misses || left > 0
}

// withoutNulls returns text with an empty list in the place of each null where usual has a list or an
// object, and whether one of these has anything in it. It returns text as it is unless both are
// JSON.
func withoutNulls(text, usual string) (filled string, misses bool) {
	if !strings.Contains(text, "null") {
		return text, false
	}
	value, ok := jsondiff.Decode(text)
	usually, usuallyOK := jsondiff.Decode(usual)
	if !ok || !usuallyOK {
		return text, false
	}
	value, misses = filledIn(value, usually)
	again, err := unescaped.Marshal(value)
	if err != nil {
		return text, false
	}
	return string(again), misses
}

// filledIn is withoutNulls for JSON values. It changes value.
func filledIn(value, usual any) (filled any, misses bool) {
	fill := func(part, usual any) any {
		part, missing := filledIn(part, usual)
		misses = misses || missing
		return part
	}
	switch usual := usual.(type) {
	case map[string]any:
		if value == nil {
			return []any{}, len(usual) > 0
		}
		if members, ok := value.(map[string]any); ok {
			for name, member := range members {
				members[name] = fill(member, usual[name])
			}
		}
	case []any:
		if value == nil {
			return []any{}, len(usual) > 0
		}
		if elements, ok := value.([]any); ok {
			for i := range min(len(elements), len(usual)) {
				elements[i] = fill(elements[i], usual[i])
			}
		}
	}
	return value, misses
}

// panicHidden finds user code that panicked, recovered, and returned as if it had not, while the
// turn was acked and nothing was reported. Either a tool then returned nothing instead of
// something; or what the code was about to write is never written, and the reader is told the
// usual. It is silent about everything else that a panic may prevent, as a turn can do without
// that.
func panicHidden(r, undisturbed *Run) (found []exhibit) {
	if r.status != adk.StatusAck || r.cancelled > 0 {
		return nil
	}
	for _, f := range r.Faults {
		if f.Kind != turn.Panic || !f.BrokenOff || f.Call >= len(r.calls) || r.calls[f.Call].outcome != adk.OutcomeOK || r.tells(f.At-1, undisturbed) {
			continue
		}
		if f.Call >= len(undisturbed.calls) || undisturbed.calls[f.Call].seam != r.calls[f.Call].seam || f.At > len(undisturbed.Crossings) {
			continue // goroutines of user code have gone another way
		}
		c, x := r.calls[f.Call], &undisturbed.Crossings[f.At-1]
		switch {
		case c.seam.Label == adk.LabelTool && r.gaveNothing(f.Call, undisturbed):
			found = append(found, exhibit{c.ended + 1, c.seam.String(), fmt.Sprintf("%s panicked, recovered, and gave nothing as its result; the turn was acked, and nobody was told", c.seam)})
		case isWrite(x) && !r.begins(x, f.At-1) && r.said() == undisturbed.said():
			found = append(found, exhibit{f.At, c.seam.String(), fmt.Sprintf("%s panicked before %s and recovered; it was never written, the turn was acked, and nobody was told: no error event, no log, no other answer", c.seam, x.Kind)})
		}
	}
	return found
}

// gaveNothing reports whether a call of a tool returned nothing, while it returns something in the
// undisturbed run.
func (r *Run) gaveNothing(tool int, undisturbed *Run) bool {
	mine, usual, both := r.gave(tool, undisturbed)
	return both && isNothing(mine) && !isNothing(usual)
}

// gaveTheSame reports whether a call of a tool returned the same text as in the undisturbed run.
func (r *Run) gaveTheSame(tool int, undisturbed *Run) bool {
	mine, usual, both := r.gave(tool, undisturbed)
	return both && !isNothing(mine) && compare.WithoutPorts(Text(mine)) == compare.WithoutPorts(Text(usual))
}

// gaveOtherFigures reports whether a call of a tool returned the words that it returns in the
// undisturbed run, with other numbers.
func (r *Run) gaveOtherFigures(tool int, undisturbed *Run) bool {
	mine, usual, both := r.gave(tool, undisturbed)
	said, usually := compare.WithoutPorts(Text(mine)), compare.WithoutPorts(Text(usual))
	return both && said != usually && numbers.ReplaceAllString(said, "#") == numbers.ReplaceAllString(usually, "#")
}

// gaveLess reports whether a call of a tool returned the words that it returns in the undisturbed
// run, except for some of them.
func (r *Run) gaveLess(tool int, undisturbed *Run) bool {
	mine, usual, both := r.gave(tool, undisturbed)
	return both && !isNothing(mine) && isLess(Text(mine), Text(usual))
}

// answeredIn returns how many asks in a call of a tool were answered, and for 0 in the whole run.
func (r *Run) answeredIn(tool int) (n int) {
	for _, one := range r.asks() {
		if one.answered && (tool == 0 || r.toolOf(one.begun.Call) == tool) {
			n++
		}
	}
	return n
}

// gaveOtherFiguresUnasked returns a later call of a tool for the same, after an ask of the tool has
// failed, that asks nobody and returns the usual words with other figures; 0 if there is none.
func (r *Run) gaveOtherFiguresUnasked(tool int, undisturbed *Run) int {
	if tool == 0 || r.calls[tool].outcome != adk.OutcomeError {
		return 0
	}
	asks := map[int]bool{}
	for _, one := range r.asks() {
		asks[r.toolOf(one.begun.Call)] = true
	}
	forWhat := func(call int) string { return wanted.At(&r.Crossings[r.calls[call].began]).Part("") }
	for call := tool + 1; call < len(r.calls); call++ {
		if r.calls[call].seam == r.calls[tool].seam && !asks[call] && forWhat(call) == forWhat(tool) && r.gaveOtherFigures(call, undisturbed) {
			return call
		}
	}
	return 0
}

// oneAsk is an ask of a run.
type oneAsk struct {
	begun    *adk.Crossing
	done     *adk.Crossing // nil if it did not end
	answered bool          // by the one that it asked, and over HTTP with success
	accepted bool          // over HTTP with a status of success, whatever became of the rest of the answer
}

// leastFailure is the smallest HTTP status of a failure.
const leastFailure = 400

// isSuccess reports whether an HTTP status says that what was asked for is done, or will be.
func isSuccess(status int) bool { return status >= 200 && status < 300 }

// collectAsks returns the asks of the run, by operation.
func (r *Run) collectAsks() map[int]*oneAsk {
	all, statuses, headed := map[int]*oneAsk{}, map[int]int{}, map[int]bool{}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		one := all[x.Op]
		switch {
		case x.Kind == adk.KindPiece && !headed[x.Op]: // the first piece is the head
			headed[x.Op] = true
			if status, _, err := httpform.ReadHead(x.JSON); err == nil {
				statuses[x.Op] = status
			}
		case x.Kind == adk.KindAsk && x.Phase == adk.Begin:
			all[x.Op] = &oneAsk{begun: x}
		case x.Kind == adk.KindAsk && one != nil:
			one.done, one.answered = x, !isFailure(x.Err) && statuses[x.Op] < leastFailure && !slices.Contains(r.Broken, x.Op)
			one.accepted = isSuccess(statuses[x.Op])
		}
	}
	return all
}

// asks returns the result of collectAsks, which is computed once.
func (r *Run) asks() map[int]*oneAsk {
	if r.asked == nil {
		r.asked = r.collectAsks()
	}
	return r.asked
}

// isAnswered reports whether an ask for which is holds was answered and ended after the crossing
// behind.
func (r *Run) isAnswered(behind int, is func(begun *adk.Crossing) bool) bool {
	for _, one := range r.asks() {
		if one.answered && one.done.Seq > behind && is(one.begun) {
			return true
		}
	}
	return false
}

// isAsked reports whether the run asks what an ask of another run asks.
func (r *Run) isAsked(begun *adk.Crossing) bool {
	same := sameButForIDs(begun)
	for _, one := range r.asks() {
		if same(one.begun) {
			return true
		}
	}
	return false
}

// sameButForIDs returns a function that reports whether an ask, of any run, asks the same as first.
// Random ids may differ: they do so from run to run, and when the same is asked again.
func sameButForIDs(first *adk.Crossing) func(begun *adk.Crossing) bool {
	return func(b *adk.Crossing) bool { return b.Name == first.Name && likeness.SameButForIDs(b.JSON, first.JSON) }
}

// sameAs returns a function that reports whether an ask asks exactly the same as first.
func sameAs(first *adk.Crossing) func(begun *adk.Crossing) bool {
	return func(b *adk.Crossing) bool { return b.Name == first.Name && string(b.JSON) == string(first.JSON) }
}

// leastValue is the minimal length of a text or a number that is taken for a value of its own, and
// not for a common word such as GET, yes or 200.
const leastValue = 5

// hasValueOf reports whether an ask contains a text or a number from the request or the answer of
// an earlier one: a token, the key of a lock, or the number of an order. Headers do not count, as
// they belong to the transport.
func (r *Run) hasValueOf(x, earlier *adk.Crossing) bool {
	in := string(x.JSON) + "\n" + x.Key
	var has func(value any) bool
	has = func(value any) bool {
		switch v := value.(type) {
		case map[string]any:
			for name, member := range v {
				if name != "headers" && has(member) {
					return true
				}
			}
		case []any:
			return slices.ContainsFunc(v, has)
		case string:
			return len(v) >= leastValue && strings.Contains(in, v)
		case json.Number:
			return len(v) >= leastValue && strings.Contains(in, v.String())
		}
		return false
	}
	return has(wanted.Tree(earlier.JSON)) || r.asks()[earlier.Op].done != nil && has(wanted.Tree(r.asks()[earlier.Op].done.JSON))
}

// gave returns what a call of a tool returned, here and in the undisturbed run, if it did in both.
func (r *Run) gave(tool int, undisturbed *Run) (mine, usual adk.ToolResult, both bool) {
	if tool >= len(undisturbed.calls) {
		return nil, nil, false
	}
	here, there := r.calls[tool], undisturbed.calls[tool]
	if here.seam != there.seam || here.outcome != adk.OutcomeOK || there.ended == 0 {
		return nil, nil, false
	}
	return r.Crossings[here.ended].Result, undisturbed.Crossings[there.ended].Result, true
}

// isNothing reports whether a tool's result says nothing.
func isNothing(result adk.ToolResult) bool {
	return result == nil || saysNothing(Text(result))
}

// isWrite reports whether x begins an operation that writes.
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

// Text returns the text that a tool returned, and an empty string if it returned something else.
func Text(result adk.ToolResult) string {
	if text, ok := result.(*adk.Tokenizable); ok && text != nil {
		return text.String()
	}
	return ""
}

// saidOf returns what a result says: a text, or the description of media without their ids, as an id
// may be that of the call. Their content is represented by its digest, which package artifact puts
// into the stash.
func saidOf(result adk.ToolResult) string {
	switch result := result.(type) {
	case *adk.Media:
		size, _ := result.Size()
		return fmt.Sprint(result.MIMEType(), " ", result.Filename(), " ", size, " ", result.Stash())
	case adk.MediaList:
		var all strings.Builder
		for _, m := range result {
			all.WriteString(saidOf(m))
		}
		return all.String()
	case adk.Bytes:
		return string(result)
	}
	return Text(result)
}

// numbers matches what differs between texts that say the same of other amounts.
var numbers = regexp.MustCompile(`\d+`)

// begins reports whether the same operation begins at or after a crossing.
func (r *Run) begins(like *adk.Crossing, from int) bool {
	return slices.ContainsFunc(r.Crossings[from:], func(x adk.Crossing) bool {
		return x.Kind == like.Kind && x.Phase == adk.Begin && x.Name == like.Name && wanted.Key(&x) == wanted.Key(like) && string(x.JSON) == string(like.JSON)
	})
}

// failedAsk returns the end of an ask that a fault broke; nil if the ask did not fail.
func (r *Run) failedAsk(f Fault) *adk.Crossing {
	if f.Of == "" {
		return nil
	}
	refused := slices.Contains([]turn.FaultKind{turn.AskBusy, turn.AskFailed, turn.AskUnavailable, turn.AskUnauthorized}, f.Kind)
	at := slices.IndexFunc(r.Crossings, func(x adk.Crossing) bool {
		return x.Kind == adk.KindAsk && x.Op == f.Op && x.Phase == adk.Done && (isFailure(x.Err) || refused)
	})
	if at < 0 {
		return nil
	}
	return &r.Crossings[at]
}

// noUnheeded finds a gate that was settled with a no instead of the usual yes, after which
// everything is written as usual, by tools and asks, and the same is said. It is silent if nothing
// is written after it: the gate may be about something smaller.
func noUnheeded(r, undisturbed *Run) []exhibit {
	return r.unheeded(undisturbed, turn.GateEarly, "was settled with a no")
}

// silenceIsYes is like noUnheeded, for a gate that nobody answers before its timeout. It is a hint:
// code that asks whether anybody objects may intend that.
func silenceIsYes(r, undisturbed *Run) []exhibit {
	return r.unheeded(undisturbed, turn.GateUnanswered, "was closed, with no answer in its time,")
}

func (r *Run) unheeded(undisturbed *Run, by turn.FaultKind, was string) (found []exhibit) {
	if r.status != adk.StatusAck || r.cancelled > 0 {
		return nil
	}
	for _, f := range r.Faults {
		no, yes := r.settled(f.At), undisturbed.settled(f.At)
		if f.Kind != by || no == nil || yes == nil || no.Status == yes.Status || !isYes(yes) {
			continue
		}
		if x := r.wroteAllTheSame(undisturbed, no.Seq); x != nil && r.said() == undisturbed.said() {
			found = append(found, r.exhibit(x, "the gate %q %s at crossing %d, and what is written behind it is written as after a yes", no.Name, was, no.Seq))
		}
	}
	return found
}

// isYes reports whether a gate was settled with a yes. A text or a number answers another question,
// to which there may be a default.
func isYes(x *adk.Crossing) bool {
	switch x.Value.(type) {
	case string, float64:
		return false
	}
	return x.Status == adk.GateResolved
}

// settled returns the settlement of the gate that opened at a crossing; nil if there is none.
func (r *Run) settled(opened int) *adk.Crossing {
	if opened > len(r.Crossings) {
		return nil
	}
	for i := range r.Crossings[opened:] {
		if x := &r.Crossings[opened+i]; x.Kind == adk.KindSettle && x.Name == r.Crossings[opened-1].Name {
			return x
		}
	}
	return nil
}

// wroteAllTheSame returns the first write after a crossing if the run has written what the
// undisturbed run has; otherwise nil.
func (r *Run) wroteAllTheSame(undisturbed *Run, behind int) (first *adk.Crossing) {
	mine, usual := r.writes(), undisturbed.writes()
	for what, all := range usual {
		if len(mine[what]) != len(all) {
			return nil
		}
		for _, x := range mine[what] {
			if x.Seq > behind && (first == nil || x.Seq < first.Seq) {
				first = x.Crossing
			}
		}
	}
	return first
}

// callDropped finds a turn that was acked and that, when a model wanted the same tool twice at
// once, did only what it does for one call. It is silent if the id of the second call is mentioned
// later: code that runs the tool once may answer both calls.
func callDropped(r, undisturbed *Run) []exhibit {
	if r.status != adk.StatusAck || r.cancelled > 0 || r.executes() > undisturbed.executes() || undisturbed.executes() == 0 {
		return nil
	}
	for _, f := range r.Faults {
		at := slices.IndexFunc(r.Crossings, func(x adk.Crossing) bool {
			return f.Kind == turn.ChatSeveral && x.Kind == adk.KindAsk && x.Op == f.Op && x.Phase == adk.Done
		})
		if at < 0 || r.tells(at, undisturbed) || slices.ContainsFunc(r.Crossings[at+1:], func(x adk.Crossing) bool { return isOfTwin(&x) }) {
			continue
		}
		return []exhibit{r.exhibit(&r.Crossings[at], "%s wanted a tool twice at once, and what follows is what follows of one call: no second one, no result, no error", f.Of)}
	}
	return nil
}

// isOfTwin reports whether a crossing mentions the call that ChatSeveral has added.
func isOfTwin(x *adk.Crossing) bool {
	return strings.Contains(string(x.JSON), chatfault.AgainMark) || strings.Contains(x.Name, chatfault.AgainMark) || x.Record != nil && strings.Contains(x.Record.Key(), chatfault.AgainMark)
}

// executes returns how many tools were called.
func (r *Run) executes() (n int) {
	for i := range r.calls {
		if r.calls[i].seam.Label == adk.LabelTool {
			n++
		}
	}
	return n
}

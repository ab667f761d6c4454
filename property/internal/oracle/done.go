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
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file holds what a run tells, and does, against what came of what it asked.

// partTold: what was asked for failed, the turn was acked, nobody was told, and the reader is
// given nothing, or the usual words with other figures, a sum of some of its parts, or without
// some of them; or the tool that asked gave nothing in the place of something, or such words. It is
// silent where the same was asked once more and answered, where as many answers came as usual, from
// somebody else then, and where the words are others: those may say that something is missing. So
// it is where the tool failed, and gives such figures later, of what it kept of the failure.
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
			return []exhibit{r.exhibit(&r.Crossings[r.calls[later].ended], "%s had failed, and %s gives the usual words with other figures, %s in the place of %s, and asks nobody for them", f.Of, r.calls[later].seam,
				safetext.Said(Text(mine), longestClip), safetext.Said(Text(usual), longestClip))}
		}
		if r.tells(x.Seq, undisturbed) {
			continue
		}
		if same := sameAs(r.asks()[x.Op].begun); r.isAnswered(x.Seq, same) || !undisturbed.isAnswered(0, sameButForIDs(r.asks()[x.Op].begun)) { // what always fails is no matter of a fault
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
			if with != "" { // which of them is another matter in each run, and the mistake is one
				return []exhibit{r.exhibit(x, "%s failed, and %s gives what is left as if that were all: nobody was told\nit gives %s, %s in the place of %s", f.Of, r.calls[tool].seam, with,
					safetext.Said(Text(mine), longestClip), safetext.Said(Text(usual), longestClip))}
			}
		} else if tool == 0 {
			if mine, usual, with := r.heardLess(x, undisturbed); mine != nil {
				return []exhibit{r.exhibit(x, "%s failed, and the tool %s gives what is left as if that were all: nobody was told\nit gives %s, %s in the place of %s", f.Of, mine.Tool, with,
					safetext.Said(mine.Text, longestClip), safetext.Said(usual.Text, longestClip))}
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

// unheardOf: a sub-agent failed, the turn was acked, and what its caller makes of it says
// nothing that it does not usually say, and less: the findings without those that failed. The
// error event of its dispatch is for who looks on, and no word to who asked. It is silent where
// behind it anything is logged, or a tool fails, where as many sub-agents of the name succeed as
// usual, and where another word is said: of what is missing, or of another source.
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

// toolUnheard: a tool failed, the turn was acked, and what was said of it is what is usually said,
// with less. That its execution ended with an error is for who looks on, and no word to who asked.
// It is silent where anything is logged, or told as an error, behind it, where tools succeed as
// often as usual, and where another word is said, to the reader or to anybody who was asked.
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
	by := r.calls[r.calls[failed].parent].seam // whose tools are many, and whose mistake is one
	return []exhibit{{end.Seq, by.String(), "a tool failed, the turn was acked, and the answer is the usual one without its part: " + safetext.Said(r.said(), longestClip)}}
}

// asksNoOtherWords reports whether all words of a request stand in requests of the run.
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

// letters are words, without the figures that tell ids apart.
var letters = regexp.MustCompile(`\pL+`)

// failedBelow are the ends of the sub-agents that user code called and that failed, by their calls.
func (r *Run) failedBelow() map[int]*adk.Crossing {
	failed := map[int]*adk.Crossing{}
	for i := range r.Crossings {
		if x := &r.Crossings[i]; x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusNack && r.calls[x.Call].dispatched && r.calls[x.Call].ended > 0 {
			failed[x.Call] = x
		}
	}
	return failed
}

// succeeded is how many sub-agents of a name were acked.
func (r *Run) succeeded(name string) (n int) {
	for i := range r.Crossings {
		if x := &r.Crossings[i]; x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck && r.calls[x.Call].dispatched && r.calls[x.Call].seam.Name == name {
			n++
		}
	}
	return n
}

// toolOf is the tool's call that a call is, or in whose code it was made; 0 where there is none.
func (r *Run) toolOf(call int) int {
	for ; call > 0; call = r.calls[call].parent {
		if r.calls[call].seam.Label == adk.LabelTool {
			return call
		}
	}
	return 0
}

// isLess reports whether a text has no word that another has not, and lacks some of its own: without
// the marks between them, which stay where words go, and whatever its figures are, which say how
// much is left.
func isLess(text, than string) bool {
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
	return left > 0
}

// panicHidden: user code panicked, recovered, and returned as if it had not; the turn was
// acked and nobody was told. Either that was a tool, and gave nothing in the place of
// something, or what it was about to write is never written, and the reader is told the same
// as ever. It is silent about all else that a panic may keep from happening: a turn can do
// without.
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

// gaveNothing reports whether a call of a tool gave nothing as its result, where the undisturbed
// run has something.
func (r *Run) gaveNothing(tool int, undisturbed *Run) bool {
	mine, usual, both := r.gave(tool, undisturbed)
	return both && isNothing(mine) && !isNothing(usual)
}

// gaveTheSame reports whether a call of a tool gave, in words, what it gives in the undisturbed run.
func (r *Run) gaveTheSame(tool int, undisturbed *Run) bool {
	mine, usual, both := r.gave(tool, undisturbed)
	return both && !isNothing(mine) && compare.WithoutPorts(Text(mine)) == compare.WithoutPorts(Text(usual))
}

// gaveOtherFigures reports whether a call of a tool gave the words that it gives in the undisturbed
// run, with other numbers.
func (r *Run) gaveOtherFigures(tool int, undisturbed *Run) bool {
	mine, usual, both := r.gave(tool, undisturbed)
	said, usually := compare.WithoutPorts(Text(mine)), compare.WithoutPorts(Text(usual))
	return both && said != usually && numbers.ReplaceAllString(said, "#") == numbers.ReplaceAllString(usually, "#")
}

// gaveLess reports whether a call of a tool gave the words that it gives in the undisturbed run, but
// for some of them.
func (r *Run) gaveLess(tool int, undisturbed *Run) bool {
	mine, usual, both := r.gave(tool, undisturbed)
	return both && !isNothing(mine) && isLess(Text(mine), Text(usual))
}

// answeredIn is how many asks in a call of a tool were answered, or in all of the run for 0.
func (r *Run) answeredIn(tool int) (n int) {
	for _, one := range r.asks() {
		if one.answered && (tool == 0 || r.toolOf(one.begun.Call) == tool) {
			n++
		}
	}
	return n
}

// gaveOtherFiguresUnasked is a later call of a tool whose ask has failed, for the same, which asks
// nobody and gives the usual words with other figures; 0 where there is none.
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
	done     *adk.Crossing // nil where it never was
	answered bool          // by whom it asked, and over HTTP with success
	accepted bool          // over HTTP, whatever became of the rest of the answer
}

// leastFailure is the least status over HTTP that says that it is none of a success.
const leastFailure = 400

// isSuccess reports whether a status over HTTP says that what was asked for is done, or will be.
func isSuccess(status int) bool { return status >= 200 && status < 300 }

// collectAsks are the asks of the run, by their operations.
func (r *Run) collectAsks() map[int]*oneAsk {
	all, statuses, headed := map[int]*oneAsk{}, map[int]int{}, map[int]bool{}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		one := all[x.Op]
		switch {
		case x.Kind == adk.KindPiece && !headed[x.Op]: // the first has the head
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

// asks are those of collectAsks, which are made once.
func (r *Run) asks() map[int]*oneAsk {
	if r.asked == nil {
		r.asked = r.collectAsks()
	}
	return r.asked
}

// isAnswered reports whether any of the asks that ended behind a crossing, and that are like this,
// was answered.
func (r *Run) isAnswered(behind int, is func(begun *adk.Crossing) bool) bool {
	for _, one := range r.asks() {
		if one.answered && one.done.Seq > behind && is(one.begun) {
			return true
		}
	}
	return false
}

// isAsked reports whether the run, another one, asks the same.
func (r *Run) isAsked(begun *adk.Crossing) bool {
	same := sameButForIDs(begun)
	for _, one := range r.asks() {
		if same(one.begun) {
			return true
		}
	}
	return false
}

// sameButForIDs tells asks of any run that ask the same as another one: random ids are others in each,
// and where the same is asked once more.
func sameButForIDs(first *adk.Crossing) func(begun *adk.Crossing) bool {
	return func(b *adk.Crossing) bool { return b.Name == first.Name && likeness.SameButForIDs(b.JSON, first.JSON) }
}

// sameAs tells asks that ask the same as another one.
func sameAs(first *adk.Crossing) func(begun *adk.Crossing) bool {
	return func(b *adk.Crossing) bool { return b.Name == first.Name && string(b.JSON) == string(first.JSON) }
}

// leastValue is how long a text or a number is at least that is no word which anybody may use, such as
// GET, yes or 200.
const leastValue = 5

// hasValueOf reports whether an ask has a text or a number of an earlier one, of what that asked or was
// answered: a token, the key of a lock, or an order's number. What headers say belongs to the transport.
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

// gave is what a call of a tool gave, here and in the undisturbed run, if it did in both.
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

// Text is the text that a tool gave; empty where it gave something else.
func Text(result adk.ToolResult) string {
	if text, ok := result.(*adk.Tokenizable); ok && text != nil {
		return text.String()
	}
	return ""
}

// saidOf is what a result says: a text, and of media what is told of them but for the id, which may
// be that of their call. What they hold stands in the marks of package chat, as a digest.
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

// numbers are what differs between texts that say the same of other amounts.
var numbers = regexp.MustCompile(`\d+`)

// begins reports whether the same operation begins from a crossing on.
func (r *Run) begins(like *adk.Crossing, from int) bool {
	return slices.ContainsFunc(r.Crossings[from:], func(x adk.Crossing) bool {
		return x.Kind == like.Kind && x.Phase == adk.Begin && x.Name == like.Name && wanted.Key(&x) == wanted.Key(like) && string(x.JSON) == string(like.JSON)
	})
}

// failedAsk is where an ask that a fault broke came to its end; nil where it did not fail.
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

// noUnheeded: somebody settled a gate with a no that is usually settled with a yes, and all
// that the turn writes behind it, with tools and asks, is written as usual, and the same is
// said. It is silent where nothing is written behind it: a gate may ask for less.
func noUnheeded(r, undisturbed *Run) []exhibit {
	return r.unheeded(undisturbed, turn.GateEarly, "was settled with a no")
}

// silenceIsYes is noUnheeded for a gate that nobody answers in its time: who asks whether anybody
// minds may mean that.
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

// isYes reports whether a gate was settled with a yes: a text or a number answers another question,
// to which there may be an answer without anybody.
func isYes(x *adk.Crossing) bool {
	switch x.Value.(type) {
	case string, float64:
		return false
	}
	return x.Status == adk.GateResolved
}

// settled is how the gate was settled that opened at a crossing; nil where it was not.
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

// wroteAllTheSame is the first write behind a crossing, if the run has written what the
// undisturbed one has.
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

// callDropped: a model wanted the same tool twice at once, the turn was acked, and it did
// what it does for one call. It is silent where the id of the second is heard of again: who
// does it once may answer both.
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

// isOfTwin reports whether a crossing names the call that ChatSeveral has added.
func isOfTwin(x *adk.Crossing) bool {
	return strings.Contains(string(x.JSON), chatfault.AgainMark) || strings.Contains(x.Name, chatfault.AgainMark) || x.Record != nil && strings.Contains(x.Record.Key(), chatfault.AgainMark)
}

// executes is how many tools were called.
func (r *Run) executes() (n int) {
	for i := range r.calls {
		if r.calls[i].seam.Label == adk.LabelTool {
			n++
		}
	}
	return n
}

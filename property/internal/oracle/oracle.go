// Package oracle finds what is wrong with a run whatever the agent is for. None of it breaks a rule
// of the engine, and the undisturbed agent may never show it: an oracle looks at a run in which
// something went wrong, and compares it with the undisturbed run.
package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// oracle looks for one kind of mistake.
type oracle struct {
	name string
	// why says what the mistake leads to.
	why  string
	look func(r, undisturbed *Run) (found []exhibit)
	// hints says that the behaviour may be intended.
	hints bool
}

var historyOracle = oracle{"a conversation is one that providers take", "Providers refuse it, and every later turn has it again.", refusedHistory, false}

var crashOracle = oracle{"code does not crash", "What nobody expected ends the turn, and where nobody recovers, the program.", crashing, false}

// Stands is the name of the oracle for a turn whose goroutines wait for one another.
const Stands = "a turn does not stand still by itself"

var standOracle = oracle{Stands, "It waits for ever, unless a timer of the system's ends that: nobody is there to cancel it.", stoodOutside, true}

// violation returns what the oracle has found as a violation.
func (o oracle) violation(x exhibit) property.Violation {
	return property.Violation{Invariant: o.name, Crossing: x.at, Seam: x.seam, Text: x.text + "\n" + o.why}
}

// exhibit is a crossing that shows a mistake, and what is to be seen there.
type exhibit struct {
	at   int
	seam string
	text string
}

// oracles are all oracles of Behold. The comment of each function says when the oracle is silent.
var oracles = []oracle{
	{"nothing fails in silence", "The caller believes that all went well, and what failed is lost for good.", swallowed, false},
	{"what was shown is kept", "The reader saw it, and the next turn does not know of it.", shownAndLost, false},
	{"what was shown is what is kept", "The reader saw one text, and the next turn goes on from another.", shownOtherwise, false},
	{"half an answer is not kept as a whole", "The reader, and the next turn, take it for all there is.", halfKept, false},
	{"what is said is as it was meant", "Whoever reads it, a model or a person, reads what nobody has written.", mangled, false},
	{"a tool is given what the model wanted", "It does something else than was asked for, or does it to everything.", ranOnHalf, false},
	{"a tool is given what the model wanted", "It does something else than was asked for, or does it to everything.", askedOnHalf, true},
	{"a panic is no success", "Whoever called it goes on as if it had been done, and nobody looks for the cause.", panicHidden, false},
	{"what failed is not told as done", "The reader takes it for all there is, and nobody knows better.", partTold, false},
	{"a sub-agent that failed is heard of", "Whoever asked takes what is left for all there is, and nobody knows better.", unheardOf, false},
	{"a tool that failed is heard of", "Whoever asked takes what is left for all there is, and nobody knows better.", toolUnheard, false},
	{"a no makes a difference", "Whoever was asked said no, and it was done all the same.", noUnheeded, false},
	{"silence is no yes", "Whoever was asked may not even have read it, and it is done.", silenceIsYes, true},
	{"a call that a model wants is done", "The model goes on as if it were, or waits for a result for ever.", callDropped, false},
	{"a turn that failed leaves no memory", "The next turn remembers what never came to be.", memoryOfFailure, true},
	{"somebody answers", "The turn, and all that it holds, waits for ever: nobody is there to cancel it.", stoodStill, false},
	{"an abort is heeded", "The caller has left, and the agent goes on at its cost.", deafToAbort, false},
	{"who has left wants no more done", "What was to be done for a caller who has left is begun all the same: is its context handed on?", begunAfterAbort, true},
	{"what writes is done once", "A retry repeats what had happened: a payment, a mail, a deletion.", doneTwice, false},
	{"a request that is made again has its body", "No retry ever arrives: net/http refuses to send it.", sentWithoutBody, false},
	{"an answer stays with what it was asked for", "Whoever reads it takes one thing for another.", mispaired, false},
	{"a call has its result before the model is asked again", "Providers refuse a call without its result, and this conversation is stuck.", openCalls, false},
	historyOracle,
	crashOracle,
	{"a record has one key", "Who reads them again finds both.", twoKeys, true},
	{"the order of strands leaves the same", "Who ends last has the last word, and that is chance.", orderDecides, true},
}

// Run is a run as oracles see it.
type Run struct {
	Crossings []adk.Crossing
	Faults    []Fault         // the faults that happened
	Unran     []int           // the calls that a lasting fault kept from running
	Unasked   []int           // the asks that reached nobody, by operation
	Broken    []int           // the asks to which a fault gave an answer of its own, by operation
	Hints     []property.Hint // of the run itself, without a run that followed
	Waited    bool            // the run waited until its caller cancelled
	Stood     string          // what its goroutines then waited for outside the engine; empty if unknown
	TooLong   bool            // the caller cancelled because the run had too many crossings
	Reordered bool            // its strands did not go on in the usual order
	Askers    map[int]int     // how many goroutines asked in a call, by its number; of the undisturbed run only
	Next      *Run            // the run that followed; nil if there is none

	calls     []calling       // by call number
	cancelled int             // the crossing of the cancel; 0 if there is none
	status    string          // how the turn's own dispatch ended
	usual     usual           // cached results; of the undisturbed run only
	asked     map[int]*oneAsk // see asks
}

// Fault is a fault that happened in a run.
type Fault struct {
	turn.Fault
	Call      int    // the call in which it happened
	Op        int    // the ask in which it happened, for a fault of the world
	Of        string // who was asked then; empty for other faults
	Before    bool   // it kept the code of its call from running
	Amid      bool   // it is one that breaks off the code of its call
	Deaf      bool   // it kept its call from noticing that its context ended
	BrokenOff bool   // code was really broken off
	Repeats   bool   // the broken answer may ask for the same to be done twice
}

// calling is a seam call of a run.
type calling struct {
	seam         adk.Seam
	parent       int
	began, ended int
	outcome      adk.Outcome
	dispatched   bool // user code dispatched it
}

// Reader reads runs one after the other and reuses its memory. The zero Reader is ready to use.
type Reader struct{ calls []calling }

// Read reads the crossings of a run. The result is valid until the next call of Read.
func (o *Reader) Read(run Run) *Run {
	r := &run
	r.calls = append(o.calls[:0], calling{})
	for i := range r.Crossings {
		switch x := &r.Crossings[i]; x.Kind {
		case adk.KindCall:
			for len(r.calls) <= x.ID {
				r.calls = append(r.calls, calling{})
			}
			r.calls[x.ID] = calling{seam: x.Seam, parent: x.Call, began: i, dispatched: x.Seams != nil}
		case adk.KindReturn:
			r.calls[x.ID].ended, r.calls[x.ID].outcome = i, x.Outcome
		case adk.KindCancel:
			r.cancelled = x.Seq
		case adk.KindDispatchEnd:
			if r.isOwn(x.Call) {
				r.status = x.Status
			}
		}
	}
	o.calls = r.calls
	return r
}

// Keep makes the run the undisturbed one, and computes once what oracles often ask of it.
func (r *Run) Keep() {
	r.usual, r.asked = usual{r.refused(), r.written(), r.told(0, tellsOfFailure), r.heard()}, r.collectAsks()
}

// isOwn reports whether a call is the turn's own dispatch.
func (r *Run) isOwn(call int) bool {
	return r.calls[call].seam.Label == adk.LabelDispatch && r.calls[call].parent == 1
}

// within reports whether a call is part of the turn's own dispatch.
func (r *Run) within(call int) bool {
	for ; call > 1; call = r.calls[call].parent {
		if r.isOwn(call) {
			return true
		}
	}
	return false
}

func (r *Run) exhibit(x *adk.Crossing, format string, args ...any) exhibit {
	return exhibit{x.Seq, r.calls[x.Call].seam.String(), fmt.Sprintf(format, args...)}
}

// Alone returns what is wrong with a run without comparing it with another one, so that it applies
// to the undisturbed run too. A conversation that the run asks with is wrong only if providers are
// sure to refuse it.
func (r *Run) Alone() (found []property.Violation) {
	for _, s := range crashOracle.look(r, nil) {
		found = append(found, crashOracle.violation(s))
	}
	if refused := r.refusedRequests(); len(refused) > 0 { // each later request contains it again
		found = append(found, historyOracle.violation(refused[0]))
	}
	for _, h := range r.Hints {
		if h.Advice == "unclosed-answer" {
			found = append(found, advised(h))
		}
	}
	return found
}

// endOracle applies to the undisturbed run only. With a fault, stoodStill takes its place.
var endOracle = oracle{"a turn comes to its end", "Whoever began it waits for ever, and so does all that it holds.", nil, false}

// failsOracle applies to the undisturbed run only. It is a hint, as a turn may be meant to fail.
var failsOracle = oracle{"a turn in which nothing goes wrong succeeds", "What is wrong with any agent shows where a turn succeeds that should not, and this one never does: is the world that the test makes as it should be?", nil, true}

// Fails reports that the dispatch of an undisturbed run, or all of the run, ends in an error.
func (r *Run) Fails() []property.Violation {
	if r.cancelled > 0 {
		return nil
	}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		ofDispatch := x.Kind == adk.KindDispatchEnd && r.isOwn(x.Call) && x.Status == adk.StatusNack
		if ofRun := x.Kind == adk.KindReturn && r.known(x.ID) && r.calls[x.ID].parent == 0 && x.Err != nil; ofDispatch || ofRun {
			err := x.Err
			if ours, ok := errors.AsType[*adk.Error](err); ok && ours.Cause != nil {
				err = ours.Cause
			}
			return []property.Violation{failsOracle.violation(r.exhibit(x, "with nothing gone wrong the turn ends in an error: %s", safetext.Said(fmt.Sprint(err), longestClip)))}
		}
	}
	return nil
}

// StoodStill reports that an undisturbed run stood still until its caller cancelled, and where. It
// is silent if the run waits at a gate that nobody settles: there turns wait for a person.
func (r *Run) StoodStill() []property.Violation {
	if !r.Waited || r.TooLong {
		return nil
	}
	until := len(r.Crossings)
	if r.cancelled > 0 {
		until = r.cancelled - 1
	}
	open := map[int]*adk.Crossing{}
	var last *adk.Crossing
	for i := range r.Crossings[:until] {
		last = &r.Crossings[i]
		switch {
		case last.Phase == adk.Begin && (last.Kind == adk.KindAsk || last.Kind == adk.KindWaitFor):
			open[last.Op] = last
		case last.Phase == adk.Done:
			delete(open, last.Op)
		}
	}
	in := ""
	for _, x := range open {
		switch {
		case x.Kind == adk.KindWaitFor:
			return nil
		case in == "" || x.Seq > last.Seq:
			last, in = x, " while "+x.Name+" was asked, and did not answer,"
		}
	}
	if last == nil {
		return nil
	}
	return []property.Violation{endOracle.violation(r.exhibit(last, "with nothing gone wrong the turn stood still%s until its caller cancelled: what it waits for never comes", in))}
}

// Behold applies all oracles to a run.
func (r *Run) Behold(undisturbed *Run) (found, hints []property.Violation) {
	for _, o := range oracles {
		for _, s := range o.look(r, undisturbed) {
			v := o.violation(s)
			if o.hints {
				hints = append(hints, v)
			} else {
				found = append(found, v)
			}
		}
	}
	return append(found, r.advised(undisturbed)...), hints
}

// StoodOutside returns the hints of a run that waited outside the engine. Nothing is known about
// the order of such a run, which all other oracles need.
func (r *Run) StoodOutside(undisturbed *Run) []property.Violation {
	return safetext.Each(standOracle.look(r, undisturbed), standOracle.violation)
}

// advised returns advice that the undisturbed turn does not get: behaviour that is legal and likely
// a mistake, and that shows only where something goes wrong. If a fault broke an answer of the
// world, it leaves out the advice on repeated asks and calls and on empty answers: the broken
// answer may have been useless, may have asked for the repetition, or may be the empty one. Panics
// are either faults themselves or have an oracle of their own.
func (r *Run) advised(undisturbed *Run) (found []property.Violation) {
	ofAnswers := []string{"repeated-ask", "repeated-call", "empty-answer"}
	broken := slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Kind.OfWorld() })
	for _, h := range r.Hints {
		if undisturbed.hasAdvice(h.Advice) || h.Advice == "panic" || h.Advice == "refused-conversation" || broken && slices.Contains(ofAnswers, h.Advice) {
			continue
		}
		found = append(found, advised(h))
	}
	return found
}

// advised returns a hint as a violation.
func advised(h property.Hint) property.Violation {
	_, why, _ := strings.Cut(h.String(), "\n")
	return property.Violation{Invariant: h.Advice, Crossing: h.Crossing, Seam: h.Seam, Related: h.Related, Text: h.Text + "\n" + why}
}

func (r *Run) hasAdvice(name string) bool {
	return slices.ContainsFunc(r.Hints, func(h property.Hint) bool { return h.Advice == name })
}

// swallowed finds a failure of the storage, or of an ask that writes, that was reported to nobody:
// the turn was acked as if nothing had happened. It is silent if something was logged, an error
// event was emitted or a tool returned an error; if the same was tried again with success, or
// something was written instead; and if the model or the user received another text than in the
// undisturbed turn. That last exception does not hold if the tool that asked returns what it
// returns on success. It is also silent about fetches other than that of the conversation, as a
// turn can do without them.
func swallowed(r, undisturbed *Run) (found []exhibit) {
	if r.status != adk.StatusAck || r.cancelled > 0 {
		return nil
	}
	for _, f := range r.Faults {
		if x := r.lostWrite(f, undisturbed); x != nil {
			if tool := r.toolOf(x.Call); tool > 0 && r.gaveTheSame(tool, undisturbed) && !r.keptOtherTexts(x.Seq, tool, undisturbed) {
				return []exhibit{r.exhibit(x, "what %s was asked to write failed, and %s gives what it gives when that is done: nobody was told", f.Of, r.calls[tool].seam)}
			}
			if !r.keptOtherTexts(x.Seq, 0, undisturbed) {
				found = append(found, r.exhibit(x, "what %s was asked to write failed, the turn was acked, and nobody was told: no error event, no log, no other answer", f.Of))
			}
		}
		if f.Kind != turn.StorageBefore && f.Kind != turn.StorageAfter || f.Call >= len(r.calls) {
			continue
		}
		c := r.calls[f.Call]
		if c.seam.Effect() == adk.EffectReads && c.seam.Name != "messages.fetch" || r.tells(c.began, undisturbed) || r.triedAgain(f.Call) {
			continue
		}
		found = append(found, exhibit{c.ended + 1, r.calls[c.parent].seam.String(),
			fmt.Sprintf("%s failed, the turn was acked, and nobody was told: no error event, no log, no other answer", c.seam)})
	}
	if len(found) > 0 && r.said() != undisturbed.said() {
		return nil
	}
	return found
}

// failedWrite returns the end of an ask that writes and that failed because of f; nil if f is no
// such fault.
func (r *Run) failedWrite(f Fault) *adk.Crossing {
	if x := r.failedAsk(f); x != nil && r.asks()[x.Op].begun.Status == string(adk.EffectWrites) {
		return x
	}
	return nil
}

// lostWrite returns the end of an ask that writes and that failed because of f, if the failure was
// reported to nobody and nothing makes up for it; otherwise nil. A write that was accepted counts
// as done, even if the rest of the answer was lost: nobody may need what that said.
func (r *Run) lostWrite(f Fault, undisturbed *Run) *adk.Crossing {
	x := r.failedWrite(f)
	if x == nil || r.asks()[x.Op].accepted || r.tells(x.Seq, undisturbed) || r.madeGood(x, undisturbed) || !undisturbed.isAnswered(0, sameButForIDs(r.asks()[x.Op].begun)) { // what always fails is not the fault's doing
		return nil
	}
	return x
}

// isFailure reports whether an ask failed. An asker that stops reading had enough, which is no
// failure.
func isFailure(err error) bool { return err != nil && !errors.Is(err, adk.E_ASK_STOPPED) }

// madeGood reports whether something after a failed write makes up for it. That may be an ask for
// the same which succeeds, an ask that is usually not made, a second replacement of the same thing,
// or a write that is usually not made: it may be instead, or for later. What the call usually asks
// next, even of the same server, is just its next step and makes up for nothing.
func (r *Run) madeGood(failed *adk.Crossing, undisturbed *Run) bool {
	first := r.asks()[failed.Op].begun
	same := sameButForIDs(first)
	method, _, _ := httpform.RequestLine(first.JSON)
	replaces := func(b *adk.Crossing) bool { return method == "PUT" && httpform.SameLine(first.JSON, b.JSON) } // all that was there
	if r.isAnswered(first.Seq, func(b *adk.Crossing) bool {
		return b.Name == first.Name && b.Call == first.Call && (replaces(b) || !undisturbed.isAsked(b)) || same(b)
	}) {
		return true
	}
	looks := func(b *adk.Crossing) bool { // it checks whether it is done all the same
		return r.toolOf(b.Call) == r.toolOf(first.Call) && !undisturbed.isAsked(b)
	}
	if r.isAnswered(failed.Seq, looks) {
		return true
	}
	usual := undisturbed.writes()
	for what, all := range r.writes() {
		if len(all) > len(usual[what]) && slices.ContainsFunc(all, func(x written) bool { return x.Seq > failed.Seq && !slices.Contains(r.Broken, x.Op) }) {
			return true
		}
	}
	return false
}

// keptOtherTexts reports whether a text was kept after a crossing that is usually not kept. If tool
// is not zero, only texts that were kept in that call of a tool count.
func (r *Run) keptOtherTexts(behind, tool int, undisturbed *Run) bool {
	kept := undisturbed.keptTexts()
	for ref, x := range r.keptTexts() {
		if x.Seq > behind && (tool == 0 || r.toolOf(x.Call) == tool) && (kept[ref] == nil || textOf(kept[ref].Record) != textOf(x.Record)) {
			return true
		}
	}
	return false
}

// said returns all that was said to the reader of the answer, or to the model.
func (r *Run) said() string {
	var all strings.Builder
	for i := range r.Crossings {
		switch x := &r.Crossings[i]; x.Kind {
		case adk.KindReportMessage, adk.KindReportToolCall, adk.KindEmitMessage:
			all.WriteString(x.Text)
			all.WriteString(saidOf(x.Result))
		case adk.KindStore:
			switch record := x.Record.(type) {
			case *adk.Message:
				if record.Content() != nil && x.Phase == adk.Begin {
					all.WriteString(record.Content().String())
				}
			case *adk.ToolCall:
				if x.Phase == adk.Begin {
					fmt.Fprint(&all, saidOf(record.Results()), record.IsError())
				}
			}
		}
	}
	return compare.WithoutPorts(all.String())
}

// tells reports whether a failure was reported to anybody after a crossing. What the undisturbed
// turn reports too does not count: many agents log whatever they do.
func (r *Run) tells(from int, undisturbed *Run) bool {
	return tellsMore(r.told(from, tellsOfFailure), undisturbed)
}

// tellsBeyondTools is like tells, but ignores tools that end in an error.
func (r *Run) tellsBeyondTools(from int, undisturbed *Run) bool {
	return tellsMore(r.told(from, isWord), undisturbed)
}

func tellsMore(told map[string]int, undisturbed *Run) bool {
	for text, times := range told {
		if times > undisturbed.usual.told[text] {
			return true
		}
	}
	return false
}

// isWord reports whether user code, or the engine, reports a failure with the crossing.
func isWord(x *adk.Crossing) bool {
	return x.Kind == adk.KindErrorEvent || x.Kind == adk.KindReportLog || x.Kind == adk.KindNack
}

func tellsOfFailure(x *adk.Crossing) bool {
	return isWord(x) || x.Kind == adk.KindToolExecutionEnd && x.IsError
}

// told returns how often each report of a failure was made from a crossing on.
func (r *Run) told(from int, tells func(*adk.Crossing) bool) map[string]int {
	all := map[string]int{}
	for i := range r.Crossings[from:] {
		if x := &r.Crossings[from+i]; tells(x) {
			all[compare.ToldText(wire.Comparer{Sentinels: wire.OnlyCommon}, x)]++
		}
	}
	return all
}

// triedAgain reports whether the storage later did what had failed.
func (r *Run) triedAgain(call int) bool {
	first := &r.Crossings[r.calls[call].began]
	for id := call + 1; id < len(r.calls); id++ {
		c := r.calls[id]
		if c.seam.Name == first.Seam.Name && c.seam.Label == adk.LabelStorage && c.outcome == adk.OutcomeOK &&
			wanted.Key(&r.Crossings[c.began]) == wanted.Key(first) {
			return true
		}
	}
	return false
}

// shownAndLost finds a message that was reported in a turn that was cancelled, and that nobody even
// tried to store, although the undisturbed turn stores it. It is silent if storing was tried:
// whether to store on a cancelled context is the agent's decision. It is also silent on a streamed
// message whose answer the cancel has cut off: the reader saw it break off, and half an answer is
// none (RTY-5).
func shownAndLost(r, undisturbed *Run) (found []exhibit) {
	if r.cancelled == 0 {
		return nil
	}
	shown := r.shown()
	for i := range r.Crossings {
		x := &r.Crossings[i]
		if m, ok := x.Record.(*adk.Message); ok && (x.Kind == adk.KindStore || x.Kind == adk.KindMutate || x.Kind == adk.KindAdd) {
			delete(shown, m.ID())
		}
	}
	for id, x := range shown {
		if undisturbed.storesMessage(id) {
			found = append(found, r.exhibit(x, "message %q was shown in part, the turn was cancelled, and nobody stored what was there", id))
		}
	}
	return found
}

// shown returns the last report of each message of which something was shown, except for messages
// that were never complete and came from an answer that had not ended.
func (r *Run) shown() map[string]*adk.Crossing {
	shown, said, asking := map[string]*adk.Crossing{}, map[string]bool{}, map[int]int{} // asking: by seam call
	for i := range r.Crossings {
		x := &r.Crossings[i]
		switch {
		case x.Kind == adk.KindAsk && x.Phase == adk.Begin:
			asking[x.Call]++
		case x.Kind == adk.KindAsk && x.Phase == adk.Done:
			asking[x.Call]--
		case x.Kind == adk.KindReportMessage && x.Err == nil && r.within(x.Call):
			said[x.Name] = said[x.Name] || x.Text != ""
			if said[x.Name] && (x.Flag || asking[x.Call] == 0) {
				shown[x.Name] = x
			}
		}
	}
	return shown
}

// shownOtherwise finds a message that, in a turn that was acked, was stored with another text than
// was reported as complete under its id. It is silent if the undisturbed turn does so too: what is
// shown may be formatted for the reader.
func shownOtherwise(r, undisturbed *Run) []exhibit {
	if r.status != adk.StatusAck || r.cancelled > 0 || len(undisturbed.storedOtherwise()) > 0 {
		return nil
	}
	return r.storedOtherwise()
}

func (r *Run) storedOtherwise() (found []exhibit) {
	shown, whole := map[string]string{}, map[string]bool{}
	for i := range r.Crossings {
		if x := &r.Crossings[i]; x.Kind == adk.KindReportMessage && x.Err == nil {
			shown[x.Name] += x.Text
			whole[x.Name] = x.Flag
		}
	}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		m, ok := x.Record.(*adk.Message)
		if !ok || x.Phase != adk.Begin || x.Kind != adk.KindStore && x.Kind != adk.KindMutate || !whole[m.ID()] || m.Content() == nil {
			continue
		}
		if kept := m.Content().String(); kept != shown[m.ID()] {
			found = append(found, r.exhibit(x, "message %q was shown as %s, and is stored as %s", m.ID(), safetext.Said(shown[m.ID()], longestClip), safetext.Said(kept, longestClip)))
		}
	}
	return found
}

// longestClip is how many characters of a text are shown.
const longestClip = 60

func (r *Run) storesMessage(id string) bool {
	return slices.ContainsFunc(r.Crossings, func(x adk.Crossing) bool {
		m, ok := x.Record.(*adk.Message)
		return ok && (x.Kind == adk.KindStore || x.Kind == adk.KindMutate) && m.ID() == id
	})
}

// stoodStill finds a turn that waited at a gate until its caller gave up, which the undisturbed
// turn does not. It is silent if a fault broke code off, as then nobody may be left to settle the
// gate.
func stoodStill(r, undisturbed *Run) []exhibit {
	if !r.Waited || r.TooLong || undisturbed.Waited || slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Amid }) {
		return nil
	}
	for i := range r.Crossings {
		if x := &r.Crossings[i]; x.Kind == adk.KindWaitFor && x.Phase == adk.Begin && x.Duration == 0 {
			return []exhibit{r.exhibit(x, "the turn stood still at the gate %q, which nobody settles, until its caller cancelled", x.Name)}
		}
	}
	return nil
}

// stoodOutside finds a turn whose goroutines waited for one another, and for nothing that was
// asked, until the caller gave up, which the undisturbed turn does not. It is silent if a fault
// broke code off, and if an ask, a sleep, a gate or a storage call was open.
func stoodOutside(r, undisturbed *Run) []exhibit {
	if !r.Waited || r.TooLong || r.Stood == "" || r.cancelled == 0 || undisturbed.Waited || slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Amid }) {
		return nil
	}
	open := map[int]bool{}
	var last *adk.Crossing
	for i := range r.Crossings {
		x := &r.Crossings[i]
		if x.Seq >= r.cancelled {
			break
		}
		last = x
		switch x.Kind {
		case adk.KindAsk, adk.KindSleep, adk.KindWaitFor:
			if open[x.Op] = true; x.Phase == adk.Done {
				delete(open, x.Op)
			}
		}
	}
	if last == nil || len(open) > 0 || slices.ContainsFunc(r.calls, func(c calling) bool {
		return c.seam.Label == adk.LabelStorage && c.began < last.Seq && (c.ended == 0 || c.ended >= last.Seq)
	}) {
		return nil
	}
	return []exhibit{r.exhibit(last, "from here on the turn stood still until its caller cancelled, and nothing that it had asked for was open:\n%s", r.Stood)}
}

// memoryOfFailure finds a memory that was stored in a dispatch that was not acked, and is still
// there. It is silent about what is stored before the dispatch, about memories that the undisturbed
// turn deletes, if the undisturbed dispatch is not acked either, and about a turn of a session.
func memoryOfFailure(r, undisturbed *Run) (found []exhibit) {
	if r.status == "" || r.status == adk.StatusAck || undisturbed.status != adk.StatusAck || undisturbed.isOfSession() {
		return nil
	}
	_, deleted := undisturbed.memories()
	left, _ := r.memories()
	for key, x := range left {
		if !deleted[key] {
			found = append(found, r.exhibit(x, "memory %q was stored, and the dispatch was not acked", key))
		}
	}
	return found
}

// isOfSession reports whether the turn runs on a host of package session, which it recognizes by
// the names of middlewares. Such a host writes stored records with its commit, and none if the
// commit fails (SES-23).
func (r *Run) isOfSession() bool {
	return slices.ContainsFunc(r.calls, func(c calling) bool {
		return c.seam.Label == adk.LabelTurnInput && strings.HasPrefix(c.seam.Name, "session-")
	})
}

// memories returns the memories that dispatches have stored and not deleted, and those that were
// deleted.
func (r *Run) memories() (stored map[string]*adk.Crossing, deleted map[string]bool) {
	stored, deleted = map[string]*adk.Crossing{}, map[string]bool{}
	for id := range r.calls {
		c := r.calls[id]
		if c.seam.Label != adk.LabelStorage || !r.within(id) || c.outcome != adk.OutcomeOK {
			continue
		}
		x := &r.Crossings[c.began]
		switch c.seam.Name {
		case "memories.store", "memories.mutate":
			stored[wanted.Key(x)] = x
		case "memories.delete":
			delete(stored, wanted.Key(x))
			deleted[wanted.Key(x)] = true
		}
	}
	return stored, deleted
}

// begunAfterAbort finds a write that was begun after the turn was aborted, with a context that the
// abort does not end, and that the undisturbed turn makes too. A write that undoes something is not
// found, as the undisturbed turn does not make it. It is silent if the same call has begun the same
// write before the abort, or a write to the same or of which it has a value: code that has begun a
// record, or holds a lock, must end that whatever its context.
func begunAfterAbort(r, undisturbed *Run) []exhibit {
	if r.cancelled == 0 {
		return nil
	}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		if x.Kind != adk.KindAsk || x.Phase != adk.Begin || !x.Flag || x.Status != string(adk.EffectWrites) || x.Seq < r.cancelled || !undisturbed.isAsked(x) || r.isDeafened(x.Call) {
			continue
		}
		same := sameAs(x)
		ends := func(b *adk.Crossing) bool {
			return b.Seq < r.cancelled && b.Call == x.Call && b.Status == string(adk.EffectWrites) && (b.Name == x.Name || r.hasValueOf(x, b))
		}
		if !slices.ContainsFunc(r.Crossings[:i], func(b adk.Crossing) bool {
			return b.Kind == adk.KindAsk && b.Phase == adk.Begin && (same(&b) || ends(&b))
		}) {
			return []exhibit{r.exhibit(x, "%s is asked to write what it usually is, since the turn was aborted", x.Name)}
		}
	}
	return nil
}

// isDeafened reports whether a call is, or is part of, a call that the explorer made deaf to its
// context.
func (r *Run) isDeafened(call int) bool {
	for ; call > 0; call = r.calls[call].parent {
		if slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Deaf && f.Call == call }) {
			return true
		}
	}
	return false
}

func (r *Run) known(call int) bool { return call > 0 && call < len(r.calls) }

// doneTwice finds a tool that writes and ran twice with equal arguments, or the world being asked
// twice to write the same, where the undisturbed turn does it once. It is silent:
//
//   - if the first attempt failed before it did anything;
//   - about tools and asks that do not declare that they write;
//   - if the world's answer itself asks for a second time;
//   - about the same write with the same key, by which the receiver recognizes it.
//
// Writes count as equal even if they differ in their keys, and in ids that were made in the run, if
// the first attempt seems to have failed and the key is new because of that: a key that is new each
// time prevents no repetition. doneTwice is also silent about a write that was first made before
// any fault and that the undisturbed turn does not make: the turn then differs from run to run,
// which is reported as such. Without a fault, for example with another conversation, the turn may
// write other things than usual, as often as usual.
func doneTwice(r, undisturbed *Run) (found []exhibit) {
	if slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Repeats }) {
		return nil
	}
	usual := undisturbed.writes()
	for what, all := range r.writes() {
		if len(usual[what]) == 0 && slices.ContainsFunc(r.Faults, func(f Fault) bool { return all[0].Seq <= f.At }) {
			continue
		}
		often := max(1, len(usual[what]))
		for _, others := range usual {
			if len(r.Faults) == 0 && who(others[0].Crossing) == who(all[0].Crossing) {
				often = max(often, len(others))
			}
		}
		for n := often; n < len(all); n++ {
			x := all[n]
			if x.One != "" && !slices.ContainsFunc(all[:n], func(before written) bool { return r.isRepeated(before, x) }) {
				continue
			}
			seam, said := x.Seam, fmt.Sprintf("%s ran %d times with equal arguments; crossing %d began the first", x.Seam, len(all), all[0].Seq)
			if x.Kind != adk.KindCall {
				key := ""
				if haveOtherKeys(all[0].Crossing, x.Crossing) {
					key = ", each time with another idempotency key"
				}
				seam, said = r.calls[x.Call].seam, fmt.Sprintf("%s was asked %d times to write the same%s; crossing %d was the first time", x.Name, len(all), key, all[0].Seq)
			}
			found = append(found, exhibit{x.Seq, seam.String(), said})
			break
		}
	}
	return found
}

// haveOtherKeys reports whether two asks to write have different idempotency keys: next to the
// request, or as all in which the requests differ.
func haveOtherKeys(a, b *adk.Crossing) bool {
	one, other := string(a.JSON), string(b.JSON)
	return a.Key != "" && b.Key != "" && a.Key != b.Key || one != other && httpform.WithoutKeys(one) == httpform.WithoutKeys(other)
}

// who returns the name of what is asked to write, or of the tool that writes.
func who(x *adk.Crossing) string { return x.Name + x.Seam.Name }

// writes returns the calls of tools that write, by tool and arguments, and the asks that write, by
// who is asked for what.
func (r *Run) writes() map[string][]written {
	all := map[string][]written{}
	writes := map[int]bool{}
	writing := wanted.Writing{}
	ids := wanted.IDs{}
	for i := range r.Crossings {
		ids.Take(&r.Crossings[i])
	}
	take := func(w wanted.Write, x *adk.Crossing) {
		this := written{x, ids.Apart(w)}
		before := all[this.General]
		if this.One == "" || !slices.ContainsFunc(before, func(w written) bool { return w.One == this.One }) {
			all[this.General] = append(before, this)
		}
	}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		write, asked := writing.Take(x)
		switch {
		case asked && !slices.Contains(r.Unasked, x.Op):
			take(write, x)
		case x.Kind == adk.KindExecute && x.Phase == adk.Begin:
			tool, ok := x.Record.(*adk.Tool)
			writes[x.Call] = ok && tool.Effect() == adk.EffectWrites
		case x.Kind == adk.KindCall && x.Seam.Label == adk.LabelTool && writes[x.Call] && !r.neverRan(x.ID):
			args, err := json.Marshal(x.Args)
			if err == nil {
				take(wanted.Write{By: x.Seam.Name, What: string(args)}, x)
			}
		}
	}
	return all
}

// written is a write of a run.
type written struct {
	*adk.Crossing
	wanted.Parts
}

// isRepeated reports whether a write is another attempt at an earlier one, and not a different
// write: its key was made after the earlier one, or both have the same ids, and the asking code
// does not know that the earlier one was done.
func (r *Run) isRepeated(before, now written) bool {
	return (now.Latest > before.Seq || now.IDs == before.IDs) && r.hasFailed(before.Crossing, now.Seq)
}

// hasFailed reports whether a write, or the code that it was a part of, had failed by a crossing.
func (r *Run) hasFailed(x *adk.Crossing, by int) bool {
	call := x.Call
	if x.Kind == adk.KindCall {
		call = x.ID
	} else if one := r.asks()[x.Op]; one == nil || !one.answered {
		return true
	}
	for ; r.known(call); call = r.calls[call].parent {
		if c := r.calls[call]; c.ended > 0 && c.ended < by && c.outcome != adk.OutcomeOK {
			return true
		}
	}
	return false
}

// neverRan reports whether the explorer kept a call's code from running.
func (r *Run) neverRan(call int) bool {
	return slices.Contains(r.Unran, call) || slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Call == call && f.Before })
}

// openCalls finds a call for which the model is asked again in the same dispatch although no result
// of the call was kept, where the undisturbed turn keeps one each time. It is silent about calls
// that were never reported.
func openCalls(r, undisturbed *Run) (found []exhibit) {
	if len(undisturbed.leftOpen()) > 0 {
		return nil
	}
	return r.leftOpen()
}

func (r *Run) leftOpen() (found []exhibit) {
	open := map[string]*adk.Crossing{}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		switch {
		case x.Kind == adk.KindReportToolCall && r.within(x.Call):
			if open[x.Name] == nil {
				open[x.Name] = x
			}
		case (x.Kind == adk.KindStore || x.Kind == adk.KindMutate) && x.Phase == adk.Done && x.Err == nil, x.Kind == adk.KindAdd:
			r.closes(open, x, i)
		case x.Kind == adk.KindCall && x.Seam.Label == adk.LabelExecutor && len(open) > 0 && r.isOwn(x.Call):
			for id, asked := range open {
				found = append(found, r.exhibit(asked, "the model asked for %s %q, and is asked again at crossing %d without a result of it", asked.Key, id, x.Seq))
			}
			clear(open)
		}
	}
	return found
}

// closes removes a tool call from open if the crossing kept its record.
func (r *Run) closes(open map[string]*adk.Crossing, x *adk.Crossing, at int) {
	record := x.Record
	for i := at; record == nil && i >= 0; i-- { // the begin of the operation has the record
		if y := &r.Crossings[i]; y.Op == x.Op && y.Phase == adk.Begin {
			record = y.Record
		}
	}
	if c, ok := record.(*adk.ToolCall); ok {
		delete(open, c.ID())
	}
}

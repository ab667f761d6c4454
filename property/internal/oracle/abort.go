package oracle

import (
	"errors"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// The limits from which on an abort counts as ignored: how often the same is asked for after it was
// refused, and how often something is reported to, or asked for, a caller who has left. A few
// different asks may be under way at once; writes do not count among them.
const (
	deafAsks  = 3
	deafTells = 8
)

// deafToAbort finds user code to which something was refused after the turn was aborted, and that
// then acks as if nothing had happened or asks for the same again and again; or that goes on to
// stream. It is silent
//
//   - about what is stored, which may be what there was,
//   - about tools and sleeps, whose errors are a result like others,
//   - if the refusal was logged,
//   - in a tool that the explorer keeps from noticing the abort,
//   - about writes that are asked with a context that the abort does not end,
//   - and, if several goroutines ask, about an ask that was refused while another one was answered.
//
// Each of the goroutines that user code has started in a call may ask once more: as many as there
// are when nothing goes wrong.
func deafToAbort(r, undisturbed *Run) []exhibit {
	if r.cancelled == 0 {
		return nil
	}
	h := heeding{run: r, undisturbed: undisturbed, calls: map[int]*callHeeding{}, apart: map[int]bool{}, requests: map[int]string{}}
	for i := r.cancelled; i < len(r.Crossings); i++ {
		if x := &r.Crossings[i]; x.Kind.Class() == adk.ClassOperation && r.known(x.Call) && !r.isDeafened(x.Call) {
			h.take(x)
		}
	}
	return h.found
}

// heeding is what user code has done since the turn was aborted.
type heeding struct {
	run, undisturbed *Run
	calls            map[int]*callHeeding
	apart            map[int]bool   // the asks that do not count
	requests         map[int]string // what the asks say that count
	found            []exhibit
}

// callHeeding is what was done in one call.
type callHeeding struct {
	askers  int // how many goroutines may ask in the call
	begun   int // how often the world was asked
	told    int // how many pieces of messages were reported
	refused string
	asked   map[request]int // how often each request was refused
	logged  bool
	said    bool
}

// request is what was refused: an operation and, for an ask that counts, its name and what it says.
type request struct {
	kind adk.Kind
	ask  string
}

func (h *heeding) call(call int) *callHeeding {
	c := h.calls[call]
	if c == nil {
		c = &callHeeding{askers: max(1, h.undisturbed.askersOf(h.run.calls[call].seam)), asked: map[request]int{}}
		h.calls[call] = c
	}
	return c
}

// take records one operation.
func (h *heeding) take(x *adk.Crossing) {
	c := h.call(x.Call)
	switch {
	case x.Kind == adk.KindAsk && h.isApart(x):
		h.apart[x.Op] = true
	case x.Kind == adk.KindAsk && x.Phase == adk.Begin:
		h.asks(c, x)
	case x.Phase == adk.Done && x.Err != nil && x.Kind != adk.KindAck && x.Kind != adk.KindWait: // a strand ends by itself
		h.refuse(c, x)
	case x.Kind == adk.KindReportLog: // code that undoes what was done, and logs where that fails, may write several things
		c.refused, c.logged = "", true
	case x.Kind == adk.KindAck && x.Phase == adk.Begin && c.refused != "":
		h.say(c, x, "%s was refused since the turn was aborted, and the dispatch is acked all the same", c.refused)
	case x.Kind == adk.KindReportMessage && x.Text != "":
		if c.told++; c.told == deafTells {
			h.say(c, x, "%d pieces of a message were reported since the turn was aborted", deafTells)
		}
	}
}

// isApart reports whether a refusal of an ask does not count: the asking code does not see it, or
// the ask is a write that is made after the abort on purpose, to undo something.
func (h *heeding) isApart(x *adk.Crossing) bool {
	return h.apart[x.Op] || strings.HasPrefix(x.Name, adk.FaultPoints) || x.Flag && x.Status == string(adk.EffectWrites)
}

func (h *heeding) asks(c *callHeeding, x *adk.Crossing) {
	if x.Status != string(adk.EffectWrites) || c.logged {
		h.requests[x.Op] = x.Name + string(x.JSON)
	}
	if c.begun++; c.begun == deafTells*c.askers {
		h.say(c, x, "the world was asked %d times since the turn was aborted", c.begun)
	}
}

// refuse records a refusal, unless the asking code already has what it wants.
func (h *heeding) refuse(c *callHeeding, x *adk.Crossing) {
	if errors.Is(x.Err, adk.E_ASK_STOPPED) || x.Kind == adk.KindAsk && c.askers > 1 && h.run.lostRace(x.Op) {
		return
	}
	isTool, what := x.Kind == adk.KindExecute, request{x.Kind, h.requests[x.Op]}
	if !isTool && x.Kind != adk.KindSleep {
		c.refused = x.Kind.String()
	}
	if c.asked[what]++; c.asked[what] == deafAsks*c.askers && !isTool {
		h.say(c, x, "%s was refused %d times since the turn was aborted", x.Kind, c.asked[what])
	}
}

// say adds a finding for a call, at most one.
func (h *heeding) say(c *callHeeding, x *adk.Crossing, format string, args ...any) {
	if !c.said {
		c.said = true
		h.found = append(h.found, h.run.exhibit(x, format, args...))
	}
}

// lostRace reports whether an ask was under way while another one of its call was answered.
func (r *Run) lostRace(op int) bool {
	this := r.asks()[op]
	for _, other := range r.asks() {
		if other.answered && other.begun.Call == this.begun.Call && other.begun.Seq < this.done.Seq && this.begun.Seq < other.done.Seq {
			return true
		}
	}
	return false
}

// askersOf returns how many goroutines ask in a call of a seam at most.
func (r *Run) askersOf(seam adk.Seam) (most int) {
	for call, askers := range r.Askers {
		if r.known(call) && r.calls[call].seam.Label == seam.Label && r.calls[call].seam.Name == seam.Name {
			most = max(most, askers)
		}
	}
	return most
}

package property

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// nacksKept: the cause with which a dispatch was nacked is part of the error with which the
// dispatch ends, even if a stage failed afterwards or the run was aborted (DSP-6, DSP-11, ABT-13).
// Whether there is an error at all is checked by one-status.
type nacksKept struct{ given map[*dispatching]nacking }

// nacking is a nack that was accepted.
type nacking struct {
	at    int
	cause error
}

func (w *nacksKept) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	if d == nil {
		return
	}
	if x.Kind == adk.KindNack {
		if x.Err == nil && x.Cause != nil {
			put(&w.given, d, nacking{s.n, x.Cause})
		}
		return
	}
	if nack, given := w.given[d]; given && d.does(s.at) && x.Err != nil && !strings.Contains(x.Err.Error(), nack.cause.Error()) {
		s.breaks(since(nack.at), "the dispatch was nacked with %v, and ends with %v", nack.cause, x.Err)
	}
}

// emitsAsGiven: what user code emits reaches the listeners unchanged (EVT-10). If a call reports
// and emits concurrently, from plain goroutines, an event may belong to either. In a file the event
// of an emit has no content of its own, and counts as unchanged.
type emitsAsGiven struct{ waiting map[*seamCall][]emission }

// emission is an emit, or a report (then given is nil), whose event is still to come.
type emission struct {
	at    int
	event int // the kind of its event, as of eventOf
	given any
}

func (w *emitsAsGiven) see(s *history, x *adk.Crossing) {
	if !s.at.known() || x.Phase == adk.Done || x.Err != nil {
		return
	}
	event := eventOf(x.Kind)
	if x.Kind.Class() != adk.ClassEvent {
		put(&w.waiting, s.at, append(w.waiting[s.at], emission{s.n, event, essence(x.Payload)}))
		return
	}
	told, all := essence(x.Payload), w.waiting[s.at]
	at := slices.IndexFunc(all, func(e emission) bool { return e.event == event && (told == nil || e.given == told) })
	if at < 0 {
		at = slices.IndexFunc(all, func(e emission) bool { return e.event == event && e.given == nil })
	}
	if at < 0 {
		at = slices.IndexFunc(all, func(e emission) bool { return e.event == event })
		if at < 0 {
			return // reports-told reports it
		}
		s.breaks(since(all[at].at), "event %s tells %+v, and what was emitted is %+v", x.Kind, told, all[at].given)
	}
	w.waiting[s.at] = slices.Delete(all, at, at+1)
}

// essence returns the part of an event that can be compared, or nil for a report, which has none.
func essence(payload any) any {
	switch e := payload.(type) {
	case adk.MessageEvent:
		return streamEssence{e.Origin, e.ID, e.Delta, e.Full, e.Complete}
	case adk.ThoughtEvent:
		return streamEssence{e.Origin, e.ID, e.Delta, e.Full, e.Complete}
	case adk.ToolCallEvent:
		return toolCallEssence{e.Origin, e.ID, e.Tool, e.Checksum, e.IsError, e.Complete}
	}
	return nil
}

type streamEssence struct {
	adk.Origin
	id, delta, full string
	complete        bool
}

type toolCallEssence struct {
	adk.Origin
	id, tool, checksum string
	isError, complete  bool
}

func (w *emitsAsGiven) remake() { clear(w.waiting) }

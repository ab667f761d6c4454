package property

import (
	"errors"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// streamsSealed: a stream is sealed once; only afterwards its id is refused with
// E_LLM_EXECUTION_STREAM_SEALED. The listeners receive exactly the deltas joined. That last part
// can be checked only in a run, because a trace derives the events from the reports.
type streamsSealed struct{ streams map[streamKey]*tellingStream }

// streamKey identifies a stream. Messages, thoughts and tool calls have separate ids, so the key
// has the kind of the reports.
type streamKey struct {
	of   *dispatching
	kind adk.Kind
	id   string
}

// tellingStream is a message, a thought or a tool call that is being reported.
type tellingStream struct {
	sealed int
	text   strings.Builder
	heard  int // how many bytes of the text the listeners have received
}

func (w *streamsSealed) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	switch {
	case x.Kind.Class() == adk.ClassEvent:
		w.hear(s, x)
	case d == nil:
		s.breaks(since(s.at.began), "%s outside a dispatch", x.Kind)
	default:
		w.report(s, x, d)
	}
}

func (w *streamsSealed) report(s *history, x *adk.Crossing, d *dispatching) {
	key := streamKey{d, x.Kind, x.Name}
	one := w.streams[key]
	refused := errors.Is(x.Err, adk.E_LLM_EXECUTION_STREAM_SEALED)
	switch {
	case one != nil && one.sealed > 0:
		if !refused {
			s.breaks(since(one.sealed), "%s of %q is answered with %v, and the stream is sealed", x.Kind, x.Name, orNothing(x.Err))
		}
	case refused:
		s.breaks(since(d.call.began), "%s of %q is refused as sealed, and the stream is not", x.Kind, x.Name)
	case x.Err == nil:
		if one == nil {
			one = &tellingStream{}
			put(&w.streams, key, one)
		}
		one.text.WriteString(x.Text)
		if x.Flag {
			one.sealed = s.n
		}
	}
}

func orNothing(err error) any {
	if err == nil {
		return "nothing"
	}
	return err
}

// hear compares what the listeners receive with the deltas. Events that user code emits itself are
// its own responsibility (EVT-10).
func (w *streamsSealed) hear(s *history, x *adk.Crossing) {
	kind, told := adk.KindReportMessage, adk.StreamUpdate{}
	switch e := x.Payload.(type) {
	case adk.MessageEvent:
		told = adk.StreamUpdate(e)
	case adk.ThoughtEvent:
		kind, told = adk.KindReportThought, adk.StreamUpdate(e)
	default:
		return
	}
	one := w.streams[streamKey{s.at.dispatch, kind, told.ID}]
	if one == nil || s.emitting(s.at) {
		return
	}
	one.heard += len(told.Delta)
	text := one.text.String()
	if len(told.Full) != one.heard || one.heard > len(text) || told.Full != text[:one.heard] {
		s.breaks(since(one.sealed), "the listeners hear %d bytes of %q, which are not what its deltas make", len(told.Full), told.ID)
	}
}

// emitting reports whether an emit of the call is open, so that events may come from it.
func (s *history) emitting(c *seamCall) bool {
	return slices.ContainsFunc(c.running, func(op *openOp) bool { return eventOf(op.kind) != noEvent })
}

func (w *streamsSealed) remake() { clear(w.streams) }

// reportsTold: each accepted report, and each emit, is followed by one event of its kind in its
// call, and no such event comes without one (HLP-1, HLP-3, HLP-6, EVT-10).
type reportsTold struct{}

// The events that reports and emits cause, as indexes in seamCall.untold.
const (
	noEvent      = -1
	messageEvent = iota - 1
	thoughtEvent
	toolCallEvent
	logEvent
)

// eventOf returns the event that a report or an emit causes, or that an event is.
func eventOf(k adk.Kind) int {
	switch k {
	case adk.KindReportMessage, adk.KindEmitMessage, adk.KindMessageEvent:
		return messageEvent
	case adk.KindReportThought, adk.KindEmitThought, adk.KindThoughtEvent:
		return thoughtEvent
	case adk.KindReportToolCall, adk.KindEmitToolCall, adk.KindToolCallEvent:
		return toolCallEvent
	case adk.KindReportLog, adk.KindLogEvent:
		return logEvent
	}
	return noEvent
}

func (w *reportsTold) see(s *history, x *adk.Crossing) {
	if !s.at.known() || x.Phase == adk.Done || x.Err != nil {
		return
	}
	untold := &s.at.untold[eventOf(x.Kind)]
	if x.Kind.Class() != adk.ClassEvent {
		*untold++
		return
	}
	if *untold--; *untold < 0 {
		*untold = 0
		s.breaks(since(s.at.began), "event %s is told, and nothing in %s reported it", x.Kind, s.at.seam)
	}
}

func (w *reportsTold) end(s *history) {
	for _, c := range s.calls {
		if c.untold == [4]int{} || s.goexited {
			continue // if a listener ends its goroutine, the rest is not emitted
		}
		for kind, n := range c.untold {
			if n > 0 {
				s.breaks(since(c.began, c.ended), "%d of the reports in %s was never told as event %s", n, c.seam, eventNames[kind])
			}
		}
	}
}

var eventNames = [...]string{"message", "thought", "toolCall", "log"}

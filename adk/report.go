package adk

import (
	"fmt"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/bus"
	"github.com/adkreplay/adkreplay/internal/ordered"
)

// Helpers is what the executor streams and logs with (HLP). Reporting only emits: it changes no set
// and no storage (HLP-4).
type Helpers struct{ call *call }

// streams are the message streams, or the thought streams, of a dispatch, by id. There are few at a
// time, and a set finds one of few faster than a map does. last caches the stream of the last
// delta, because most deltas belong to the same stream as the one before.
type streams struct {
	byID ordered.Set[string, *stream]
	last *stream
}

// stream is a text that grows by deltas. full is never copied: a string of what it holds stays
// valid while more is appended (HLP-5).
type stream struct {
	id        string
	strand    int // the strand in which it began
	createdAt time.Time
	full      strings.Builder
	sealed    bool
	relay     bus.Relay[*call, StreamUpdate]
}

// ReportMessage appends delta to the message of that id and emits a message event; complete seals
// the message (HLP-1). The returned event is what was emitted; once complete, it has all that a
// record of the message needs. A sealed id is E_LLM_EXECUTION_STREAM_SEALED (HLP-2).
func (h *Helpers) ReportMessage(id, delta string, complete bool) (event MessageEvent, err error) {
	d := h.call.dispatch
	err = h.report(KindReportMessage, &d.messages, id, delta, complete, (*StreamUpdate)(&event))
	return event, err
}

// ReportThought is ReportMessage for thoughts, whose ids are a separate space (HLP-1).
func (h *Helpers) ReportThought(id, delta string, complete bool) (event ThoughtEvent, err error) {
	d := h.call.dispatch
	err = h.report(KindReportThought, &d.thoughts, id, delta, complete, (*StreamUpdate)(&event))
	return event, err
}

// report implements ReportMessage and ReportThought. It fills in update instead of returning it,
// because the struct is large.
func (h *Helpers) report(kind Kind, all *streams, id, delta string, complete bool, update *StreamUpdate) error {
	c := h.call
	if err := c.enter(kind); err != nil {
		return err
	}
	r := c.run
	at := c.now()
	s, err := all.open(id, c.strand, at)
	if err == nil {
		if s.strand != c.strand { // this strand's times may be behind those of the strand that began the stream
			at = r.times.NotBefore(c.strand, s.createdAt, at)
		}
		s.append(update, c, delta, complete, at)
	}
	if x := r.crossing(c, kind, Whole, at); x != nil {
		x.Name, x.Text, x.Flag, x.Err = id, delta, complete, err
		r.tell(x)
	}
	if err != nil || r.unheard() {
		r.mu.Unlock()
		return err
	}
	if s.relay.UnlockToEmit(&r.mu, c, update) {
		s.emit(kind, c, update)
	}
	return nil
}

// emit passes the update to the listeners, and then those that other goroutines report meanwhile.
func (s *stream) emit(kind Kind, c *call, u *StreamUpdate) {
	r, emitted := c.run, false
	defer func() {
		if emitted {
			return
		}
		// A listener ended the goroutine. The updates that waited are still emitted, before any
		// later ones.
		if c, u := s.relay.Next(&r.mu); u != nil {
			s.emit(kind, c, u)
		}
	}()
	for {
		if kind == KindReportMessage {
			c.emitMessage((*MessageEvent)(u))
		} else {
			c.emitThought((*ThoughtEvent)(u))
		}
		if c, u = s.relay.Next(&r.mu); u == nil {
			emitted = true
			return
		}
	}
}

// open finds the stream of an id, or begins it in the given strand.
func (all *streams) open(id string, strand int, at time.Time) (*stream, error) {
	if id == "" {
		return nil, fmt.Errorf("adk: report without an id: give the stream one")
	}
	if all.last == nil || all.last.id != id {
		s, known := all.byID.Get(id)
		if !known {
			s = &stream{id: id, strand: strand, createdAt: at}
			all.byID.Add(id, s)
		}
		all.last = s
	}
	if all.last.sealed {
		return nil, errSealed(id)
	}
	return all.last, nil
}

func errSealed(id string) error {
	return &Error{Code: E_LLM_EXECUTION_STREAM_SEALED, Message: fmt.Sprintf("%q was reported complete: a new stream needs a new id", id)}
}

// append adds a delta and fills in u, which is empty.
func (s *stream) append(u *StreamUpdate, from *call, delta string, complete bool, at time.Time) {
	s.full.WriteString(delta)
	s.sealed = complete
	u.Origin = from.origin()
	u.ID, u.Delta, u.Full, u.Complete = s.id, delta, s.full.String(), complete
	u.CreatedAt, u.UpdatedAt = s.createdAt, at
	if complete {
		u.CompletedAt = at
	}
}

// ToolCallReport is what is new about a tool call. Zero fields leave what is already known as it is
// (HLP-3).
type ToolCallReport struct {
	Tool string
	// Args is an object, JSON text of one, or *Arguments.
	Args    any
	Results ToolResult
	// IsError marks the call as failed; a later report cannot take that back.
	IsError bool
	// Complete seals the call.
	Complete bool
}

// toolCallStream is what was reported of one tool call.
type toolCallStream struct {
	event ToolCallEvent
	relay bus.Relay[*call, ToolCallEvent]
}

// ReportToolCall merges the report into what is known of the id and emits a toolCall event. Once
// tool and arguments are known, the event has their checksum (HLP-3). A sealed id is
// E_LLM_EXECUTION_STREAM_SEALED (HLP-2).
func (h *Helpers) ReportToolCall(id string, report ToolCallReport) (ToolCallEvent, error) {
	c := h.call
	var err error
	if report.Results, err = checkedResult(report.Results); err != nil {
		return ToolCallEvent{}, fmt.Errorf("adk: report of tool call %q: %w", id, err)
	}
	if err := c.enter(KindReportToolCall); err != nil {
		return ToolCallEvent{}, err
	}
	r := c.run
	at := c.now()
	if s := c.dispatch.reported[id]; s != nil {
		at = r.times.NotBefore(c.strand, s.event.CreatedAt, at)
	}
	event, err := c.dispatch.mergeToolCall(c.origin(), id, report, at)
	if x := r.crossing(c, KindReportToolCall, Whole, at); x != nil {
		x.Name, x.Key, x.Args, x.Result, x.IsError, x.Flag, x.Err = id, report.Tool, givenArguments(report.Args), report.Results, report.IsError, report.Complete, err
		r.tell(x)
	}
	if err != nil {
		r.mu.Unlock()
		return ToolCallEvent{}, err
	}
	if s := c.dispatch.reported[id]; s.relay.UnlockToEmit(&r.mu, c, &event) {
		s.emit(c, &event)
	}
	return event, nil
}

// emit passes the event to the listeners, and then those that other goroutines report meanwhile.
func (s *toolCallStream) emit(c *call, e *ToolCallEvent) {
	r, emitted := c.run, false
	defer func() {
		if emitted {
			return
		}
		if c, e := s.relay.Next(&r.mu); e != nil { // as in stream.emit
			s.emit(c, e)
		}
	}()
	for {
		c.emitToolCall(e)
		if c, e = s.relay.Next(&r.mu); e == nil {
			emitted = true
			return
		}
	}
}

// mergeToolCall computes the next state of a reported tool call. run.mu is held.
func (d *dispatch) mergeToolCall(from Origin, id string, report ToolCallReport, at time.Time) (ToolCallEvent, error) {
	if id == "" {
		return ToolCallEvent{}, fmt.Errorf("adk: report without an id: give the tool call one")
	}
	s := d.reported[id]
	if s == nil {
		s = &toolCallStream{event: ToolCallEvent{ID: id, CreatedAt: at}}
	}
	if s.event.Complete {
		return ToolCallEvent{}, errSealed(id)
	}
	e := s.event
	e.Origin, e.UpdatedAt = from, at
	if report.Tool != "" {
		e.Tool = report.Tool
	}
	if report.Args != nil {
		args, err := ownArguments(report.Args)
		if err != nil {
			return ToolCallEvent{}, &Error{Code: E_INVALID_TOOL_ARGS, Message: fmt.Sprintf("report of tool call %q: %s", id, err)}
		}
		e.Args = args
	}
	if (report.Tool != "" || report.Args != nil) && e.Tool != "" && e.Args != nil {
		var err error
		if e.Checksum, err = toolChecksum(e.Tool, report.Args, e.Args); err != nil {
			return ToolCallEvent{}, &Error{Code: E_INVALID_TOOL_ARGS, Message: fmt.Sprintf("report of tool call %q: %s", id, err)}
		}
	}
	if report.Results != nil {
		e.Results = report.Results
	}
	e.IsError = e.IsError || report.IsError
	if report.Complete {
		e.Complete, e.CompletedAt = true, at
	}
	s.event = e
	if d.reported == nil {
		d.reported = map[string]*toolCallStream{}
	}
	d.reported[id] = s
	return e, nil
}

// Log is Handle.Log of the executor's own handle.
func (h *Helpers) Log(level Level, kind, message string, payload any) {
	c := h.call
	if c.enter(KindReportLog) != nil {
		return // reported as contained; Log has no error to return
	}
	at := c.now()
	event := LogEvent{Origin: c.origin(), EmittedAt: at, Level: level, Kind: kind, Message: message, Payload: payload}
	if x := c.run.crossing(c, KindReportLog, Whole, at); x != nil {
		x.Key, x.Name, x.Text, x.Value = string(level), kind, message, payload
		c.run.tell(x)
	}
	c.run.mu.Unlock()
	c.emitLog(event)
}

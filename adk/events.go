package adk

import "time"

// This file declares what listeners hear. The crossing tag of a payload's field names the field of
// a Crossing that holds the same value, if there is one: a field of the event's own crossing or,
// where that has none, of the crossing of the operation that causes the event.

// Functional is a set of listeners on the functional bus (EVT-1): the events that a product is made
// of. A nil field does not listen. Listeners run synchronously on the goroutine that emits (EVT-2).
type Functional struct {
	Message  func(MessageEvent)
	Thought  func(ThoughtEvent)
	ToolCall func(ToolCallEvent)
}

// Observability is a set of listeners on the observability bus (EVT-1): the events around the
// product. A nil field does not listen. The engine reads nothing back from these listeners (EVT-4).
type Observability struct {
	TurnStart          func(TurnStart)
	TurnEnd            func(TurnEnd)
	DispatchStart      func(DispatchStart)
	DispatchEnd        func(DispatchEnd)
	IterationStart     func(IterationStart)
	IterationEnd       func(IterationEnd)
	TurnGateOpen       func(TurnGateOpen)
	TurnGateClosed     func(TurnGateClosed)
	ToolExecutionStart func(ToolExecutionStart)
	ToolExecutionEnd   func(ToolExecutionEnd)
	Log                func(LogEvent)
	Error              func(ErrorEvent)
}

// Origin says where an event comes from (EVT-5). All payloads carry it except those of the start
// and the end of a turn and of a dispatch, which have their own fields for these ids.
type Origin struct {
	// TurnID is the turn's id, empty in a standalone dispatch.
	TurnID string
	// DispatchID is the dispatch's id, empty outside a dispatch.
	DispatchID string
	// DispatchName is the name of a dispatch that user code called, such as a sub-agent. It is
	// empty in the turn's own dispatch and outside a dispatch, so it separates the answer from what
	// was said on the way to it. DispatchID tells two dispatches of one name apart.
	DispatchName string
	// Iteration is the 0-based iteration within the dispatch.
	Iteration int
}

// Span holds the times at which something began and ended, by the runner's clock (EVT-6).
type Span struct {
	StartedAt time.Time
	EndedAt   time.Time
}

// Duration returns the time between the two. It is never negative.
func (s Span) Duration() time.Duration { return s.EndedAt.Sub(s.StartedAt) }

// StreamUpdate is the state of a stream as a message or a thought event carries it (HLP-1).
type StreamUpdate struct {
	Origin
	// ID is the stream's id.
	ID string
	// CreatedAt is when the stream began, UpdatedAt when this delta came.
	CreatedAt, UpdatedAt time.Time
	// Delta is the text that this event adds, Full the whole text so far. Full shares its memory
	// with the stream, so keeping it costs no copy.
	Delta, Full string
	// Complete is true on the last event of the stream. CompletedAt is zero on all earlier ones.
	Complete    bool
	CompletedAt time.Time
}

// MessageEvent is a delta of a message.
type MessageEvent StreamUpdate

// ThoughtEvent is a delta of a thought.
type ThoughtEvent StreamUpdate

// ToolCallEvent is everything known of a tool call after a report (HLP-3).
type ToolCallEvent struct {
	Origin
	ID string
	// Tool is empty and Args nil until they are reported. Checksum is empty until both are known.
	// Args must not be changed.
	Tool                 string
	Args                 map[string]any
	Checksum             string
	Results              ToolResult
	IsError              bool
	CreatedAt, UpdatedAt time.Time
	Complete             bool
	CompletedAt          time.Time
}

// TurnStart is the first event of a turn (RUN-6).
type TurnStart struct {
	TurnID    string    `crossing:"Name"`
	StartedAt time.Time `crossing:"At"`
}

// TurnEnd is the last event of a turn (RUN-6).
type TurnEnd struct {
	TurnID string
	Span
}

// DispatchStart says that the dispatch loop begins.
type DispatchStart struct {
	TurnID, DispatchID string
	// Name is the name of a dispatch that user code called; empty for the turn's own dispatch.
	Name string
	// ParentID is the id of the dispatch from which this one was called. It is empty for the turn's
	// own dispatch and for one called from a turn context.
	ParentID  string
	StartedAt time.Time
}

// The statuses with which a dispatch ends (SIG-5).
const (
	StatusAck     = "ack"
	StatusNack    = "nack"
	StatusAborted = "aborted"
)

// DispatchEnd says how the dispatch loop ended.
type DispatchEnd struct {
	TurnID, DispatchID string
	// Name is the name of a dispatch that user code called; empty for the turn's own dispatch.
	Name string
	Span
	// Status is StatusAck, StatusNack or StatusAborted.
	Status string
	// Error is nil for StatusAck. For StatusNack it is the failure of a stage, or the error that
	// was given to Nack (DSP-6). For StatusAborted it joins what failed after the abort (ABT-13):
	// the errors and panics of stages, and the error of a nack. It also has the cause if the
	// dispatch did not begin its loop, because its context was already done (ABT-12) or its turn
	// aborted (ABT-7). It is nil if there is no such error.
	Error error
	// Iterations is how many iterations were started (DSP-5).
	Iterations int
}

// IterationStart says that an iteration begins.
type IterationStart struct {
	Origin
	StartedAt time.Time
}

// IterationEnd says that an iteration finished (DSP-3).
type IterationEnd struct {
	Origin
	Span
}

// TurnGateOpen says that the turn waits for a gate (GAT-4). The gate is live: a listener may settle
// it.
type TurnGateOpen struct {
	Origin
	Gate     *TurnGate
	OpenedAt time.Time
}

// TurnGateClosed says how a gate settled (GAT-4).
type TurnGateClosed struct {
	Origin
	GateID string
	// Result is GateResolved, GateRejected, GateAborted or GateTimeout.
	Result string
	// By is the name that the settler gave; it may be empty.
	By        string
	SettledAt time.Time
}

// ToolExecutionStart says that a tool's handler is about to run (TOL-3).
type ToolExecutionStart struct {
	Origin
	ToolName string
	// CallID is the checksum of the tool and its raw arguments (TOL-4).
	CallID string
	// Args are the validated arguments. They must not be changed.
	Args      map[string]any
	StartedAt time.Time
}

// ToolExecutionEnd says that a tool's handler has run (TOL-3).
type ToolExecutionEnd struct {
	Origin
	ToolName string
	CallID   string
	IsError  bool
	Span
}

// Level is the severity of a log event.
type Level string

// The levels (HLP-6).
const (
	LevelTrace Level = "trace"
	LevelDebug Level = "debug"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// LogEvent is a line that user code logged (HLP-6).
type LogEvent struct {
	Origin
	EmittedAt time.Time `crossing:"At"`
	Level     Level     `crossing:"Key"`
	Kind      string    `crossing:"Name"`
	Message   string    `crossing:"Text"`
	// Payload is plain data, or nil.
	Payload any `crossing:"Value"`
}

// ErrorEvent is a failure of the turn. It is emitted once per failure and never for an abort
// (EVT-8).
type ErrorEvent struct {
	Origin
	At    time.Time `crossing:"At"`
	Error *Error    `crossing:"Err"`
}

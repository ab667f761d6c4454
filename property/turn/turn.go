package turn

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// Turn is a turn as plain data: what is handed in, which seams there are, and
// what user code does in every call of one. It can be drawn, changed, compared,
// written as JSON, and run: the same Turn makes the same crossings every time.
//
// A seam call that no script is for does what is usual: a middleware calls next,
// an executor acks, a tool answers "ok", a storage keeps what it is given. So
// dropping a script makes a turn simpler and never impossible.
type Turn struct {
	// Prompt, Instructions and Stash are the raw turn's.
	Prompt       string   `json:"prompt"`
	Instructions []string `json:"instructions,omitempty"`
	Stash        *Value   `json:"stash,omitempty"`
	// Tools are the baseline tools; their handlers are the scripts of tool/NAME.
	Tools []Record `json:"tools,omitempty"`
	// Kept is what the storage holds when the turn begins.
	Kept []Record `json:"kept,omitempty"`
	// The names of the seams. Executor is "model" if empty.
	Executor       string   `json:"executor,omitempty"`
	TurnInput      []string `json:"turnInput,omitempty"`
	TurnOutput     []string `json:"turnOutput,omitempty"`
	DispatchInput  []string `json:"dispatchInput,omitempty"`
	DispatchOutput []string `json:"dispatchOutput,omitempty"`
	// Standalone makes it a dispatch that is called alone: then it has no pipelines but
	// those of the dispatch.
	Standalone *Standalone `json:"standalone,omitempty"`
	// WriteBehind is the config's (DEL-6).
	WriteBehind bool `json:"writeBehind,omitempty"`
	// Cancelled is the cause of a context that is done before Run is called.
	Cancelled *Failure `json:"cancelled,omitempty"`
	// Loud are the listeners that fail.
	Loud []Loud `json:"loud,omitempty"`
	// Scripts say what seam calls do, in any order; of two for one call the
	// first counts.
	Scripts []Script `json:"scripts,omitempty"`
	// Order holds what is unusual in the order of the strands.
	Order []Decision `json:"order,omitempty"`
}

// Script is what one call of a seam does.
type Script struct {
	// Seam is the path of the seam, as in dispatch-input/cap#2, tool/weather or
	// storage/messages.store.
	Seam string `json:"seam"`
	// Occurrence tells the calls of one path apart, from 0.
	Occurrence int `json:"occurrence,omitempty"`
	Body
}

// Body is a list of operations and how the call ends that makes them.
type Body struct {
	Ops []Op `json:"ops,omitempty"`
	End End  `json:"end,omitzero"`
}

// End is how a call ends. The zero End is to return without an error.
type End struct {
	// How is adk.OutcomeOK if empty.
	How adk.Outcome `json:"how,omitempty"`
	// Err is what is returned, or given to panic: as a string where it is
	// nothing but a text.
	Err *Failure `json:"err,omitempty"`
	// Result is what a tool's handler returns; the text "ok" if nil, and nothing at all if
	// it is a Value of nil.
	Result *Value `json:"result,omitempty"`
	// Records are what a fetch gives in the place of what is kept; nil says
	// nothing, and an empty list that it gives none.
	Records []Record `json:"records,omitzero"`
	// Kept tells of a storage that fails: it has done its work before.
	Kept bool `json:"kept,omitempty"`
}

// UnmarshalJSON reads an End, in which a result that is null says that the handler returns
// none: without it encoding/json takes it for a result of which nothing is said.
func (e *End) UnmarshalJSON(data []byte) error {
	type end End
	given := struct {
		*end
		Result json.RawMessage `json:"result"`
	}{end: (*end)(e)}
	if err := json.Unmarshal(data, &given); err != nil || given.Result == nil {
		return err
	}
	e.Result = new(Value)
	return e.Result.UnmarshalJSON(given.Result)
}

// The kinds of operations that no crossing tells, that come from outside, or that are made
// otherwise than by what their line says. All others are called as their adk.Kind is, which
// has to be an operation: Turn.UnmarshalJSON refuses every other name.
const (
	// OpDispatch calls a dispatch from the handle, inside the turn. With a Cause the
	// context that it is given is done already.
	OpDispatch = "dispatch"
	// OpJoin waits for the strand Name that the same call forked.
	OpJoin = "join"
	// OpBind binds the tools of the dispatch (TOL-8). An off-ack of its Name, which
	// may be empty, takes the binding off again.
	OpBind = "bind"
	// OpCancel ends the context that was given to Run, with Cause.
	OpCancel = "cancel"
	// OpSettle settles the gate Name with the first of Settle, if it is open.
	OpSettle = "settle"
	// OpRead reads what Key says, of a dispatch, and logs the answer: no crossing
	// tells of a read.
	OpRead = "read"
	// OpAsk asks the world whom Name names what Asked says.
	OpAsk = "ask"
)

// What OpRead reads.
const (
	// ReadStash is the value at the path Name, ReadHas whether there is one.
	ReadStash = "stash"
	ReadHas   = "has"
	// ReadKeys are the paths of the stash, ReadAll is its tree.
	ReadKeys = "keys"
	ReadAll  = "all"
	// ReadSignal is whether the dispatch was signalled, and how.
	ReadSignal = "signal"
	// ReadCount is how often tool calls like Record, which is one, were stored.
	ReadCount = "count"
)

// Op is one thing that user code does. Kind decides which other fields count,
// and they mean what the fields of that name mean in the table of adk.Crossing.
// Flag has a use of its own where a list or map goes into the stash or is read from
// it: user code changes its own copy afterwards, which nobody else may notice.
type Op struct {
	Kind string `json:"op"`
	// On is the path of the seam whose handle is used; the call's own if empty.
	// A handle that ended is used all the same, one never handed out is not.
	On string `json:"on,omitempty"`
	// Must makes an error of the operation the end of the call.
	Must bool `json:"must,omitempty"`

	Of       adk.CollectionName `json:"of,omitempty"`
	Record   *Record            `json:"record,omitempty"`
	Name     string             `json:"name,omitempty"`
	Key      string             `json:"key,omitempty"`
	Text     string             `json:"text,omitempty"`
	Value    *Value             `json:"value,omitempty"`
	Args     *Value             `json:"args,omitempty"`
	Result   *Value             `json:"result,omitempty"`
	Flag     bool               `json:"flag,omitempty"`
	IsError  bool               `json:"isError,omitempty"`
	Cause    *Failure           `json:"cause,omitempty"`
	Duration time.Duration      `json:"duration,omitempty"`
	Schema   json.RawMessage    `json:"schema,omitempty"`
	// Settle says who settles the gate that a wait-for opens, in order.
	Settle []Settlement `json:"settle,omitempty"`
	// Asked is what an ask says to whom Name names, and what it is answered; Cause is the
	// error that the answer ends with. With Flag the reader has enough of the pieces as
	// soon as it has one.
	Asked *Asked `json:"asked,omitempty"`
	// Do is what the strand of a fork or the handler of an on-ack does.
	Do *Body `json:"do,omitempty"`
	// Dispatch is the dispatch that OpDispatch calls.
	Dispatch *Nested `json:"dispatch,omitempty"`
}

// Asked is an ask of the world, and its answer, as JSON.
type Asked struct {
	Request json.RawMessage `json:"request"`
	Effect  adk.Effect      `json:"effect,omitempty"`
	// AfterAbort asks with a context that goes on, and so in an aborted turn too.
	AfterAbort bool `json:"afterAbort,omitempty"`
	// Answer is that of adk.Ask. Where there is none adk.AskStream asks, and Pieces are
	// what comes, which may be nothing.
	Answer json.RawMessage   `json:"answer,omitempty"`
	Pieces []json.RawMessage `json:"pieces,omitempty"`
}

// Settlement is somebody settling a gate.
type Settlement struct {
	By string `json:"by,omitempty"`
	// Result is adk.GateResolved, adk.GateRejected or adk.GateAborted.
	Result string   `json:"result"`
	Value  *Value   `json:"value,omitempty"`
	Err    *Failure `json:"err,omitempty"`
	// After is when, counted from the gate's opening; zero is as it opens.
	After time.Duration `json:"after,omitempty"`
}

// Nested is a dispatch that user code of the turn calls. Its Scripts are for the
// calls of its own executor and middlewares, counted anew at every call of it.
type Nested struct {
	Name     string   `json:"name"`
	Executor string   `json:"executor,omitempty"`
	Input    []string `json:"input,omitempty"`
	Output   []string `json:"output,omitempty"`
	Scripts  []Script `json:"scripts,omitempty"`
	// Wrong is what the engine has to refuse it for, if anything.
	Wrong string `json:"wrong,omitempty"`
}

// What the engine has to refuse a dispatch for (DSP-1, DSP-12).
const (
	// WrongBoth is a raw context beside that of the turn, WrongNeither is none.
	WrongBoth    = "both"
	WrongNeither = "neither"
	// WrongStorage is a raw context, in the place of the turn's, without a storage.
	WrongStorage = "storage"
)

// Loud is a listener that panics, or that ends its goroutine.
type Loud struct {
	// Event is the name of the event's kind, as in dispatchEnd.
	Event string `json:"event"`
	// Occurrence is the event of the kind, from 0, at which it does.
	Occurrence int    `json:"occurrence,omitempty"`
	Text       string `json:"text,omitempty"`
	Goexit     bool   `json:"goexit,omitempty"`
}

// Size is how much there is in a turn to read: its operations at every depth,
// its seams, tools, records and scripts. It is what shrinking makes less.
func (t Turn) Size() int {
	n := len(t.Instructions) + len(t.Tools) + t.Standalone.size() + len(t.Kept) + len(t.Loud) +
		len(t.TurnInput) + len(t.TurnOutput) + len(t.DispatchInput) + len(t.DispatchOutput)
	for _, s := range t.Scripts {
		n += 1 + s.Body.operations()
	}
	return n
}

// Operations counts the operations of all scripts, at every depth.
func (t Turn) Operations() int {
	n := 0
	for _, s := range t.Scripts {
		n += s.Body.operations()
	}
	return n
}

func (b *Body) operations() int {
	if b == nil {
		return 0
	}
	n := 0
	for _, op := range b.Ops {
		n += 1 + op.Do.operations()
		if op.Dispatch != nil {
			for _, s := range op.Dispatch.Scripts {
				n += s.Body.operations()
			}
		}
	}
	return n
}

// FindScript finds the script of a seam call.
func FindScript(all []Script, seam string, occurrence int) *Body {
	at := slices.IndexFunc(all, func(s Script) bool { return s.Seam == seam && s.Occurrence == occurrence })
	if at < 0 {
		return nil
	}
	return &all[at].Body
}

// Subject is the turn as something to run again and again. Its config brings a
// *fakes.Clock, by which gates settle late, and a *fakes.Scheduler on it for the
// turn's order. Whoever gives it another makes that with fakes.NewSchedulerOn.
func (t Turn) Subject() Subject { return t.SubjectWith(Running{}) }

// Running is what can be told of how a turn is run. The zero Running is how Subject
// runs it.
type Running struct {
	// Order decides the order of strands in the place of the turn's own.
	Order fakes.Order
	// Failed hears of operations that answer with an error.
	Failed func(*Op)
	// Amend puts other user code among the scripts.
	Amend func(*adk.Config)
}

// SubjectWith is Subject, for a turn that is run in a way of the caller's.
func (t Turn) SubjectWith(r Running) Subject {
	return t.subject(func(s *interpreter) {
		if r.Order != nil {
			s.order = r.Order
		}
		s.onFailure, s.mine = r.Failed, r.Amend
	})
}

// subject is the turn with stages that are changed before each run.
func (t Turn) subject(change func(*interpreter)) Subject {
	return Subject{Name: "turn", Standalone: t.Standalone, Scripted: true, Build: func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		s := newStage(t, cancel)
		change(s)
		return s.build()
	}}
}

// GoString is the turn as JSON, for failures that print it.
func (t Turn) GoString() string {
	data, err := json.Marshal(t)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

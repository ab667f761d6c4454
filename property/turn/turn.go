package turn

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// Turn is a turn as plain data: what is handed in, which seams there are, and what user code does
// in every call of a seam. It can be generated, changed, compared, written as JSON, and run: the
// same Turn makes the same crossings every time.
//
// A seam call without a script does the usual: a middleware calls next, an executor acks, a tool
// answers "ok", a storage keeps what it is given. So a turn stays valid when a script is dropped,
// and becomes simpler.
type Turn struct {
	// Prompt, Instructions and Stash are those of the raw turn.
	Prompt       string   `json:"prompt"`
	Instructions []string `json:"instructions,omitempty"`
	Stash        *Value   `json:"stash,omitempty"`
	// Tools are the baseline tools; the scripts of tool/NAME are their handlers.
	Tools []Record `json:"tools,omitempty"`
	// Kept is what the storage holds when the turn begins.
	Kept []Record `json:"kept,omitempty"`
	// The names of the seams. An empty Executor means "model".
	Executor       string   `json:"executor,omitempty"`
	TurnInput      []string `json:"turnInput,omitempty"`
	TurnOutput     []string `json:"turnOutput,omitempty"`
	DispatchInput  []string `json:"dispatchInput,omitempty"`
	DispatchOutput []string `json:"dispatchOutput,omitempty"`
	// Standalone makes the turn a standalone dispatch, which has only the pipelines of the
	// dispatch.
	Standalone *Standalone `json:"standalone,omitempty"`
	// WriteBehind is that of the config (DEL-6).
	WriteBehind bool `json:"writeBehind,omitempty"`
	// Cancelled, if not nil, is the cause of a context that is done before Run is called.
	Cancelled *Failure `json:"cancelled,omitempty"`
	// Loud are the listeners that fail.
	Loud []Loud `json:"loud,omitempty"`
	// Scripts say what seam calls do, in any order; if two are for the same call, the first counts.
	Scripts []Script `json:"scripts,omitempty"`
	// Order holds the decisions about strands that differ from the usual ones.
	Order []Decision `json:"order,omitempty"`
}

// Script says what one call of a seam does.
type Script struct {
	// Seam is the path of the seam, as in dispatch-input/cap#2, tool/weather or
	// storage/messages.store.
	Seam string `json:"seam"`
	// Occurrence is the number, from 0, of the call among those with the same path.
	Occurrence int `json:"occurrence,omitempty"`
	Body
}

// Body is a list of operations, and how the call that makes them ends.
type Body struct {
	Ops []Op `json:"ops,omitempty"`
	End End  `json:"end,omitzero"`
}

// End says how a call ends. The zero End means that it returns without an error.
type End struct {
	// How is the outcome; empty means adk.OutcomeOK.
	How adk.Outcome `json:"how,omitempty"`
	// Err is the error to return or the value to panic with; a failure that is only a text is given
	// to panic as a string.
	Err *Failure `json:"err,omitempty"`
	// Result is what a tool's handler returns. A nil pointer means the text "ok"; a Value of nil
	// means no result.
	Result *Value `json:"result,omitempty"`
	// Records are what a fetch returns instead of the stored records. A nil list means the stored
	// ones, an empty list means none.
	Records []Record `json:"records,omitzero"`
	// Kept says that a failing storage does its work before it fails.
	Kept bool `json:"kept,omitempty"`
}

// UnmarshalJSON reads an End. A result of null means that the handler returns no result;
// encoding/json alone would treat it like a missing member.
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

// The kinds of operations that are no crossing, come from outside, or are made otherwise than their
// crossing says. All other operations have the name of their adk.Kind, which must be an operation:
// Turn.UnmarshalJSON refuses any other name.
const (
	// OpDispatch calls a dispatch from the handle, inside the turn. With a Cause, the dispatch is
	// given a context that is already done.
	OpDispatch = "dispatch"
	// OpJoin waits for the strand Name, which the same call has forked.
	OpJoin = "join"
	// OpBind binds the tools of the dispatch (TOL-8). An off-ack with the same Name, which may be
	// empty, removes the binding.
	OpBind = "bind"
	// OpCancel ends the context that was given to Run, with Cause.
	OpCancel = "cancel"
	// OpSettle settles the gate Name with the first of Settle, if it is open.
	OpSettle = "settle"
	// OpRead reads from a dispatch what Key says, and logs the result, because a read is no
	// crossing.
	OpRead = "read"
	// OpAsk makes the ask Asked to the party Name.
	OpAsk = "ask"
)

// The values of Key for OpRead.
const (
	// ReadStash reads the value at the path Name, ReadHas whether there is one.
	ReadStash = "stash"
	ReadHas   = "has"
	// ReadKeys reads the paths of the stash, ReadAll its whole tree.
	ReadKeys = "keys"
	ReadAll  = "all"
	// ReadSignal reads whether the dispatch was signalled, and how.
	ReadSignal = "signal"
	// ReadCount reads how often tool calls equal to Record were stored.
	ReadCount = "count"
)

// Op is one operation of user code. Kind decides which other fields count; they mean what the
// fields of the same name mean in the table of adk.Crossing. If a list or a map goes into the stash
// or is read from it, Flag means that user code changes its own copy afterwards, which must have no
// effect.
type Op struct {
	Kind string `json:"op"`
	// On is the path of the seam call whose handle is used; empty means the call's own. A handle
	// that has ended is used as well; if the call was never made, nothing happens.
	On string `json:"on,omitempty"`
	// Must makes the call end with the error of the operation, if it fails.
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
	// Settle says how the gate that a wait-for opens is settled, in order.
	Settle []Settlement `json:"settle,omitempty"`
	// Asked is the request to the party Name and its answer; Cause is the error with which the
	// answer ends. With Flag, the reader stops after the first piece.
	Asked *Asked `json:"asked,omitempty"`
	// Do is what the strand of a fork, or the handler of an on-ack, does.
	Do *Body `json:"do,omitempty"`
	// Dispatch is the dispatch that OpDispatch calls.
	Dispatch *Nested `json:"dispatch,omitempty"`
}

// Asked is an ask of the world and its answer, as JSON.
type Asked struct {
	Request json.RawMessage `json:"request"`
	Effect  adk.Effect      `json:"effect,omitempty"`
	// AfterAbort uses a context without cancellation, so that the ask is also made in an aborted
	// turn.
	AfterAbort bool `json:"afterAbort,omitempty"`
	// Answer is the answer to adk.Ask. If it is nil, adk.AskStream is used instead, and Pieces are
	// the answer, which may be empty.
	Answer json.RawMessage   `json:"answer,omitempty"`
	Pieces []json.RawMessage `json:"pieces,omitempty"`
}

// Settlement is an offer to settle a gate.
type Settlement struct {
	By string `json:"by,omitempty"`
	// Result is adk.GateResolved, adk.GateRejected or adk.GateAborted.
	Result string   `json:"result"`
	Value  *Value   `json:"value,omitempty"`
	Err    *Failure `json:"err,omitempty"`
	// After is the time from the gate's opening to the offer; zero means as the gate opens.
	After time.Duration `json:"after,omitempty"`
}

// Nested is a dispatch that user code of the turn calls. Its Scripts are for the calls of its own
// executor and middlewares, which are counted from 0 each time the dispatch is called.
type Nested struct {
	Name     string   `json:"name"`
	Executor string   `json:"executor,omitempty"`
	Input    []string `json:"input,omitempty"`
	Output   []string `json:"output,omitempty"`
	Scripts  []Script `json:"scripts,omitempty"`
	// Wrong is the reason for which the engine must refuse the dispatch; empty if it must not.
	Wrong string `json:"wrong,omitempty"`
}

// The reasons for which the engine must refuse a dispatch (DSP-1, DSP-12).
const (
	// WrongBoth: a raw context as well as that of the turn. WrongNeither: no context.
	WrongBoth    = "both"
	WrongNeither = "neither"
	// WrongStorage: a raw context instead of that of the turn, but without a storage.
	WrongStorage = "storage"
)

// Loud is a listener that panics, or that ends its goroutine.
type Loud struct {
	// Event is the name of the event's kind, for example dispatchEnd.
	Event string `json:"event"`
	// Occurrence is the number, from 0, of the event of that kind at which the listener fails.
	Occurrence int    `json:"occurrence,omitempty"`
	Text       string `json:"text,omitempty"`
	Goexit     bool   `json:"goexit,omitempty"`
}

// Size measures a turn: its operations at every depth, seams, tools, records and scripts. Shrinking
// makes it smaller.
func (t Turn) Size() int {
	n := len(t.Instructions) + len(t.Tools) + t.Standalone.size() + len(t.Kept) + len(t.Loud) +
		len(t.TurnInput) + len(t.TurnOutput) + len(t.DispatchInput) + len(t.DispatchOutput)
	for _, s := range t.Scripts {
		n += 1 + s.Body.operations()
	}
	return n
}

// Operations returns the number of operations in all scripts, at every depth.
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

// FindScript returns the script of a seam call, or nil.
func FindScript(all []Script, seam string, occurrence int) *Body {
	at := slices.IndexFunc(all, func(s Script) bool { return s.Seam == seam && s.Occurrence == occurrence })
	if at < 0 {
		return nil
	}
	return &all[at].Body
}

// Subject returns the turn as a subject that can be run again and again. Its config has a
// *fakes.Clock, by which gates are settled late, and on that clock a *fakes.Scheduler for the
// turn's order. A caller that wants another scheduler should make it with fakes.NewSchedulerOn.
func (t Turn) Subject() Subject { return t.SubjectWith(Running{}) }

// Running says how to run a turn. The zero Running is what Subject uses.
type Running struct {
	// Order decides the order of strands instead of the turn's own order.
	Order fakes.Order
	// Failed is called for operations that return an error.
	Failed func(*Op)
	// Amend may replace parts of the scripted user code.
	Amend func(*adk.Config)
}

// SubjectWith is Subject for a turn that is run in another way.
func (t Turn) SubjectWith(r Running) Subject {
	return t.subject(func(s *interpreter) {
		if r.Order != nil {
			s.order = r.Order
		}
		s.onFailure, s.mine = r.Failed, r.Amend
	})
}

// subject makes a subject whose interpreters are changed before each run.
func (t Turn) subject(change func(*interpreter)) Subject {
	return Subject{Name: "turn", Standalone: t.Standalone, Scripted: true, Build: func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		s := newStage(t, cancel)
		change(s)
		return s.build()
	}}
}

// GoString returns the turn as JSON, for failures that print it.
func (t Turn) GoString() string {
	data, err := json.Marshal(t)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

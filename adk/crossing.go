package adk

import (
	"encoding/json"
	"time"
)

// Crossing is one thing that passed between the engine and user code, or that came from outside: a
// seam call or its return, an operation, an event, a fact. Observers get the crossings in the one
// order in which they happened (DET-4, DET-6). A trace is their written form.
//
// Kind decides which fields are used: the table behind Kind.Fields says which fields a kind uses,
// at which phase, and what they mean there. All other fields are zero. The comments on the fields
// give their usual use; docs/crossings.md has the whole table.
type Crossing struct {
	// Seq numbers the crossings of a run from 1.
	Seq int
	// At is the one reading of the config's clock for this crossing (DET-1). An event that an
	// operation causes has the operation's time.
	At time.Time
	// Kind says what crossed.
	Kind Kind
	// Phase is Begin or Done for the two crossings of a spanning operation, and Whole for
	// everything else.
	Phase Phase
	// Call is the number of the seam call to which the crossing belongs: the call whose handle was
	// used, or in which an event arose. For a call or a return it is the caller. 0 is no call.
	Call int
	// Strand is the number of the strand in which it happened; 0 is the caller of Run.
	Strand int
	// Op is the number that the Begin and the Done of a spanning operation share, and the pieces of
	// an answer with their ask; otherwise 0.
	Op int

	ID         int             // number of a call, a strand, or an on-ack handler
	Seam       Seam            // the seam that a call enters
	Name       string          // an id, or a name that people gave
	Key        string          // a record's key, a second name, or an ask's idempotency key, which no trace holds
	Text       string          // a prompt, a delta, a message
	Texts      []string        // standing instructions, names of pruned tools
	Collection CollectionName  // the set or storage that an operation is about
	Record     Record          // the record that an operation is about
	Records    []Record        // what a fetch returned, what a run was given
	Value      any             // plain data
	Args       any             // a tool's arguments: an object, or JSON text of one
	Result     ToolResult      // what a tool returned
	Outcome    Outcome         // how a call ended
	Status     string          // how a dispatch or a gate ended, or the effect of an ask
	Err        error           // what an operation or a call returned
	Cause      error           // a reason that user code gave
	Flag       bool            // complete, replaced, found, overwrite, after the abort, open
	IsError    bool            // the tool failed
	N          int             // an iteration, a number of iterations, or the operation that a timer wakes
	Duration   time.Duration   // of a sleep, of a gate's timeout
	Schema     json.RawMessage // of a gate's value
	JSON       json.RawMessage // what the world was asked and what it answered: compact, or nil if it is not held
	Digest     Digest          // of a state
	Seams      *RunInfo        // of a dispatch called in a turn
	// Payload is the whole event as listeners hear it, for events and emits: a TurnStart, a
	// MessageEvent and so on. A trace holds only the part of it that no earlier crossing gives.
	Payload any
}

// Phase tells the two crossings of a spanning operation apart.
type Phase uint8

// The phases.
const (
	Whole Phase = iota // one crossing: nothing can lie between begin and done
	Begin              // the operation has begun; what it causes follows
	Done               // the operation has had its effect
)

// String is the phase's name, as traces write it.
func (p Phase) String() string {
	if int(p) >= len(phaseNames) {
		return "unknown"
	}
	return phaseNames[p]
}

var phaseNames = [...]string{Whole: "whole", Begin: "begin", Done: "done"}

// Outcome is how a seam call ended.
type Outcome string

// The outcomes of a call.
const (
	OutcomeOK     Outcome = "ok"
	OutcomeError  Outcome = "error"
	OutcomePanic  Outcome = "panic"
	OutcomeGoexit Outcome = "goexit"
)

// Kind says what crossed.
type Kind uint8

// The closed list of kinds. kindTable says what each kind carries.
const (
	KindCall Kind = iota + 1
	KindReturn

	KindNext
	KindAdd
	KindRemove
	KindStash
	KindFetch
	KindRefresh
	KindStore
	KindMutate
	KindDelete
	KindExecute
	KindRegister
	KindUnregister
	KindPrune
	KindAck
	KindNack
	KindOnAck
	KindOffAck
	KindAbort
	KindReportMessage
	KindReportThought
	KindReportToolCall
	KindReportLog
	KindEmitMessage
	KindEmitThought
	KindEmitToolCall
	KindWaitFor
	KindFork
	KindWait
	KindNow
	KindNewID
	KindSleep
	KindOpenMedia
	KindAsk

	KindMessageEvent
	KindThoughtEvent
	KindToolCallEvent
	KindTurnStart
	KindTurnEnd
	KindDispatchStart
	KindDispatchEnd
	KindIterationStart
	KindIterationEnd
	KindTurnGateOpen
	KindTurnGateClosed
	KindToolExecutionStart
	KindToolExecutionEnd
	KindLogEvent
	KindErrorEvent

	KindCancel
	KindSettle
	KindTimer
	KindState
	KindContained
	KindPiece

	kindEnd
)

// Class is the broad category of a Kind: call, operation, event or fact.
type Class uint8

// The classes of kinds.
const (
	ClassCall      Class = iota + 1 // a seam is entered or left
	ClassOperation                  // user code called the engine
	ClassEvent                      // the engine called its listeners
	ClassFact                       // something happened that no code called for
)

// Field names a field of Crossing that some kinds use.
type Field uint8

// The fields, by their name in Crossing.
const (
	FieldID Field = iota + 1
	FieldSeam
	FieldName
	FieldKey
	FieldText
	FieldTexts
	FieldCollection
	FieldRecord
	FieldRecords
	FieldValue
	FieldArgs
	FieldResult
	FieldOutcome
	FieldStatus
	FieldErr
	FieldCause
	FieldFlag
	FieldIsError
	FieldN
	FieldDuration
	FieldSchema
	FieldJSON
	FieldDigest
	FieldSeams
	FieldPayload
)

var fieldNames = [...]string{
	FieldID: "ID", FieldSeam: "Seam", FieldName: "Name", FieldKey: "Key", FieldText: "Text", FieldTexts: "Texts",
	FieldCollection: "Collection", FieldRecord: "Record", FieldRecords: "Records", FieldValue: "Value",
	FieldArgs: "Args", FieldResult: "Result", FieldOutcome: "Outcome", FieldStatus: "Status", FieldErr: "Err",
	FieldCause: "Cause", FieldFlag: "Flag", FieldIsError: "IsError", FieldN: "N", FieldDuration: "Duration",
	FieldSchema: "Schema", FieldJSON: "JSON", FieldDigest: "Digest", FieldSeams: "Seams", FieldPayload: "Payload",
}

// String is the name of the field in Crossing.
func (f Field) String() string {
	if f == 0 || int(f) >= len(fieldNames) {
		return "unknown"
	}
	return fieldNames[f]
}

// FieldUse describes one field as a kind uses it.
type FieldUse struct {
	// Field is the field of Crossing.
	Field Field
	// Label says what the field means for this kind. Traces write the field under this name, and
	// divergences use it.
	Label string
	// Phase is the crossing of a spanning operation that carries the field; Whole for kinds of one
	// crossing.
	Phase Phase
	// Input says who decided the value: user code or the outside (true), or the engine (false).
	Input bool
	// Names says what the field identifies, if it is an id, a name or a number.
	Names Naming
	// Repeats says what earlier value the field tends to repeat.
	Repeats Repetition
}

// Repetition says what earlier value a field tends to repeat, so that a writer of traces can write
// only what is new.
type Repetition uint8

// The repetitions.
const (
	RepeatsNothing Repetition = iota
	RepeatsRun                // much of the field's value in an earlier crossing of the run
	RepeatsOp                 // much of its value in the previous crossing of the same op
	RepeatsBytes              // all the bytes of its value in an earlier crossing of the run
)

// Naming says what kind of thing a field identifies, if the field is an id, a name or a number.
type Naming uint8

// The namings. Ids that are made anew in every run are compared up to renaming. A CodeName ties a
// crossing to the code of a strand or of a handler. Numbers count in the order of a run, so they
// differ in a run with another order.
const (
	NoName        Naming = iota // it is none of these, or says so itself, as a record does
	MadeID                      // of something for which the run's source of ids makes one
	StreamID                    // of a message, a thought or a tool call that is reported
	RecordID                    // of a record; for a standing instruction, its text
	GateID                      // of a gate
	CodeName                    // of a strand, or of an on-ack handler
	CallNumber                  // of a seam call
	StrandNumber                // of a strand
	HandlerNumber               // of an on-ack handler, in its call
	OpNumber                    // of a spanning operation
	Iteration                   // of a dispatch, from 0
	StashPath                   // of a value in the stash
	Checksum                    // a checksum that follows from earlier crossings
)

// IsID reports whether the field is an id that people or the id source made.
func (n Naming) IsID() bool { return n >= MadeID && n <= GateID }

// IsNumber reports whether the field is a number that counts in the order of a run.
func (n Naming) IsNumber() bool { return n >= CallNumber && n <= OpNumber }

// Touch says which of the things that the strands of a run share a crossing reads or changes. The
// order of two crossings in different strands matters only if both touch the same thing, or if one
// of them changes what handles read.
type Touch uint8

// The things that strands share. A kind for which the table gives nothing has TouchHandles, and so
// counts as touching all of them.
const (
	TouchHandles Touch = iota // what handles read: sets, stash, tools, signal, abort
	TouchNothing              // it reports, waits, or reads the clock
	TouchReading              // a storage, which it only reads
	TouchWriting              // a storage and, when it is done, what handles read
	TouchSeam                 // the code that it calls, which may keep state
	TouchGates                // the gates, which close in the order in which they were opened
	TouchStream               // the stream with its Name
	TouchIDs                  // the source of ids
	TouchStrands              // the numbers of strands
	TouchMedia                // the media, whose reader is user code
)

// kindRow is the row of one kind in the table.
type kindRow struct {
	name     string
	class    Class
	spanning bool
	fields   []FieldUse
	touches  Touch
	leadsTo  string // the label of a seam
	causes   []Kind
	says     Kind // the event that it causes and that says the same
	lastWord bool
	payload  any    // of an event
	makes    string // the name of a method
	past     string // how code does the same without the context
}

func in(f Field, label string) FieldUse       { return FieldUse{Field: f, Label: label, Input: true} }
func out(f Field, label string) FieldUse      { return FieldUse{Field: f, Label: label} }
func inBegin(f Field, label string) FieldUse  { return in(f, label).at(Begin) }
func outBegin(f Field, label string) FieldUse { return out(f, label).at(Begin) }
func inDone(f Field, label string) FieldUse   { return in(f, label).at(Done) }
func errDone() FieldUse                       { return out(FieldErr, "err").at(Done) }

func (u FieldUse) at(line Phase) FieldUse             { u.Phase = line; return u }
func (u FieldUse) of(what Naming) FieldUse            { u.Names = what; return u }
func (u FieldUse) repeating(what Repetition) FieldUse { u.Repeats = what; return u }

func rowOf(class Class, name string, fields []FieldUse) kindRow {
	return kindRow{name: name, class: class, fields: fields}
}

func callRow(name string, fields ...FieldUse) kindRow { return rowOf(ClassCall, name, fields) }
func stepRow(name string, fields ...FieldUse) kindRow { return rowOf(ClassOperation, name, fields) }
func spanRow(name string, fields ...FieldUse) kindRow { return stepRow(name, fields...).spans() }
func factRow(name string, fields ...FieldUse) kindRow { return rowOf(ClassFact, name, fields) }

// eventRow makes the row of an event; heard is the zero value of its payload.
func eventRow(name string, heard any, fields ...FieldUse) kindRow {
	return kindRow{name: name, class: ClassEvent, fields: fields, payload: heard}
}

func (r kindRow) spans() kindRow                 { r.spanning = true; return r }
func (r kindRow) touching(what Touch) kindRow    { r.touches = what; return r }
func (r kindRow) calling(label string) kindRow   { r.leadsTo = label; return r }
func (r kindRow) causing(events ...Kind) kindRow { r.causes = events; return r }
func (r kindRow) saying(event Kind) kindRow      { r.says = event; return r.causing(event) }
func (r kindRow) making(method string) kindRow   { r.makes = method; return r }
func (r kindRow) pastBy(how string) kindRow      { r.past = how; return r }
func (r kindRow) atLast() kindRow                { r.lastWord = true; return r }

var (
	fetchFields  = []FieldUse{inBegin(FieldCollection, "of"), errDone()}
	recordFields = []FieldUse{inBegin(FieldCollection, "of"), inBegin(FieldRecord, "record"), errDone()}
	streamFields = []FieldUse{in(FieldName, "id").of(StreamID), in(FieldText, "delta"), in(FieldFlag, "complete"), out(FieldErr, "err")}
	emitFields   = []FieldUse{inBegin(FieldPayload, "payload"), errDone()}
)

// kindTable is the one table of kinds: for each its name, its class, whether other crossings can
// lie between its begin and its done, what it touches, leads to and causes, and its fields. Tests
// compare it with the constants of Kind and Field.
var kindTable = [kindEnd]kindRow{
	// A seam call begins: its number, where it goes, and what is passed in. A run or a dispatch
	// called alone has the prompt, the instructions, the stash, the tools and the records. A
	// dispatch called in a turn has the names of its seams and, if its caller's context was already
	// done, the cause of that. A tool has its validated arguments. A storage obligation has its
	// record or key.
	KindCall: callRow("call",
		out(FieldID, "id").of(CallNumber), out(FieldSeam, "seam"), in(FieldText, "prompt"), in(FieldTexts, "instructions"),
		in(FieldValue, "stash"), in(FieldRecords, "records"), in(FieldSeams, "seams"), in(FieldCause, "ended"),
		out(FieldArgs, "args"), out(FieldRecord, "record"), out(FieldKey, "key").of(RecordID)).touching(TouchSeam),
	// A seam call and all its strands have returned: how, and with what.
	KindReturn: callRow("return",
		out(FieldID, "id").of(CallNumber), in(FieldOutcome, "outcome"), in(FieldErr, "err"), in(FieldRecords, "records"), in(FieldResult, "result")).touching(TouchNothing),

	KindNext:   spanRow("next").touching(TouchNothing),
	KindAdd:    stepRow("add", in(FieldCollection, "of"), in(FieldRecord, "record"), out(FieldFlag, "replaced"), out(FieldErr, "err")),
	KindRemove: stepRow("remove", in(FieldCollection, "of"), in(FieldKey, "key").of(RecordID), out(FieldFlag, "found"), out(FieldErr, "err")),
	KindStash:  stepRow("stash", in(FieldName, "path").of(StashPath), in(FieldValue, "value"), out(FieldErr, "err")),

	KindFetch:   spanRow("fetch", fetchFields...).touching(TouchReading).calling(LabelStorage),
	KindRefresh: spanRow("refresh", fetchFields...).touching(TouchReading).calling(LabelStorage),
	KindStore:   spanRow("store", recordFields...).touching(TouchWriting).calling(LabelStorage),
	KindMutate:  spanRow("mutate", recordFields...).touching(TouchWriting).calling(LabelStorage),
	KindDelete: spanRow("delete", inBegin(FieldCollection, "of"), inBegin(FieldKey, "key").of(RecordID), errDone()).
		touching(TouchWriting).calling(LabelStorage),

	KindExecute: spanRow("execute", inBegin(FieldRecord, "tool"), inBegin(FieldArgs, "args"), errDone()).
		touching(TouchNothing).calling(LabelTool).causing(KindToolExecutionStart, KindToolExecutionEnd),
	KindRegister:   stepRow("register", in(FieldRecord, "tool"), in(FieldFlag, "overwrite"), out(FieldErr, "err")),
	KindUnregister: stepRow("unregister", in(FieldName, "tool"), out(FieldFlag, "found"), out(FieldErr, "err")),
	KindPrune:      stepRow("prune", out(FieldTexts, "pruned"), out(FieldErr, "err")),

	KindAck:    spanRow("ack", errDone()).calling(LabelOnAck),
	KindNack:   stepRow("nack", in(FieldCause, "cause"), out(FieldErr, "err")),
	KindOnAck:  stepRow("on-ack", in(FieldName, "name").of(CodeName), out(FieldID, "handler").of(HandlerNumber), out(FieldErr, "err")),
	KindOffAck: stepRow("off-ack", in(FieldID, "handler").of(HandlerNumber), out(FieldFlag, "found")),
	KindAbort:  stepRow("abort", in(FieldCause, "reason"), out(FieldErr, "err")),

	KindReportMessage: stepRow("report-message", streamFields...).touching(TouchStream).saying(KindMessageEvent),
	KindReportThought: stepRow("report-thought", streamFields...).touching(TouchStream).saying(KindThoughtEvent),
	KindReportToolCall: stepRow("report-tool-call",
		in(FieldName, "id").of(StreamID), in(FieldKey, "tool"), in(FieldArgs, "args"), in(FieldResult, "results"),
		in(FieldIsError, "isError"), in(FieldFlag, "complete"), out(FieldErr, "err")).touching(TouchStream).saying(KindToolCallEvent),
	KindReportLog: stepRow("report-log",
		in(FieldKey, "level"), in(FieldName, "logKind"), in(FieldText, "message"), in(FieldValue, "payload"), out(FieldErr, "err")).
		touching(TouchNothing).saying(KindLogEvent),
	KindEmitMessage:  spanRow("emit-message", emitFields...).touching(TouchNothing).saying(KindMessageEvent),
	KindEmitThought:  spanRow("emit-thought", emitFields...).touching(TouchNothing).saying(KindThoughtEvent),
	KindEmitToolCall: spanRow("emit-tool-call", emitFields...).touching(TouchNothing).saying(KindToolCallEvent),

	KindWaitFor: spanRow("wait-for",
		inBegin(FieldName, "gate").of(GateID), inBegin(FieldText, "reason"), inBegin(FieldValue, "payload"), inBegin(FieldSchema, "schema"),
		inBegin(FieldDuration, "timeout"), errDone()).touching(TouchGates).causing(KindTurnGateOpen, KindTurnGateClosed),
	KindFork: stepRow("fork", in(FieldName, "name").of(CodeName), out(FieldID, "id").of(StrandNumber), out(FieldErr, "err")).
		touching(TouchStrands).calling(LabelStrand).pastBy("a go statement"),
	// Waiting for a strand to end: its name and its number.
	KindWait:      spanRow("wait", inBegin(FieldName, "name").of(CodeName), outBegin(FieldID, "id").of(StrandNumber), errDone()).touching(TouchNothing),
	KindNow:       stepRow("now").touching(TouchNothing).making("Now").pastBy("time.Now"),
	KindNewID:     stepRow("new-id", in(FieldName, "id").of(MadeID)).touching(TouchIDs).making("NewID").pastBy("a package such as uuid"),
	KindSleep:     spanRow("sleep", inBegin(FieldDuration, "for"), errDone()).touching(TouchNothing).pastBy("time.Sleep"),
	KindOpenMedia: spanRow("open-media", inBegin(FieldRecord, "media"), inDone(FieldValue, "bytes").repeating(RepeatsBytes), inDone(FieldErr, "err")).touching(TouchMedia),

	// User code asks the world. The begin says who is asked, what, whether asking changes anything,
	// and whether it is asked though the run was aborted before, which refuses all other asks
	// (WLD-5). The done has the answer, unless it came in pieces.
	KindAsk: spanRow("ask", inBegin(FieldName, "of"), inBegin(FieldJSON, "request").repeating(RepeatsRun), inBegin(FieldStatus, "effect"), inBegin(FieldFlag, "afterAbort"),
		inDone(FieldJSON, "answer"), inDone(FieldErr, "err")).touching(TouchSeam),

	// Events have only what no earlier crossing gives. The rest of a payload follows from the
	// operation, the call and the time of its start. Events marked atLast are also emitted when
	// user code ends its goroutine.
	KindMessageEvent:       eventRow("message", MessageEvent{}).touching(TouchNothing),
	KindThoughtEvent:       eventRow("thought", ThoughtEvent{}).touching(TouchNothing),
	KindToolCallEvent:      eventRow("toolCall", ToolCallEvent{}, out(FieldKey, "checksum").of(Checksum)).touching(TouchNothing),
	KindTurnStart:          eventRow("turnStart", TurnStart{}, in(FieldName, "turn").of(MadeID)),
	KindTurnEnd:            eventRow("turnEnd", TurnEnd{}).atLast(),
	KindDispatchStart:      eventRow("dispatchStart", DispatchStart{}, in(FieldName, "dispatch").of(MadeID)).touching(TouchIDs),
	KindDispatchEnd:        eventRow("dispatchEnd", DispatchEnd{}, out(FieldStatus, "status"), out(FieldN, "iterations"), out(FieldErr, "err")).atLast(),
	KindIterationStart:     eventRow("iterationStart", IterationStart{}, out(FieldN, "iteration").of(Iteration)).touching(TouchNothing),
	KindIterationEnd:       eventRow("iterationEnd", IterationEnd{}, out(FieldN, "iteration").of(Iteration)),
	KindTurnGateOpen:       eventRow("turnGateOpen", TurnGateOpen{}, out(FieldName, "gate").of(GateID)).touching(TouchNothing),
	KindTurnGateClosed:     eventRow("turnGateClosed", TurnGateClosed{}, out(FieldName, "gate").of(GateID), out(FieldStatus, "result")).touching(TouchGates).atLast(),
	KindToolExecutionStart: eventRow("toolExecutionStart", ToolExecutionStart{}, out(FieldKey, "callId").of(Checksum)).touching(TouchNothing),
	KindToolExecutionEnd:   eventRow("toolExecutionEnd", ToolExecutionEnd{}, out(FieldIsError, "isError")).touching(TouchNothing).atLast(),
	KindLogEvent:           eventRow("log", LogEvent{}).touching(TouchNothing),
	KindErrorEvent:         eventRow("error", ErrorEvent{}, out(FieldErr, "err")).touching(TouchNothing).atLast(),

	// The run's context is done; reported before the first crossing that finds it done.
	KindCancel: factRow("cancel", in(FieldKey, "by"), in(FieldCause, "cause"), in(FieldErr, "err")),
	// A gate was settled, or offered a value that its schema refused (result refused): by whom and
	// with what.
	KindSettle: factRow("settle", in(FieldName, "gate").of(GateID), in(FieldKey, "by"), in(FieldStatus, "result"), in(FieldValue, "value"), in(FieldErr, "err")),
	// A timer fired: the sleep or the wait of that operation is over.
	KindTimer: factRow("timer", out(FieldN, "wakes").of(OpNumber)).touching(TouchNothing),
	// One digest of everything that is visible at this point (DET-8).
	KindState: factRow("state", out(FieldDigest, "digest").of(Checksum)).touching(TouchNothing),
	// A failure that was kept from the turn: a panic of a listener or an on-ack handler, a late
	// call, a second next.
	KindContained: factRow("contained", out(FieldName, "what"), in(FieldText, "text")).touching(TouchNothing),
	// User code was given a piece of an answer, or as much of the last piece as came (open). Its Op
	// is that of the ask.
	KindPiece: factRow("piece", in(FieldJSON, "piece").repeating(RepeatsOp), in(FieldFlag, "open")).touching(TouchNothing),
}

// String is the kind's name, as traces write it.
func (k Kind) String() string {
	if k == 0 || k >= kindEnd {
		return "unknown"
	}
	return kindTable[k].name
}

// Class returns the class to which the kind belongs.
func (k Kind) Class() Class { return kindTable[k].class }

// Spanning reports whether the kind is an operation reported as two crossings, Begin and Done,
// because other crossings can lie between them.
func (k Kind) Spanning() bool { return kindTable[k].spanning }

// Touches returns what the kind touches of the things that strands share.
func (k Kind) Touches() Touch { return kindTable[k].touches }

// LeadsTo returns the label of the seam that an operation of the kind calls on behalf of user code,
// or "" if it calls none. For KindNext it is empty: what follows a middleware's next has no one
// label.
func (k Kind) LeadsTo() string { return kindTable[k].leadsTo }

// Causes lists the kinds of the events that an operation of the kind causes: one event that says
// the same as the operation, or two events around what lies between them. The slice must not be
// changed.
func (k Kind) Causes() []Kind { return kindTable[k].causes }

// Event returns the kind of the event that says the same as an operation of this kind and follows
// its crossing: KindMessageEvent for KindReportMessage, for example. It is 0 if there is none. The
// events around an execution or a wait say something else.
func (k Kind) Event() Kind { return kindTable[k].says }

// Payload returns a zero value of what listeners hear of an event of the kind: a TurnStart, a
// MessageEvent and so on. It is nil for a kind that is no event.
func (k Kind) Payload() any { return kindTable[k].payload }

// Reports reports whether the kind is an operation of one crossing that listeners hear: a report of
// a message, a thought or a tool call, or a log. An emit (Emits) has two crossings, around its
// event.
func (k Kind) Reports() bool { return k.Event() != 0 && !kindTable[k].spanning }

// Emits reports whether the kind is an operation that is given the event that it causes.
func (k Kind) Emits() bool { return k.Event() != 0 && kindTable[k].spanning }

// IsLastWord reports whether an event of the kind is emitted also if user code ends its goroutine:
// it closes something that was open, or says what went wrong.
func (k Kind) IsLastWord() bool { return kindTable[k].lastWord }

// Makes returns the name of the method with which user code obtains an id or a time, or "" for all
// other kinds.
func (k Kind) Makes() string { return kindTable[k].makes }

// PastBy returns how user code usually does the same without the context and so unobserved, such as
// time.Now, or "" if there is no usual way.
func (k Kind) PastBy() string { return kindTable[k].past }

// Uses reports whether the kind uses a field, at any phase.
func (k Kind) Uses(f Field) bool { return usedFields[k]&(1<<f) != 0 }

// Answers reports whether the engine decides the value of field f for the kind. For an operation,
// these are the fields of its answer.
func (k Kind) Answers(f Field) bool { return givenFields[k]&(1<<f) != 0 }

// Names reports whether some field of the kind has the naming what.
func (k Kind) Names(what Naming) bool { return usedNames[k]&(1<<what) != 0 }

// Fields lists the fields that the kind uses at a phase, in the order in which traces write them.
// The slice must not be changed.
func (k Kind) Fields(p Phase) []FieldUse { return fieldsByPhase[k][p] }

// Kinds lists all kinds, in the order of the table.
func Kinds() []Kind {
	all := make([]Kind, 0, kindEnd-1)
	for k := Kind(1); k < kindEnd; k++ {
		all = append(all, k)
	}
	return all
}

// KindByName returns the kind with the name that String gives, or 0.
func KindByName(name string) Kind { return kindsByName[name] }

var fieldsByPhase, kindsByName, usedFields, givenFields, usedNames = indexTable()

// indexTable returns the fields of each kind by phase, the kinds by name, and for each kind three
// bit sets: of the fields that it uses, of those that the engine decides, and of its namings.
func indexTable() (byPhase [kindEnd][3][]FieldUse, byName map[string]Kind, fields, given, names [kindEnd]uint64) {
	byName = make(map[string]Kind, kindEnd)
	for k := Kind(1); k < kindEnd; k++ {
		byName[kindTable[k].name] = k
		for _, use := range kindTable[k].fields {
			byPhase[k][use.Phase] = append(byPhase[k][use.Phase], use)
			fields[k] |= 1 << use.Field
			if !use.Input {
				given[k] |= 1 << use.Field
			}
			names[k] |= 1 << use.Names
		}
	}
	return byPhase, byName, fields, given, names
}

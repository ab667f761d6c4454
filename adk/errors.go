package adk

import (
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk/internal/errtree"
	"github.com/adkreplay/adkreplay/internal/callers"
	"github.com/adkreplay/adkreplay/internal/schema"
)

// Code is the stable name of a failure. A Code is itself an error, so that errors.Is(err,
// adk.E_TURN_ABORTED) tests for the kind of a failure without knowing its message (ERR-1). Codes
// never change their meaning.
type Code string

// The codes. Each comment says when the code occurs and, in many cases, who has to fix it.
// fatalCodes and otherCodes list the codes, and a test compares the lists with the constants
// (ERR-4).
const (
	// E_INVALID_TURN_RUNNER_CONFIG occurs when NewRunner is given a Config with missing or invalid
	// fields; the message names every one. The author of the config has to fix it.
	E_INVALID_TURN_RUNNER_CONFIG Code = "E_INVALID_TURN_RUNNER_CONFIG"
	// E_INVALID_TURN_CONTEXT occurs when Run is given an invalid RawTurn. The caller of Run has to
	// fix it.
	E_INVALID_TURN_CONTEXT Code = "E_INVALID_TURN_CONTEXT"
	// E_INVALID_LLM_DISPATCH_INPUT occurs when a dispatch called by user code is given an invalid
	// input: no executor, a nil middleware, neither or both of a source and a raw context. The
	// caller has to fix it.
	E_INVALID_LLM_DISPATCH_INPUT Code = "E_INVALID_LLM_DISPATCH_INPUT"
	// E_INVALID_LLM_EXECUTION_CONTEXT occurs when the raw context of a dispatch called alone is
	// invalid. The caller has to fix it.
	E_INVALID_LLM_EXECUTION_CONTEXT Code = "E_INVALID_LLM_EXECUTION_CONTEXT"
	// E_LLM_EXECUTION_ALREADY_SIGNALLED occurs when a dispatch that was acked or nacked is acked or
	// nacked again; the first signal stands. The author of the middleware or executor fixes it by
	// calling IsSignalled first.
	E_LLM_EXECUTION_ALREADY_SIGNALLED Code = "E_LLM_EXECUTION_ALREADY_SIGNALLED"
	// E_CONTEXT_ENDED occurs when a handle is used after the seam call it was handed to has
	// returned. The author of that seam's code has to fix it, usually by using Fork instead of a
	// plain goroutine.
	E_CONTEXT_ENDED Code = "E_CONTEXT_ENDED"
	// E_INVALID_STASH_PATH occurs when a stash path has an empty segment, leads
	// below a leaf or into a slice, or a map given to the stash has a dotted key.
	E_INVALID_STASH_PATH Code = "E_INVALID_STASH_PATH"

	// E_INVALID_INITIAL_MESSAGE_VALUE occurs when NewMessage is given invalid fields.
	E_INVALID_INITIAL_MESSAGE_VALUE Code = "E_INVALID_INITIAL_MESSAGE_VALUE"
	// E_INVALID_INITIAL_MEMORY_VALUE occurs when NewMemory is given invalid fields.
	E_INVALID_INITIAL_MEMORY_VALUE Code = "E_INVALID_INITIAL_MEMORY_VALUE"
	// E_INVALID_INITIAL_RETRIEVABLE_VALUE occurs when NewRetrievable is given invalid fields.
	E_INVALID_INITIAL_RETRIEVABLE_VALUE Code = "E_INVALID_INITIAL_RETRIEVABLE_VALUE"
	// E_INVALID_INITIAL_THOUGHT_VALUE occurs when NewThought is given invalid fields.
	E_INVALID_INITIAL_THOUGHT_VALUE Code = "E_INVALID_INITIAL_THOUGHT_VALUE"
	// E_INVALID_INITIAL_TOOL_CALL_VALUE occurs when NewToolCall is given invalid fields.
	E_INVALID_INITIAL_TOOL_CALL_VALUE Code = "E_INVALID_INITIAL_TOOL_CALL_VALUE"
	// E_INVALID_INITIAL_IDENTITY_VALUE occurs when an identity has no identifier or no
	// representation.
	E_INVALID_INITIAL_IDENTITY_VALUE Code = "E_INVALID_INITIAL_IDENTITY_VALUE"
	// E_INVALID_INITIAL_MEDIA_VALUE occurs when NewMedia is given invalid fields.
	E_INVALID_INITIAL_MEDIA_VALUE Code = "E_INVALID_INITIAL_MEDIA_VALUE"
	// E_INVALID_INITIAL_TOOL_VALUE occurs when NewTool is given invalid fields.
	E_INVALID_INITIAL_TOOL_VALUE Code = "E_INVALID_INITIAL_TOOL_VALUE"
	// E_INVALID_INITIAL_TURN_GATE_VALUE occurs when WaitFor is given a malformed gate.
	E_INVALID_INITIAL_TURN_GATE_VALUE Code = "E_INVALID_INITIAL_TURN_GATE_VALUE"

	// E_INVALID_TURN_GATE_RESOLUTION occurs when a gate is resolved with a value that its schema
	// refuses; the gate stays open. The resolver has to fix it.
	E_INVALID_TURN_GATE_RESOLUTION Code = "E_INVALID_TURN_GATE_RESOLUTION"
	// E_TOOL_ALREADY_REGISTERED occurs when a registry is given a second tool of the same name
	// without being asked to overwrite, or when two registries that clash are merged.
	E_TOOL_ALREADY_REGISTERED Code = "E_TOOL_ALREADY_REGISTERED"
	// E_NOT_A_MEDIA_READER occurs when a media is made without a reader that can be opened. It also
	// occurs when a media is opened that was read from JSON, or from a trace that does not hold its
	// bytes. To have the bytes in the trace, the code of the recorded turn has to read them with
	// Handle.OpenMedia.
	E_NOT_A_MEDIA_READER Code = "E_NOT_A_MEDIA_READER"
	// E_NOT_A_SPOOL_READER occurs when an artifact is given no reader of its lines, and when an
	// artifact is stored whose body no spool keeps. The engine makes no artifacts: packages that
	// make or store them fail with this code. The author of the storage fixes the latter case with
	// artifact.Spooling.
	E_NOT_A_SPOOL_READER Code = "E_NOT_A_SPOOL_READER"
	// E_INVALID_INITIAL_ARTIFACT_VALUE occurs when an artifact is made from invalid fields.
	E_INVALID_INITIAL_ARTIFACT_VALUE Code = "E_INVALID_INITIAL_ARTIFACT_VALUE"
	// E_INVALID_ARTIFACT_CONFIG occurs when the config of an artifact's tools or of its line reader
	// is invalid: for example a name that comes twice, or a question without an answer. The author
	// of the config has to fix it.
	E_INVALID_ARTIFACT_CONFIG Code = "E_INVALID_ARTIFACT_CONFIG"
	// E_SPOOL_KEY occurs when a spool is given a key that it cannot take. The caller has to fix it.
	E_SPOOL_KEY Code = "E_SPOOL_KEY"
	// E_ARTIFACT_CONSTRUCTOR occurs when a tool's artifact constructor fails, or returns something
	// that no tool call can hold.
	E_ARTIFACT_CONSTRUCTOR Code = "E_ARTIFACT_CONSTRUCTOR"
	// E_ARTIFACT_FORMAT occurs when a question about an artifact cannot be answered: its body does
	// not have the format that the question is for, the path in the question is invalid, answering
	// would take too much work, or the answer would be longer than 8 MiB. The error tells the asker
	// what to ask instead.
	E_ARTIFACT_FORMAT Code = "E_ARTIFACT_FORMAT"
	// E_ARTIFACT_CHANGED occurs when the body that was found differs from the body that the
	// artifact was made of.
	E_ARTIFACT_CHANGED Code = "E_ARTIFACT_CHANGED"
	// E_SPOOL_TOO_LARGE occurs when a body is longer than a spool takes.
	E_SPOOL_TOO_LARGE Code = "E_SPOOL_TOO_LARGE"
	// E_INVALID_STORAGE_CONFIG occurs when a storage is made with an invalid config; the message
	// names every fault. The author of the config has to fix it.
	E_INVALID_STORAGE_CONFIG Code = "E_INVALID_STORAGE_CONFIG"
	// E_STORAGE_PARTITION occurs when a storage is called for a tenant or a session that it cannot
	// have: the name is missing though the storage is strict, or it is not a text. The author of
	// the raw turn fixes it with the stash from which the storage reads the names.
	E_STORAGE_PARTITION Code = "E_STORAGE_PARTITION"
	// E_STORAGE_CORRUPT occurs when a stored record, or the row of a session or a delivery, is not
	// what was stored; the message names it. It takes a copy of the storage to repair it.
	E_STORAGE_CORRUPT Code = "E_STORAGE_CORRUPT"
	// E_STORAGE_BUSY occurs when other users keep a storage busy for longer than it retries.
	// Nothing was changed, and the caller may try again.
	E_STORAGE_BUSY Code = "E_STORAGE_BUSY"
	// E_STORAGE_SCHEMA occurs when the tables of a database are too new for this release, or older
	// than it needs and it may not migrate them. The operator of the program fixes it with a
	// migration or another release.
	E_STORAGE_SCHEMA Code = "E_STORAGE_SCHEMA"
	// E_INVALID_ENVELOPE occurs when an envelope is asked for without a nonce or without a kind.
	// Records always have both, so only direct callers of package envelope have to fix it.
	E_INVALID_ENVELOPE Code = "E_INVALID_ENVELOPE"
	// E_UNSUPPORTED_MEDIA_MODALITY occurs when a prompt holds a media that no native block can
	// carry, and the options choose nothing to show instead. The author of the options fixes it
	// with another policy.
	E_UNSUPPORTED_MEDIA_MODALITY Code = "E_UNSUPPORTED_MEDIA_MODALITY"
	// E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS occurs when the options of a prompt, of a budget or
	// of the executor for Chat Completions are invalid; the message names every fault. The author
	// of the options has to fix it.
	E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS Code = "E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS"
	// E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW occurs when a prompt counts more tokens than the
	// context window has; nothing was sent. The code that fills the turn fixes it by shedding
	// records (package budget reports how much each takes).
	E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW Code = "E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW"
	// E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR occurs when no attempt is left and a model's server
	// cannot be reached or answers with a status other than success. The cause has the status and
	// the body; what the server says shows who can fix it.
	E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR Code = "E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR"
	// E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT occurs when a model's server does not
	// answer within requestTimeoutMs, and no attempt is left.
	E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT Code = "E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT"
	// E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED occurs when a stream is silent for longer
	// than streamIdleTimeoutMs; nothing of the answer is stored.
	E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED Code = "E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED"
	// E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR occurs when an answer breaks off, is too large, is not
	// JSON, or says itself that it failed; nothing of it is stored.
	E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR Code = "E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR"
	// E_OPENAI_CHAT_COMPLETIONS_INVALID_TOOL_CALL_ARGS occurs when a model writes arguments that
	// are not a JSON object. No caller gets this error: its text is the result of the tool call, so
	// that the model can fix it.
	E_OPENAI_CHAT_COMPLETIONS_INVALID_TOOL_CALL_ARGS Code = "E_OPENAI_CHAT_COMPLETIONS_INVALID_TOOL_CALL_ARGS"
	// E_INVALID_ANSWER occurs when Ask or AskStream is given types whose values do not survive a
	// round trip through JSON, because no trace could give them back. It also occurs when an answer
	// has such a value in an interface, such as an int64 in an any; the message names the member.
	// The caller fixes it with a type of its own for what it needs of the answer. In a replay it
	// also occurs when a recorded answer does not fit today's type.
	E_INVALID_ANSWER Code = "E_INVALID_ANSWER"

	// E_INVALID_SESSION_CONFIG occurs when a host of sessions is made with an invalid config; the
	// message names every fault. The author of the config has to fix it.
	E_INVALID_SESSION_CONFIG Code = "E_INVALID_SESSION_CONFIG"
	// E_INVALID_SESSION_KEY occurs when a key of session values is made of invalid parts; the
	// message names every fault. The author of the key has to fix it.
	E_INVALID_SESSION_KEY Code = "E_INVALID_SESSION_KEY"
	// E_INVALID_SESSION_VALUE occurs when a session value does not fit the schema of its key; the
	// message names each place and no value. The code that sets the value has to fix it.
	E_INVALID_SESSION_VALUE Code = "E_INVALID_SESSION_VALUE"
	// E_INVALID_SESSION_STATE occurs when what a session holds, or what a turn has left for it in
	// the stash, does not have the form that keys give it. Whoever put it there by hand has to fix
	// it.
	E_INVALID_SESSION_STATE Code = "E_INVALID_SESSION_STATE"
	// E_SESSION_CHANNEL_STATE_CHANGED occurs when the kind or the state of a channel differs from
	// the one that the session began with. The author of the channel fixes it by keeping what
	// changes under a key.
	E_SESSION_CHANNEL_STATE_CHANGED Code = "E_SESSION_CHANNEL_STATE_CHANGED"
	// E_SESSION_UNKNOWN_CHANNEL occurs when a host does not know a session's kind of channel. A
	// host of a release that knows it settles the delivery.
	E_SESSION_UNKNOWN_CHANNEL Code = "E_SESSION_UNKNOWN_CHANNEL"
	// E_SESSION_SEALED occurs when a session value is set where it would not be kept: after the
	// ack, or in a dispatch whose changes are not kept. The author of that code has to fix it.
	E_SESSION_SEALED Code = "E_SESSION_SEALED"
	// E_SESSION_OUTSIDE occurs when session values are used in a turn that no host of sessions
	// runs. The caller fixes it by running the turn with Host.Deliver.
	E_SESSION_OUTSIDE Code = "E_SESSION_OUTSIDE"
	// E_INVALID_DELIVERY occurs when a delivery has invalid or missing parts; nothing of it is
	// kept. The sender has to fix it.
	E_INVALID_DELIVERY Code = "E_INVALID_DELIVERY"
	// E_DELIVERY_CONFLICT occurs when a delivery arrives again under the same id with another
	// payload. The sender fixes it with an id of its own for each input.
	E_DELIVERY_CONFLICT Code = "E_DELIVERY_CONFLICT"
	// E_SESSION_KEY_ABSENT occurs when a session value is read that was never set.
	E_SESSION_KEY_ABSENT Code = "E_SESSION_KEY_ABSENT"
	// E_SESSION_TOO_LARGE occurs when one session value, all of them together, or a provider's
	// snapshot have more bytes than allowed.
	E_SESSION_TOO_LARGE Code = "E_SESSION_TOO_LARGE"
	// E_SESSION_BUSY occurs when the caller does not want to wait, and another host has the session
	// or a retry is not due yet. The delivery stays accepted.
	E_SESSION_BUSY Code = "E_SESSION_BUSY"
	// E_SESSION_LEASE_LOST occurs when another host has claimed the session. The other host goes on
	// with it, and the work of this host is dropped.
	E_SESSION_LEASE_LOST Code = "E_SESSION_LEASE_LOST"
	// E_SESSION_STATE_NEWER occurs when a session holds a value of a later version than the host's
	// key. A host of a later release settles the delivery.
	E_SESSION_STATE_NEWER Code = "E_SESSION_STATE_NEWER"
	// E_SESSION_FORMAT occurs when a stored session has a format that this release does not know. A
	// later release can read it.
	E_SESSION_FORMAT Code = "E_SESSION_FORMAT"
	// E_SESSION_FULL occurs when a session has the maximum number of unsettled deliveries.
	E_SESSION_FULL Code = "E_SESSION_FULL"
	// E_SESSION_ERASED occurs when a session that was erased is delivered to or settled.
	E_SESSION_ERASED Code = "E_SESSION_ERASED"

	// E_INPUT_PIPELINE_ERROR occurs when a turn input middleware fails; the
	// error carries the middleware's name and the cause.
	E_INPUT_PIPELINE_ERROR Code = "E_INPUT_PIPELINE_ERROR"
	// E_OUTPUT_PIPELINE_ERROR occurs when a turn output middleware fails.
	E_OUTPUT_PIPELINE_ERROR Code = "E_OUTPUT_PIPELINE_ERROR"
	// E_DISPATCH_PIPELINE_ERROR occurs when a dispatch input or dispatch output
	// middleware fails.
	E_DISPATCH_PIPELINE_ERROR Code = "E_DISPATCH_PIPELINE_ERROR"
	// E_PIPELINE_SHORT_CIRCUITED occurs when a middleware returns without having called next, and
	// without error, signal or abort.
	E_PIPELINE_SHORT_CIRCUITED Code = "E_PIPELINE_SHORT_CIRCUITED"
	// E_LLM_EXECUTION_EXECUTOR_ERROR occurs when the executor fails.
	E_LLM_EXECUTION_EXECUTOR_ERROR Code = "E_LLM_EXECUTION_EXECUTOR_ERROR"
	// E_LLM_EXECUTION_NACKED occurs when user code nacks. On the error event it wraps the error
	// that was given; a nack without an error is this error itself.
	E_LLM_EXECUTION_NACKED Code = "E_LLM_EXECUTION_NACKED"
	// E_LLM_EXECUTION_STREAM_SEALED occurs when something is reported for an id that was already
	// reported complete.
	E_LLM_EXECUTION_STREAM_SEALED Code = "E_LLM_EXECUTION_STREAM_SEALED"
	// E_PERSISTENCE_FLUSH_ERROR occurs when, with write-behind persistence, a
	// storage obligation fails at the flush.
	E_PERSISTENCE_FLUSH_ERROR Code = "E_PERSISTENCE_FLUSH_ERROR"
	// E_TURN_ABORTED occurs when a turn is aborted without a reason. It is also the abort error: a
	// stage that returns it, bare or made with Aborted, aborts the turn (ABT-3).
	E_TURN_ABORTED Code = "E_TURN_ABORTED"
	// E_LLM_EXECUTION_GATE_NOT_SUPPORTED occurs when a standalone dispatch waits for a gate but was
	// not given gate support.
	E_LLM_EXECUTION_GATE_NOT_SUPPORTED Code = "E_LLM_EXECUTION_GATE_NOT_SUPPORTED"
	// E_TURN_GATE_ABORTED occurs when a gate is aborted, its turn is aborted, or the context of the
	// waiting call ends.
	E_TURN_GATE_ABORTED Code = "E_TURN_GATE_ABORTED"
	// E_TURN_GATE_TIMEOUT occurs when a gate's timeout passes before it settles.
	E_TURN_GATE_TIMEOUT Code = "E_TURN_GATE_TIMEOUT"
	// E_INVALID_TOOL_ARGS occurs when a tool's arguments do not fit its schema;
	// the message names every offending path, never a value.
	E_INVALID_TOOL_ARGS Code = "E_INVALID_TOOL_ARGS"
	// E_TOOL_DOWNSTREAM_ERROR occurs when a tool's handler fails.
	E_TOOL_DOWNSTREAM_ERROR Code = "E_TOOL_DOWNSTREAM_ERROR"
	// E_ASK_TIMEOUT occurs when a limit of an ask passes before its answer has come. The error is a
	// net.Error whose Timeout is true.
	E_ASK_TIMEOUT Code = "E_ASK_TIMEOUT"
	// E_ASK_STOPPED occurs when the reader of an answer stops before its end. A trace has it as the
	// end of that ask, and the function that asks gets it, so that it stops. The reader itself gets
	// no error.
	E_ASK_STOPPED Code = "E_ASK_STOPPED"
	// E_UNANSWERED occurs when a replay asks the world something to which the recording has no
	// answer.
	E_UNANSWERED Code = "E_UNANSWERED"
)

// fatalCodes are the codes that mark a programming error, and otherCodes are all the others.
// Together they are the complete list of codes. The flag is for information only; the engine does
// not act on it (ERR-2).
var fatalCodes = []Code{
	E_INVALID_TURN_RUNNER_CONFIG, E_INVALID_TURN_CONTEXT, E_INVALID_LLM_DISPATCH_INPUT,
	E_INVALID_LLM_EXECUTION_CONTEXT, E_LLM_EXECUTION_ALREADY_SIGNALLED, E_CONTEXT_ENDED, E_INVALID_STASH_PATH,
	E_INVALID_INITIAL_MESSAGE_VALUE, E_INVALID_INITIAL_MEMORY_VALUE, E_INVALID_INITIAL_RETRIEVABLE_VALUE,
	E_INVALID_INITIAL_THOUGHT_VALUE, E_INVALID_INITIAL_TOOL_CALL_VALUE, E_INVALID_INITIAL_IDENTITY_VALUE,
	E_INVALID_INITIAL_MEDIA_VALUE, E_INVALID_INITIAL_TOOL_VALUE, E_INVALID_INITIAL_TURN_GATE_VALUE,
	E_INVALID_TURN_GATE_RESOLUTION, E_TOOL_ALREADY_REGISTERED, E_NOT_A_MEDIA_READER, E_NOT_A_SPOOL_READER,
	E_INVALID_INITIAL_ARTIFACT_VALUE, E_INVALID_ARTIFACT_CONFIG, E_SPOOL_KEY, E_INVALID_STORAGE_CONFIG,
	E_STORAGE_PARTITION, E_INVALID_ENVELOPE, E_UNSUPPORTED_MEDIA_MODALITY, E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS,
	E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW, E_INVALID_ANSWER, E_INVALID_SESSION_CONFIG, E_INVALID_SESSION_KEY,
	E_INVALID_SESSION_VALUE, E_INVALID_SESSION_STATE, E_SESSION_CHANNEL_STATE_CHANGED, E_SESSION_UNKNOWN_CHANNEL, E_SESSION_SEALED,
	E_SESSION_OUTSIDE,
}

var otherCodes = []Code{
	E_ARTIFACT_CONSTRUCTOR, E_ARTIFACT_FORMAT, E_ARTIFACT_CHANGED, E_SPOOL_TOO_LARGE, E_STORAGE_CORRUPT,
	E_STORAGE_BUSY, E_STORAGE_SCHEMA, E_INPUT_PIPELINE_ERROR, E_OUTPUT_PIPELINE_ERROR, E_DISPATCH_PIPELINE_ERROR, E_PIPELINE_SHORT_CIRCUITED,
	E_LLM_EXECUTION_EXECUTOR_ERROR, E_LLM_EXECUTION_NACKED, E_LLM_EXECUTION_STREAM_SEALED,
	E_PERSISTENCE_FLUSH_ERROR, E_TURN_ABORTED, E_LLM_EXECUTION_GATE_NOT_SUPPORTED, E_TURN_GATE_ABORTED,
	E_TURN_GATE_TIMEOUT, E_INVALID_TOOL_ARGS, E_TOOL_DOWNSTREAM_ERROR, E_ASK_TIMEOUT, E_ASK_STOPPED, E_UNANSWERED,
	E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR, E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT, E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED,
	E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR, E_OPENAI_CHAT_COMPLETIONS_INVALID_TOOL_CALL_ARGS,
	E_INVALID_DELIVERY, E_DELIVERY_CONFLICT, E_SESSION_KEY_ABSENT, E_SESSION_TOO_LARGE, E_SESSION_BUSY, E_SESSION_LEASE_LOST,
	E_SESSION_STATE_NEWER, E_SESSION_FORMAT, E_SESSION_FULL, E_SESSION_ERASED,
}

// Error makes a Code usable as the target of errors.Is.
func (c Code) Error() string { return string(c) }

// Fatal reports whether the code marks a programming error (ERR-2).
func (c Code) Fatal() bool { return slices.Contains(fatalCodes, c) }

// Known reports whether c is one of the package's codes.
func (c Code) Known() bool { return c.Fatal() || slices.Contains(otherCodes, c) }

// Error is the one error type of the package (ERR-1): a code, what was wrong, and what caused it.
// Events carry it; constructors and operations return it.
type Error struct {
	// Code is the stable kind of the failure.
	Code Code
	// Message says what was wrong, where, and what would be right. It never
	// holds a payload (ERR-3).
	Message string
	// Stage is the label of the stage that failed (PIP-5): turn-input,
	// turn-output, dispatch-input, dispatch-output; empty elsewhere.
	Stage string
	// Name is the name of the middleware that failed; empty elsewhere.
	Name string
	// Cause is what led to the failure, or nil.
	Cause error
	// Faults lists the faults one by one where the message lists faults: of arguments, of a gate's
	// resolution, of a config or another input, of the values that a record is made from. It is nil
	// for every other error, and for an error read from a trace in a format before version 3.
	Faults []Fault
}

// Fault is one thing that is wrong with a given value. It never holds the value itself.
type Fault struct {
	// Path says where the fault is. In arguments and resolutions it is a JSON pointer, empty for
	// the whole value. In a config, an input or a record's values it is the name of the field,
	// empty if the fault is in no single field.
	Path string
	// Keyword is the keyword of the JSON Schema that the value violates; empty elsewhere.
	Keyword string
	// Message says what is wrong or what would be right.
	Message string
}

// schemaFaults converts the faults that a schema found to those of an Error.
func schemaFaults(faults []schema.Fault) []Fault {
	return each(faults, func(f schema.Fault) Fault { return Fault{Path: f.Path, Keyword: f.Keyword, Message: f.String()} })
}

// Error returns the code, the message and the cause's text, in this order. A cause whose Error
// method panics, as that of a nil pointer often does, is printed as fmt prints it.
func (e *Error) Error() string {
	if e == nil {
		return "<nil>"
	}
	text := string(e.Code)
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Cause != nil {
		text += ": " + fmt.Sprint(e.Cause)
	}
	return text
}

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// Is reports whether target is the Code of e.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && e != nil && code == e.Code
}

// Timeout reports whether the failure is that a time limit has passed. Timeout and Temporary make
// an Error a net.Error.
func (e *Error) Timeout() bool {
	return e.Code == E_ASK_TIMEOUT || e.Code == E_TURN_GATE_TIMEOUT
}

// Temporary returns what Timeout returns, as package net does.
func (e *Error) Temporary() bool { return e.Timeout() }

// Fatal reports whether the failure marks a programming error (ERR-2).
func (e *Error) Fatal() bool { return e.Code.Fatal() }

// PanicError is the cause of a failure that began as a panic of user code.
type PanicError struct {
	// Value is what was given to panic.
	Value any
	place callers.Place // where it happened
}

// newPanicError must be called by the deferred function that recovered the value. It records where
// the panic came from; Stack formats that on demand.
func newPanicError(value any) *PanicError {
	return &PanicError{Value: value, place: callers.OfPanic(value, 2)} // without newPanicError and the deferred function
}

// Stack returns where the panic happened: the innermost 32 calls, innermost first, each with its
// function and place. It is empty for an error that was not made from a panic in this process. It
// is never part of the error's text, so that nothing observable depends on it.
func (e *PanicError) Stack() []byte { return e.place.Text() }

// Error returns "panic: " and the text of the panic's value.
func (e *PanicError) Error() string { return "panic: " + PanicText(e.Value) }

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error { err, _ := e.Value.(error); return err }

// PanicText is the text of a panic's value as a trace keeps it: the text of an error, a string or a
// Stringer, and otherwise what fmt prints for the value. For a value whose own methods panic, the
// text says that.
func PanicText(value any) string { return fmt.Sprint(value) }

// Aborted makes an abort error (E_TURN_ABORTED): a stage that returns it
// aborts its turn (ABT-3). The reason may be nil.
func Aborted(reason error) error {
	return &Error{Code: E_TURN_ABORTED, Message: "the turn was aborted", Cause: reason}
}

// isAbort reports whether err is the package's own abort error (ABT-2): the code itself, an Error
// with that code, or an error that wraps one of these. An error that joins several errors is an
// abort error only if all of them are, so that a failure joined with an abort stays a failure. An
// error whose own methods panic, such as a nil pointer returned as an error, is not an abort error.
func isAbort(err error) bool {
	return errtree.Every(err, func(err error) (abort, decided bool) {
		switch e := err.(type) {
		case *PanicError:
			return false, true
		case Code:
			return e == E_TURN_ABORTED, true
		case *Error: // the cause of a gate's abort ended the gate, not the turn (GAT-1)
			return e.Code == E_TURN_ABORTED, e.Code == E_TURN_ABORTED || e.Code == E_TURN_GATE_ABORTED
		}
		return false, false
	})
}

package trace

import (
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// FormatVersion is the version of the format that this package writes. It reads
// those from 1 on; a trace that was read is written again in its own.
//
// # Goals
//
// A trace is for people and for programs. A person can read it, grep it and
// review it in a diff; a program that has nothing but the file can play the run
// again. It is written while the run goes on, one write a crossing, so a crash
// leaves a prefix that can still be read. It says each thing once, so it grows
// with what happened and never with the square of it. Reading one is strict: a
// line that is not understood is an error with the line's number, not a guess.
//
// # Non-goals
//
// A trace is no database: it is read from front to back and has no index. It is
// no log of an engine's insides: only what crosses between the engine and user
// code is in it (contract DET-4). It holds no type that Go alone could give
// back, and it hides nothing: what must not be written has to be taken out
// before it gets here.
//
// # The format, version 5
//
// A trace is JSON Lines, in UTF-8. Blanks between tokens are allowed and never
// written. This is one (with the digests and the middle left out):
//
//	{"adkreplay":"trace","version":5,"contract":2,"start":"2025-01-01T00:00:00Z","seams":{"executor":"model","turn-input":["hydrate"],"turn-output":[],"dispatch-input":[],"dispatch-output":[]}}
//	{"kind":"call","id":1,"seam":"run","prompt":"be brief","instructions":["no jokes"]}
//	{"kind":"turnStart","in":1,"turn":"t1"}
//	{"kind":"call","at":1500,"in":1,"id":2,"seam":"turn-input/hydrate"}
//	{"kind":"fetch","phase":"begin","at":20,"in":2,"op":1,"of":"messages"}
//	{"kind":"return","at":1500000,"in":3,"id":4,"records":[{"#":1,"message":{"id":"m1","role":"user","content":"hi"}}]}
//	{"kind":"add","in":2,"of":"messages","record":{"#":1}}
//	{"kind":"return","in":1,"id":2,"outcome":"error","err":{"text":"read: EOF","cause":{"sentinel":"io.EOF"}}}
//	{"end":42,"sha256":"9f86d081884c7d65…"}
//
// The first line is the header. contract is the revision of the engine's
// contract, start the time of the first crossing, and seams holds the names
// that people gave; standalone and writeBehind stand there when they are true.
//
// Then comes a line a crossing; crossing number n stands on line n+1. It has
// its kind; its phase, for an operation told in two lines; at, the nanoseconds
// since the crossing before; in, strand and op, which are Crossing's Call,
// Strand and Op; and then the fields that the kind has at the phase, under
// their labels and in their order (adk.Kind.Fields). What is zero is left out,
// and so is the outcome ok. Nil lists are left out, empty ones are [].
//
//   - A text is a string; one that is not valid UTF-8, such as a delta that
//     ends within a rune, is {"$string":"base64"}. Durations are texts as Go
//     writes them, a seam is its path, a digest is hexadecimal.
//   - Plain data (stashes, payloads) is JSON; a value whose Go type JSON does not say
//     stands under its type, as in {"$time":"2025-01-01T00:00:00Z"} or {"$[]string":["a"]}.
//   - Arguments are an object, written canonically, or a string that holds
//     JSON. What is neither, and what JSON cannot hold, no tool accepts; it is
//     plain data in a list of one.
//   - A record is whole where it appears first, with the next number:
//     {"#":1,"message":{…}}. Afterwards it is {"#":1}. Equal records are one.
//   - A tool's result is {"text":…}, {"bytes":"base64"}, {"media":record} or
//     {"mediaList":[record…]}.
//   - The bytes of a media stand in the line that ends its open-media, and nowhere
//     else: a media that nobody opened through a context has none. Equal bytes stand
//     there once: {"$from":op} is what that open-media gave, and {"$result":call} what
//     the tool gave of which that is the call, as text or bytes, of 1 KiB or more; the
//     64 latest can be named.
//   - A schema is its JSON, or {"$json":text} where it is not JSON.
//   - So is what an ask asked and was answered. A request that has much in common with
//     that of an earlier ask, as a history has that is sent again with each, and a piece
//     of an answer with the piece before it, is {"$from":op,"head":n,"text":…,"tail":n}:
//     so many bytes of the beginning and of the end of what was said in that op, with the
//     text between them. It can be one of the 16 latest, of those of which no later one
//     had all; 0 is none. Where the text has the base64 of a media that was opened before,
//     it is a list of texts and of {"media":op}, the number of that open-media.
//   - An error is a tree: {"code":…,"message":…,"stage":…,"name":…,"faults":[…],
//     "cause":…} is an *adk.Error, whose faults are {"path":…,"keyword":…,
//     "message":…}; {"panic":text} an *adk.PanicError, with a cause where
//     the value was an error; {"sentinel":"io.EOF"} a value that people compare
//     with; anything else is {"text":…} with its cause or its causes, and with
//     is: the sentinels that its own Is method claims. Where such a one is of a
//     type that errors.As is asked for, one of those of Options.ErrorTypes, it
//     has the type, as in "type":"net.OpError", and with: the texts of which it is
//     made again. Otherwise it has timeout, true or false, if it says so. What
//     lies beyond a bound, as in a chain that leads back to itself, is
//     {"cut":text}.
//   - An event that user code emits is an object of its fields.
//   - A digest is the first half of a SHA-256. That of a state is over the digest of the
//     prompt; for each collection, in the order of adk.Collections, its length in four
//     bytes, the sum of its last whole block of 64 records, if it has one, and the digests
//     of the records behind that; and the digest of the stash. The sum of a block is a
//     digest over the sum of the block before it, if there is one, and the digests of its
//     records, which are over their JSON. That of an empty stash is zero; of another one it
//     is over the number of its branches and leaves, in eight bytes, and the sum, modulo
//     2^256, of a SHA-256 for each, in four numbers of eight bytes of which the lowest is the
//     first: over its place, and of a leaf its JSON besides. The place of what lies in the
//     stash is a SHA-256 over that of its branch, which is zeros at the root, and its name;
//     the lowest byte of a SHA-256 that is a number is its first. Numbers stand with
//     their highest byte first.
//
// The footer ends the file: how many crossings there are, and the SHA-256 of
// every byte before it. A file without one was cut short.
//
// The footer of a redacted trace also says how many placeholders there are
// (redacted), and for how many calls of tools a variant of the tool stands
// (unvalidated): see package redact.
//
// A line may have 64 MiB, its end included. A crossing that says more, such as a media of
// 50 MB or a fetch of a million records, is cut into lines of about a megabyte:
// {"left":n,"part":text} is a part of its line, as text, which n more follow; joined, they
// are the line. Behind them the number of a line no longer says that of its crossing. What
// a crossing says beyond 256 MiB is not written: whoever reads may raise the limit
// (Options.MaxSaid), and then whoever writes has to. So it is with the number of
// crossings, and with that of the JSON values of one.
//
// A trace may be compressed with zstd as a whole; its first bytes say so.
//
// Another version of the format gets a number of its own, and a function that
// makes lines of the former into its own: a reader tells the version by the
// header, before it reads anything else.
//
// In version 4 and before, the digest of a state is one SHA-256 over all that was visible
// there, and so costs as much at each state. Who reads such a trace gets the digests of
// today in the place of those that are right, and they are written again as they were.
// In version 3 every request and every piece is written whole, and errors have neither
// type nor timeout; but for that its lines are lines of version 4. Version 2 calls the kind
// state sight, and the header's standalone alone, and does not know the faults of errors.
// Version 1 does not know wait either. That nothing is told of faults, or of waiting for
// strands, says nothing there: they are not compared with what does.
//
// Members that a reader does not know, in the header, a line or the footer, are
// kept as they are and written again in their places. Everything else that is
// not understood is a *FormatError.
const FormatVersion = 5

// ContractRevision is the revision of the engine's contract that today's engine
// keeps. A trace carries the one under which it was recorded.
const ContractRevision = 2

// Header is the first line of a trace.
type Header struct {
	// Info holds the names of the seams and what kind of run it is.
	Info adk.RunInfo
	// Version is the format's version. Zero is FormatVersion when written.
	Version int
	// Contract is the revision of the engine's contract that the run kept. Zero
	// is ContractRevision when written.
	Contract int
	// Start is the time of the first crossing. Zero is that of the first
	// crossing when written.
	Start time.Time
	// Extra are the members that this package does not know.
	Extra []Member

	SeamsExtra []Member // within seams
}

// Line is one crossing as it stands in a trace.
type Line struct {
	adk.Crossing
	// Extra are the members that this package does not know.
	Extra []Member
}

// Options are what the reading and writing of traces can be told. Functions take
// them at most once; none are the zero Options.
type Options struct {
	// Sentinels are the error values that user code compares with, by a name
	// such as "shop.ErrSoldOut": what errors.Is finds in a run, it then finds in
	// the trace. Known without are the engine's codes and, by the names that they have
	// there, the Err… of bufio, database/sql, database/sql/driver, errors, io, io/fs, net,
	// os, os/exec and strconv, io.EOF and both errors of context; those of net/http, say,
	// are not. The names must not be "io.EOF" and the like, nor begin with "adk."; the
	// errors must be comparable.
	Sentinels map[string]error
	// ErrorTypes are the types of errors that user code asks for with errors.As, by a
	// name such as "pgconn.PgError": the trace keeps what such an error is made of, and
	// errors.As finds it there again. Known without are those of crypto/tls, crypto/x509,
	// io/fs, net, net/url, os, os/exec, strconv and syscall that can be made again, by the
	// names that they have there; an *exec.ExitError and a *json.SyntaxError cannot. Who
	// reads a trace without them has the texts of the errors all the same.
	ErrorTypes map[string]ErrorType
	// The limits of reading, of which zero is the usual one; Limits says what each
	// counts. What is beyond one is a FormatError of FaultTooLarge that names it.
	// MaxMemory is of all lines where a trace is held whole. Where it is read line by line it
	// is of what stays: records, values of stashes until others stand in their place or their
	// dispatch is over, and what is given to operations and calls until they are. MaxLine,
	// MaxSaid, MaxCrossings and MaxValues are limits of writing, too.
	MaxLine, MaxSaid, MaxBytes, MaxCrossings, MaxNesting, MaxValues, MaxRestored, MaxMemory int64
	// File is the name that a FormatError says. It is not opened.
	File string
}

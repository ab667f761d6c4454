package trace

import (
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// FormatVersion is the version of the format that this package writes. It reads all versions from 1
// on. A trace that was read is written again in its own version.
//
// # Goals
//
// A trace is for people and for programs. A person can read it, grep it and review it in a diff; a
// program that has only the file can play the run again. It is written during the run, one write
// per crossing, so a crash leaves a prefix that can still be read. It states each thing once, so
// its size grows with what happened and never with the square of it. Reading is strict: a line that
// the reader does not understand is an error with the line's number, not a guess.
//
// # Non-goals
//
// A trace is not a database: it is read from front to back and has no index. It is not a log of the
// engine's internals: it holds only what crosses between the engine and user code (contract DET-4).
// It holds no types that only Go could restore. It hides nothing: secrets have to be removed before
// the trace is written.
//
// # The format, version 5
//
// A trace is JSON Lines, in UTF-8. Blanks between tokens are allowed but never written. This is an
// example (with the digests and the middle left out):
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
// The first line is the header. contract is the revision of the engine's contract, start is the
// time of the first crossing, and seams holds the names that users gave to the seams. standalone
// and writeBehind are there if they are true.
//
// Then follows one line per crossing; crossing number n is on line n+1. A line has the crossing's
// kind; its phase, if the operation takes two lines; at, the nanoseconds since the crossing before;
// in, strand and op, which are the Call, Strand and Op of the Crossing; and then the fields that
// the kind has in that phase, under their labels and in their order (adk.Kind.Fields). Zero values
// are left out, and so is the outcome ok. Nil lists are left out; empty lists are [].
//
//   - A text is a string. A text that is not valid UTF-8, such as a delta that ends within a rune,
//     is {"$string":"base64"}. A duration is a text as Go writes it, a seam is its path, and a
//     digest is hexadecimal.
//   - Plain data (stashes, payloads) is JSON. A value whose Go type JSON does not determine is an
//     object that names the type, as in {"$time":"2025-01-01T00:00:00Z"} or {"$[]string":["a"]}.
//   - Arguments are an object, written canonically, or a string that holds JSON. Arguments that are
//     neither, or that JSON cannot represent, are accepted by no tool; they are plain data in a
//     list of one.
//   - A record is written in full where it appears first, with the next number:
//     {"#":1,"message":{…}}. Afterwards it is {"#":1}. Equal records share a number.
//   - A tool's result is {"text":…}, {"bytes":"base64"}, {"media":record} or
//     {"mediaList":[record…]}.
//   - The bytes of a media are in the line that ends its open-media and nowhere else, so a media
//     that was never opened through a context has none. Equal bytes are written once: {"$from":op}
//     refers to what that open-media returned, and {"$result":call} to what the tool with that call
//     returned as text or bytes of 1 KiB or more. Only the 64 latest can be referred to.
//   - A schema is its JSON, or {"$json":text} if it is not JSON.
//   - What an ask asked and what answered it is written in the same way. A request often has much
//     in common with an earlier ask's request, because the history is sent again with each; a piece
//     of an answer has much in common with the piece before it. Such a text is
//     {"$from":op,"head":n,"text":…,"tail":n}: head bytes of the beginning and tail bytes of the end
//     of the text of that op, with the new text between them. A request can refer to the 16 latest
//     requests, not counting those that a later one contains in full; an op of 0 is none. If the
//     text contains the base64 of a media that was opened before, it is a list of texts and of
//     {"media":op}, where op is the number of that open-media.
//   - An error is a tree. {"code":…,"message":…,"stage":…,"name":…,"faults":[…],"cause":…} is an
//     *adk.Error, whose faults are {"path":…,"keyword":…,"message":…}. {"panic":text} is an
//     *adk.PanicError, with a cause if the value was an error. {"sentinel":"io.EOF"} is a value
//     that code compares errors with. Every other error is {"text":…} with its cause or causes, and
//     with is: the sentinels that its own Is method claims. If the error has a type that code asks
//     for with errors.As, one of Options.ErrorTypes, it also has the type, as in
//     "type":"net.OpError", and with: the texts from which the error is made again. Otherwise it
//     has timeout, true or false, if the error has a Timeout method. Anything beyond a bound, such
//     as a chain that leads back to itself, is {"cut":text}.
//   - An event that user code emits is an object of its fields.
//   - A digest is the first half of a SHA-256. The digest of a state covers the digest of the
//     prompt; for each collection, in the order of adk.Collections, its length in four bytes, the
//     sum of its last whole block of 64 records, if it has one, and the digests of the records
//     after that block; and the digest of the stash. The sum of a block is a digest over the sum of
//     the block before it, if there is one, and the digests of its records, which cover their JSON.
//     The digest of an empty stash is zero. The digest of another stash covers the number of its
//     branches and leaves, in eight bytes, and the sum, modulo 2^256, of one SHA-256 for each of
//     them, in four numbers of eight bytes with the lowest number first. That SHA-256 covers the
//     path of the branch or leaf, and for a leaf also its JSON. The path is a SHA-256 over the path
//     of the parent branch, which is zeros at the root, and the name. A SHA-256 that is used as a
//     number has its lowest byte first. All other numbers have their highest byte first.
//
// The footer ends the file. It holds the number of crossings and the SHA-256 of every byte before
// it. A file without a footer was cut short.
//
// The footer of a redacted trace also holds the number of placeholders (redacted), and for how many
// tool calls a variant of the tool is substituted (unvalidated): see package redact.
//
// A line may have 64 MiB, including its end. A crossing that needs more, such as a media of 50 MB
// or a fetch of a million records, is cut into lines of about a megabyte. Each of them is
// {"left":n,"part":text}: a part of the line's text, after which n more parts follow. Joined, they
// are the line. After such parts, line numbers no longer match crossing numbers. A crossing beyond
// 256 MiB is not written: a reader may raise the limit (Options.MaxSaid), but then the writer has
// to raise it too. The same holds for the number of crossings, and for the number of JSON values in
// one crossing.
//
// A trace may be compressed with zstd as a whole; its first bytes say so.
//
// Each further version of the format gets a new number, and a function that converts lines of the
// version before. A reader recognizes the version by the header, before it reads anything else.
//
// In version 4 and before, the digest of a state is one SHA-256 over everything visible in it, so
// each state costs in proportion to its size. A reader of such a trace gets today's digests in
// place of the digests that are right; a writer writes the old digests again. In version 3, every
// request and every piece is written in full, and errors have neither type nor timeout; otherwise
// its lines are lines of version 4. Version 2 calls the kind state sight and the header's
// standalone alone, and does not have the faults of errors. Version 1 does not have wait either. If
// a trace of such a version has no faults, or no waits for strands, that means nothing: a
// comparison ignores them.
//
// Members that a reader does not know, in the header, a line or the footer, are kept as they are
// and written again in their places. Everything else that a reader does not understand is a
// *FormatError.
const FormatVersion = 5

// ContractRevision is the revision of the contract that today's engine keeps. A trace carries the
// revision under which it was recorded.
const ContractRevision = 2

// Header is the first line of a trace.
type Header struct {
	// Info holds the names of the seams and the kind of run.
	Info adk.RunInfo
	// Version is the version of the format. When written, zero means FormatVersion.
	Version int
	// Contract is the revision of the engine's contract that the run kept. When written, zero means
	// ContractRevision.
	Contract int
	// Start is the time of the first crossing. When written, zero means the time of the first
	// crossing.
	Start time.Time
	// Extra holds the members that this package does not know.
	Extra []Member

	SeamsExtra []Member // unknown members within seams
}

// Line is one line of a trace: a crossing.
type Line struct {
	adk.Crossing
	// Extra holds the members that this package does not know.
	Extra []Member
}

// Options configure reading and writing of traces. Functions take at most one Options value;
// without one, they use the zero Options.
type Options struct {
	// Sentinels are the error values that user code compares with, by a name such as
	// "shop.ErrSoldOut". An error that errors.Is finds in a run, errors.Is then finds in the trace
	// too. The engine's codes are always known, and so are, by their own names, the Err… variables
	// of bufio, database/sql, database/sql/driver, errors, io, io/fs, net, os, os/exec and strconv,
	// io.EOF and both errors of context. Those of net/http, for example, are not. The names must
	// not be "io.EOF" and the like, nor begin with "adk."; the errors must be comparable.
	Sentinels map[string]error
	// ErrorTypes are the types of errors that user code asks for with errors.As, by a name such as
	// "pgconn.PgError". The trace keeps what such an error is made of, and errors.As finds it there
	// again. The types of crypto/tls, crypto/x509, io/fs, net, net/url, os, os/exec, strconv and
	// syscall that can be made again are always known, by their own names; an *exec.ExitError and a
	// *json.SyntaxError cannot be made again. A reader without these types still gets the texts of
	// the errors.
	ErrorTypes map[string]ErrorType
	// The limits of reading; zero means the default. Limits says what each of them counts. A trace
	// that exceeds a limit is a FormatError of FaultTooLarge that names the limit. For a trace that
	// is held whole, MaxMemory covers all lines. For a trace that is read line by line, it covers
	// what the reader has to keep: records, the values of stashes until they are replaced or their
	// dispatch is over, and what operations and calls were given until they end. MaxLine, MaxSaid,
	// MaxCrossings and MaxValues also limit writing.
	MaxLine, MaxSaid, MaxBytes, MaxCrossings, MaxNesting, MaxValues, MaxRestored, MaxMemory int64
	// File is the name of the file in a FormatError. It is not opened.
	File string
}

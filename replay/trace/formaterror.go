package trace

import (
	"fmt"
	"strconv"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Fault says in which way a file is not a trace that can be read.
type Fault string

// The faults of files.
const (
	// FaultMalformed is a line that does not say what a line must.
	FaultMalformed Fault = "malformed"
	// FaultTruncated is a file that ends before its footer. What was read of it
	// is good.
	FaultTruncated Fault = "truncated"
	// FaultForeign is a file of something else, or in another coding.
	FaultForeign Fault = "foreign"
	// FaultVersion is a file of another version of the format.
	FaultVersion Fault = "version"
	// FaultDigest is a file that was changed after it was written.
	FaultDigest Fault = "digest"
	// FaultCount is a footer that counts other crossings than there are.
	FaultCount Fault = "count"
	// FaultImpossible is a file that says what no run can be: the names of its
	// seams make no runner, or its first crossing begins no turn.
	FaultImpossible Fault = "impossible"
	// FaultTooLarge is a file beyond one of the Limits.
	FaultTooLarge Fault = "too large"
)

// Of says the fault of a kind of file: "a malformed trace" without the article.
func (f Fault) Of(file string) string {
	switch f {
	case FaultForeign:
		return "no " + file
	case FaultVersion:
		return file + " of another version"
	case FaultDigest:
		return "changed " + file
	case FaultCount:
		return "miscounted " + file
	case FaultTooLarge:
		return file + " too large"
	}
	return string(f) + " " + file
}

// FormatError says why a file cannot be read as a trace: where, what, and what
// would be right.
type FormatError struct {
	// File is Options.File.
	File string
	// Line is the number of the line, from 1.
	Line int
	// Fault is the kind of the failure.
	Fault Fault
	// Reason says what is wrong.
	Reason string
	// Err is the cause, or nil. Reason contains its text.
	Err error
}

// Error is the place, the fault and the reason.
func (e *FormatError) Error() string {
	place := "line " + strconv.Itoa(e.Line)
	if e.File != "" {
		place = safetext.Line(e.File) + ":" + strconv.Itoa(e.Line)
	}
	reason := e.Reason
	if head, tail, cut := safetext.Halves(reason, longestReason); cut {
		reason = head + "…" + tail
	}
	return fmt.Sprintf("replay: %s: %s: %s", place, e.Fault.Of("trace"), safetext.Line(reason))
}

// longestReason is how many bytes of a reason an error says: of a text that the file has
// there, which may be all of the file, its beginning and its end.
const longestReason = 400

// Unwrap gives the cause to errors.Is and errors.As.
func (e *FormatError) Unwrap() error { return e.Err }

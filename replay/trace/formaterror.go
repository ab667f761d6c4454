package trace

import (
	"fmt"
	"strconv"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Fault says why a file cannot be read as a trace.
type Fault string

// The faults of files.
const (
	// FaultMalformed means that a line does not have the required form.
	FaultMalformed Fault = "malformed"
	// FaultTruncated means that the file ends before its footer. The lines read so far are valid.
	FaultTruncated Fault = "truncated"
	// FaultForeign means that the file is not a trace, or has another encoding.
	FaultForeign Fault = "foreign"
	// FaultVersion means that the file has a version of the format that this package does not read.
	FaultVersion Fault = "version"
	// FaultDigest means that the file was changed after it was written.
	FaultDigest Fault = "digest"
	// FaultCount means that the footer's number of crossings is wrong.
	FaultCount Fault = "count"
	// FaultImpossible means that no run can have produced the file: no runner can be made of the
	// names of its seams, or its first crossing does not begin a turn.
	FaultImpossible Fault = "impossible"
	// FaultTooLarge means that the file exceeds one of the Limits.
	FaultTooLarge Fault = "too large"
)

// Of describes the fault for a kind of file, without an article: "malformed trace", for example.
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

// FormatError says why a file cannot be read as a trace.
type FormatError struct {
	// File is Options.File.
	File string
	// Line is the number of the line, from 1.
	Line int
	// Fault is the kind of failure.
	Fault Fault
	// Reason says what is wrong.
	Reason string
	// Err is the cause, or nil. Reason contains its text.
	Err error
}

// Error returns the position, the fault and the reason.
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

// longestReason is how many bytes of a reason Error prints. A reason may quote a text of the file
// that is as long as the file itself; Error keeps its beginning and its end.
const longestReason = 400

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

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
	// FaultVersion is a file of another version of the format, or no trace.
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
	what := string(e.Fault) + " trace"
	if e.Fault == FaultVersion { // what cannot be read may be no trace at all
		what = "not readable"
	}
	return fmt.Sprintf("replay: %s: %s: %s", place, what, e.Reason)
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *FormatError) Unwrap() error { return e.Err }

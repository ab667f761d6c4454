package replay

import (
	"fmt"
	"strconv"
)

// Class says in which way a file is not a trace that can be read.
type Class string

// The classes of format errors.
const (
	// ClassMalformed is a line that does not say what a line must.
	ClassMalformed Class = "malformed"
	// ClassTruncated is a file that ends before its footer. What was read of it
	// is good.
	ClassTruncated Class = "truncated"
	// ClassVersion is a file of another version of the format, or no trace.
	ClassVersion Class = "version"
	// ClassDigest is a file that was changed after it was written.
	ClassDigest Class = "digest"
	// ClassCount is a footer that counts other crossings than there are.
	ClassCount Class = "count"
	// ClassTooLong is a line longer than Options.MaxLine.
	ClassTooLong Class = "too long"
)

// FormatError says why a file cannot be read as a trace: where, what, and what
// would be right.
type FormatError struct {
	// File is Options.File.
	File string
	// Line is the number of the line, from 1.
	Line int
	// Class is the kind of the failure.
	Class Class
	// Reason says what is wrong.
	Reason string
	// Err is the cause, or nil. Reason contains its text.
	Err error
}

// Error is the place, the class and the reason.
func (e *FormatError) Error() string {
	place := "line " + strconv.Itoa(e.Line)
	if e.File != "" {
		place = e.File + ":" + strconv.Itoa(e.Line)
	}
	return fmt.Sprintf("replay: %s: %s trace: %s", place, e.Class, e.Reason)
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *FormatError) Unwrap() error { return e.Err }

package trace

import (
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// FormatVersion is the version of the format that this package writes. It reads
// those from 1 on; a trace that was read is written again in its own.
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
	// the trace. The common ones of the standard library and the engine's codes
	// are known without. The names must not be those of these, nor begin with
	// "adk."; the errors must be comparable.
	Sentinels map[string]error
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

package transcript

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// InPhases reports whether WritePhases shows crossings of a kind: the events that listeners
// receive, what user code asks of a storage or changes, and state digests.
func InPhases(kind adk.Kind) bool {
	touches := []adk.Touch{adk.TouchHandles, adk.TouchReading, adk.TouchWriting}
	switch kind.Class() {
	case adk.ClassEvent:
		return true
	case adk.ClassOperation:
		return slices.Contains(touches, kind.Touches())
	case adk.ClassFact:
		return slices.Contains(touches, kind.Touches()) || tellsDigest(kind)
	}
	return false
}

// tellsDigest reports whether a kind has a state digest.
func tellsDigest(kind adk.Kind) bool {
	return slices.ContainsFunc(kind.Fields(adk.Whole), func(use adk.FieldUse) bool { return use.Field == adk.FieldDigest })
}

// WritePhases reads a trace and writes what happened in each phase of the turn: in the turn input,
// in each iteration of each dispatch, and in the turn output. It writes one line, with its number,
// for each crossing whose kind InPhases selects. If strands are in different phases at the same
// time, the phases alternate. If the trace cannot be read to its end, WritePhases writes the lines
// before the fault and returns a *FormatError.
func WritePhases(w io.Writer, recorded io.Reader, options ...trace.Options) error {
	r, err := trace.NewReader(recorded, options...)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	p := phases{names: describe.New(state.New())}
	for number := 1; ; number++ {
		line, err := r.Next()
		if err == io.EOF {
			return out.Flush()
		}
		if err != nil {
			_ = out.Flush() // the fault of the trace is more important
			return err
		}
		said := p.names.Line(&line.Crossing)
		if phase := p.next(&line.Crossing); InPhases(line.Kind) && line.Phase != adk.Done {
			if phase != p.written {
				p.written = phase
				fmt.Fprintln(out, phase)
			}
			fmt.Fprintf(out, "%6d  %s\n", number, said)
		}
	}
}

// phases follows a turn through its phases.
type phases struct {
	names   *describe.Namer
	written string // the phase that has a heading
	isPast  bool   // a dispatch has begun
}

// next adds a crossing, and returns the phase that it belongs to.
func (p *phases) next(x *adk.Crossing) string {
	_ = p.names.Pass(x) // transcripts report what no engine can emit
	c := p.names.Fold.Calls[x.Call]
	if c == nil || c.Dispatch == nil {
		if p.isPast {
			return "turn output"
		}
		return "turn input"
	}
	p.isPast = true
	d := c.Dispatch
	heading := "dispatch"
	if name := d.Call.Seam.Name; name != "" {
		heading += " " + safetext.PlainName(name)
	}
	return heading + " · iteration " + strconv.Itoa(d.Iteration)
}

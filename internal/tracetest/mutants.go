package tracetest

import (
	"fmt"
	"hash/crc32"
	"os"
	"reflect"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// MutantsVariable is the environment variable that makes the tests try every edit of every fixture.
const MutantsVariable = "ADKREPLAY_MUTANTS"

// Fixture is a recorded turn.
type Fixture struct {
	Name  string
	Bytes []byte
	Trace *trace.Trace
}

// Mutant is a fixture with one edit. Its trace is only built on request, since most tests try a
// sample.
type Mutant struct {
	Fixture Fixture
	edited  func() *trace.Trace
	At      int    // the number of the first crossing at which the two differ
	Line    int    // the index of the edited line; -1 for the header
	Kind    string // of the edited crossing
	Field   string // the field that was edited; "" for an edit of whole lines
	What    string
	Input   bool
}

// String says what was edited, and where.
func (m Mutant) String() string {
	return fmt.Sprintf("%s: crossing %d, %s %s %s", m.Fixture.Name, m.At, m.Kind, m.Field, m.What)
}

// Trace returns the edited trace.
func (m Mutant) Trace() *trace.Trace { return m.edited() }

// AllMutants reports whether MutantsVariable asks for every edit.
func AllMutants() bool { return os.Getenv(MutantsVariable) == "all" }

// sampledLines says that a sample contains one of so many lines. Building an edit is as expensive
// as trying it.
const sampledLines = 8

// Mutants calls yield for edits of a fixture: for about one in of, on different lines in each
// fixture, or for every edit if MutantsVariable asks for that.
func Mutants(f Fixture, of uint32, yield func(Mutant)) {
	if AllMutants() {
		mutants(f, 1, yield)
		return
	}
	mutants(f, thorough.Of(sampledLines, 4*sampledLines, 16*sampledLines), func(m Mutant) {
		if crc32.ChecksumIEEE([]byte(m.String()))%max(1, of/sampledLines) == 0 {
			yield(m)
		}
	})
}

// mutants calls yield for the edits of one in of lines, and for those of the header.
func mutants(f Fixture, of int, yield func(Mutant)) {
	chosen := func(line int) bool { return (line+len(f.Name))%of == 0 }
	for i, line := range f.Trace.Lines() {
		if !chosen(i) {
			continue
		}
		for _, e := range fieldEdits(line.Crossing) {
			edited := func() *trace.Trace {
				lines := slices.Clone(f.Trace.Lines())
				lines[i].Crossing = e.edited
				return Sealed(f, lines)
			}
			isCause := line.Kind == adk.KindSleep && e.field == "err" // of the context that ended the sleep
			yield(Mutant{f, edited, i + 1, i, compare.KindText(&line.Crossing), e.field, e.what, e.input || isCause})
		}
	}
	structuralMutants(f, func(m Mutant) {
		if chosen(m.Line) {
			yield(m)
		}
	})
	headerMutants(f, yield)
}

// headerMutants renames and removes the executor and each middleware.
func headerMutants(f Fixture, yield func(Mutant)) {
	give := func(field, what string, change func(*adk.RunInfo)) {
		edited := func() *trace.Trace {
			renamed := Sealed(f, f.Trace.Lines())
			change(&renamed.Info)
			return renamed
		}
		yield(Mutant{f, edited, 0, -1, "header", field, what, true})
	}
	give("writeBehind", "flipped", func(info *adk.RunInfo) { info.WriteBehind = !info.WriteBehind })
	give("standalone", "flipped", func(info *adk.RunInfo) { info.Standalone = !info.Standalone })
	for of, n := range wire.Named(&f.Trace.Info) {
		names := n.All()
		put := func(what string, names []string) {
			give(n.Label, what, func(info *adk.RunInfo) { wire.Named(info)[of].Put(names) })
		}
		if n.List != nil {
			put("lengthened", append(n.All(), "x"))
		}
		for i := range names {
			if n.List != nil {
				put("shortened", slices.Delete(n.All(), i, i+1))
			}
			renamed := n.All()
			renamed[i] += "x"
			put("renamed", renamed)
		}
	}
}

// structuralMutants removes each line, duplicates it, and swaps it with the next one.
func structuralMutants(f Fixture, yield func(Mutant)) {
	lines := f.Trace.Lines()
	give := func(i, at int, what string, edit func(lines []trace.Line) []trace.Line) {
		edited := func() *trace.Trace { return Sealed(f, edit(slices.Clone(lines))) }
		yield(Mutant{f, edited, at, i, compare.KindText(&lines[i].Crossing), "", what, madeByUser(lines[i:], what)})
	}
	for i := range lines {
		last := lastLike(lines, i)
		give(i, last+1, "dropped", func(lines []trace.Line) []trace.Line { return slices.Delete(lines, i, i+1) })
		give(i, last+2, "twice", func(lines []trace.Line) []trace.Line { return slices.Insert(lines, i, lines[i]) })
		if last == i && i+1 < len(lines) {
			give(i, i+1, "swapped", func(lines []trace.Line) []trace.Line {
				lines[i], lines[i+1] = lines[i+1], lines[i]
				return lines
			})
		}
	}
}

// madeByUser reports whether an edit of whole lines concerns something that user code or the
// outside did. The order of strands is decided by the outside, too.
func madeByUser(lines []trace.Line, what string) bool {
	if what == "swapped" && (fromOutside(&lines[1].Crossing) || lines[0].Strand != lines[1].Strand) {
		return true
	}
	return fromOutside(&lines[0].Crossing)
}

func fromOutside(x *adk.Crossing) bool {
	switch x.Kind {
	case adk.KindCancel, adk.KindSettle, adk.KindContained, adk.KindPiece:
		return true
	}
	return x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done
}

// Sealed returns a trace with other lines under the header of a fixture.
func Sealed(f Fixture, lines []trace.Line) *trace.Trace {
	sealed := trace.New(f.Trace.Header, lines)
	sealed.Sealed = true
	return sealed
}

// lastLike returns the index of the last of the equal lines that follow each other from i on. An
// edit of whole lines is visible only after them.
func lastLike(lines []trace.Line, i int) int {
	for i+1 < len(lines) && sameLine(lines[i], lines[i+1]) {
		i++
	}
	return i
}

func sameLine(a, b trace.Line) bool {
	a.Seq, b.Seq = 0, 0
	return reflect.DeepEqual(a.Crossing, b.Crossing)
}

// IsBehind reports whether, in a mutant, an operation ends or its event is emitted after the next
// step of its strand, or the operation is still open when the run ends. That also happens with an
// operation on a goroutine that user code started, which a recording does not distinguish.
func (m Mutant) IsBehind() bool {
	if m.Line < 0 || m.Field != "" || m.What == "twice" {
		return false
	}
	lines := m.Fixture.Trace.Lines()[m.Line:]
	x := &lines[0].Crossing
	if m.What == "swapped" && x.Kind.Class() == adk.ClassEvent {
		next := &lines[1].Crossing
		return next.Strand == x.Strand && next.Kind.Class() == adk.ClassOperation && next.Phase != adk.Done
	}
	return x.Kind.Class() == adk.ClassOperation && x.Phase == adk.Done &&
		(m.What == "dropped" || lines[1].Call == x.Call || lines[1].ID == x.Call && lines[1].Kind == adk.KindReturn)
}

// IsBetween reports whether a mutant changed a time to another one between those of the lines
// around it. The clock belongs to user code, and a clock that advances by itself may have given
// that time, too.
func (m Mutant) IsBetween() bool {
	if m.Field != "at" {
		return false
	}
	lines, at := m.Trace().Lines(), m.Line
	return at > 0 && at+1 < len(lines) && lines[at-1].At.Before(lines[at].At) && lines[at].At.Before(lines[at+1].At)
}

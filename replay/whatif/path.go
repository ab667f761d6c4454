package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/internal/again"
)

// This file finds what the path of an Override leads to.

// The words of a path that are no fields of a kind.
const (
	pathCancel = "cancel"
	pathAt     = wire.MemberAt
	pathError  = "error"
)

// target is what a path leads to.
type target struct {
	x       *adk.Crossing // of the edited run
	use     adk.FieldUse
	special string // pathCancel or pathAt, instead of use
	rest    string // the path within the field, such as .city or [0].content
}

func (t target) label() string { return cmp.Or(t.special, t.use.Label) }

// resolve finds the crossing and the field of a path.
func (w *whatIf) resolve(path string) (target, error) {
	x, rest, err := w.crossing(path)
	if err != nil {
		return target{}, err
	}
	field, found := strings.CutPrefix(rest, ".")
	end := strings.IndexAny(field, ".[")
	if end < 0 {
		end = len(field)
	}
	word, rest := field[:end], field[end:]
	switch {
	case !found || word == "":
		return target{}, refusef("%s names no field: %s", path, w.offer(x))
	case word == pathCancel || word == pathAt:
		if rest != "" {
			return target{}, refusef("%s: %s is one value, and %q is not in it", path, word, rest)
		}
		return target{x: x, special: word}, nil
	}
	return w.field(path, x, word, rest)
}

// named iterates over the crossings that a path may name: calls by the path of their seam, and
// waits for a gate by the name in a transcript, such as gate1.
func (w *whatIf) named(give func(name string, x *adk.Crossing) bool) {
	gates := map[string]string{}
	for _, x := range w.edited.Lines {
		name := x.Seam.String()
		if wire.AsksForGate(x) {
			gates[x.Name] = cmp.Or(gates[x.Name], fmt.Sprint("gate", len(gates)+1))
			name = gates[x.Name]
		} else if x.Kind != adk.KindCall {
			continue
		}
		if !give(name, x) {
			return
		}
	}
}

// crossing finds the crossing with whose number or name a path begins.
func (w *whatIf) crossing(path string) (x *adk.Crossing, rest string, err error) {
	if n := strings.IndexFunc(path+".", func(r rune) bool { return r < '0' || r > '9' }); n > 0 {
		number, err := strconv.Atoi(path[:n])
		if last := len(w.edited.Lines); err != nil || number < 1 || number > last {
			return nil, "", refusef("%s: there is no crossing %s: the trace has 1 to %d", path, path[:n], last)
		}
		return w.edited.Lines[number-1], path[n:], nil
	}
	found := ""
	var calls []*adk.Crossing
	for name, x := range w.named {
		if len(name) < len(found) || path != name && !strings.HasPrefix(path, name+".") {
			continue
		}
		if name != found {
			found, calls = name, nil
		}
		calls = append(calls, x)
	}
	switch len(calls) {
	case 0:
		return nil, "", refusef("%s begins neither with the number of a crossing nor with a seam that was called, or a gate: those are %s", path, strings.Join(w.names(), ", "))
	case 1:
		return calls[0], path[len(found):], nil
	}
	return nil, "", refusef("%s: %s is there %d times: give the number of the crossing, which is one of %s", path, found, len(calls), safetext.List(calls, numberOf))
}

func numberOf(x *adk.Crossing) string { return strconv.Itoa(x.Seq) }

// mostNames is how many names an error lists.
const mostNames = 20

// names returns the names with which a path may begin.
func (w *whatIf) names() (all []string) {
	for name := range w.named {
		if !slices.Contains(all, name) {
			if len(all) == mostNames {
				return append(all, "…")
			}
			all = append(all, name)
		}
	}
	return all
}

// field finds a field by its word, in the crossing or in what belongs to it.
func (w *whatIf) field(path string, x *adk.Crossing, word, rest string) (target, error) {
	var there []target
	why := ""
	for _, at := range w.belonging(x) {
		for _, use := range at.Kind.Fields(at.Phase) {
			// The input of a call is not its error, even if the input is an error.
			if use.Label != word && !(word == pathError && isError(use.Field) && at.Kind != adk.KindCall) {
				continue
			}
			reason := w.unsettable(at, use)
			if reason == "" {
				there = append(there, target{x: at, use: use, rest: rest})
			} else if why == "" {
				why = reason
			}
		}
		if len(there) > 0 && at == x {
			break // the crossing itself comes first
		}
	}
	switch {
	case len(there) == 1:
		return there[0], nil
	case len(there) > 1:
		return target{}, refusef("%s: several crossings have that: give the number of one of %s", path,
			safetext.List(there, func(t target) string { return fmt.Sprintf("%d (%s)", t.x.Seq, w.line(t.x)) }))
	case why != "":
		return target{}, refusef("%s: %s; %s", path, why, w.offer(x))
	}
	return target{}, refusef("%s: crossing %d (%s) has no %s; %s", path, x.Seq, w.line(x), safetext.PlainName(word), w.offer(x))
}

func isError(f adk.Field) bool { return f == adk.FieldErr || f == adk.FieldCause }

// line returns how a transcript shows a recorded crossing.
func (w *whatIf) line(x *adk.Crossing) string {
	return w.recorded.Line(w.recorded.Lines[x.Seq-1])
}

// belonging returns a crossing and what belongs to it: its other line, the returns of the calls
// that it led to, and the settlements of the gate that it waits for.
func (w *whatIf) belonging(x *adk.Crossing) []*adk.Crossing {
	all := []*adk.Crossing{x}
	add := func(others ...*adk.Crossing) {
		for _, other := range others {
			if other != nil && other != x {
				all = append(all, other)
			}
		}
	}
	if x.Kind.Class() == adk.ClassCall {
		if c := w.edited.Calls[x.ID]; c != nil { // a damaged trace may lack it
			add(c.Begin, c.Return)
		}
		return all
	}
	s := w.edited.StepOf(x)
	if s == nil {
		return all
	}
	add(s.X, s.Done)
	for _, c := range s.Calls {
		add(c.Return)
	}
	for _, note := range s.Notes {
		if wire.IsSettlement(note) {
			add(note)
		}
	}
	return all
}

// unsettable says why a field cannot be set. It returns "" if the field can be set.
func (w *whatIf) unsettable(x *adk.Crossing, use adk.FieldUse) string {
	switch seam := w.recorded.SeamOf(x); {
	case x.Kind == adk.KindCall && x.Call != 0:
		return fmt.Sprintf("what %s is handed is the engine's own", seam)
	case x.Kind == adk.KindReturn && wire.ByEngine(seam):
		return fmt.Sprintf("how the %s ended is the engine's own", seam)
	case !use.Input || wire.IsMisuse(x):
		return fmt.Sprintf("%s of %s is the engine's own", use.Label, compare.KindText(x))
	case w.saidLive(x, use.Field):
		return "that is said by live code"
	case saysWhich(use):
		return fmt.Sprintf("%s says which %s it is, and not what it was given", use.Label, x.Kind)
	case wire.IsCancel(x) && (x.Key != wire.OutsideCancel || use.Field == adk.FieldKey):
		return "who cancels is a crossing of its own"
	case wire.IsSettlement(x) && !stub.IsOutside(x):
		return "the engine settled the gate, and nobody outside"
	case x.Kind.Class() == adk.ClassCall && !wire.Gives(seam, use.Field):
		return fmt.Sprintf("%s gives no %s", seam, use.Label)
	}
	return ""
}

// saysWhich reports whether a field identifies what a crossing is about. With another value, it
// would be another crossing and not another answer.
func saysWhich(use adk.FieldUse) bool {
	switch use.Field {
	case adk.FieldCollection, adk.FieldSeams, adk.FieldID:
		return true
	}
	return use.Names == adk.GateID || use.Names == adk.CodeName
}

// saidLive reports whether live code determines a field of a crossing.
func (w *whatIf) saidLive(x *adk.Crossing, f adk.Field) bool {
	switch {
	case x.Kind == adk.KindCall:
		return x.Seam.Label == adk.LabelRun && w.takesInput(f)
	case wire.IsSettlement(x):
		return again.SettlesGates(w.live)
	case x.Kind == adk.KindReturn || x.Kind.Class() == adk.ClassOperation:
		return w.edited.Calls[wire.CallOf(x)].IsUnder(w.isLive)
	}
	return false
}

// isLive reports whether a seam is live.
func (w *whatIf) isLive(seam adk.Seam) bool { return w.live.Takes(seam.Label + "/" + seam.Name) }

// takesInput reports whether a part of a run's input is live.
func (w *whatIf) takesInput(f adk.Field) bool {
	switch f {
	case adk.FieldText, adk.FieldTexts:
		return w.live.Takes(replay.Prompt)
	case adk.FieldValue:
		return w.live.Takes(replay.Stash)
	case adk.FieldRecords:
		return w.live.Takes(replay.Tools)
	}
	return false
}

// offer says what can be set of a crossing and of what belongs to it. If that is nothing, it names
// the nearest crossing of which something can be set.
func (w *whatIf) offer(x *adk.Crossing) string {
	if can := w.choices(x); len(can) > 0 {
		return "what can be set is " + strings.Join(can, ", ")
	}
	for far := 1; far < len(w.edited.Lines); far++ {
		for _, n := range []int{x.Seq - far, x.Seq + far} {
			if n < 1 || n > len(w.edited.Lines) {
				continue
			}
			if can := w.choices(w.edited.Lines[n-1]); len(can) > 0 {
				return fmt.Sprintf("nothing of crossing %d (%s) can be set; the nearest that can is %s", x.Seq, w.line(x), strings.Join(can, ", "))
			}
		}
	}
	return "nothing of this trace can be set"
}

// choices returns the paths that can be set of a crossing and of what belongs to it.
func (w *whatIf) choices(x *adk.Crossing) (paths []string) {
	for _, at := range w.belonging(x) {
		for _, use := range at.Kind.Fields(at.Phase) {
			if w.unsettable(at, use) == "" {
				paths = append(paths, fmt.Sprintf("%d.%s", at.Seq, use.Label))
			}
		}
	}
	return paths
}

// Paths within a field.

// firstWord splits off the first word of a path: the longest one that is a member, or else the text
// before the next dot or bracket.
func firstWord(path string, has func(string) bool) (word, rest string) {
	path = strings.TrimPrefix(path, ".")
	if inner, bracketed := strings.CutPrefix(path, "["); bracketed {
		word, rest, _ := strings.Cut(inner, "]")
		return word, rest
	}
	ends := []int{len(path)}
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			ends = append(ends, i)
		}
	}
	for _, end := range ends {
		if has(path[:end]) {
			return path[:end], path[end:]
		}
	}
	shortest := ends[len(ends)-1]
	return path[:shortest], path[shortest:]
}

package oracle

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/turn"
)

// mispaired finds results that were assigned to the wrong questions. Only an answer came late, or
// strands went on in another order; and a tool returned its usual words in other combinations, or
// the results of several calls are kept with the wrong calls. It is silent if there are other
// words, and if only lines, or elements of lists, come in another order, numbered or not: code may
// return them as they arrive.
func mispaired(r, undisturbed *Run) (found []exhibit) {
	if len(r.Faults) == 0 && !r.Reordered || r.cancelled > 0 || r.status != undisturbed.status || slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Kind != turn.AskSlow }) {
		return nil
	}
	usual := undisturbed.toolResults()
	for what, mine := range r.toolResults() {
		if theirs := usual[what]; len(mine) == 1 && len(theirs) == 1 && isRecombined(Text(mine[0].Result), Text(theirs[0].Result)) {
			found = append(found, r.exhibit(mine[0], "%s gives the usual words, and not together as usual\n%s is what it gives here, and %s usually",
				r.calls[mine[0].ID].seam, safetext.Said(Text(mine[0].Result), longestClip), safetext.Said(Text(theirs[0].Result), longestClip)))
		}
	}
	if x := r.keptOfAnother(undisturbed); x != nil {
		call := x.Record.(*adk.ToolCall)
		found = append(found, r.exhibit(x, "the result of another call is kept with a call of %s\nwith the arguments %s it is %s", call.Tool(), safetext.Arguments(call.Args()), safetext.Said(saidOf(call.Results()), longestClip)))
	}
	slices.SortFunc(found, func(a, b exhibit) int { return a.at - b.at })
	return found
}

// toolResults returns the returns of tools that succeeded, by tool and arguments.
func (r *Run) toolResults() map[string][]*adk.Crossing {
	all, asked := map[string][]*adk.Crossing{}, map[int]string{}
	for i := range r.Crossings {
		switch x := &r.Crossings[i]; {
		case x.Kind == adk.KindCall && x.Seam.Label == adk.LabelTool:
			asked[x.ID] = x.Seam.Name + " " + argumentsOf(x)
		case x.Kind == adk.KindReturn && asked[x.ID] != "" && x.Outcome == adk.OutcomeOK:
			all[asked[x.ID]] = append(all[asked[x.ID]], x)
		}
	}
	return all
}

// keptOfAnother returns a write of a tool call with a result that belongs to another call in the
// undisturbed run, if both runs keep the same results of the same calls; nil if there is none.
func (r *Run) keptOfAnother(undisturbed *Run) (first *adk.Crossing) {
	mine, usual := r.keptCalls(), undisturbed.keptCalls()
	var ours, theirs []string
	for what, x := range usual {
		if mine[what] == nil || len(mine) != len(usual) {
			return nil
		}
		here, there := saidOf(mine[what].Record.(*adk.ToolCall).Results()), saidOf(x.Record.(*adk.ToolCall).Results())
		if here != there && (first == nil || mine[what].Seq < first.Seq) {
			first = mine[what]
		}
		ours, theirs = append(ours, here), append(theirs, there)
	}
	if !isPermuted(ours, theirs) {
		return nil
	}
	return first
}

// keptCalls returns the last writes of tool calls with a result, by checksum; nil if two calls have
// the same checksum.
func (r *Run) keptCalls() map[string]*adk.Crossing {
	all, keys := map[string]*adk.Crossing{}, map[string]string{}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		call, ok := x.Record.(*adk.ToolCall)
		if !ok || x.Phase != adk.Begin || x.Kind != adk.KindStore && x.Kind != adk.KindMutate || call.Results() == nil {
			continue
		}
		what := call.Checksum()
		if key, known := keys[what]; known && key != call.Key() {
			return nil
		}
		all[what], keys[what] = x, call.Key()
	}
	return all
}

// isRecombined reports whether a text has the same words as another, but not in the same lines; or
// as JSON the same names and values, but not in the same objects.
func isRecombined(text, than string) bool {
	if text == than {
		return false
	}
	mine, usual := partsOf(text), partsOf(than)
	return isPermuted(mine.words, usual.words) && (!isPermuted(mine.members, usual.members) || !isPermuted(mine.units, usual.units))
}

// isPermuted reports whether two lists have the same elements.
func isPermuted(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// parts are the components of a text: its words, its pairs of a member and a value, and what is
// together in a line or an object.
type parts struct{ words, members, units []string }

func partsOf(text string) (p parts) {
	var tree any
	if json.Unmarshal([]byte(text), &tree) == nil {
		p.addTree("", tree)
		return p
	}
	for line := range strings.Lines(text) {
		p.words = append(p.words, strings.Fields(line)...)
		p.units = append(p.units, number.ReplaceAllString(strings.TrimSpace(line), ""))
	}
	if len(p.units) == 1 { // within one line it is unknown what belongs together
		p.units = nil
	}
	return p
}

// number matches the number of a line, or of the worker that wrote it: which of several workers did
// something is nondeterministic.
var number = regexp.MustCompile(`^(?:[\[(#]?\d+[\]).:]*|\pL+ #?\d+[\]).:]+)\s+`)

func (p *parts) addTree(name string, tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		var flat []string
		for name, member := range tree {
			p.words = append(p.words, name)
			switch member.(type) {
			case map[string]any, []any:
			default:
				flat = append(flat, fmt.Sprintf("%s=%v", name, member))
			}
			p.addTree(name, member)
		}
		slices.Sort(flat)
		p.units = append(p.units, strings.Join(flat, "\n"))
	case []any:
		for _, element := range tree {
			p.addTree(name, element)
		}
	default:
		value := fmt.Sprint(tree)
		p.words = append(p.words, value)
		p.members = append(p.members, name+"="+value)
	}
}

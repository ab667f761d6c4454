package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// WriteTo writes the state for a person, with the names m1, call1 that the
// transcript of the trace has. Nothing of a text can reach the terminal that
// prints it.
func (s *State) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, s.String())
	return int64(n), err
}

// String is the text that WriteTo writes.
func (s *State) String() string {
	t := &stateText{names: s.names}
	t.line(0, fmt.Sprintf("after crossing %d of %d, %s into the turn, in %s", s.Crossing, s.Crossings, lasting(s.At), bare(s.Seam)))
	t.line(1, s.Line)
	if s.Cancelled {
		t.line(1, "the run is cancelled")
	}
	t.calls(s.Calls)
	if s.Turn != nil {
		t.section("turn", s.Turn)
	}
	for i := range s.Dispatches {
		t.section("dispatch", &s.Dispatches[i])
	}
	t.gates(s.Gates)
	return t.String()
}

// stateText writes the text of a state.
type stateText struct {
	strings.Builder
	names *namer
}

func (t *stateText) line(depth int, text string) {
	t.WriteString(strings.Repeat(indent, depth))
	t.WriteString(text)
	t.WriteByte('\n')
}

// calls writes the call stack: what was called below what called it.
func (t *stateText) calls(open []OpenCall) {
	t.line(0, "")
	t.line(0, "open calls")
	if len(open) == 0 {
		t.line(1, "none")
	}
	depths := map[int]int{}
	for _, c := range open {
		depth := depths[c.In] + 1
		depths[c.Call] = depth
		words := seamPath(c.Seam)
		if c.Strand != 0 {
			words += " as " + strandName(c.Strand)
		}
		if len(c.Operations) > 0 {
			words += ": " + strings.Join(c.Operations, "; ")
		}
		t.line(min(depth, deepest), words+"  since "+strconv.Itoa(c.Since))
	}
}

// seamPath is a path in words that are safe to print.
func seamPath(path string) string {
	if seam, err := adk.ParseSeam(path); err == nil {
		return seamWords(seam)
	}
	return quoted(path)
}

// section writes what a context holds.
func (t *stateText) section(kind string, h *HeldContext) {
	t.line(0, "")
	t.line(0, t.title(kind, h))
	t.line(1, "prompt "+quoted(h.Prompt))
	for _, set := range []struct {
		of  adk.CollectionName
		all []adk.Record
	}{
		{adk.Instructions, h.Instructions}, {adk.Messages, h.Messages}, {adk.Memories, h.Memories}, {adk.Retrievables, h.Retrievables},
		{adk.Thoughts, h.Thoughts}, {adk.ToolCalls, h.ToolCalls}, {adk.Tools, h.Tools},
	} {
		t.records(collectionWords[set.of][1], set.all)
	}
	t.stash(h.Stash)
	t.streams(h.Streams)
	if h.Waiting > 0 {
		t.line(1, counted(h.Waiting, "change")+" waiting for the flush")
	}
}

func (t *stateText) title(kind string, h *HeldContext) string {
	space := kind
	words := kind
	if h.ID != "" {
		words = t.names.name(space, h.ID) + " " + plainName(h.ID)
	}
	if kind == spaceTurn {
		return words
	}
	words += ", " + seamPath(h.Seam)
	if h.Iterations > 0 {
		words += ", iteration " + strconv.Itoa(h.Iteration)
	}
	if h.Signal != "" {
		words += ", has its " + plainName(h.Signal)
	}
	return words
}

// records writes a set: the name that the transcript has, the id, and what is in
// the record.
func (t *stateText) records(what string, all []adk.Record) {
	if len(all) == 0 {
		return
	}
	t.line(1, what)
	for _, record := range all {
		words := t.names.alias(record) + " "
		if keyedByID(record) {
			words += plainName(record.Key()) + " "
		}
		t.line(2, words+t.names.content(record))
	}
}

// stash writes the leaves with their paths, sorted.
func (t *stateText) stash(tree HeldStash) {
	if len(tree) == 0 {
		return
	}
	t.line(1, "stash")
	t.leaves("", tree)
}

func (t *stateText) leaves(above string, tree map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		path := above + name
		if branch, ok := tree[name].(map[string]any); ok && len(branch) > 0 {
			t.leaves(path+".", branch)
			continue
		}
		t.line(2, plainName(path)+" = "+plainData(tree[name]))
	}
}

func (t *stateText) streams(all []HeldStream) {
	if len(all) == 0 {
		return
	}
	t.line(1, "streams")
	spaces := map[string]string{string(adk.RecordMessage): spaceMessage, string(adk.RecordThought): spaceThought, string(adk.RecordToolCall): spaceToolCall}
	for _, s := range all {
		words := t.names.name(spaces[s.Kind], s.ID) + " " + plainName(s.ID)
		if s.Sealed {
			words += " sealed"
		} else {
			words += " open"
		}
		switch {
		case s.Kind != string(adk.RecordToolCall):
			words += " " + quoted(s.Text)
		case s.Args == nil:
			words += " " + plainName(s.Tool)
		default:
			words += " " + plainName(s.Tool) + " " + arguments(s.Args)
		}
		t.line(2, words)
	}
}

func (t *stateText) gates(open []OpenGate) {
	if len(open) == 0 {
		return
	}
	t.line(0, "")
	t.line(0, "gates")
	for _, g := range open {
		words := t.names.name(spaceGate, g.ID) + " " + plainName(g.ID) + " " + quoted(g.Reason)
		if g.Result == "" {
			words += " open"
		} else {
			words += " " + plainName(g.Result)
		}
		t.line(1, words+", in "+seamPath(g.Seam)+"  since "+strconv.Itoa(g.Since))
	}
}

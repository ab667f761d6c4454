package transcript

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// WriteTo writes the state for a person, with the names m1, call1 of the trace's transcript. All
// text is escaped, so that it cannot control the terminal that prints it.
func (s *State) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, s.String())
	return int64(n), err
}

// passedWords says how much time passed since the beginning of the turn. It returns "" if none did.
func passedWords(passed time.Duration) string {
	if passed == 0 {
		return ""
	}
	return ", " + safetext.Into(passed)
}

// String returns the text that WriteTo writes.
func (s *State) String() string {
	t := &stateText{names: s.names}
	t.line(0, fmt.Sprintf("after crossing %d of %d%s, in %s", s.Crossing, s.Crossings, passedWords(s.At), safetext.Bare(s.Seam)))
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

// stateText builds the text of a state.
type stateText struct {
	strings.Builder
	names *describe.Namer
}

func (t *stateText) line(depth int, text string) {
	t.WriteString(strings.Repeat(describe.Indent, depth))
	t.WriteString(text)
	t.WriteByte('\n')
}

// calls writes the call stack, with each call below its caller.
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
			words += " as " + describe.StrandName(c.Strand)
		}
		if len(c.Operations) > 0 {
			words += ": " + strings.Join(c.Operations, "; ")
		}
		t.line(min(depth, describe.Deepest), words+"  since "+strconv.Itoa(c.Since))
	}
}

// seamPath returns a seam path in words that are safe to print.
func seamPath(path string) string {
	if seam, err := adk.ParseSeam(path); err == nil {
		return describe.SeamWords(seam)
	}
	return safetext.Quoted(path)
}

// section writes what a context holds.
func (t *stateText) section(kind string, h *HeldContext) {
	t.line(0, "")
	t.line(0, t.title(kind, h))
	t.line(1, "prompt "+safetext.Quoted(h.Prompt))
	for of, records := range h.sets() {
		words, _ := describe.CollectionWords(of)
		t.records(words, *records)
	}
	t.stash(h.Stash)
	t.streams(h.Streams)
	if h.Waiting > 0 {
		t.line(1, safetext.Counted(h.Waiting, "change")+" waiting for the flush")
	}
}

func (t *stateText) title(kind string, h *HeldContext) string {
	space := kind
	words := kind
	if h.ID != "" {
		words = t.names.Name(space, h.ID) + " " + safetext.PlainName(h.ID)
	}
	if kind == state.SpaceTurn {
		return words
	}
	words += ", " + seamPath(h.Seam)
	if h.Iterations > 0 {
		words += ", iteration " + strconv.Itoa(h.Iteration)
	}
	if h.Signal != "" {
		words += ", has its " + safetext.PlainName(h.Signal)
	}
	return words
}

// records writes a set. Each record has its name in the transcript, its id and its content.
func (t *stateText) records(what string, all []adk.Record) {
	if len(all) == 0 {
		return
	}
	t.line(1, what)
	for _, record := range all {
		words := t.names.Alias(record) + " "
		if wire.KeyedByID(record) {
			words += safetext.PlainName(record.Key()) + " "
		}
		t.line(2, words+t.names.Content(record))
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
		t.line(2, safetext.PlainName(path)+" = "+safetext.PlainData(tree[name]))
	}
}

func (t *stateText) streams(all []HeldStream) {
	if len(all) == 0 {
		return
	}
	t.line(1, "streams")
	spaces := map[string]string{string(adk.RecordMessage): state.SpaceMessage, string(adk.RecordThought): state.SpaceThought, string(adk.RecordToolCall): state.SpaceToolCall}
	for _, s := range all {
		words := t.names.Name(spaces[s.Kind], s.ID) + " " + safetext.PlainName(s.ID)
		if s.Sealed {
			words += " sealed"
		} else {
			words += " open"
		}
		switch {
		case s.Kind != string(adk.RecordToolCall):
			words += " " + safetext.Quoted(s.Text)
		case s.Args == nil:
			words += " " + safetext.PlainName(s.Tool)
		default:
			words += " " + safetext.PlainName(s.Tool) + " " + safetext.Arguments(s.Args)
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
		words := t.names.Name(state.SpaceGate, g.ID) + " " + safetext.PlainName(g.ID) + " " + safetext.Quoted(g.Reason)
		if g.Result == "" {
			words += " open"
		} else {
			words += " " + safetext.PlainName(g.Result)
		}
		t.line(1, words+", in "+seamPath(g.Seam)+"  since "+strconv.Itoa(g.Since))
	}
}

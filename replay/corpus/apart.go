package corpus

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
)

// This file describes independent differences in the traces that a cause affects. A report shows
// the divergence of only one of these traces, and a regression may be in another.

// gatherApart collects the independent differences in the traces of a cause, each once, and how
// their turns end. If the cause is not of class Unanswered but the divergence of a trace is, the
// unanswered request is such a difference: no recorded turn asked it there, and it may be a write.
func (c *CauseReport) gatherApart(reports map[string]*TraceReport) {
	c.Apart, c.Ends = nil, ""
	ends, order := map[string]int{}, []string{}
	add := func(a replay.Apart, name string) {
		at := slices.IndexFunc(c.Apart, func(other ApartReport) bool { return other.What == a.What })
		if at < 0 {
			at, c.Apart = len(c.Apart), append(c.Apart, ApartReport{Apart: a})
		}
		if !slices.Contains(c.Apart[at].Traces, name) {
			c.Apart[at].Traces = append(c.Apart[at].Traces, name)
		}
	}
	for _, name := range c.Traces {
		if of := reports[name].Cause; of.Class == replay.Unanswered && c.Class != replay.Unanswered {
			add(replay.Apart{What: fmt.Sprintf("%s in %s: %s", of.Class, of.Seam, of.Kind), Crossing: reports[name].Divergence.Crossing}, name)
		}
		after := reports[name].Divergence.After
		if after == nil {
			continue
		}
		if ends[after.Ends]++; ends[after.Ends] == 1 {
			order = append(order, after.Ends)
		}
		for _, a := range after.Apart {
			add(a, name)
		}
	}
	if len(order) < 2 {
		return
	}
	slices.SortStableFunc(order, func(a, b string) int { return ends[b] - ends[a] })
	c.Ends = safetext.List(order, func(end string) string {
		said := cmp.Or(end, "nobody knows how")
		return fmt.Sprintf("%s in %s", safetext.Bare(said), safetext.Counted(ends[end], "trace"))
	})
}

// isApartSaid reports whether the independent differences are listed for all traces together. For a
// single trace, the report of the trace may be enough.
func (c *CauseReport) isApartSaid() bool {
	return len(c.Apart) > 0 && (len(c.Traces) > 1 || len(c.Apart) > 1 || len(c.Apart[0].Shown) > 0)
}

// afterOfFirst returns the impact of the divergence that is shown. If the turns of the traces do
// not all end in the same way, the impact says how all of them end. Unless withCauses is set, it
// omits the independent differences, which are then listed for all traces.
func (c *CauseReport) afterOfFirst(withCauses bool) *replay.Impact {
	if c.First.Divergence.After == nil {
		return nil
	}
	after := *c.First.Divergence.After
	if len(c.Traces) > 1 {
		after.Of = path.Base(c.First.Trace)
	}
	if c.Ends != "" {
		after.Ends = c.Ends
	}
	if !withCauses {
		after.Causes = nil
	}
	return &after
}

// apartLines returns a paragraph about the independent differences.
func (c *CauseReport) apartLines() string {
	var b strings.Builder
	b.WriteString("  besides, on their own:\n")
	for _, a := range c.Apart[:min(len(c.Apart), mostEntries)] {
		at := fmt.Sprintf("at crossing %d", a.Crossing)
		if len(a.Traces) > 1 {
			at += " of the first"
		}
		text := safetext.Bare(a.What) + ", " + at
		if len(c.Traces) > 1 {
			text += ", in " + namesOf(a.Traces)
		}
		fmt.Fprintf(&b, "    %s\n", safetext.Wrapped(text, width-len("    "), "        "))
		for _, line := range a.Shown {
			fmt.Fprintf(&b, "      %s\n", safetext.Line(line))
		}
	}
	if more := len(c.Apart) - mostEntries; more > 0 {
		fmt.Fprintf(&b, "    and %d more: the JSON has them\n", more)
	}
	return b.String()
}

// onItsOwn describes the independent differences in a trace, one line each.
func (t *TraceReport) onItsOwn() (all []string) {
	if t.Divergence.After == nil {
		return nil
	}
	for _, a := range t.Divergence.After.Apart {
		if text := "besides, on its own: " + safetext.Bare(a.What); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// shown describes the divergence of a trace, with all independent differences, to a person who
// accepts it.
func (t *TraceReport) shown() string {
	d := *t.Divergence
	one := &CauseReport{Cause: *t.Cause, Traces: []string{t.Trace}, First: t}
	one.gatherApart(map[string]*TraceReport{t.Trace: t})
	apart := one.isApartSaid()
	d.After = one.afterOfFirst(!apart)
	if !apart {
		return d.String()
	}
	return d.String() + safetext.Lines(one.apartLines())
}

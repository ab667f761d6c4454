package corpus

import "github.com/adkreplay/adkreplay/replay"

// CountCauses counts the causes of divergences of as many traces.
func CountCauses(all []*replay.Divergence) int {
	r := &Report{}
	for _, d := range all {
		r.add(&TraceReport{Number: len(r.Traces) + 1, Report: replay.Report{Divergence: d}, Cause: newCause(d)})
	}
	return len(Regrouped(r).Causes)
}

// Regrouped is the report with its causes found anew.
func Regrouped(r *Report) *Report {
	r.group()
	return r
}

// CauseOf is the cause of a divergence.
func CauseOf(d *replay.Divergence) *Cause { return newCause(d) }

// EndsOf is how the turns of traces end that one cause hits.
func EndsOf(ends ...string) string {
	c, reports := &CauseReport{}, map[string]*TraceReport{}
	for i, end := range ends {
		name := string(rune('a' + i))
		c.Traces = append(c.Traces, name)
		reports[name] = &TraceReport{Cause: &Cause{}, Report: replay.Report{Divergence: &replay.Divergence{After: &replay.Impact{Ends: end}}}}
	}
	c.gatherApart(reports)
	return c.Ends
}

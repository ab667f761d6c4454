package corpus

import "github.com/adkreplay/adkreplay/replay"

// CountCauses returns the number of causes of these divergences, one for each trace.
func CountCauses(all []*replay.Divergence) int {
	r := &Report{}
	for _, d := range all {
		r.add(&TraceReport{Number: len(r.Traces) + 1, Report: replay.Report{Divergence: d}, Cause: newCause(d)})
	}
	return len(Regrouped(r).Causes)
}

// Regrouped returns the report with its causes computed anew.
func Regrouped(r *Report) *Report {
	r.group()
	return r
}

// CauseOf is the cause of a divergence.
func CauseOf(d *replay.Divergence) *Cause { return newCause(d) }

// EndsOf says how the turns of the traces of one cause end.
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

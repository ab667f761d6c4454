package replay

// CountCauses counts the causes of divergences of as many traces.
func CountCauses(all []*Divergence) int {
	r := &CorpusReport{}
	for _, d := range all {
		r.add(&TraceReport{Number: len(r.Traces) + 1, Report: Report{Divergence: d}, Cause: newCause(d)})
	}
	return len(Regrouped(r).Causes)
}

// Regrouped is the report with its causes found anew.
func Regrouped(r *CorpusReport) *CorpusReport {
	r.group()
	return r
}

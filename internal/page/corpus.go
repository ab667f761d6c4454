package page

import (
	"io"
	"slices"

	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// OfCorpus returns the page of a verification of many traces. The traces with a cause come first,
// so that they are included if not all can be, and unchanged traces come last. A source that cannot
// be opened again has no Open.
func OfCorpus(title string, report *corpus.Report, sources []corpus.Source, reading trace.Options) *Page {
	open := map[string]func() (io.ReadCloser, error){}
	for _, source := range sources {
		open[source.Name] = source.Open
	}
	p := &Page{Title: title, Verified: report, Reading: reading}
	listed := map[string]bool{}
	list := func(name string) {
		if !listed[name] {
			listed[name] = true
			p.Sources = append(p.Sources, Source{name, open[name]})
		}
	}
	for _, cause := range report.Causes { // one trace of each cause before the second of any
		if len(cause.Traces) > 0 {
			list(cause.Traces[0])
		}
	}
	for rank := range 3 {
		for _, t := range report.Traces {
			if rank == rankOf(t) {
				list(t.Trace)
			}
		}
	}
	return p
}

// rankOf returns the rank of a trace: first those that differ, then those that cannot be read, then
// the rest.
func rankOf(t *corpus.TraceReport) int {
	return slices.Index([]bool{t.Divergence != nil, t.Error != "", true}, true)
}

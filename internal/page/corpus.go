package page

import (
	"io"
	"slices"

	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// OfCorpus is the page of what a verification of many traces found. The traces of a cause
// come first, so that they are held where not all can be, and those that are as they were
// recorded last. A source that cannot be opened again has no Open.
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
	for _, cause := range report.Causes { // one of each before the second of any
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

// rankOf says what a reader looks at first: what differs, what cannot be read, and the rest.
func rankOf(t *corpus.TraceReport) int {
	return slices.Index([]bool{t.Divergence != nil, t.Error != "", true}, true)
}

package replay

import (
	"io"
	"sync/atomic"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/internal/outlet"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// This file has what a recorder needs in production: layers between it and the disk that keep a
// trace from growing too large and a slow disk from delaying the turn.

// OneIn records every n-th run, the first one included, as RecordOptions.Sample asks.
// An n below 2 records every run.
func OneIn(n int) func(adk.RunInfo) bool {
	var runs atomic.Uint64
	return func(adk.RunInfo) bool {
		run := runs.Add(1) - 1
		return n < 2 || run%uint64(n) == 0
	}
}

// layered wraps the writer of a run in the layers that the options ask for.
func (r *Recorder) layered(out io.WriteCloser) io.WriteCloser {
	if r.options.Buffer > 0 {
		out = r.startBehind(out)
	}
	if r.options.Compress {
		out = trace.NewCompressor(out)
	}
	if most := r.options.maxBytes(); most > 0 {
		out = outlet.Capped(out, most)
	}
	return out
}

// maxBytes is the longest trace in bytes; zero is no limit.
func (o RecordOptions) maxBytes() int64 {
	if o.MaxBytes <= 0 && o.Compress {
		return trace.DefaultMaxUnpacked
	}
	return o.MaxBytes
}

// startBehind starts the goroutine that writes a run.
func (r *Recorder) startBehind(out io.WriteCloser) io.WriteCloser {
	q := outlet.NewQueue(out, r.options.Buffer, r.failed)
	r.behind.Go(q.Run)
	return q
}

// Wait blocks until everything that RecordOptions.Buffer holds back of runs that have ended is
// written and their writers are closed. If a writer never returns, Wait blocks for ever.
func (r *Recorder) Wait() { r.behind.Wait() }

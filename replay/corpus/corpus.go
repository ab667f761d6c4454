package corpus

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/internal/written"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Source is one trace of a corpus: a file, an embedded file, or a part of an archive. It is not
// opened before it is read.
type Source struct {
	// Name identifies the trace in reports. It is the path of the file, if there is one.
	Name string
	// Size is the size in bytes, which is used to cut shards; zero if it is unknown.
	Size int64
	// Open opens the trace. It is called once, from any goroutine.
	Open func() (io.ReadCloser, error)
}

// Ending is the file name extension of traces. Compressed traces have .zst after it.
const Ending = ".jsonl"

const packedEnding = ".zst"

// IsTrace reports whether the name of a file is that of a trace.
func IsTrace(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, packedEnding), Ending)
}

var errNames = errors.New("the names of traces end in " + Ending + " or " + Ending + packedEnding)

// Sources returns the traces in a file system: all files, at any depth, whose names end in .jsonl
// or .jsonl.zst, in the order of their paths. Use os.DirFS for a folder; embedded files and zip
// archives are file systems already.
//
// A trace that is silently skipped would count as verified. So Sources returns an error if there
// are no traces. It also lists, as sources that fail with the reason when they are opened: entries
// that cannot be listed, files whose names are almost those of traces, such as a.jsonl.gz, links to
// folders, which are not followed, and pipes, sockets and devices, which are not opened. Files
// whose names begin with a dot are skipped if they are not traces, since editors write them.
func Sources(fsys fs.FS) ([]Source, error) {
	var found []Source
	unread := func(name string, err error) {
		found = append(found, Source{Name: name, Open: func() (io.ReadCloser, error) { return nil, err }})
	}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			unread(name, err)
		case entry.IsDir():
		case IsTrace(name):
			source := Source{Name: name, Open: func() (io.ReadCloser, error) { return openRegular(fsys, name) }}
			if info, err := fs.Stat(fsys, name); err == nil { // otherwise Open returns the error
				source.Size = info.Size()
			}
			found = append(found, source)
		default:
			if err := passedOver(fsys, name, entry); err != nil {
				unread(name, err)
			}
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no trace: %w", errNames)
	}
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	return found, nil
}

// openRegular opens a file of a folder. It does not open a pipe, a socket or a device, because that
// may block forever or have effects.
func openRegular(fsys fs.FS, name string) (io.ReadCloser, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case !fs.ValidPath(name):
		return nil, errors.New("its name is not UTF-8, and no folder gives such a file: give it by its own name, or another name to it")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() && !info.IsDir():
		return nil, fmt.Errorf("this is no file but %s, which is not opened: give it by its own name to read it", kindOf(info.Mode()))
	}
	return fsys.Open(name)
}

// kindOf names what there is in place of a regular file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// passedOver returns an error for an entry that is not a trace but looks like one, or like a folder
// of traces. It returns nil for other entries.
func passedOver(fsys fs.FS, name string, entry fs.DirEntry) error {
	base := strings.ToLower(entry.Name())
	if strings.Contains(base, Ending) && !strings.HasPrefix(base, ".") && !strings.HasSuffix(base, ReasonEnding) {
		if strings.HasSuffix(base, ".gz") {
			return fmt.Errorf("this is not read as a trace: it is gzip by its name, and %w; unpack it, or compress it with zstd", errNames)
		}
		return fmt.Errorf("this is not read as a trace: %w; rename it, or keep it elsewhere", errNames)
	}
	if entry.Type()&fs.ModeSymlink == 0 {
		return nil
	}
	if behind, err := fs.Stat(fsys, name); err == nil && behind.IsDir() {
		return errors.New("this is a link to a folder, which is not followed: read that folder by itself")
	}
	return nil
}

// Options configure Verify. The zero value verifies all traces, as many concurrently as there are
// processors.
type Options struct {
	// Parallel is how many traces are replayed concurrently. Zero means GOMAXPROCS.
	Parallel int
	// Shard is the part of the corpus to verify. Zero means all of it.
	Shard Shard
	// Each is called with the report of each trace, in the order of the sources, as soon as all
	// traces before it are done. This holds for any value of Parallel. It runs on the goroutine
	// that called Verify and must not change the report. It may be nil.
	Each func(*TraceReport)
	// Reading says how the traces are read. Its File is ignored: errors name the source.
	Reading trace.Options
	// Maker is the function that reports name as the code that made what a run is given. Set it if
	// live only calls another function. Nil means live itself.
	Maker any
}

// Verify verifies the traces of a corpus, several concurrently, and groups divergences by cause.
// live returns the live seams for a trace. Verify calls it once per trace, and again each time live
// code is run a second time (replay.Live.Again), from several goroutines concurrently. If live is
// nil, every seam is scripted. If live ends its goroutine, as t.FailNow does, Verify ends its own.
//
// A trace that cannot be read is a result, not an error, and the other traces are still verified.
// An error says that some traces were not verified because ctx ended. The report then holds the
// results so far, and says for which traces live code was abandoned because it did not end
// (replay.Verify). If there are no sources, Verify returns an error and no report, because a check
// of nothing must not pass.
//
// The report does not depend on Parallel. Verify needs one read buffer and one replay for each
// trace in progress. Of a verified trace it keeps only the trace's report, and of a divergence only
// a copy with long values cut. So memory is bounded by Parallel and the largest trace.
func Verify(ctx context.Context, sources []Source, live func(name string) replay.Live, options ...Options) (*Report, error) {
	c := &verification{live: live, options: optional.First(options)}
	if err := c.options.check(); err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, errors.New("replay: there are no traces to verify")
	}
	if live == nil {
		c.live = func(string) replay.Live { return replay.Live{} }
	}
	if c.options.Maker == nil {
		c.options.Maker = c.live
	}
	c.part = c.options.Shard.Of(sources)
	c.sources = sources
	report := newCorpusReport(sources, c.options.Shard)
	c.run(ctx, func(t *TraceReport) {
		report.add(t)
		if c.options.Each != nil {
			c.options.Each(t)
		}
	})
	report.group()
	slices.Sort(c.left)
	if len(report.Traces) < len(c.part) {
		report.Error = fmt.Sprintf("interrupted: %d of %s were verified", len(report.Traces), safetext.Counted(len(c.part), "trace"))
		for _, left := range c.left {
			report.Error += "\n" + left
		}
		return report, fmt.Errorf("replay: %s: %w", report.Error, context.Cause(ctx))
	}
	return report, nil
}

func (o Options) check() error {
	if o.Parallel < 0 {
		return fmt.Errorf("replay: CorpusOptions.Parallel is %d: it is how many traces are replayed at once, or zero", o.Parallel)
	}
	if _, err := wire.NewSentinels(o.Reading.Sentinels, o.Reading.ErrorTypes); err != nil {
		return err
	}
	return o.Shard.check()
}

// verification is a corpus that is being verified.
type verification struct {
	options Options
	live    func(name string) replay.Live
	sources []Source
	part    []int        // the indexes in sources of the traces to verify
	taken   atomic.Int64 // how many of them have been started

	mu   sync.Mutex
	left []string // traces whose live code was abandoned, with what its goroutines do
}

// readBuffer is at least the size of a trace.Reader's buffer, so that the Reader uses this buffer
// instead of its own.
const readBuffer = 64 << 10

// outcome is the result of the i-th trace of the part. panicked is set if user code panicked; both
// fields are empty if user code ended its goroutine.
type outcome struct {
	i        int
	report   *TraceReport
	panicked string
}

// run verifies the part and passes the reports to give in order. After ctx is canceled, it passes
// no more reports; if the deadline of ctx passes, it still passes all finished reports, even if an
// earlier trace was cut short. When run returns, all goroutines that it started have ended, except
// live code that was abandoned.
func (c *verification) run(ctx context.Context, give func(*TraceReport)) {
	work, stop := context.WithCancel(ctx)
	outcomes := make(chan outcome)
	var workers sync.WaitGroup
	defer func() { stop(); workers.Wait() }()
	for range min(c.parallel(), len(c.part)) {
		workers.Go(func() { c.work(work, outcomes) })
	}
	early := map[int]*TraceReport{} // finished before an earlier trace
	for given := 0; given < len(c.part); {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				for _, i := range slices.Sorted(maps.Keys(early)) {
					give(early[i])
				}
			}
			return
		case o := <-outcomes:
			if o.panicked != "" {
				panic(o.panicked)
			}
			if o.report == nil {
				runtime.Goexit()
			}
			early[o.i] = o.report
		}
		for ; early[given] != nil && ctx.Err() == nil; given++ {
			give(early[given])
			delete(early, given)
		}
	}
}

func (c *verification) parallel() int {
	if c.options.Parallel > 0 {
		return c.options.Parallel
	}
	return runtime.GOMAXPROCS(0)
}

// work verifies one trace after another until none is left.
func (c *verification) work(ctx context.Context, outcomes chan<- outcome) {
	buffer := bufio.NewReaderSize(nil, readBuffer) // shared by all its traces
	for ctx.Err() == nil {
		i := int(c.taken.Add(1)) - 1
		if i >= len(c.part) {
			return
		}
		c.attempt(ctx, i, buffer, func(o outcome) {
			if ctx.Err() != nil {
				return // a replay that was cut short gives no result
			}
			select {
			case outcomes <- o:
			case <-ctx.Done():
			}
		})
	}
}

// attempt verifies the i-th trace and passes its outcome to give. The outcome carries a panic of
// the user's functions, or the end of their goroutine, to the goroutine that called Verify.
func (c *verification) attempt(ctx context.Context, i int, buffer *bufio.Reader, give func(outcome)) {
	o := outcome{i: i}
	defer func() {
		if value := recover(); value != nil {
			o.panicked = fmt.Sprintf("%v\n\n%s", value, debug.Stack())
		}
		give(o)
	}()
	at, begun := c.part[i], time.Now()
	report := c.verify(ctx, c.sources[at], buffer)
	report.Number, report.Elapsed = at+1, time.Since(begun)
	o.report = report
}

// verify verifies one trace. An error of the replay becomes the Error of the report.
func (c *verification) verify(ctx context.Context, source Source, buffer *bufio.Reader) *TraceReport {
	t := &TraceReport{Trace: source.Name}
	in, err := source.Open()
	if err != nil {
		t.Error = safetext.OfFile(source.Name, err)
		return t
	}
	defer in.Close()
	reading := c.options.Reading
	reading.File = source.Name
	read := sha256.New()
	buffer.Reset(io.TeeReader(in, read))
	live := c.live(source.Name)
	if live.Again == nil {
		live.Again = func() replay.Live { return c.live(source.Name) }
	}
	report, err := replay.Verify(ctx, buffer, live, reading)
	if behind, ok := errors.AsType[*stub.LeftBehindError](err); ok {
		c.mu.Lock()
		c.left = append(c.left, safetext.OfFile(source.Name, errors.New(behind.Who))) // the report says why it was cut short
		c.mu.Unlock()
	}
	if report != nil {
		t.Report, t.read = *report, hex.EncodeToString(read.Sum(nil))
	}
	if err != nil {
		t.Error, t.Edited = safetext.OfFile(source.Name, err), isEdited(err)
	}
	if t.Divergence != nil {
		if d := t.Divergence; written.ByCaller(d.Place, d.Seam, len(t.Live) > 0 && !d.Scripted) {
			d.Place = codeplace.OfFunc(c.options.Maker).HandedIn()
		}
		t.Cause = newCause(t.Divergence)
		t.Divergence = abridged(t.Divergence)
	}
	return t
}

// isEdited reports whether the error says that a trace was changed after it was written.
func isEdited(err error) bool {
	format, ok := errors.AsType[*trace.FormatError](err)
	return ok && (format.Fault == trace.FaultDigest || format.Fault == trace.FaultCount)
}

// longestKept is how many bytes are kept of one value of a divergence.
const longestKept = 4 << 10

// abridged returns a copy of a divergence that holds no long value, because a field may be as large
// as the trace. It holds no crossing either, except a short request that has no answer.
func abridged(d *replay.Divergence) *replay.Divergence {
	short := *d
	short.Fields, short.Evidence = nil, nil
	if e := d.Evidence; e != nil && d.Class == replay.Unanswered && e.Replayed != nil && len(e.Replayed.JSON) <= longestKept {
		short.Evidence = &replay.Evidence{Replayed: &adk.Crossing{Kind: e.Replayed.Kind, Phase: e.Replayed.Phase, Name: e.Replayed.Name, JSON: e.Replayed.JSON}}
	}
	for _, f := range d.Fields {
		short.Fields = append(short.Fields, replay.FieldDiff{
			Field: f.Field, Want: cutTo(f.Want, longestKept), Got: cutTo(f.Got, longestKept), Input: f.Input, Of: f.Of}) // not a copy of f, which also holds the whole values
	}
	return &short
}

// cutTo keeps the head and the tail of a text that is too long, and adds its length. The result
// does not keep the whole text in memory.
func cutTo(text string, longest int) string {
	head, tail, cut := safetext.Halves(text, longest)
	if !cut {
		return text
	}
	return fmt.Sprintf("%s … %s (%d bytes)", head, tail, len(text))
}

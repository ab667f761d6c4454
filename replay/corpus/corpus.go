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

// Source is one trace of a corpus: a file, an embedded file, a part of an
// archive. Nothing is opened before its turn comes.
type Source struct {
	// Name says which trace it is, in reports: the path of a file, if it has one.
	Name string
	// Size is its size in bytes, by which shards are cut; zero where it is not
	// known.
	Size int64
	// Open opens it. It is called once, from whatever goroutine.
	Open func() (io.ReadCloser, error)
}

// Ending is how the names of traces end, and of compressed ones what goes before .zst.
const Ending = ".jsonl"

const packedEnding = ".zst"

// IsTrace reports whether a file is one of the traces of its folder, by its name.
func IsTrace(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, packedEnding), Ending)
}

var errNames = errors.New("the names of traces end in " + Ending + " or " + Ending + packedEnding)

// Sources are the traces in a file system: all files, at any depth, whose names
// end in .jsonl or .jsonl.zst, in the order of their paths. A folder is
// os.DirFS's, embedded files and zip archives are file systems as they are.
//
// What is passed over would be green without having been looked at. So it is an
// error that there are no traces; and what cannot be listed, a file with a name
// that is almost that of a trace, such as a.jsonl.gz, and a link to a folder,
// which is not followed, stand among the traces, and say why when they are
// opened. So do pipes, sockets and devices, which are not opened. Files that begin with
// a dot are nobody's but an editor's.
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
			if info, err := fs.Stat(fsys, name); err == nil { // where it cannot be told, opening it says why
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

// openRegular opens a file of a folder. A pipe, a socket or a device in its place is
// said and not opened: that may take for ever, or do something.
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

// kindOf says what there is in the place of a file.
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

// passedOver says why an entry is no trace that somebody may take for one, or for
// a folder of them; it is nil of others.
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

// Options change how many traces are verified. The zero value verifies all
// of them with as many at once as there are processors.
type Options struct {
	// Parallel is how many traces are replayed at once. Zero is GOMAXPROCS.
	Parallel int
	// Shard is the part of the corpus to verify. Zero is all of it.
	Shard Shard
	// Each is told of every trace as soon as all before it are done: in the order
	// of the sources, whatever Parallel is, and on the goroutine that called
	// Verify. It must not change what it is given. Nil tells nobody.
	Each func(*TraceReport)
	// Reading is how the traces are read. Its File is not used: errors name the
	// source.
	Reading trace.Options
	// Maker is the function that reports name as the code that made what a run is given:
	// of a live that passes on to another, that other. Nil is live itself.
	Maker any
}

// Verify verifies the traces of a corpus, several at once, and groups what
// diverges by its cause. live gives the live seams for each trace, called once
// for each, and again where live code is run a second time (replay.Live.Again),
// from several goroutines at a time; nil scripts every seam. Where it
// ends its goroutine, as t.FailNow does, so does Verify.
//
// A trace that cannot be read does not keep the others from being verified: it
// is a result, not an error. An error says that not everything was verified that
// was to be, because ctx ended; the report holds what was done until then, and which traces'
// live code was left behind, since it did not come to an end (replay.Verify). There
// is no report where there are no sources: a check of nothing would be green.
//
// The report is the same whatever Parallel is. While it works, Verify holds
// one read buffer and one replay for each trace under way. What stays of a trace
// is its line in the report, and of one that diverged its divergence, with long
// values cut: so memory is bounded by Parallel and the largest trace.
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
	part    []int        // the places in sources of those that are to be verified
	taken   atomic.Int64 // how many of them were taken up

	mu   sync.Mutex
	left []string // what was cut short and left goroutines behind, with what they do
}

// readBuffer is at least as large as a Reader's: one that is given to it serves
// as its own.
const readBuffer = 64 << 10

// outcome is what became of the i-th trace of the part. Of user code that
// panicked it is the panic; of user code that ended its goroutine it is nothing.
type outcome struct {
	i        int
	report   *TraceReport
	panicked string
}

// run verifies the part and gives the reports in order. Somebody who ends ctx is given none
// after that; where its time is over, those that had come until then, whatever was cut short
// before them. When it returns, everything that it started has ended, but for live code that
// was left behind.
func (c *verification) run(ctx context.Context, give func(*TraceReport)) {
	work, stop := context.WithCancel(ctx)
	outcomes := make(chan outcome)
	var workers sync.WaitGroup
	defer func() { stop(); workers.Wait() }()
	for range min(c.parallel(), len(c.part)) {
		workers.Go(func() { c.work(work, outcomes) })
	}
	early := map[int]*TraceReport{} // done before one that stands before them
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
	buffer := bufio.NewReaderSize(nil, readBuffer) // of all its traces
	for ctx.Err() == nil {
		i := int(c.taken.Add(1)) - 1
		if i >= len(c.part) {
			return
		}
		c.attempt(ctx, i, buffer, func(o outcome) {
			if ctx.Err() != nil {
				return // what was cut short is no verdict
			}
			select {
			case outcomes <- o:
			case <-ctx.Done():
			}
		})
	}
}

// attempt verifies the i-th trace, and gives what became of it. A panic of the
// functions that the user gave, or the end of the goroutine, goes to the
// goroutine that called Verify.
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

// verify verifies one trace. Whatever the replay complains of is in the trace:
// one that tells no turn cannot be read as one.
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
		c.left = append(c.left, safetext.OfFile(source.Name, errors.New(behind.Who))) // why it was cut short stands in the report
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

// isEdited reports whether a trace was changed after it was written.
func isEdited(err error) bool {
	format, ok := errors.AsType[*trace.FormatError](err)
	return ok && (format.Fault == trace.FaultDigest || format.Fault == trace.FaultCount)
}

// longestKept is how much is kept of one value of a divergence, in bytes.
const longestKept = 4 << 10

// abridged is a divergence that holds no long value, and no crossing but a short question that
// has no answer: a field may be as large as the trace.
func abridged(d *replay.Divergence) *replay.Divergence {
	short := *d
	short.Fields, short.Evidence = nil, nil
	if e := d.Evidence; e != nil && d.Class == replay.Unanswered && e.Replayed != nil && len(e.Replayed.JSON) <= longestKept {
		short.Evidence = &replay.Evidence{Replayed: &adk.Crossing{Kind: e.Replayed.Kind, Phase: e.Replayed.Phase, Name: e.Replayed.Name, JSON: e.Replayed.JSON}}
	}
	for _, f := range d.Fields {
		short.Fields = append(short.Fields, replay.FieldDiff{
			Field: f.Field, Want: cutTo(f.Want, longestKept), Got: cutTo(f.Got, longestKept), Input: f.Input, Of: f.Of}) // and not a copy, which has them whole
	}
	return &short
}

// cutTo keeps the head and the tail of a text that is too long, and says how
// long it was. What it keeps holds nothing of the text in memory.
func cutTo(text string, longest int) string {
	head, tail, cut := safetext.Halves(text, longest)
	if !cut {
		return text
	}
	return fmt.Sprintf("%s … %s (%d bytes)", head, tail, len(text))
}

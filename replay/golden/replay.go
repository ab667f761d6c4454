package golden

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/shell"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/internal/varying"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Replay replays all traces of a folder with live seams. It fails the test once for each cause of a
// difference, with the traces that the cause affects and a report on the first of them.
//
//	golden.Replay(t, "testdata/turns", func(trace string) replay.Live {
//		return replay.Live{Config: agent.Config(), Seams: []string{replay.Middleware}}
//	})
//
// Replay calls live for each trace with the trace's path, relative to the folder in which the test
// runs, and again each time it runs live code once more. It calls live from several goroutines
// concurrently; live may end the test as t.Fatal does. live must make afresh everything that a run
// changes. Replay closes nothing that live opens, so open a pool of connections once for the whole
// test: each goroutine that is left running slows down replays of code with its own goroutines. The
// options say how the traces are read.
//
// Live code that sleeps by the machine's clock takes that time in a replay too: a time.Sleep, for
// example, or a client's own back-off if no server set it. After a connection failed, openai-go and
// anthropic-sdk-go wait half a second before the first retry and twice as long before each further
// one, as many times as in the recorded run; after a refusal over HTTP they do not wait (adkhttp).
// InBubble replays a trace without such waits. Replay does not use a bubble itself, because using
// something that was made outside the bubble, such as a pool of connections, ends the whole test
// binary.
//
// If live code waits for something that never comes, Replay abandons it before the test's own
// deadline. The check then fails with the trace and the place in the user's code where each
// goroutine waits. If live code does nothing for half a minute, a line on standard error says so
// earlier.
//
// With -update and a reason in ADKREPLAY_REASON, Replay accepts and logs what differs: the trace
// becomes what today's code makes of the recorded turn, and the reason is kept next to it.
// replay.Rerecord says what cannot be accepted; such a trace fails the check, but does not keep
// other traces from being accepted. A result that changes with every run, such as a text with the
// machine's time in it, cannot be accepted either; Replay detects it as replay.Live.Twice
// describes. Without -update, Replay finds out what could be accepted before the check fails: it
// records each divergent trace again (replay.Rerecord) with the same live seams, and then replays
// the new trace with live seams that are made afresh. It does not do this if live code writes for
// real (replay.Live.Writes), because such code must not write twice. Of such code, -update detects
// only one kind of variation: it refuses a new trace with the machine's time in it, to the second
// or finer, because the check would fail for good. The next check shows any other variation.
//
// A check that looked at nothing fails. Replay fails if there is no trace, if a trace cannot be
// read, if none of the user's code ran, and if a pattern of Seams chose nothing that any turn
// reached. It logs other live seams that no turn reached, the traces for which nothing was chosen,
// and what is not compared.
//
// Replay also reports to a CI system. If GITHUB_ACTIONS is true, it prints each cause as an
// annotation, at the line of live code that caused it if that is known. If ADKREPLAY_JUNIT names a
// file, relative to the test's folder unless it is absolute, Replay writes the report to it as
// JUnit XML. Tests of several packages need a file each: a * in the name stands for the test. If
// ADKREPLAY_HTML names a file in the same way, a failed check writes a page for a browser to it,
// with the causes and the traces that they affect. If ADKREPLAY_PENDING is the absolute path of a
// folder, Replay keeps there, for adkreplay review, the new traces in place of those that differ,
// and the reasons why some cannot be accepted.
func Replay(t TB, dir string, live func(trace string) replay.Live, options ...trace.Options) {
	t.Helper()
	c := newCorpusCheck(t, dir, options)
	defer c.publish()
	defer c.page()
	sources, ok := c.listed()
	if !ok {
		return
	}
	c.live = twice(c.noting(live))
	c.sources = sources
	ctx, cancel := inTime(t)
	defer cancel()
	var err error
	c.report, err = corpus.Verify(ctx, sources, c.live, corpus.Options{Reading: c.reading, Maker: live})
	switch {
	case err != nil:
		c.ended(ctx, err)
	case c.report.Divergent > 0 && updating():
		c.update(ctx)
	case c.report.Divergent > 0:
		c.unreadable()
		all := c.try(ctx)
		c.causes(toAccept(c.t, all))
		c.keep(all)
	case c.report.Unreadable > 0:
		c.unreadable()
	default:
		c.looked()
		c.keep(nil)
	}
}

// ended fails a check that was stopped early, and reports what it had found.
func (c *corpusCheck) ended(ctx context.Context, err error) {
	c.t.Helper()
	text := safetext.WithoutPackage(err).Error()
	if c.report == nil {
		c.impossible("%s", text)
		return
	}
	var names []string
	for _, t := range c.report.Traces {
		names = append(names, t.Trace)
	}
	count, left, _ := strings.Cut(c.report.Error, "\n")
	c.impossible("%v\n%s%s\n%s", context.Cause(ctx), count, listed(": ", names), left)
	if c.report.Divergent > 0 {
		c.causes("")
	}
}

// try finds out which divergent traces could be accepted, and writes nothing. If live code writes
// for real and there is no folder for reviews, it runs nothing; it then returns a result only if
// all divergent traces are already known to vary between runs.
func (c *corpusCheck) try(ctx context.Context) (all []tried) {
	c.t.Helper()
	if pendingFolder(c.t) == "" {
		if c.writes() {
			return c.varying()
		}
		for _, result := range c.report.Accept(ctx, nil, c.live, c.reading) {
			all = append(all, tried{name: result.Trace, refused: result.Refused})
		}
		return all
	}
	for _, p := range c.report.Pending(ctx, c.live, c.reading) {
		one := tried{name: p.File, pending: []corpus.Pending{p}}
		if p.Refused != "" {
			one.refused = errors.New(p.Refused)
		}
		all = append(all, one)
	}
	return all
}

// writes reports whether the live code of a divergent trace writes for real.
func (c *corpusCheck) writes() bool {
	return slices.ContainsFunc(c.report.Traces, func(t *corpus.TraceReport) bool { return t.Divergence != nil && c.live(t.Trace).Writes })
}

// varying returns all divergent traces if each of them differed again in a second run, and
// otherwise nil.
func (c *corpusCheck) varying() (all []tried) {
	for _, t := range c.report.Traces {
		switch {
		case t.Divergence == nil:
		case t.Divergence.Class != replay.NonDeterministic:
			return nil
		default:
			all = append(all, tried{name: t.Trace, refused: varying.Err})
		}
	}
	return all
}

// corpusCheck is one check of a folder in progress.
type corpusCheck struct {
	t       TB
	dir     string
	live    func(trace string) replay.Live
	reading trace.Options
	sources []corpus.Source
	// recordings are the recordings of sessions; nil unless the check is of sessions.
	recordings []*sessions.Recording

	report  *corpus.Report
	problem string // with the check itself, not with one of the traces

	mu       sync.Mutex
	patterns map[string]bool // the patterns of live seams that the test chose
}

func newCorpusCheck(t TB, dir string, options []trace.Options) *corpusCheck {
	return &corpusCheck{t: t, dir: filepath.ToSlash(dir), patterns: map[string]bool{}, reading: optional.First(options)}
}

// listed returns and claims the traces of the folder. It fails the test if the folder cannot be
// read.
func (c *corpusCheck) listed() (sources []corpus.Source, ok bool) {
	c.t.Helper()
	if info, err := os.Stat(c.dir); err != nil || !info.IsDir() {
		const what = "it is to hold recorded turns, which replay.Record writes"
		if err == nil {
			c.impossible("%s is no folder: %s", c.dir, what)
		} else if errors.Is(err, fs.ErrNotExist) {
			c.impossible("there is no folder %s in %s: %s", c.dir, strings.TrimPrefix(packagePath(), "./"), what)
		} else {
			c.impossible("%v", err)
		}
		return nil, false
	}
	sources, err := corpus.Sources(os.DirFS(c.dir))
	if err != nil {
		c.impossible("%s: %v", c.dir, safetext.WithoutPackage(err))
		return nil, false
	}
	for i := range sources { // make it a path that commands accept
		sources[i].Name = path.Join(c.dir, sources[i].Name)
		Claim(c.t, sources[i].Name)
	}
	return sources, true
}

// noting returns a function that calls live and records the patterns of the result.
func (c *corpusCheck) noting(live func(string) replay.Live) func(string) replay.Live {
	return func(trace string) (chosen replay.Live) {
		if live != nil {
			chosen = live(trace)
		}
		c.note(chosen)
		return chosen
	}
}

// twice returns a function that calls live and sets replay.Live.Twice: live code may run a second
// time, since a divergent trace is replayed once more anyway.
func twice(live func(string) replay.Live) func(string) replay.Live {
	return func(trace string) replay.Live {
		chosen := live(trace)
		chosen.Twice = true
		return chosen
	}
}

// note records the patterns of live seams.
func (c *corpusCheck) note(live replay.Live) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pattern := range live.Seams {
		c.patterns[pattern] = true
	}
}

// fail fails the test.
func (c *corpusCheck) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("%s", folded("replay: "+fmt.Sprintf(format, args...)))
}

// impossible is fail for a problem that belongs to no single trace: the check looked at nothing, or
// not at enough.
func (c *corpusCheck) impossible(format string, args ...any) {
	c.t.Helper()
	if c.problem == "" {
		c.problem = fmt.Sprintf(format, args...)
	}
	c.fail(format, args...)
}

// causes fails the test for each cause, with the command that repeats the failure. The causes that
// affect most traces come first. Only the last failure says what was not compared and how to accept
// everything.
func (c *corpusCheck) causes(accepting string) {
	c.t.Helper()
	again := "\nnext: " + shell.Broken(command(c.t.Name(), "-count=1"), commandWidth)
	edited := map[string]bool{}
	for _, t := range c.report.Traces {
		edited[t.Trace] = t.Edited
	}
	causes := slices.DeleteFunc(slices.Clone(c.report.Causes), func(cause *corpus.CauseReport) bool { // edited traces are reported by unreadable
		return !slices.ContainsFunc(cause.Traces, func(trace string) bool { return !edited[trace] })
	})
	for i, cause := range causes {
		which := "not as recorded:"
		if n := len(causes); n > 1 {
			which = fmt.Sprintf("not as recorded, cause %d of %d:", i+1, n)
		}
		last := ""
		if i == len(causes)-1 {
			last = strings.TrimRight("\n"+c.report.NotComparedLines()+accepting, "\n")
		}
		c.fail("%s\n%s%s%s", which, cause, last, again)
	}
}

// commandWidth is the maximum length of a line of a command, so that it fits on the screen in the
// output of go test, after the words before it.
const commandWidth = 52

// update accepts what differs, and fails the test for what cannot be accepted.
func (c *corpusCheck) update(ctx context.Context) {
	c.t.Helper()
	if corpus.InCI(os.Getenv) {
		c.fail("%s", refusedInCI)
		return
	}
	acceptance, err := reason()
	if err != nil {
		c.unreasoned(c.try(ctx))
		return
	}
	var all []tried
	for _, result := range c.report.Accept(ctx, acceptance, c.live, c.reading) {
		if result.Refused == nil {
			dropPending(c.t, result.Trace)
		}
		all = append(all, tried{name: result.Trace, taken: result.Taken, refused: result.Refused})
	}
	c.updated(all)
	c.unreadable()
}

// unreasoned fails the test because no reason was given for accepting what was tried.
func (c *corpusCheck) unreasoned(all []tried) {
	c.t.Helper()
	c.fail("%s\nNothing is accepted without a reason.\n%s", c.changes(), toAccept(c.t, all))
}

// updated reports what changed and what of it was accepted. It fails the test if not everything
// was.
func (c *corpusCheck) updated(all []tried) {
	c.t.Helper()
	text := folded("golden: " + c.changes() + "\n" + whatWas(all))
	if len(refusals(all)) > 0 {
		c.t.Errorf("%s", text)
		return
	}
	c.t.Logf("%s", text)
}

// changes describes everything that the check found.
func (c *corpusCheck) changes() string {
	return strings.TrimSuffix(c.dir+": "+c.report.String(), "\n")
}

// unreadable fails the test once for each reason why traces could not be replayed. An impossible
// choice of seams, for example, is one reason for all traces. If a person edited a trace, the
// failure also says how a replay differs from it.
func (c *corpusCheck) unreadable() {
	c.t.Helper()
	hit := map[string][]string{}
	var reasons []string
	for _, t := range c.report.Traces {
		if t.Error == "" {
			continue
		}
		reason := strings.TrimPrefix(t.Error, t.Trace)
		if t.Edited && t.Divergence != nil {
			reason += "\n  a replay differs from it: " + strings.ReplaceAll(t.Divergence.String(), "\n", "\n  ")
		}
		if hit[reason] == nil {
			reasons = append(reasons, reason)
		}
		hit[reason] = append(hit[reason], t.Trace)
	}
	for _, reason := range reasons {
		c.fail("%s%s%s", hit[reason][0], reason, andOthers(hit[reason]))
	}
}

// andOthers says how many traces there are besides the first.
func andOthers(traces []string) string {
	if len(traces) < 2 {
		return ""
	}
	return "\n  and so in " + safetext.Counted(len(traces)-1, "other trace")
}

// looked fails the test if there is no difference only because nothing was checked.
func (c *corpusCheck) looked() {
	c.t.Helper()
	all := safetext.Counted(len(c.report.Traces), "trace")
	reached, never := c.reached()
	if !slices.ContainsFunc(reached, isCode) && (len(reached) == 0 || slices.ContainsFunc(never, isCode)) {
		c.impossible("no code of yours ran in %s of %s%s: choose seams that the turns come to", all, c.dir, listed(", in which nothing comes to ", never))
		return
	}
	idle := false
	for _, pattern := range slices.Sorted(maps.Keys(c.patterns)) {
		if !slices.ContainsFunc(reached, replay.Live{Seams: []string{pattern}}.Takes) {
			idle = true
			c.impossible("nothing that %q takes ran in %s of %s: record a turn that comes to it, or do not choose it", pattern, all, c.dir)
		}
	}
	if !idle {
		scripted, notCompared := c.unlooked()
		c.t.Logf("%s", folded(fmt.Sprintf("replay: %s of %s, all the same%s%s%s", all, c.dir, listed("; live, but in none of them: ", never),
			listed("; with nothing live: ", scripted), strings.Join(notCompared, ""))))
	}
}

// unlooked returns the traces for which no seam was live, and one line for each thing that could
// not be compared in some of the others.
func (c *corpusCheck) unlooked() (scripted, notCompared []string) {
	var reports [][]string
	for _, t := range c.report.Traces {
		if len(t.Live) == 0 {
			scripted = append(scripted, t.Trace)
		}
		reports = append(reports, t.NotCompared)
	}
	for _, what := range wire.JoinedNotes(reports...) {
		notCompared = append(notCompared, "\n  not compared: "+what)
	}
	return scripted, notCompared
}

// reached returns the live seams that some turn reached, and those that no turn reached.
func (c *corpusCheck) reached() (reached, never []string) {
	ran := map[string]bool{}
	for _, t := range c.report.Traces {
		for _, seam := range t.Live {
			ran[seam] = ran[seam] || !slices.Contains(t.Unreached, seam)
		}
	}
	obligations := 0
	for _, seam := range slices.Sorted(maps.Keys(ran)) {
		switch {
		case ran[seam]:
			reached = append(reached, seam)
		case strings.HasPrefix(seam, "storage/"):
			obligations++
		default:
			never = append(never, seam)
		}
	}
	if obligations > 0 { // there are 25, and few agents need all
		never = append(never, "storage/* ("+safetext.Counted(obligations, "obligation")+")")
	}
	return reached, never
}

// isCode reports whether the seam is user code, and not an input of the run.
func isCode(seam string) bool { return !strings.HasPrefix(seam, "run/") }

func listed(before string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return before + strings.Join(names, ", ")
}

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

// Replay plays all traces in a folder again with live seams, and fails the test
// once for each cause of a difference, with the traces that it hits and a report
// on the first of them.
//
//	golden.Replay(t, "testdata/turns", func(trace string) replay.Live {
//		return replay.Live{Config: agent.Config(), Seams: []string{replay.Middleware}}
//	})
//
// live is called for each trace, with its path from the folder that the test
// runs in, again where live code is run a second time, and from several
// goroutines at a time; it may end the test as t.Fatal does. It makes everything
// fresh that a run changes. What it opens nobody closes for it: open a pool of
// connections once for the test, or each goroutine of those that are left makes
// replays of code with goroutines of its own longer. The options say how the
// traces are read.
//
// What live code sleeps by the clock of the machine takes its time in a replay: a time.Sleep,
// and a client's own back-off where no server said when. openai-go and anthropic-sdk-go wait
// so after a connection that failed, half a second before the first retry and twice as long
// before each further one, as often as they did when it was recorded; after a refusal over
// HTTP they wait for nothing (adkhttp). InBubble plays a trace without such waits. Replay does
// not do so by itself, since what was made outside of a bubble, a pool of connections say,
// ends the whole test binary when it is used inside.
//
// Live code that waits for what never comes is left behind before the test's own deadline,
// and the check fails with the trace and with where in the user's code each goroutine waits.
// Where live code does nothing for half a minute, a line on standard error says so before.
//
// With -update and a reason in ADKREPLAY_REASON, what differs is accepted and logged: the
// trace is then what today's code makes of the recorded turn, and the reason is kept beside
// it. replay.Rerecord says what cannot be accepted; that fails the check, and keeps nothing
// else from being accepted. What is another each time it is run is not either, such as a text
// with the time of the machine in it: that is found out as replay.Live.Twice has it. To say
// which it is, each trace that diverges is played once more (replay.Rerecord), with the same
// live seams, and the new one held against them, made afresh, before the check fails; but not
// where live code writes for real (replay.Live.Writes), which must not do so twice. Of such code
// -update sees one thing all the same: a time of the machine in the new trace, to the second or
// finer, is refused, as it would be red for good. What else of it is another each time the next
// check shows.
//
// What was not looked at is not green: the check fails where there is no trace,
// where a trace cannot be read, where nothing of the user's ran, and where a
// pattern of Seams chose nothing that any of the turns came to. Other live seams
// that no turn came to are logged, with the traces for which nothing was chosen and
// with what is not compared.
//
// A CI system is told too: where GITHUB_ACTIONS is true, each cause is an annotation, at the
// line of the live code that it is in where that is known; and where ADKREPLAY_JUNIT names
// a file, relative to the test's folder unless it is absolute, it gets the report as JUnit
// XML. Of the tests of several packages each needs a file of its own: a * in the name
// stands for the test. Where ADKREPLAY_HTML names a file in the same way, what is red gets a
// page there to look at in a browser: the causes, and the traces that they hit. Where
// ADKREPLAY_PENDING names a folder by its whole path, the traces that today's code makes in
// the place of those that are red are kept there, for adkreplay review, and why some cannot be.
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

// ended fails for a check that was ended before it was over, with what it had found.
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

// try tries to accept what diverged, and writes nothing. Where live code writes for real, and
// nobody wants a review, it is not tried; that all of it varies is known without.
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

// writes reports whether live code of what diverged writes for real.
func (c *corpusCheck) writes() bool {
	return slices.ContainsFunc(c.report.Traces, func(t *corpus.TraceReport) bool { return t.Divergence != nil && c.live(t.Trace).Writes })
}

// varying are all traces that diverged, where each was another in a second run.
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

// corpusCheck is one check of a folder under way.
type corpusCheck struct {
	t       TB
	dir     string
	live    func(trace string) replay.Live
	reading trace.Options
	sources []corpus.Source
	// recordings are the journals of sessions, of a check of those.
	recordings []*sessions.Recording

	report  *corpus.Report
	problem string // with the check itself, and not with one of the traces

	mu       sync.Mutex
	patterns map[string]bool // of live seams, that were asked for
}

func newCorpusCheck(t TB, dir string, options []trace.Options) *corpusCheck {
	return &corpusCheck{t: t, dir: filepath.ToSlash(dir), patterns: map[string]bool{}, reading: optional.First(options)}
}

// listed are the files of the folder, which are claimed; it fails where there are none.
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
	for i := range sources { // a path that commands take
		sources[i].Name = path.Join(c.dir, sources[i].Name)
		Claim(c.t, sources[i].Name)
	}
	return sources, true
}

// noting is live, but for that it notes the patterns.
func (c *corpusCheck) noting(live func(string) replay.Live) func(string) replay.Live {
	return func(trace string) (chosen replay.Live) {
		if live != nil {
			chosen = live(trace)
		}
		c.note(chosen)
		return chosen
	}
}

// twice allows live code to be run again, as replay.Live.Twice has it: what diverged is played
// once more anyway.
func twice(live func(string) replay.Live) func(string) replay.Live {
	return func(trace string) replay.Live {
		chosen := live(trace)
		chosen.Twice = true
		return chosen
	}
}

// note notes the patterns of live seams.
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

// impossible is fail for what is no trace's: nothing, or not enough, was looked at.
func (c *corpusCheck) impossible(format string, args ...any) {
	c.t.Helper()
	if c.problem == "" {
		c.problem = fmt.Sprintf(format, args...)
	}
	c.fail(format, args...)
}

// causes fails for each cause, those first that hit most traces, with the command that fails
// again. What was not compared, and how to accept it all, stands once, in the last.
func (c *corpusCheck) causes(accepting string) {
	c.t.Helper()
	again := "\nnext: " + shell.Broken(command(c.t.Name(), "-count=1"), commandWidth)
	edited := map[string]bool{}
	for _, t := range c.report.Traces {
		edited[t.Trace] = t.Edited
	}
	causes := slices.DeleteFunc(slices.Clone(c.report.Causes), func(cause *corpus.CauseReport) bool { // told as what was written into them
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

// commandWidth is how long a line of a command is, so that it fits on a screen in the
// output of go test, behind the words that stand before it.
const commandWidth = 52

// update accepts what differs, and fails for what cannot be accepted.
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

// unreasoned fails since there is no reason for what was tried.
func (c *corpusCheck) unreasoned(all []tried) {
	c.t.Helper()
	c.fail("%s\nNothing is accepted without a reason.\n%s", c.changes(), toAccept(c.t, all))
}

// updated says what has changed and what of it was accepted, and fails where not all was.
func (c *corpusCheck) updated(all []tried) {
	c.t.Helper()
	text := folded("golden: " + c.changes() + "\n" + whatWas(all))
	if len(refusals(all)) > 0 {
		c.t.Errorf("%s", text)
		return
	}
	c.t.Logf("%s", text)
}

// changes are all that the check has found, for a person.
func (c *corpusCheck) changes() string {
	return strings.TrimSuffix(c.dir+": "+c.report.String(), "\n")
}

// unreadable fails for each reason why traces could not be played again: a
// choice of seams that cannot be is one reason in all of them. What a replay makes of what somebody
// wrote into a trace stands with that.
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

// andOthers says how many there are beside the first trace of some.
func andOthers(traces []string) string {
	if len(traces) < 2 {
		return ""
	}
	return "\n  and so in " + safetext.Counted(len(traces)-1, "other trace")
}

// looked fails where all is the same because nobody looked.
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

// unlooked are the traces for which nothing was chosen to be live, and a line each
// for what could not be compared in some of the others.
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

// reached are the live seams that some turn came to, and those that none did.
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

// isCode tells seams of code from what a run is given.
func isCode(seam string) bool { return !strings.HasPrefix(seam, "run/") }

func listed(before string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return before + strings.Join(names, ", ")
}

package golden

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/internal/varying"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// ReplaySessions is Replay for sessions. It replays the journals and the traces in a folder and
// below it with today's host.
//
//	golden.ReplaySessions(t, "testdata/sessions", func(folder string) (*session.Host, replay.Live) {
//		return agent.Host(t), replay.Live{Seams: []string{replay.ToolCode, replay.Executor}}
//	})
//
// today makes a host, afresh for each turn, and says which seams of its agent are live. Always live
// are the values that the host begins a turn with (prompt, instructions and stash), its channel and
// its providers. The host claims nothing and stores nothing, so it may have any store. The config
// of the Live is that of the host's agent, whatever today returns. today is called with the folder
// of the journals, as the paths of its files begin, and from several goroutines concurrently.
//
// Each turn begins with the values with which it was recorded, so that a change is a cause only in
// the turn where it happens, and not in every turn after it. The recorded process may have
// remembered something of an earlier turn, in a cache of its own, for example. A fresh host does
// not know it, so it asks for it and gets no answer; a log then names the turn that asked before.
// Keep such data in the values of the session, or in storage. The check also fails if a journal is
// faulty or does not fit its traces, and if an attempt has no trace. The command adkreplay verify
// only mentions such an attempt, because it also reads recordings of hosts that sample.
//
// With -update and a reason, ReplaySessions accepts differences as Replay does, one folder at a
// time. Each turn then begins with what the turns before it leave now, and the journals are changed
// to say so. sessions.Recording.Rerecord says what cannot be accepted. Redacted recordings need the
// rules with which they were redacted, as Redact of the Live.
func ReplaySessions(t TB, dir string, today func(folder string) (*session.Host, replay.Live), options ...trace.Options) {
	t.Helper()
	c := sessionCheck{corpusCheck: newCorpusCheck(t, dir, options), today: today}
	defer c.publish()
	defer c.page()
	if !c.find() {
		return
	}
	ctx, cancel := inTime(t)
	defer cancel()
	var err error
	c.report, err = corpus.Verify(ctx, c.sources, c.live, corpus.Options{Reading: c.reading, Maker: today})
	if err != nil {
		c.ended(ctx, err)
		return
	}
	c.play()
	switch {
	case len(c.refusals) > 0:
		c.refused()
	case c.report.Divergent > 0 && updating():
		c.update(ctx)
	case c.report.Divergent > 0:
		c.unreadable()
		all := c.try(ctx)
		c.causes(toAccept(c.t, all))
		c.remembered()
		c.parted()
		c.keep(all)
	case c.report.Unreadable > 0:
		c.unreadable()
		c.parted()
	case c.parted(), c.untraced():
	default:
		c.looked()
		c.log()
		c.keep(nil)
	}
}

// sessionCheck is one check of a folder of sessions in progress.
type sessionCheck struct {
	*corpusCheck
	today    func(folder string) (*session.Host, replay.Live)
	refusals map[string]string // why today's host does not begin a turn, by trace; guarded by mu
}

// find finds the recordings. It fails the test if there is none, or if a trace belongs to none.
func (c *sessionCheck) find() bool {
	c.t.Helper()
	sources, ok := c.listed()
	if !ok {
		return false
	}
	c.recordings, c.sources = sessions.Recordings(sources)
	if len(c.recordings) == 0 {
		c.impossible("%s: there is no journal of sessions: Replay plays traces alone", c.dir)
		return false
	}
	for _, source := range c.sources {
		if c.recordingOf(source.Name) == nil {
			c.impossible("%s: no journal lies in its folder or above it: Replay plays traces alone", source.Name)
			return false
		}
	}
	c.sources = sessions.Whole(c.sources, c.recordings, c.reading)
	c.refusals = map[string]string{}
	c.corpusCheck.live = c.live
	return true
}

// recordingOf returns the recording that a trace belongs to, or nil.
func (c *sessionCheck) recordingOf(trace string) *sessions.Recording {
	at := slices.IndexFunc(c.recordings, func(r *sessions.Recording) bool {
		return slices.ContainsFunc(r.Traces, func(s corpus.Source) bool { return s.Name == trace })
	})
	if at < 0 {
		return nil
	}
	return c.recordings[at]
}

// live returns what is live in the turn of a trace: today's host.
func (c *sessionCheck) live(name string) replay.Live {
	host, live := c.twice(c.recordingOf(name).Folder)
	c.note(live)
	content, err := os.Open(name)
	if err == nil {
		defer content.Close()
		live, err = sessions.Today(host, live, content, c.reading)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refusals[name] = safetext.WithoutPackage(err).Error()
		return replay.Live{}
	}
	return live
}

// twice calls today and allows its live code to run again, as Replay does.
func (c *sessionCheck) twice(folder string) (*session.Host, replay.Live) {
	host, live := c.today(folder)
	live.Twice = true
	return host, live
}

// refused fails the test for turns that today's host does not begin, once per reason.
func (c *sessionCheck) refused() {
	c.t.Helper()
	hit := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.refusals)) {
		hit[c.refusals[name]] = append(hit[c.refusals[name]], name)
	}
	for _, reason := range slices.Sorted(maps.Keys(hit)) {
		c.impossible("%s: %s%s", hit[reason][0], reason, andOthers(hit[reason]))
	}
}

// play checks the journals against their traces. Differences within turns are causes instead.
func (c *sessionCheck) play() {
	for _, r := range c.recordings {
		report, err := r.Verify(context.Background(), sessions.Options{Reading: c.reading, Replayed: sessions.AsRecorded})
		if err == nil { // the only error is that of the context, which does not end
			c.report.Sessions = append(c.report.Sessions, report)
		}
	}
}

// parted fails the test for each journal that cannot be read or does not fit its traces. It reports
// whether there was one.
func (c *sessionCheck) parted() (failed bool) {
	c.t.Helper()
	for _, s := range c.report.Sessions {
		for _, d := range s.Divergences {
			failed = true
			c.fail("the journal and its traces are not of one session, whatever the agent does:\n%s\nRecord it again.", d.Text)
		}
		for _, j := range s.Journals {
			if j.Error != "" {
				failed = true
				c.fail("%s", j.Error)
			}
		}
	}
	return failed
}

// untraced fails the test for attempts without a trace. It reports whether there was one.
func (c *sessionCheck) untraced() (failed bool) {
	c.t.Helper()
	for _, s := range c.report.Sessions {
		if s.Untraced > 0 {
			failed = true
			c.impossible("%s of %s: no trace: what is not looked at is not the same", safetext.Counted(s.Untraced, "attempt"), s.Folder)
		}
	}
	return failed
}

// remembered logs each turn that asked something without an answer that an earlier turn of its
// recording asked too. The recorded process may have remembered the answer, and a fresh host does
// not. A turn whose own recording has the question is left out: it only asks more often now.
func (c *sessionCheck) remembered() {
	c.t.Helper()
	read := map[*sessions.Recording][]questions{}
	for _, of := range c.report.Traces {
		d := of.Divergence
		if d == nil || d.Class != replay.Unanswered || d.Evidence == nil || len(d.Evidence.Replayed.JSON) == 0 {
			continue
		}
		recording := c.recordingOf(of.Trace)
		if read[recording] == nil {
			for _, source := range recording.Traces {
				read[recording] = append(read[recording], questionsOf(source, c.reading))
			}
		}
		all, question := read[recording], questionOf(d.Evidence.Replayed)
		at := slices.IndexFunc(recording.Traces, func(s corpus.Source) bool { return s.Name == of.Trace })
		if all[at].asked[question] {
			continue
		}
		by := slices.IndexFunc(all, func(q questions) bool {
			return q.asked[question] && (q.began.Before(all[at].began) || q.began.Equal(all[at].began) && q.name < of.Trace)
		})
		if by >= 0 {
			c.t.Logf("%s", safetext.Wrapped(fmt.Sprintf("replay: %s asks what %s asked before it, to the byte: "+
				"did the process remember it? The host of each turn is fresh: keep it in the values of the session, or in storage.", of.Trace, all[by].name), commandWidth+16, "    "))
		}
	}
}

// questions holds what a recorded turn asks, and when the turn began.
type questions struct {
	name  string
	began time.Time
	asked map[question]bool
}

// question identifies what is asked: the kind of crossing, whom it asks, and the request.
type question struct {
	kind    adk.Kind
	of      string
	request adk.Digest
}

func questionOf(x *adk.Crossing) question { return question{x.Kind, x.Name, adk.DigestOf(x.JSON)} }

// questionsOf reads the questions of a trace, as far as the trace can be read.
func questionsOf(source corpus.Source, reading trace.Options) questions {
	all := questions{name: source.Name, asked: map[question]bool{}}
	content, err := source.Open()
	if err != nil {
		return all
	}
	defer content.Close()
	r, err := trace.NewReader(content, reading)
	if err != nil {
		return all
	}
	all.began = r.Header().Start
	for line, err := r.Next(); err == nil; line, err = r.Next() {
		if line.Phase == adk.Begin && len(line.JSON) > 0 {
			all.asked[questionOf(&line.Crossing)] = true
		}
	}
	return all
}

// log logs what was replayed.
func (c *sessionCheck) log() {
	c.t.Helper()
	for _, s := range c.report.Sessions {
		text := ""
		for _, what := range s.NotCompared {
			text += "\n  not compared: " + what
		}
		c.t.Logf("replay: sessions of %s: %s%s", s.Folder, s.Summary(), text)
	}
}

// remade is one recording as it was made again, to be accepted.
type remade struct {
	*sessions.Recording
	files   map[string][]byte // the files that change, by name
	changes []string          // the causes
	shown   string            // the causes as a person sees them
	err     error             // why it cannot be accepted
}

// hits returns the recordings that causes affect, made again.
func (c *sessionCheck) hits(ctx context.Context) (all []remade) {
	for _, r := range c.recordings {
		one := remade{Recording: r, files: map[string][]byte{}}
		for _, cause := range c.report.Causes {
			if slices.ContainsFunc(cause.Traces, func(name string) bool { return c.recordingOf(name) == r }) {
				one.changes = append(one.changes, cause.Text)
				one.shown += cause.String() + "\n"
			}
		}
		if one.changes == nil {
			continue
		}
		if one.err = c.variesIn(r); one.err != nil {
			all = append(all, one)
			continue
		}
		made, err := r.Rerecord(ctx, func() (*session.Host, replay.Live) { return c.twice(r.Folder) }, c.reading)
		one.err = err
		for name, content := range made {
			if before, err := os.ReadFile(name); err != nil || !bytes.Equal(before, content) {
				one.files[name] = content
			}
		}
		all = append(all, one)
	}
	return all
}

// variesIn returns an error that names the first trace of the recording that differed again in a
// second run, or nil if there is none.
func (c *sessionCheck) variesIn(r *sessions.Recording) error {
	for _, t := range c.report.Traces {
		if t.Divergence != nil && t.Divergence.Class == replay.NonDeterministic && c.recordingOf(t.Trace) == r {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(t.Trace, r.Folder+"/"), varying.Err)
		}
	}
	return nil
}

// try finds out which divergent recordings could be accepted, and writes nothing.
func (c *sessionCheck) try(ctx context.Context) (all []tried) {
	if pendingFolder(c.t) == "" && c.writes() {
		return c.varying()
	}
	for _, r := range c.hits(ctx) {
		one := tried{name: r.name(), refused: r.err}
		for _, name := range slices.Sorted(maps.Keys(r.files)) {
			if r.err == nil {
				one.pending = append(one.pending, corpus.Pending{File: name, Causes: r.changes, Shown: r.shown, Changes: append(slices.Clip(r.changes), "in "+r.name()), Content: r.files[name]})
			}
		}
		if r.err != nil { // the first file represents the folder
			one.pending = []corpus.Pending{{File: r.first(), Causes: r.changes, Shown: r.shown, Refused: safetext.WithoutPackage(r.err).Error()}}
		}
		all = append(all, one)
	}
	return all
}

func (r remade) name() string { return sessionsOf + r.Folder }

// sessionsOf begins the name of a recording, which is accepted as a whole.
const sessionsOf = "the sessions of "

// first returns the name of the recording's first file.
func (r remade) first() string { return slices.Concat(r.Journals, r.Traces)[0].Name }

// update accepts what differs, one recording at a time, and fails the test for what cannot be
// accepted.
func (c *sessionCheck) update(ctx context.Context) {
	c.t.Helper()
	if corpus.InCI(os.Getenv) {
		c.fail("%s", refusedInCI)
		return
	}
	if c.parted() {
		return
	}
	acceptance, err := reason()
	if err != nil {
		c.unreasoned(c.try(ctx))
		return
	}
	var all []tried
	for _, r := range c.hits(ctx) {
		for _, name := range slices.Sorted(maps.Keys(r.files)) {
			if r.err == nil {
				r.err = acceptance.Replace(name, r.files[name], r.changes...)
			}
			if r.err == nil {
				dropPending(c.t, name)
			}
		}
		all = append(all, tried{name: r.name(), refused: r.err})
	}
	c.updated(all)
	c.unreadable()
}

package sessions_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/scenarios"
)

// played returns the files that the hosts of a session write, by their names.
func played(t *testing.T, name string) map[string][]byte {
	s, found := scenarios.SessionNamed(name)
	require.True(t, found)
	var recorded sessions.InMemory
	require.NoError(t, s.Run(t.Context(), scenarios.Watch{
		Probe:   func(host string) adk.Probe { return recorded.Host(host) },
		Journal: func(host string) func(session.Step) { return recorded.Host(host).Step },
	}))
	require.NoError(t, recorded.Close())
	return recorded.Files()
}

// sourcesOf are files below a folder, in order.
func sourcesOf(folder string, files map[string][]byte) (sources []corpus.Source) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sources = append(sources, corpus.Source{Name: folder + name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files[name])), nil }})
	}
	return sources
}

func names(sources []corpus.Source) (all []string) {
	for _, s := range sources {
		all = append(all, s.Name)
	}
	return all
}

// SES-34: the files in a folder with journals, and in the folders below it, belong together,
// except for those that are nearer to other journals.
func TestRecordings(t *testing.T) {
	hosts := played(t, "two-hosts")
	trace := hosts["first-1.jsonl"]
	sources := append(sourcesOf("a/", hosts), sourcesOf("a/deep/down/", map[string][]byte{"x.jsonl": trace})...)
	sources = append(sources, sourcesOf("a/b/", played(t, "duplicate-delivery"))...)
	sources = append(sources, sourcesOf("", map[string][]byte{"lone.jsonl": trace, "none.jsonl": []byte("nothing\n")})...)
	sources = append(sources, corpus.Source{Name: "a/gone.jsonl", Open: func() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }})
	recordings, traces := sessions.Recordings(sources)
	require.Len(t, recordings, 2)
	assert.Equal(t, "a", recordings[0].Folder)
	assert.Equal(t, []string{"a/first.journal.jsonl", "a/second.journal.jsonl"}, names(recordings[0].Journals))
	assert.Equal(t, []string{"a/first-1.jsonl", "a/second-1.jsonl", "a/deep/down/x.jsonl", "a/gone.jsonl"}, names(recordings[0].Traces))
	assert.Equal(t, "a/b", recordings[1].Folder)
	assert.Equal(t, []string{"a/b/host-1.jsonl"}, names(recordings[1].Traces))
	assert.Len(t, traces, 7, "all but the journals")
	assert.True(t, recordings[0].Has("a/first.journal.jsonl"))
	assert.False(t, recordings[0].Has("a/first-1.jsonl"))

	root, _ := sessions.Recordings(sourcesOf("/", hosts))
	assert.Equal(t, []string{"/first-1.jsonl", "/second-1.jsonl"}, names(root[0].Traces))
}

// once can be opened only once; its beginning can be looked at before that.
type once struct{ *bufio.Reader }

func (once) Close() error { return nil }

// SES-34: a source that can be opened only once belongs to no journal, though it may have the name
// of a file beside one: searching for the turns of a recording does not consume it.
func TestTracesThatAreThereOnce(t *testing.T) {
	files := played(t, "notes-grow")
	whole := files["host-1.jsonl"]
	in := once{bufio.NewReader(bytes.NewReader(whole))}
	sources := append(sourcesOf("", map[string][]byte{"host.journal.jsonl": cutAfter(files["host.journal.jsonl"], session.StepHydrated)}),
		corpus.Source{Name: "-", Open: func() (io.ReadCloser, error) { return in, nil }})
	recordings, traces := sessions.Recordings(sources)
	require.Len(t, recordings, 1)
	assert.Equal(t, []string{"-"}, names(traces))
	assert.Empty(t, recordings[0].Turns(trace.Options{}))
	assert.Empty(t, cutOf(recordings[0]))
	left, err := io.ReadAll(in)
	require.NoError(t, err)
	assert.Equal(t, whole, left)
}

// SES-34: the result of replaying a turn is not computed again.
func TestVerifyWithReplayedTurns(t *testing.T) {
	recordings, _ := sessions.Recordings(sourcesOf("", played(t, "two-hosts")))
	report, err := recordings[0].Verify(t.Context(), sessions.Options{Replayed: func(trace string) *replay.Report {
		if trace == "second-1.jsonl" {
			return &replay.Report{Divergence: &replay.Divergence{}}
		}
		return &replay.Report{}
	}})
	require.NoError(t, err)
	require.Len(t, report.Divergences, 1)
	d := report.Divergences[0]
	assert.Equal(t, []string{"turn", "ada", "tuesday", "second.journal.jsonl", "second-1.jsonl", "id-3"}, []string{d.Class, d.Session, d.Delivery, d.Journal, d.Trace, d.Turn})
	assert.Equal(t, 5, d.Line)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = recordings[0].Verify(gone, sessions.Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

// SES-34: a trace that cannot be read does not affect the other sessions.
func TestVerifyWithAnUnreadableTrace(t *testing.T) {
	files := played(t, "child-session")
	files["host-1.jsonl"] = files["host-1.jsonl"][:2000]
	recordings, _ := sessions.Recordings(sourcesOf("", files))
	report, err := recordings[0].Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	require.Len(t, report.Errors, 1)
	assert.Contains(t, report.Errors[0], "truncated trace")
	assert.Empty(t, report.Divergences)
	assert.Equal(t, 1, report.Commits, "the child's")
}

// cutAfter cuts a journal behind the first step of a kind.
func cutAfter(journal []byte, kind session.StepKind) []byte {
	at := bytes.Index(journal, []byte(`"step":"`+kind+`"`))
	return journal[:at+bytes.IndexByte(journal[at:], '\n')+1]
}

// SES-32, SES-34: a process that ends leaves steps that no journal holds. Later steps show that they
// happened, and the report says that no host has written them. A value that nobody can have read diverges.
func TestUntoldSteps(t *testing.T) {
	for _, c := range []struct {
		after   session.StepKind
		commits int
		says    string
	}{
		{session.StepRan, 2, `that "monday" of session "ada" was committed, and its records: no host has told`},
		{session.StepHydrated, 1, `that "monday" of session "ada" was failed, and why: `},
	} {
		files := played(t, "two-hosts")
		files["first.journal.jsonl"] = cutAfter(files["first.journal.jsonl"], c.after)
		if c.after == session.StepHydrated { // a failed attempt has committed nothing
			files["second.journal.jsonl"] = bytes.ReplaceAll(files["second.journal.jsonl"], []byte(`"revision":1`), []byte(`"revision":0`))
		}
		j := read(t, files)
		report, err := sessions.Verify(t.Context(), j, sessions.Options{Open: opener(files)})
		require.NoError(t, err)
		if c.after == session.StepRan {
			assert.Empty(t, report.Divergences)
			assert.Equal(t, c.commits, report.Commits)
		}
		assert.Contains(t, strings.Join(report.NotCompared, "\n"), c.says)

		for i := range j.Steps {
			if j.Steps[i].Kind == session.StepHydrated && j.Steps[i].Delivery == "tuesday" {
				j.Steps[i].Bag = "00"
			}
		}
		report, err = sessions.Verify(t.Context(), j, sessions.Options{Open: opener(files)})
		require.NoError(t, err)
		require.Len(t, report.Divergences, 1)
		assert.Equal(t, sessions.Hydrate, report.Divergences[0].Class)
	}
	files := played(t, "two-hosts")
	second := files["second.journal.jsonl"]
	accepted := second[bytes.IndexByte(second, '\n')+1:]
	files["second.journal.jsonl"] = bytes.Replace(second, accepted[:bytes.IndexByte(accepted, '\n')+1], nil, 1)
	j := read(t, files)
	report, err := sessions.Verify(t.Context(), j, sessions.Options{Open: opener(files)})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Contains(t, strings.Join(report.NotCompared, "\n"), `that "tuesday" of session "ada" was accepted, and its payload`)
}

// SES-34: within one epoch a host writes all that it does, so no missing step is assumed there.
func TestUntoldInOneEpoch(t *testing.T) {
	r := recordedShop(t, replay.RecordOptions{})
	j, _ := r.Read(trace.Options{})
	for i := range j.Steps {
		j.Steps[i].Epoch = min(j.Steps[i].Epoch, 1)
	}
	j.Steps = slices.DeleteFunc(j.Steps, func(s session.Step) bool { return s.Kind == session.StepCommitted && s.Delivery == "Milk" })
	report, err := sessions.Verify(t.Context(), j, sessions.Options{Open: func(string) (io.ReadCloser, error) { return nil, nil }})
	require.NoError(t, err)
	require.Len(t, report.Divergences, 1)
	assert.Equal(t, sessions.Order, report.Divergences[0].Class)
}

// read reads all journals, ignores what their footers say, and treats the whole as complete.
func read(t *testing.T, files map[string][]byte) *sessions.Journal {
	var all []*sessions.Journal
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.Contains(name, "journal") {
			j, err := sessions.Read(bytes.NewReader(files[name]), trace.Options{File: name})
			var format *sessions.FormatError
			if err != nil {
				require.ErrorAs(t, err, &format)
				require.Contains(t, []trace.Fault{trace.FaultDigest, trace.FaultCount}, format.Fault)
			}
			all = append(all, j)
		}
	}
	return sessions.Merge(all...)
}

// opener opens traces by the ids of their turns.
func opener(files map[string][]byte) func(string) (io.ReadCloser, error) {
	recordings, _ := sessions.Recordings(sourcesOf("", files))
	turns := recordings[0].Turns(trace.Options{})
	return func(turn string) (io.ReadCloser, error) {
		if source, has := turns[turn]; has {
			return source.Open()
		}
		return nil, nil
	}
}

// SES-32, SES-34: the journal of a killed host is not damaged, and neither is the trace of the
// turn that was running. The report mentions both.
func TestKilledHosts(t *testing.T) {
	for name, c := range map[string]struct {
		after session.StepKind
		torn  string // after the journal
		trace int    // how many bytes of the first host's trace are left; -1 means all
		steps int
		notes []string
		cut   []string
	}{
		"before it told what it ran": {after: session.StepHydrated, trace: -1, steps: 3},
		"within a step":              {after: session.StepHydrated, torn: `{"step":"ra`, trace: -1, steps: 3},
		"when its turn was over":     {after: session.StepRan, trace: -1, steps: 4},
		"within its turn": {after: session.StepHydrated, trace: 3000, steps: 3, cut: []string{"first-1.jsonl"},
			notes: []string{"trace first-1.jsonl, which ends where its host was killed, or still is at work"}},
		"before its turn said whose it is": {after: session.StepHydrated, trace: 9, steps: 3, cut: []string{"first-1.jsonl"}},
		"before its turn said a thing":     {after: session.StepHydrated, trace: 0, steps: 3, cut: []string{"first-1.jsonl"}},
	} {
		files := played(t, "two-hosts")
		files["first.journal.jsonl"] = append(cutAfter(files["first.journal.jsonl"], c.after), c.torn...)
		if c.trace >= 0 {
			files["first-1.jsonl"] = files["first-1.jsonl"][:c.trace]
		}
		recordings, _ := sessions.Recordings(sourcesOf("", files))
		report, err := recordings[0].Verify(t.Context(), sessions.Options{})
		require.NoError(t, err, name)
		assert.Equal(t, []corpus.JournalReport{{Journal: "first.journal.jsonl", Steps: c.steps, NoFooter: true}, {Journal: "second.journal.jsonl", Steps: 5}}, report.Journals, name)
		assert.Empty(t, report.Faults(), name)
		assert.Equal(t, c.cut, names(cutOf(recordings[0])), name)
		var brokenOff []string
		journal, _ := recordings[0].Read(trace.Options{})
		for _, step := range journal.Steps {
			if trace := recordings[0].BrokenOff(trace.Options{})(step); trace != "" {
				brokenOff = append(brokenOff, fmt.Sprintf("%s, attempt %d: %s", step.Delivery, step.Attempt, trace))
			}
		}
		if c.after == session.StepHydrated && (c.trace < 0 || c.trace > 1000) {
			assert.Equal(t, []string{"monday, attempt 1: first-1.jsonl"}, brokenOff, name)
		} else {
			assert.Empty(t, brokenOff, name)
		}
		said := strings.Join(report.NotCompared, "\n")
		for _, note := range append(c.notes, "what came after the end of first.journal.jsonl, which has no footer: its host was killed, or is still at work") {
			assert.Contains(t, said, note, name)
		}
		assert.Contains(t, report.Summary(), "2 journals (1 without a footer), 1 session", name)
	}
}

// SES-34: a journal that was cut by anything else is damaged, as the traces of the turns that it
// held are there. So is a cut trace of a turn whose end is in the journal.
func TestCutJournals(t *testing.T) {
	files := played(t, "two-hosts")
	whole := files["first.journal.jsonl"]
	files["first.journal.jsonl"] = cutAfter(whole, session.StepClaimed)
	recordings, _ := sessions.Recordings(sourcesOf("", files))
	report, err := recordings[0].Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{`first.journal.jsonl: truncated journal: it has no footer, and tells nothing of attempt 1 at delivery "monday" of session "ada" of tenant "acme", epoch 1, whose turn has the trace first-1.jsonl`}, report.Faults())

	files["first.journal.jsonl"] = cutAfter(whole, session.StepRan)
	files["first-1.jsonl"] = files["first-1.jsonl"][:3000]
	recordings, _ = sessions.Recordings(sourcesOf("", files))
	assert.Empty(t, cutOf(recordings[0]))
	report, err = recordings[0].Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	require.Len(t, report.Faults(), 1)
	assert.Contains(t, report.Faults()[0], "truncated trace")
}

// SES-32: a host that was killed before it had written the header of its journal leaves an empty one.
func TestJournalsWithoutAHeader(t *testing.T) {
	whole := played(t, "two-hosts")["first.journal.jsonl"]
	for content, ok := range map[string]bool{"": true, string(whole[:1]): true, string(whole[:30]): true, "x": false, "{}\n": false} {
		recordings, traces := sessions.Recordings(sourcesOf("", map[string][]byte{"first.journal.jsonl": []byte(content)}))
		if !ok {
			assert.Len(t, traces, 1, content)
			continue
		}
		require.Len(t, recordings, 1, content)
		_, reports := recordings[0].Read(trace.Options{})
		assert.Equal(t, []corpus.JournalReport{{Journal: "first.journal.jsonl", NoFooter: true}}, reports, content)
	}
	_, traces := sessions.Recordings(sourcesOf("", map[string][]byte{"first-1.jsonl": nil}))
	assert.Len(t, traces, 1, "what is not called one is none")
}

// A host's recorder writes each file where it is told to, and reports what it could not write.
func TestRecordHost(t *testing.T) {
	full := errors.New("the disk is full")
	var opened []string
	recorder := sessions.RecordHost("a", func(file string) (io.WriteCloser, error) {
		opened = append(opened, file)
		return nil, full
	})
	recorder.Step(session.Step{Kind: session.StepRan})
	recorder.Step(session.Step{Kind: session.StepRan})
	recorder.Observe(adk.RunInfo{})
	assert.Equal(t, []string{"a.journal.jsonl", "a-1.jsonl"}, opened)
	assert.ErrorIs(t, recorder.Close(), full)

	var m sessions.InMemory
	m.Host("b").Step(session.Step{Kind: session.StepRan})
	require.NoError(t, m.Close())
	m.Host("b").Step(session.Step{Kind: session.StepRan})
	require.NoError(t, m.Close(), "it may be closed again")
	assert.Len(t, strings.Split(string(m.Files()["b.journal.jsonl"]), "\n"), 4, "header, step and footer")
	assert.Empty(t, (&sessions.InMemory{}).Recording("x").Journals)
}

// A story has every kind of step, of every host, whatever names occur in it.
func TestStory(t *testing.T) {
	id := session.SessionID{Session: "a b\n"}
	j := &sessions.Journal{}
	for i, kind := range session.StepKinds() {
		j.Steps = append(j.Steps, session.Step{Kind: kind, N: int64(i), SessionID: id, Host: "h", Delivery: "d", Epoch: 1})
	}
	j.Steps[5].Code = ""
	var story bytes.Buffer
	require.NoError(t, sessions.WriteStory(&story, j, nil))
	assert.Equal(t, `session "a b\n", from 0001-01-01 00:00:00 UTC
  accepted d as 0, payload , by h
  epoch 1 is h's
    attempt 0 at d, from revision 0, values 
      no turn
      committed revision 0, values 
      given back: its caller has left
      failed for good: 
    the records of d were written
    somebody was told of d
  erased
`, story.String())
	assert.ErrorIs(t, sessions.WriteStory(fullDisk{}, j, nil), io.ErrShortWrite)
	n := 0
	for range j.Story(nil) {
		if n++; n == 2 {
			break
		}
	}
	assert.Equal(t, 2, n, "a story can be left")
}

// must reads an open file to its end.
func must(t *testing.T, in io.ReadCloser) []byte {
	t.Helper()
	content, err := io.ReadAll(in)
	require.NoError(t, errors.Join(err, in.Close()))
	return content
}

// cutOf are the traces that were cut because their host was killed.
func cutOf(r *sessions.Recording) []corpus.Source {
	return slices.DeleteFunc(slices.Clone(r.Traces), func(source corpus.Source) bool { return !r.IsCut(source.Name, trace.Options{}) })
}

package sessions_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

var words, errWords = session.NewKey[[]string](session.KeyInit{Name: "test.words"})

// wordChannel stores its payload, a text, as a word.
type wordChannel struct{}

func (wordChannel) State() (json.RawMessage, error) { return nil, nil }

func (wordChannel) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	var word string
	if err := json.Unmarshal(d.Payload, &word); err != nil {
		return err
	}
	held, err := words.Ensure(tc, func() []string { return nil })
	if err != nil {
		return err
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: d.ID, Role: adk.RoleUser, Content: word, CreatedAt: tc.Now(), UpdatedAt: tc.Now()})
	if err != nil {
		return err
	}
	return errors.Join(words.Set(tc, append(held, word)), tc.Messages().Store(ctx, m))
}

// recording is a recorded session: its journal, and its traces by their turns.
type recording struct {
	journal bytes.Buffer
	traces  map[string]*bytes.Buffer
	clock   *fakes.Clock
	host    *session.Host
	open    *bytes.Buffer
}

func (r *recording) Observe(info adk.RunInfo) adk.Observer {
	r.open = &bytes.Buffer{}
	return replay.Record(r.open, replay.RecordOptions{Redact: r.rules()}).Observe(info)
}

func (r *recording) rules() *redact.Rules { return nil }

// record records a host that settles deliveries of two sessions; the turn of delivery b fails once.
func record(t *testing.T, prompt string, change ...func(*session.Config)) *recording {
	require.NoError(t, errWords)
	kept, err := memory.New(storage.Config{})
	require.NoError(t, err)
	r := &recording{traces: map[string]*bytes.Buffer{}, clock: fakes.NewClock()}
	journal := sessions.Record(&r.journal)
	failed := false
	config := session.Config{
		Agent: adk.Config{Clock: r.clock, IDs: fakes.NewIDs(), Storage: kept.Storage(), Probe: r, Executor: adk.Executor{Name: "acks", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			seed, err := session.SeedOf(dc)
			if err == nil && seed.Delivery == "b" && !failed {
				failed = true
				return errors.New("not now")
			}
			return errors.Join(err, dc.Ack())
		}}},
		Store: kept.Sessions(), Keys: []session.AnyKey{words}, Name: "host", NoWait: true,
		Channels: map[string]func(json.RawMessage) (session.Channel, error){"words": func(json.RawMessage) (session.Channel, error) { return wordChannel{}, nil }},
		Prompt:   func(session.Seed) (string, []string, error) { return prompt, nil, nil },
		Journal: func(s session.Step) {
			if s.Kind == session.StepRan {
				r.traces[s.Turn] = r.open
			}
			journal.Step(s)
		},
	}
	for _, f := range change {
		f(&config)
	}
	r.host, err = session.NewHost(config)
	require.NoError(t, err)
	for _, of := range []string{"one", "two"} {
		for _, id := range []string{"a", "b", "c"} {
			_, err := r.host.Deliver(t.Context(), session.Delivery{Session: of, ID: id, Kind: "words", Payload: json.RawMessage(fmt.Sprintf("%q", id))})
			if err != nil {
				require.ErrorIs(t, err, adk.E_SESSION_BUSY)
				r.clock.Advance(time.Second)
			}
		}
	}
	require.NoError(t, journal.Close())
	return r
}

func (r *recording) verify(t *testing.T, j *sessions.Journal, o sessions.Options) *sessions.Report {
	o.Open = func(turn string) (io.ReadCloser, error) {
		if trace := r.traces[turn]; trace != nil {
			return io.NopCloser(bytes.NewReader(trace.Bytes())), nil
		}
		return nil, nil
	}
	report, err := sessions.Verify(t.Context(), j, o)
	require.NoError(t, err)
	return report
}

func (r *recording) read(t *testing.T) *sessions.Journal {
	j, err := sessions.Read(bytes.NewReader(r.journal.Bytes()))
	require.NoError(t, err)
	require.True(t, j.Sealed)
	return j
}

// SES-34: a journal verifies together with its traces, both scripted and with today's host.
func TestVerify(t *testing.T) {
	r := record(t, "Collect.")
	seams := []string{"turn-input/session-*", "dispatch-input/session-*", "turn-output/session-*"}
	for _, o := range []sessions.Options{{}, {Host: r.host, Live: replay.Live{Config: r.host.Agent(), Seams: seams}}} {
		report := r.verify(t, r.read(t), o)
		for _, d := range report.Divergences {
			t.Error(d)
		}
		assert.Equal(t, 2, report.Sessions)
		assert.Equal(t, 6, report.Commits)
		assert.Equal(t, 7, report.Attempts)
		assert.Empty(t, report.NotCompared)
	}
}

// SES-34: every change of a journal is reported, with its class.
func TestChangedJournals(t *testing.T) {
	r := record(t, "Collect.")
	find := func(j *sessions.Journal, kind session.StepKind, delivery string) *session.Step {
		for i := range j.Steps {
			if s := &j.Steps[i]; s.Kind == kind && s.Delivery == delivery {
				return s
			}
		}
		t.Fatalf("there is no %s of %s", kind, delivery)
		return nil
	}
	for name, c := range map[string]struct {
		class  sessions.Class
		change func(j *sessions.Journal)
	}{
		"another payload":  {sessions.Hydrate, func(j *sessions.Journal) { find(j, session.StepAccepted, "a").Payload = "00" }},
		"another bag":      {sessions.Hydrate, func(j *sessions.Journal) { find(j, session.StepHydrated, "b").Bag = "00" }},
		"another revision": {sessions.Hydrate, func(j *sessions.Journal) { find(j, session.StepHydrated, "b").Revision = 7 }},
		"another attempt":  {sessions.Hydrate, func(j *sessions.Journal) { find(j, session.StepRan, "a").Attempt = 7 }},
		"hydrated attempt": {sessions.Order, func(j *sessions.Journal) { find(j, session.StepHydrated, "a").Attempt = 7 }},
		"another turn":     {sessions.Hydrate, func(j *sessions.Journal) { find(j, session.StepRan, "a").Turn = find(j, session.StepRan, "c").Turn }},
		"committed bag":    {sessions.Commit, func(j *sessions.Journal) { find(j, session.StepCommitted, "b").Bag = "00" }},
		"committed keys":   {sessions.Commit, func(j *sessions.Journal) { find(j, session.StepCommitted, "b").Keys = nil }},
		"committed records": {sessions.Commit, func(j *sessions.Journal) {
			find(j, session.StepCommitted, "b").Records = []string{"messages.store x 00"}
		}},
		"committed twice":   {sessions.Order, func(j *sessions.Journal) { find(j, session.StepCommitted, "b").Revision = 3 }},
		"out of order":      {sessions.Order, func(j *sessions.Journal) { find(j, session.StepHydrated, "b").Seq = 3 }},
		"hydrated of none":  {sessions.Order, func(j *sessions.Journal) { find(j, session.StepHydrated, "a").Delivery = "" }},
		"ran of none":       {sessions.Order, func(j *sessions.Journal) { find(j, session.StepRan, "a").Delivery = "" }},
		"committed of none": {sessions.Order, func(j *sessions.Journal) { find(j, session.StepCommitted, "a").Delivery = "" }},
		"failed of none": {sessions.Order, func(j *sessions.Journal) {
			s := find(j, session.StepRan, "a")
			s.Kind, s.Delivery = session.StepFailed, ""
		}},
		"two of a number": {sessions.Order, func(j *sessions.Journal) { find(j, session.StepAccepted, "b").Seq = 1 }},
		"two of a payload": {sessions.Order, func(j *sessions.Journal) {
			again := *find(j, session.StepAccepted, "a")
			again.Payload = "00"
			j.Steps = append(j.Steps, again)
		}},
		"accepted as two": {sessions.Order, func(j *sessions.Journal) {
			again := *find(j, session.StepAccepted, "c")
			again.Seq, again.Epoch = 4, 0
			find(j, session.StepCommitted, "c").Kind = session.StepDropped
			j.Steps = append(j.Steps, again)
		}},
		"settled before": {sessions.Order, func(j *sessions.Journal) { s := find(j, session.StepCommitted, "b"); s.Delivery, s.Seq = "a", 1 }},
	} {
		j := r.read(t)
		c.change(j)
		report := r.verify(t, j, sessions.Options{})
		if assert.NotEmpty(t, report.Divergences, name) {
			assert.Equal(t, c.class, report.Divergences[0].Class, "%s: %s", name, report.Divergences[0])
		}
		assert.LessOrEqual(t, len(report.Divergences), 1, "%s: the other session is as it was", name)
	}
}

// SES-34: if the caller left before the turn could begin, the trace of the turn begins with that.
func TestCallerThatLeftFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var seeds []session.Seed
	r := record(t, "Collect.", func(c *session.Config) {
		prompt := c.Prompt
		c.Prompt = func(s session.Seed) (string, []string, error) {
			if seeds = append(seeds, s); s.Session == "three" && ctx.Err() == nil {
				cancel()
			}
			return prompt(s)
		}
		c.Journal, seeds = func(session.Step) {}, nil
	})
	require.NotEmpty(t, seeds)
	_, err := r.host.Deliver(ctx, session.Delivery{Session: "three", ID: "a", Kind: "words", Payload: json.RawMessage(`"a"`)})
	require.ErrorIs(t, err, context.Canceled)
	recorded := r.open
	live, err := sessions.Today(r.host, replay.Live{}, bytes.NewReader(recorded.Bytes()))
	require.NoError(t, err)
	assert.Equal(t, "Collect.", live.Turn.SystemPrompt)
	seed := seeds[len(seeds)-1]
	step := func(kind session.StepKind) session.Step {
		return session.Step{Kind: kind, SessionID: session.SessionID{Session: "three"}, Epoch: seed.Epoch, Delivery: "a", Seq: 1, Attempt: 1}
	}
	accepted, hydrated, ran := step(session.StepAccepted), step(session.StepHydrated), step(session.StepRan)
	accepted.Epoch, hydrated.Bag, ran.Turn = 0, session.Digest(nil), "turn"
	report, err := sessions.Verify(t.Context(), &sessions.Journal{Sealed: true, Steps: []session.Step{accepted, hydrated, ran}},
		sessions.Options{Open: func(string) (io.ReadCloser, error) { return io.NopCloser(recorded), nil }})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
}

// SES-34: a turn that does something else is reported with its own report, and a host that begins
// a turn differently is reported by the difference.
func TestChangedTurns(t *testing.T) {
	r := record(t, "Collect.")
	j := r.read(t)
	first := j.Steps[3].Turn
	r.traces[first] = bytes.NewBuffer(bytes.Replace(r.traces[first].Bytes(), []byte(`"content":"a"`), []byte(`"content":"A"`), 1))
	_, err := sessions.Verify(t.Context(), j, sessions.Options{Open: func(turn string) (io.ReadCloser, error) {
		return io.NopCloser(r.traces[turn]), nil
	}})
	require.ErrorContains(t, err, "the trace of turn "+first, "its footer is that of another trace")

	r = record(t, "Collect.")
	live := replay.Live{Config: adk.Config{Executor: adk.Executor{Name: "acks", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(dc.Stash().Set("more", 1), dc.Ack())
	}}}, Seams: []string{replay.Executor}}
	report := r.verify(t, r.read(t), sessions.Options{Live: live})
	require.NotEmpty(t, report.Divergences)
	assert.Equal(t, sessions.Turn, report.Divergences[0].Class)
	require.NotNil(t, report.Divergences[0].Turn)
	assert.Contains(t, report.Divergences[0].String(), "more")

	other := record(t, "Collect more.")
	report = r.verify(t, r.read(t), sessions.Options{Host: other.host})
	require.Len(t, report.Divergences, 2)
	assert.Contains(t, report.Divergences[0].Says, "another prompt")
}

// If today's host begins a turn differently, the report names the line of the prompt, the instruction,
// or the places in the stash. It does not show the values there, which may hold a secret.
func TestBeginningsThatDiffer(t *testing.T) {
	saying := func(prompt string, instructions ...string) func(*session.Config) {
		return func(c *session.Config) {
			c.Prompt = func(session.Seed) (string, []string, error) { return prompt, instructions, nil }
		}
	}
	var recorded session.Config
	r := record(t, "", saying("Collect.\nWords.", "one", "two"), func(c *session.Config) { recorded = *c })
	for says, change := range map[string]func(*session.Config){
		"today's host has another prompt, from line 2 on":                                         saying("Collect.\nSECRET", "one", "two"),
		"today's host has other instructions, from number 2 on: 2 in the place of 2":              saying("Collect.\nWords.", "one", "SECRET"),
		"today's host has other instructions, from number 3 on: 3 in the place of 2":              saying("Collect.\nWords.", "one", "two", "SECRET"),
		"today's host begins with another stash, which differs at \"session.context.test.words\"": func(c *session.Config) { c.Keys = nil },
	} {
		config := recorded
		change(&config)
		host, err := session.NewHost(config)
		require.NoError(t, err)
		report := r.verify(t, r.read(t), sessions.Options{Host: host})
		require.NotEmpty(t, report.Divergences, says)
		assert.Equal(t, says, report.Divergences[0].Says)
	}
}

// SES-34: the attempt of a turn without a trace is not compared, and the report says so.
func TestMissingTraces(t *testing.T) {
	r := record(t, "Collect.")
	j := r.read(t)
	gone := j.Steps[3].Turn
	delete(r.traces, gone)
	report := r.verify(t, j, sessions.Options{})
	assert.Empty(t, report.Divergences)
	assert.Equal(t, []string{"turn " + gone + ", which has no trace"}, report.NotCompared)
}

// SES-32: a journal that is cut off is read as far as it goes. A journal that was changed is
// refused with its file, its line and the fault.
func TestReadJournal(t *testing.T) {
	whole := record(t, "Collect.").journal.String()
	lines := strings.SplitAfter(strings.TrimSpace(whole), "\n")
	for _, torn := range []string{"", lines[5][:1], lines[5][:9], strings.TrimSpace(lines[5]), `{"end":4`} { // a host may be killed while it writes
		cut, err := sessions.Read(strings.NewReader(strings.Join(lines[:5], "") + torn))
		require.NoError(t, err)
		assert.False(t, cut.Sealed)
		assert.Len(t, cut.Steps, 4)
	}
	for name, c := range map[string]struct{ text, says string }{
		"empty":         {"", "a.jsonl:1: truncated journal: it is empty"},
		"no journal":    {"{}\n", `a.jsonl:1: no journal: want a header that begins {"adkreplay":"journal","version":1`},
		"a trace":       {`{"adkreplay":"trace","version":5}` + "\n", "a.jsonl:1: no journal: want a header"},
		"next version":  {strings.Replace(whole, `"version":1`, `"version":2`, 1), "a.jsonl:1: journal of another version: the journal's version is 2: this program reads 1"},
		"half a step":   {lines[0] + lines[1] + "{\n", "a.jsonl:3: malformed journal: this is no step: the JSON breaks off"},
		"no kind":       {lines[0] + "{}\n", "a.jsonl:2: malformed journal: this is no step: its kind or its session is missing"},
		"another kind":  {lines[0] + `{"step":"sang","session":"one"}` + "\n", `a.jsonl:2: malformed journal: this is no step: there is no kind "sang"`},
		"a member more": {lines[0] + `{"step":"ran","more":1}` + "\n", "a.jsonl:2: malformed journal: this is no step: there is no member \"more\""},
		"a wrong type":  {lines[0] + `{"step":"ran","records":"x"}` + "\n", "a.jsonl:2: malformed journal: this is no step: records: want a list, found a text"},
		"a wrong time":  {lines[0] + `{"step":"ran","at":"noon"}` + "\n", "a.jsonl:2: malformed journal: this is no step: want times as in 2025-01-01T00:00:00Z"},
		"two objects":   {lines[0] + strings.TrimSpace(lines[1]) + "{}\n", "a.jsonl:2: malformed journal: this is no step: there is more behind the object"},
		"an empty line": {lines[0] + "\n", "a.jsonl:2: malformed journal: the line is empty"},
		"cut header":    {lines[0][:9], "a.jsonl:1: truncated journal: the line has no end: the file was cut short within it"},
		"no step's cut": {lines[0] + `{"step"]`, "a.jsonl:2: truncated journal: the line has no end: the file was cut short within it"},
		"no object cut": {lines[0] + "\x00\x00", "a.jsonl:2: truncated journal: the line has no end"},
		"a first cut":   {lines[0] + lines[2], "a.jsonl:2: miscounted journal: steps are missing: 2 of host "},
		"a middle cut":  {lines[0] + lines[1] + lines[3], "a.jsonl:3: miscounted journal: steps are missing: 3 of host "},
		"other lines":   {strings.Replace(whole, `"seq":1`, `"seq":2`, 1), "changed journal: the footer is that of another journal"},
		"a step less":   {strings.Replace(whole, lines[3], "", 1), "miscounted journal: the footer is that of another journal: it counts"},
		"a merge":       {lines[0] + "<<<<<<< HEAD\n" + lines[1], "a.jsonl:2: malformed journal: these are git's conflict markers"},
		"a checkout":    {strings.ReplaceAll(whole, "\n", "\r\n"), "changed journal: its lines end in CRLF: a checkout with core.autocrlf changed them"},
		"more":          {whole + "{}\n", "malformed journal: more follows after the footer"},
	} {
		_, err := sessions.Read(strings.NewReader(c.text), trace.Options{File: "a.jsonl"})
		assert.ErrorContains(t, err, c.says, name)
		assert.ErrorAs(t, err, new(*sessions.FormatError), name)
	}
}

// SES-32: the limits of reading a trace also bound the cost of reading a journal.
func TestReadJournalWithinLimits(t *testing.T) {
	whole := record(t, "Collect.").journal.String()
	for says, limits := range map[string]trace.Options{
		"line: more than 80 bytes":         {MaxLine: 80},
		"crossings: more than 3":           {MaxCrossings: 3},
		"memory: more than 900 bytes that": {MaxMemory: 900},
	} {
		j, err := sessions.Read(strings.NewReader(whole), limits)
		assert.ErrorContains(t, err, says)
		assert.ErrorContains(t, err, "--limit "+strings.Split(says, ":")[0])
		assert.NotNil(t, j, "%s: what came before it is there", says)
	}
}

// SES-32: a journal is recognized by its first line.
func TestBegins(t *testing.T) {
	whole := record(t, "Collect.").journal.String()
	for text, want := range map[string]bool{whole: true, "": false, "{}\n": false, `{"adkreplay":"trace","version":5}` + "\n": false,
		strings.Repeat(" ", 1<<13) + whole: false, whole[:20]: false} {
		in := bufio.NewReader(strings.NewReader(text))
		assert.Equal(t, want, sessions.Begins(in), "%.40q", text)
		left, err := io.ReadAll(in)
		require.NoError(t, err)
		assert.Equal(t, text, string(left), "nothing was taken")
	}
}

// fullDisk is a writer that accepts no byte.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// SES-32: a journal that cannot be written does not disturb the host, and reports the reason.
func TestJournalOnAFullDisk(t *testing.T) {
	r := sessions.Record(fullDisk{})
	r.Step(session.Step{Kind: session.StepRan})
	assert.ErrorIs(t, r.Err(), io.ErrShortWrite)
	assert.ErrorIs(t, r.Close(), io.ErrShortWrite)
}

// SES-32: steps of several hosts are merged by session, epoch and number.
func TestMerge(t *testing.T) {
	step := func(kind session.StepKind, n, epoch, seq int64) session.Step {
		return session.Step{Kind: kind, N: n, Epoch: epoch, Seq: seq, SessionID: session.SessionID{Session: "one"}}
	}
	merged := sessions.Merge(
		&sessions.Journal{Sealed: true, Steps: []session.Step{step("claimed", 2, 2, 0), step("ran", 3, 2, 2), step("accepted", 9, 0, 2)}},
		&sessions.Journal{Sealed: true, Steps: []session.Step{step("accepted", 1, 0, 1), step("claimed", 7, 1, 0), step("ran", 8, 1, 1)}})
	var order []string
	for _, s := range merged.Steps {
		order = append(order, fmt.Sprint(s.Kind, s.N))
	}
	assert.Equal(t, []string{"accepted1", "accepted9", "claimed7", "ran8", "claimed2", "ran3"}, order)
}

// SES-32, SES-40: the acceptance of deliveries comes first and the erasure of a session last, whether a host
// wrote them with an epoch or, as earlier releases do, without, and in whatever order the journals are read.
func TestMergeOfAnErasedSession(t *testing.T) {
	step := func(host string, kind session.StepKind, n, epoch, seq int64) session.Step {
		return session.Step{Kind: kind, Host: host, N: n, Epoch: epoch, Seq: seq, SessionID: session.SessionID{Session: "one"}}
	}
	for _, epoch := range []int64{0, 3} {
		journals := []*sessions.Journal{
			{Steps: []session.Step{step("a", "accepted", 4, 0, 1), step("a", "claimed", 5, 1, 0)}},
			{Steps: []session.Step{step("b", "accepted", 2, 0, 2), step("b", "claimed", 3, 2, 0)}},
			{Steps: []session.Step{step("c", "erased", 3, epoch, 0)}},
		}
		for range journals {
			journals = append(journals[1:], journals[0])
			var order []string
			for _, s := range sessions.Merge(journals...).Steps {
				order = append(order, s.Host+string(s.Kind))
			}
			assert.Equal(t, []string{"aaccepted", "baccepted", "aclaimed", "bclaimed", "cerased"}, order)
		}
	}
}

package sessions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
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
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

var (
	basket, errBasket = session.NewKey[[]string](session.KeyInit{Name: "shop.basket"})
	total, errTotal   = session.NewKey[int](session.KeyInit{Name: "shop.total"})
)

// shop is a host whose tool puts things into a basket, as its fields say.
type shop struct {
	prompt string
	// thing returns what the tool puts in for a text.
	thing func(text string) string
	// counts makes the tool set another key as well.
	counts bool
	// nacks makes today's executor nack.
	nacks bool
	probe *sessions.InMemory
}

func (s shop) host(t *testing.T) *session.Host {
	require.NoError(t, errors.Join(errBasket, errTotal))
	kept, err := memory.New(storage.Config{})
	require.NoError(t, err)
	put, err := adk.NewTool(adk.ToolInit{Name: "put", Description: "Puts a thing into the basket.", Effect: adk.EffectReads, // as far as the world is concerned
		InputSchema: []byte(`{"type":"object","properties":{"thing":{"type":"string"}}}`), Handler: s.put})
	require.NoError(t, err)
	config := session.Config{
		Agent: adk.Config{Storage: kept.Storage(), Tools: []*adk.Tool{put}, IDs: fakes.NewIDs(), Clock: fakes.NewClock(), Executor: adk.Executor{Name: "model", Run: s.run}},
		Store: kept.Sessions(), Keys: []session.AnyKey{basket, total}, Name: "host", NoWait: true,
		Channels: map[string]func(json.RawMessage) (session.Channel, error){"words": func(json.RawMessage) (session.Channel, error) { return wordless{}, nil }},
		Prompt:   func(session.Seed) (string, []string, error) { return s.prompt, nil, nil },
	}
	if s.probe != nil {
		config.Agent.Probe, config.Journal = s.probe.Host("host"), s.probe.Host("host").Step
	}
	config.Agent = fakes.Deterministic(config.Agent)
	host, err := session.NewHost(config)
	require.NoError(t, err)
	return host
}

// wordless stores the payload as a message with characters that JSON may escape.
type wordless struct{}

func (wordless) State() (json.RawMessage, error) { return nil, nil }

func (wordless) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	m, err := adk.NewMessage(adk.MessageInit{ID: d.ID, Role: adk.RoleUser, Content: "<" + d.ID + "> & more", CreatedAt: tc.Now(), UpdatedAt: tc.Now()})
	if err != nil {
		return err
	}
	return tc.Messages().Keep(ctx, m)
}

func (s shop) run(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	seed, err := session.SeedOf(dc)
	if err != nil {
		return err
	}
	if s.nacks {
		return dc.Nack(errors.New("closed"))
	}
	return fakes.Script{{fakes.Call("put", fmt.Sprintf(`{"thing":%q}`, seed.Delivery)).As(seed.Delivery + "-call"), fakes.Ack()}}.Executor("model").Run(ctx, dc, h)
}

func (s shop) put(_ context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
	held, _, err := basket.Find(dc)
	if err != nil {
		return nil, err
	}
	held = append(held, s.thing(fmt.Sprint(args["thing"])))
	if s.counts {
		err = total.Set(dc, len(held))
	}
	return adk.Text("ok"), errors.Join(err, basket.Set(dc, held))
}

// plain is the shop as it was recorded.
func plain() shop { return shop{prompt: "You sell.", thing: strings.ToLower} }

// recordedShop is a recording of three deliveries of one session.
func recordedShop(t *testing.T, options replay.RecordOptions) *sessions.Recording {
	s := plain()
	s.probe = &sessions.InMemory{Options: options}
	host := s.host(t)
	for _, id := range []string{"Milk", "Bread", "Salt"} {
		_, err := host.Deliver(t.Context(), session.Delivery{Session: "ada", ID: id, Kind: "words", Payload: json.RawMessage(`1`), Auth: json.RawMessage(`{"mail":"ada@home.example"}`)})
		require.NoError(t, err)
	}
	require.NoError(t, s.probe.Close())
	return s.probe.Recording("turns")
}

// SES-22, SES-34: an id that comes again after a purge is a new delivery, and is reported as one,
// also if only its steps show that.
func TestVerifyBehindAPurge(t *testing.T) {
	s := plain()
	s.probe = &sessions.InMemory{}
	host := s.host(t)
	deliver := func(id, payload string) {
		_, err := host.Deliver(t.Context(), session.Delivery{Session: "ada", ID: id, Kind: "words", Payload: json.RawMessage(payload)})
		require.NoError(t, err)
	}
	deliver("Milk", "1")
	deliver("Bread", "1")
	purged, err := host.Purge(t.Context(), fakes.NewClock().Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 2, purged)
	deliver("Bread", "2")
	deliver("Milk", "1")
	require.NoError(t, s.probe.Close())
	report, err := s.probe.Recording("turns").Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Equal(t, 4, report.Commits)
	assert.Empty(t, report.NotCompared)

	j, _ := s.probe.Recording("turns").Read(trace.Options{})
	j.Steps = slices.DeleteFunc(j.Steps, func(s session.Step) bool { return s.Kind == session.StepAccepted })
	untold, err := sessions.Verify(t.Context(), j, sessions.Options{Open: opener(s.probe.Files())})
	require.NoError(t, err)
	assert.Empty(t, untold.Divergences)
	assert.Equal(t, 4, untold.Commits)
	assert.Len(t, untold.NotCompared, 4)
}

// SES-34: after a delivery was accepted again under another number, the former number is no longer
// valid: a step with that number in a later line of the file is a divergence.
func TestNumbersOfWhatComesAgain(t *testing.T) {
	s := plain()
	s.probe = &sessions.InMemory{}
	host := s.host(t)
	_, err := host.Deliver(t.Context(), session.Delivery{Session: "ada", ID: "Milk", Kind: "words", Payload: json.RawMessage(`1`)})
	require.NoError(t, err)
	require.NoError(t, s.probe.Close())
	files := s.probe.Files()
	files["host.journal.jsonl"] = bytes.Replace(files["host.journal.jsonl"], []byte(`"seq":1`), []byte(`"seq":2`), 1) // the number under which it was accepted
	report, err := sessions.Verify(t.Context(), read(t, files), sessions.Options{Open: opener(files)})
	require.NoError(t, err)
	require.Len(t, report.Divergences, 1)
	assert.Equal(t, "hydrated comes under another number: the delivery was accepted as 2 before", report.Divergences[0].Says)
	assert.Equal(t, 4, report.Divergences[0].Line)
}

// SES-10, SES-34: if deliveries are accepted before somebody settles them, the journal holds
// everything.
func TestVerifyWhatWasAcceptedBefore(t *testing.T) {
	s := plain()
	s.probe = &sessions.InMemory{}
	host := s.host(t)
	for _, id := range []string{"Milk", "Bread"} {
		_, err := host.Accept(t.Context(), session.Delivery{Session: "ada", ID: id, Kind: "words", Payload: json.RawMessage(`1`)})
		require.NoError(t, err)
	}
	settled, err := host.Resume(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, 2, settled)
	require.NoError(t, s.probe.Close())
	report, err := s.probe.Recording("turns").Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Empty(t, report.NotCompared)
	assert.Equal(t, 2, report.Commits)
}

var shopSeams = []string{replay.ToolCode}

// rerecord makes a recording again with today's shop.
func (s shop) rerecord(t *testing.T, r *sessions.Recording, seams ...string) (map[string][]byte, error) {
	return r.Rerecord(t.Context(), func() (*session.Host, replay.Live) { return s.host(t), replay.Live{Seams: seams} }, trace.Options{})
}

// SES-34: a recording that is made again with the host that was recorded is the same, byte for
// byte.
func TestRerecordUnchanged(t *testing.T) {
	r := recordedShop(t, replay.RecordOptions{})
	files, err := plain().rerecord(t, r, shopSeams...)
	require.NoError(t, err)
	assert.Len(t, files, 4)
	for _, source := range append(r.Journals, r.Traces...) {
		in, err := source.Open()
		require.NoError(t, err)
		assert.Equal(t, string(must(t, in)), string(files[source.Name]), source.Name)
	}
}

// SES-34: the next turn begins with what the turn before it leaves now, and the journal says so.
func TestRerecordChanged(t *testing.T) {
	r := recordedShop(t, replay.RecordOptions{})
	loud := plain()
	loud.thing, loud.counts, loud.prompt = strings.ToUpper, true, "You shout."
	files, err := loud.rerecord(t, r, shopSeams...)
	require.NoError(t, err)
	last := string(files["turns/host-3.jsonl"])
	assert.Contains(t, last, `[\"MILK\",\"BREAD\"]`, "the third turn begins with what the first two have left now")
	assert.Contains(t, last, "You shout.")
	assert.NotContains(t, last, "bread\\")
	journal := string(files["turns/host.journal.jsonl"])
	assert.Equal(t, 3, strings.Count(journal, `"keys":["shop.basket","shop.total"]`))
	recordings, _ := sessions.Recordings(sourcesOf("", files))
	report, err := recordings[0].Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Equal(t, 3, report.Commits)
}

// SES-34: a redacted recording is made again with the rules by which it was redacted. If nothing
// changed, it is the same byte for byte; otherwise it has nothing that the rules find.
func TestRerecordRedacted(t *testing.T) {
	things := &redact.Rules{Patterns: []redact.Pattern{{Kind: "thing", Expr: "milk|bread|rye"}}}
	for name, c := range map[string]struct {
		rules  *redact.Rules
		secret string
	}{"the auth": {redact.UsualSecrets(), "ada@home"}, "values": {things, "milk|bread|rye"}} {
		r := recordedShop(t, replay.RecordOptions{Redact: c.rules})
		again := func(s shop) map[string][]byte {
			files, err := r.Rerecord(t.Context(), func() (*session.Host, replay.Live) {
				return s.host(t), replay.Live{Seams: shopSeams, Redact: c.rules}
			}, trace.Options{})
			require.NoError(t, err, name)
			return files
		}
		same := again(plain())
		for _, source := range append(slices.Clone(r.Journals), r.Traces...) {
			assert.Equal(t, string(must(t, openOf(t, source))), string(same[source.Name]), "%s: %s", name, source.Name)
		}
		changed := plain()
		changed.prompt, changed.thing = "You shout.", func(thing string) string { return "rye for " + thing }
		for file, content := range again(changed) {
			if !strings.Contains(file, "journal") {
				assert.NotRegexp(t, c.secret, string(content), "%s: %s", name, file)
				assert.Contains(t, string(content), "You shout.", "%s: %s", name, file)
			}
		}
	}
}

// SES-34: a recording does not hold what hosts would do otherwise, nor what was redacted or is
// missing; rerecording it is refused.
func TestRerecordRefuses(t *testing.T) {
	closed := plain()
	closed.nacks = true
	_, err := closed.rerecord(t, recordedShop(t, replay.RecordOptions{}), replay.Executor)
	assert.ErrorContains(t, err, `Milk of session "ada": its turn does not end as it did`)

	secret := recordedShop(t, replay.RecordOptions{Redact: &redact.Rules{Patterns: []redact.Pattern{{Kind: "thing", Expr: "bread"}}}})
	_, err = plain().rerecord(t, secret, shopSeams...)
	assert.ErrorContains(t, err, "it is redacted, and what live seams say is not")

	without := recordedShop(t, replay.RecordOptions{})
	without.Traces = without.Traces[:1]
	_, err = plain().rerecord(t, without, shopSeams...)
	assert.ErrorContains(t, err, "Bread of session \"ada\": it was committed, and its turn has no trace")

	other := recordedShop(t, replay.RecordOptions{})
	other.Traces[0], other.Traces[1] = other.Traces[1], other.Traces[0]
	other.Traces[0].Name, other.Traces[1].Name = other.Traces[1].Name, other.Traces[0].Name
	_, err = plain().rerecord(t, other, shopSeams...)
	assert.NoError(t, err, "the names of files say nothing")
	wrong := recordedShop(t, replay.RecordOptions{})
	wrong.Traces[0] = otherTurn(t)
	_, err = plain().rerecord(t, wrong, shopSeams...)
	assert.ErrorContains(t, err, "the journal and its traces are not of one session: hydrate at turns/host.journal.jsonl:5")

	cut := played(t, "two-hosts")
	cut["first.journal.jsonl"] = cutAfter(cut["first.journal.jsonl"], session.StepClaimed)
	recordings, _ := sessions.Recordings(sourcesOf("", cut))
	_, err = plain().rerecord(t, recordings[0])
	assert.ErrorContains(t, err, "first.journal.jsonl: truncated journal: it has no footer, and tells nothing of attempt 1")
}

// SES-34: the journal of a killed host is made again without a footer, and the trace of the turn
// that was running stays as it is.
func TestRerecordAKilledHost(t *testing.T) {
	r := recordedShop(t, replay.RecordOptions{})
	whole := must(t, openOf(t, r.Journals[0]))
	end := len(cutAfter(whole, session.StepCommitted))
	end += len(cutAfter(whole[end:], session.StepHydrated))
	files := map[string][]byte{"host.journal.jsonl": whole[:end], "host-1.jsonl": must(t, openOf(t, r.Traces[0])), "host-2.jsonl": must(t, openOf(t, r.Traces[1]))[:3000]}
	recordings, _ := sessions.Recordings(sourcesOf("", files))
	made, err := plain().rerecord(t, recordings[0], shopSeams...)
	require.NoError(t, err)
	assert.Equal(t, []string{"host-1.jsonl", "host.journal.jsonl"}, slices.Sorted(maps.Keys(made)))
	assert.Equal(t, string(whole[:end]), string(made["host.journal.jsonl"]))
}

// otherTurn is the first turn of another shop, under the same id.
func otherTurn(t *testing.T) corpus.Source {
	s := plain()
	s.probe = &sessions.InMemory{}
	_, err := s.host(t).Deliver(t.Context(), session.Delivery{Session: "ada", ID: "Milk", Kind: "words", Payload: json.RawMessage(`2`)})
	require.NoError(t, errors.Join(err, s.probe.Close()))
	return s.probe.Recording("turns").Traces[0]
}

// SES-34: for a trace that belongs to no turn of a session, there is no host of today.
func TestToday(t *testing.T) {
	r := recordedShop(t, replay.RecordOptions{})
	live, err := sessions.Today(plain().host(t), replay.Live{Seams: shopSeams}, openOf(t, r.Traces[1]))
	require.NoError(t, err)
	assert.Equal(t, "You sell.", live.Turn.SystemPrompt)
	assert.Equal(t, []string{replay.ToolCode}, live.Seams[:1])
	assert.True(t, live.Takes("turn-output/session-merge"))
	own := live.Turn.Stash["session"].(map[string]any)
	assert.Equal(t, []string{"auth", "context", "payload", "seed"}, slices.Sorted(maps.Keys(own)))

	minimal, err := fixtures.Traces.ReadFile("minimal.jsonl")
	require.NoError(t, err)
	_, err = sessions.Today(plain().host(t), replay.Live{}, bytes.NewReader(minimal))
	assert.ErrorContains(t, err, "it is none of a session's turn")
	_, err = sessions.Today(plain().host(t), replay.Live{}, strings.NewReader(""))
	assert.Error(t, err)
}

// SES-31, SES-34: of a redacted trace, everything is compared except for what is redacted. The
// sender of a delivery, which the preset rules redact, hides nothing else. A redacted value hides
// the digests, and the report says so.
func TestVerifyRedactedSessions(t *testing.T) {
	wrong := func(r *sessions.Recording) []sessions.Class {
		j, _ := r.Read(trace.Options{})
		for i := range j.Steps {
			if j.Steps[i].Kind == session.StepCommitted && j.Steps[i].Delivery == "Salt" {
				j.Steps[i].Bag = "00"
			}
		}
		turns := r.Turns(trace.Options{})
		report, err := sessions.Verify(t.Context(), j, sessions.Options{Open: func(turn string) (io.ReadCloser, error) { return turns[turn].Open() }})
		require.NoError(t, err)
		var found []sessions.Class
		for _, d := range report.Divergences {
			found = append(found, d.Class)
		}
		return found
	}
	auth := recordedShop(t, replay.RecordOptions{Redact: redact.UsualSecrets()})
	report, err := auth.Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Empty(t, report.NotCompared)
	assert.Equal(t, []sessions.Class{sessions.Commit}, wrong(auth))
	for _, source := range auth.Traces {
		content, err := io.ReadAll(openOf(t, source))
		require.NoError(t, err)
		assert.NotContains(t, string(content), "ada@home.example")
		live, err := sessions.Today(plain().host(t), replay.Live{Seams: shopSeams}, openOf(t, source))
		require.NoError(t, err)
		replayed, err := replay.Verify(t.Context(), openOf(t, source), live)
		require.NoError(t, err)
		if replayed.Divergence != nil {
			t.Error(replayed)
		}
	}

	value := recordedShop(t, replay.RecordOptions{Redact: &redact.Rules{Patterns: []redact.Pattern{{Kind: "thing", Expr: "milk|bread"}}}})
	report, err = value.Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Equal(t, []string{`the digests of the values of session "ada", of which some are redacted`}, report.NotCompared)
	assert.Empty(t, wrong(value))
}

func openOf(t *testing.T, source corpus.Source) io.ReadCloser {
	t.Helper()
	in, err := source.Open()
	require.NoError(t, err)
	return in
}

// SES-34: the values are unknown after a turn without a trace, until a later trace shows them again.
func TestVerifyBehindAMissingTrace(t *testing.T) {
	r := recordedShop(t, replay.RecordOptions{})
	r.Traces = r.Traces[1:]
	report, err := r.Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Equal(t, 1, report.Untraced)
	j, _ := r.Read(trace.Options{})
	for i := range j.Steps {
		if j.Steps[i].Kind == session.StepCommitted && j.Steps[i].Delivery == "Bread" {
			j.Steps[i].Keys = []string{"shop.total"}
		}
	}
	turns := r.Turns(trace.Options{})
	found, err := sessions.Verify(t.Context(), j, sessions.Options{Open: func(turn string) (io.ReadCloser, error) {
		if source, has := turns[turn]; has {
			return source.Open()
		}
		return nil, nil
	}})
	require.NoError(t, err)
	require.Len(t, found.Divergences, 1)
	assert.Equal(t, sessions.Commit, found.Divergences[0].Class)
}

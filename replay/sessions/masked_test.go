package sessions_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

var mails = &redact.Rules{Patterns: []redact.Pattern{{Kind: "mail", Expr: `[\w.+-]+@[\w.-]+\.\w+`}}}

// mailShop has two customers whose names are their addresses, as are the ids of their deliveries.
func mailShop(t *testing.T, rules *redact.Rules) *sessions.InMemory {
	s := plain()
	s.probe = &sessions.InMemory{Options: replay.RecordOptions{Redact: rules}}
	host := s.host(t)
	for _, id := range []string{"m1@post.example", "m2@post.example", "m3@post.example"} {
		for _, name := range []string{"grace@hopper.example", "ada@lovelace.example"} {
			_, err := host.Deliver(t.Context(), session.Delivery{Session: name, ID: name[:3] + id, Kind: "words", Payload: json.RawMessage(`1`)})
			require.NoError(t, err)
		}
	}
	require.NoError(t, s.probe.Close())
	return s.probe
}

// SES-34: what the rules remove from traces is not in a journal either. Journal and traces still
// belong together, also after they are rerecorded.
func TestJournalsAreRedacted(t *testing.T) {
	thorough.Long(t)
	shops := mailShop(t, mails)
	for name, content := range shops.Files() {
		assert.NotContains(t, string(content), ".example", name)
	}
	assert.Contains(t, string(shops.Files()["host.journal.jsonl"]), `"session":"[redacted:mail:1]"`)
	r := shops.Recording("turns")
	report, err := r.Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Empty(t, report.Faults())
	assert.Equal(t, []int{2, 6, 6, 0}, []int{report.Sessions, report.Attempts, report.Commits, report.Untraced})
	for _, s := range []shop{plain(), {prompt: "You sell.", thing: strings.ToLower, counts: true}} {
		made, err := r.Rerecord(t.Context(), func() (*session.Host, replay.Live) { return s.host(t), replay.Live{Seams: shopSeams, Redact: mails} }, trace.Options{})
		require.NoError(t, err)
		for name, content := range made {
			assert.NotContains(t, string(content), ".example", name)
			if !s.counts {
				assert.Equal(t, string(shops.Files()[path.Base(name)]), string(content), name)
			}
		}
	}
	for _, c := range []struct {
		old, with string
		class     sessions.Class
	}{
		{`"seq":2,`, `"seq":1,`, sessions.Order},
		{`"attempt":1`, `"attempt":2`, sessions.Hydrate},
		{`"messages.store `, `"memories.store `, sessions.Commit},
		{`["shop.basket"]`, `["shop.[redacted:mail:1].x"]`, sessions.Commit},
	} {
		files := shops.Files()
		lines := strings.SplitAfter(string(files["host.journal.jsonl"]), "\n")
		changed := strings.Replace(strings.Join(lines[:len(lines)-2], ""), c.old, c.with, -1)
		require.NotEqual(t, strings.Join(lines[:len(lines)-2], ""), changed, c.old)
		files["host.journal.jsonl"] = []byte(changed)
		recordings, _ := sessions.Recordings(sourcesOf("", files))
		report, err := recordings[0].Verify(t.Context(), sessions.Options{Replayed: sessions.AsRecorded})
		require.NoError(t, err)
		if assert.NotEmpty(t, report.Divergences, c.old) {
			assert.Equal(t, string(c.class), report.Divergences[0].Class, c.old)
		}
	}
}

// SES-32: in a redacted session too, the trace that a killed host cut is recognized as such.
func TestRedactedSessionOfAKilledHost(t *testing.T) {
	files := mailShop(t, mails).Files()
	journal := files["host.journal.jsonl"]
	end := bytes.LastIndex(journal, []byte(`{"step":"ran"`))
	files["host.journal.jsonl"], files["host-6.jsonl"] = journal[:end], files["host-6.jsonl"][:len(files["host-6.jsonl"])/2]
	recordings, _ := sessions.Recordings(sourcesOf("", files))
	report, err := recordings[0].Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Empty(t, report.Faults())
	assert.Equal(t, []string{"host-6.jsonl"}, names(cutOf(recordings[0])))
}

// SES-34: hosts in several processes number their placeholders independently. It is unknown which
// of their redacted sessions are the same: they are not verified, and the report says so.
func TestRedactedSessionsOfSeveralProcesses(t *testing.T) {
	files := map[string][]byte{}
	for i, name := range []string{"one", "other"} {
		recorder := sessions.RecordHost(name, func(file string) (io.WriteCloser, error) {
			return &written{to: func(b []byte) { files[file] = append(files[file], b...) }}, nil
		}, replay.RecordOptions{Redact: mails})
		for n, who := range []string{"grace@hopper.example", "ada", fmt.Sprint(i, "@x.example")} {
			recorder.Step(session.Step{Kind: session.StepAccepted, N: int64(n + 1), Host: name, SessionID: session.SessionID{Session: who}, Delivery: name, Seq: int64(i + 1)})
		}
		require.NoError(t, recorder.Close())
	}
	recordings, _ := sessions.Recordings(sourcesOf("", files))
	report, err := recordings[0].Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)
	assert.Contains(t, report.NotCompared, `session "[redacted:mail:1]": its name is redacted, and the journals number by themselves`)
	_, err = recordings[0].Rerecord(t.Context(), nil, trace.Options{})
	assert.ErrorContains(t, err, "nobody knows which session is which")
	delete(files, "other.journal.jsonl")
	recordings, _ = sessions.Recordings(sourcesOf("", files))
	report, err = recordings[0].Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.NotCompared, "one host knows its own")
}

// written is a file that passes what is written to a function.
type written struct{ to func([]byte) }

func (w *written) Write(b []byte) (int, error) { w.to(b); return len(b), nil }
func (w *written) Close() error                { return nil }

// SES-34: a path of the rules applies to a journal as it applies to the ids of records. What it
// finds only in a trace is no difference from the journal.
func TestPathsAndJournals(t *testing.T) {
	ids := mailShop(t, &redact.Rules{Paths: []string{"message.id"}})
	assert.Contains(t, string(ids.Files()["host.journal.jsonl"]), `"messages.store [redacted:id:1] `)
	basket := mailShop(t, &redact.Rules{Paths: []string{"thing", "basket"}})
	assert.NotContains(t, string(basket.Files()["host-1.jsonl"]), `gram1@post.example"}}`)
	for _, shops := range []*sessions.InMemory{ids, basket} {
		report, err := shops.Recording("turns").Verify(t.Context(), sessions.Options{})
		require.NoError(t, err)
		assert.Empty(t, report.Divergences)
	}
	said, err := basket.Recording("turns").Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.True(t, slices.ContainsFunc(said.NotCompared, func(what string) bool { return strings.HasPrefix(what, "the digests of the values") }), said.NotCompared)
}

// A value that a path finds in a turn of a session is not in clear text in the traces of the
// session's later turns either, wherever it occurs there. Traces of other sessions are not
// searched for it, unless the options define what a conversation is.
func TestWhatAPathFindsIsLookedForInLaterTurns(t *testing.T) {
	probe := threeTurns(t, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"card"}}})
	files := probe.Files()
	assert.NotContains(t, string(files["host-1.jsonl"]), cardNumber)
	assert.NotContains(t, string(files["host-2.jsonl"]), cardNumber)
	assert.Contains(t, string(files["host-2.jsonl"]), "you have paid with [redacted:card:1], or ")
	assert.NotContains(t, string(files["host-2.jsonl"]), base64.StdEncoding.EncodeToString([]byte("x" + cardNumber + "x"))[2:20])
	assert.Contains(t, string(files["host-3.jsonl"]), cardNumber, "nobody has found it there")
	report, err := probe.Recording("turns").Verify(t.Context(), sessions.Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Divergences)

	one := func(*adk.Crossing) string { return "one" }
	files = threeTurns(t, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"card"}}, Conversation: one}).Files()
	assert.NotContains(t, string(files["host-3.jsonl"]), cardNumber)
	none := func(*adk.Crossing) string { return "" }
	files = threeTurns(t, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"card"}}, Conversation: none}).Files()
	assert.Contains(t, string(files["host-2.jsonl"]), cardNumber)
}

const cardNumber = "4012 8888 8888 1881"

// threeTurns are two turns of one session, and one of another. The first turn has the number of a
// card in a field, and the second has it in its words.
func threeTurns(t *testing.T, options replay.RecordOptions) *sessions.InMemory {
	t.Helper()
	run := func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		seed, err := session.SeedOf(dc)
		if err != nil {
			return err
		}
		if seed.Delivery == "d0" {
			h.Log(adk.LevelInfo, "paid", "all is well", map[string]any{"card": cardNumber})
		} else {
			h.Log(adk.LevelInfo, "said", "you have paid with "+cardNumber+", or "+base64.StdEncoding.EncodeToString([]byte("x"+cardNumber+"x")), nil)
		}
		return dc.Ack()
	}
	kept, err := memory.New(storage.Config{})
	require.NoError(t, err)
	probe := &sessions.InMemory{Options: options}
	host, err := session.NewHost(session.Config{
		Agent: fakes.Deterministic(adk.Config{Storage: kept.Storage(), Executor: adk.Executor{Name: "model", Run: run}}, probe.Host("host")),
		Store: kept.Sessions(), Name: "host", NoWait: true, Journal: probe.Host("host").Step,
		Channels: map[string]func(json.RawMessage) (session.Channel, error){"words": func(json.RawMessage) (session.Channel, error) { return wordless{}, nil }},
		Prompt:   func(session.Seed) (string, []string, error) { return "You sell.", nil, nil },
	})
	require.NoError(t, err)
	for i, name := range []string{"a", "a", "b"} {
		_, err := host.Deliver(t.Context(), session.Delivery{Session: name, ID: fmt.Sprint("d", i), Kind: "words", Payload: json.RawMessage(`1`)})
		require.NoError(t, err)
	}
	require.NoError(t, probe.Close())
	return probe
}

// If rules are invalid, or remove the text that says which session a trace belongs to, nothing is
// recorded, not even the journal.
func TestRecordHostRefusesRules(t *testing.T) {
	for _, rules := range []redact.Rules{{Paths: []string{"session"}}, {Paths: []string{"Session.Seed"}}, {Patterns: []redact.Pattern{{Kind: "x", Expr: "("}}}} {
		recorder := sessions.RecordHost("a", func(string) (io.WriteCloser, error) {
			t.Error("a file was opened")
			return nil, nil
		}, replay.RecordOptions{Redact: &rules})
		assert.ErrorContains(t, recorder.Err(), "RecordOptions.Redact: ")
		recorder.Step(session.Step{Kind: session.StepRan})
		assert.Nil(t, recorder.Observe(adk.RunInfo{}))
		assert.Error(t, recorder.Close())
	}
}

package golden_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/sessions"
)

// shopper is an agent with sessions; its tool puts deliveries into a basket.
type shopper struct {
	prompt string
	// counts makes the tool set a second key.
	counts bool
	// version is the version of the key's values: in version 2, things have a price.
	version int
	// copies makes the channel store its message twice.
	copies bool
	// closed makes the executor nack.
	closed bool
	// asks is how often each turn asks what a delivery costs. If remembers is set, only the first turn
	// of a process asks.
	asks      int
	remembers bool
	// If set, the tool, the executor and the prompt say how often they were called.
	runs, calls, begun *atomic.Int32
}

// counted appends the incremented counter to the text, unless n is nil.
func counted(text string, n *atomic.Int32) string {
	if n == nil {
		return text
	}
	return fmt.Sprint(text, " ", n.Add(1))
}

func (s shopper) basket(t *testing.T) *session.Key[[]string] {
	init := session.KeyInit{Name: "shop.basket"}
	if s.version == 2 {
		init.Version = 2
		init.Upgrade = func(_ int, old json.RawMessage) (json.RawMessage, error) { return old, nil }
	}
	key, err := session.NewKey[[]string](init)
	require.NoError(t, err)
	return key
}

// host makes a host of the agent; observed may be nil.
func (s shopper) host(t *testing.T, observed *sessions.HostRecorder) *session.Host {
	kept, err := memory.New(storage.Config{})
	require.NoError(t, err)
	basket := s.basket(t)
	total, err := session.NewKey[int](session.KeyInit{Name: "shop.total"})
	require.NoError(t, err)
	put, err := adk.NewTool(adk.ToolInit{Name: "put", Description: "Puts a thing into the basket.", Effect: adk.EffectReads,
		InputSchema: []byte(`{"type":"object","properties":{"thing":{"type":"string"}}}`),
		Handler: func(_ context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			held, _, err := basket.Find(dc)
			if err == nil && s.counts {
				err = total.Set(dc, len(held)+1)
			}
			return adk.Text(counted("ok", s.runs)), errors.Join(err, basket.Set(dc, append(held, fmt.Sprint(args["thing"]))))
		}})
	require.NoError(t, err)
	config := session.Config{Name: "host", NoWait: true, Store: kept.Sessions(), Keys: []session.AnyKey{basket, total},
		Channels: map[string]func(json.RawMessage) (session.Channel, error){"counter": func(json.RawMessage) (session.Channel, error) { return counter{s.copies}, nil }},
		Prompt:   func(session.Seed) (string, []string, error) { return counted(s.prompt, s.begun), nil, nil },
		Agent:    adk.Config{Storage: kept.Storage(), Tools: []*adk.Tool{put}, Executor: adk.Executor{Name: "model", Run: s.asking()}, Clock: fakes.NewClock(), IDs: fakes.NewIDs()}}
	if observed != nil {
		config.Agent.Probe, config.Journal = observed, observed.Step
	}
	config.Agent = fakes.Deterministic(config.Agent)
	host, err := session.NewHost(config)
	require.NoError(t, err)
	return host
}

// asking returns the executor of a new process, which may ask before it does its work.
func (s shopper) asking() func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
	asks := s.asks
	return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		times := asks
		if s.remembers {
			asks = 0
		}
		for range times {
			if _, err := adk.Ask(ctx, "prices", "of a delivery", func(context.Context, string) (int, error) { return 3, nil }); err != nil {
				return err
			}
		}
		return s.run(ctx, dc, h)
	}
}

func (s shopper) run(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	seed, err := session.SeedOf(dc)
	if err != nil || s.closed {
		return errors.Join(err, errors.New("closed"))
	}
	return fakes.Script{{fakes.Call("put", fmt.Sprintf(`{"thing":%q}`, counted(seed.Delivery, s.calls))).As(seed.Delivery + "-call"), fakes.Ack()}}.Executor("model").Run(ctx, dc, h)
}

// counter is the channel of the shop.
type counter struct{ copies bool }

func (counter) State() (json.RawMessage, error) { return nil, nil }

func (c counter) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	now := tc.Now()
	for i, id := range []string{d.ID, d.ID + "-copy"} {
		if i > 0 && !c.copies {
			break
		}
		m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: d.ID, CreatedAt: now, UpdatedAt: now})
		if err != nil {
			return err
		}
		if err := tc.Messages().Keep(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

var shop = shopper{prompt: "You sell."}

// shops is a folder with two recordings of the shop, one of three turns and one of a single turn.
func shops(t *testing.T) (dir string) {
	t.Helper()
	return redactedShops(t, nil)
}

// redactedShops are shops whose traces are redacted by the rules, unless these are nil.
func redactedShops(t *testing.T, rules *redact.Rules) (dir string) {
	t.Helper()
	return shop.shops(t, rules)
}

func (s shopper) shops(t *testing.T, rules *redact.Rules) (dir string) {
	t.Helper()
	setUpdate(t, "false")
	t.Setenv("CI", "")
	dir = t.TempDir()
	for folder, ids := range map[string][]string{"three": {"milk", "bread", "salt"}, "one": {"milk"}} {
		folder = filepath.Join(dir, folder)
		require.NoError(t, os.Mkdir(folder, 0o755))
		recorded := sessions.InMemory{Options: replay.RecordOptions{Redact: rules}}
		host := s.host(t, recorded.Host("host"))
		for _, id := range ids {
			_, err := host.Deliver(t.Context(), session.Delivery{Session: "ada", ID: id, Kind: "counter", Payload: json.RawMessage(`1`), Auth: json.RawMessage(`{"mail":"ada@home.example"}`)})
			require.NoError(t, err)
		}
		require.NoError(t, recorded.Close())
		for name, content := range recorded.Files() {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
		}
	}
	return dir
}

// resold runs the check with today's shop.
func (s shopper) resold(t *testing.T, dir, update string, live replay.Live) *fakeTB {
	t.Helper()
	setUpdate(t, update)
	tb := &fakeTB{name: "TestShop"}
	golden.ReplaySessions(tb, dir, func(string) (*session.Host, replay.Live) { return s.host(t, nil), live })
	return tb
}

// tools makes the shop's tool and executor live.
var tools = replay.Live{Seams: []string{replay.ToolCode, replay.Executor}}

// writing makes the storage live too; a host without a claim keeps what it is given.
var writing = replay.Live{Seams: []string{replay.ToolCode, replay.Executor, "storage/*.store"}, Writes: true}

func TestReplaySessionsPasses(t *testing.T) {
	dir := shops(t)
	for _, live := range []replay.Live{{}, tools, writing} {
		tb := shop.resold(t, dir, "false", live)
		assert.Empty(t, tb.failed)
		require.Len(t, tb.told, 3)
		assert.Contains(t, unfolded(tb.told[0]), "replay: 4 traces of "+dir+", all the same")
		assert.Equal(t, []string{"replay: sessions of " + dir + "/one: 1 journal, 1 session, 1 attempt, 1 commit",
			"replay: sessions of " + dir + "/three: 1 journal, 1 session, 3 attempts, 3 commits"}, tb.told[1:])
	}
	tb := shop.resold(t, dir, "false", replay.Live{Seams: []string{"tool/other"}})
	assert.Contains(t, said(t, tb), `nothing that "tool/other" takes ran`)
}

// changedShops are changes of the shop, and what a check says about each.
var changedShops = map[string]struct {
	shop shopper
	live replay.Live
	says string
	// holds is text in the last of three traces after the change is accepted, and journal is text in the journal.
	holds, journal string
}{
	"another prompt":             {shopper{prompt: "You shout."}, tools, "You shout.", `"prompt":"You shout."`, `"keys":["shop.basket"]`},
	"a tool that sets more":      {shopper{prompt: "You sell.", counts: true}, tools, "session.context.shop.total", `\"v\":1,\"x\":2`, `"keys":["shop.basket","shop.total"]`},
	"a key's next version":       {shopper{prompt: "You sell.", version: 2}, tools, "session.context.shop.basket", `\"v\":2,\"x\":[\"milk\",\"bread\"]`, `"keys":["shop.basket"]`},
	"a channel that stores more": {shopper{prompt: "You sell.", copies: true}, writing, `store m2 user "milk" in messages`, `salt-copy`, `messages.store milk-copy `},
}

// The recorded process remembered an answer from an earlier turn. In the replay the later turn
// asks for it, and the recording has no answer there. The log names the turn that had asked.
func TestReplaySessionsOfAProcessThatRemembers(t *testing.T) {
	remembering := shopper{prompt: "You sell.", asks: 1, remembers: true}
	dir := remembering.shops(t, nil)
	tb := remembering.resold(t, dir, "false", tools)
	require.NotEmpty(t, tb.failed)
	assert.Contains(t, unfolded(strings.Join(tb.told, "\n")), dir+"/three/host-2.jsonl asks what "+dir+"/three/host-1.jsonl asked before it, to the byte: did the process remember it?")
	assert.NotContains(t, strings.Join(tb.told, "\n"), "/one/")
	assert.Contains(t, unfolded(strings.Join(tb.failed, "\n")), "record its session anew, into that folder: run it with sessions.RecordHost")

	// If an agent asks once more in each turn than recorded, no memory of the process explains it.
	asking := shopper{prompt: "You sell.", asks: 1}
	each := asking.shops(t, nil)
	asking.asks = 2
	tb = asking.resold(t, each, "false", tools)
	assert.Contains(t, unfolded(strings.Join(tb.failed, "\n")), "ask prices")
	assert.NotContains(t, unfolded(strings.Join(tb.told, "\n")), "to the byte")

	// A process cannot have remembered what only a later turn asked.
	require.NoError(t, os.Rename(filepath.Join(dir, "three", "host-1.jsonl"), filepath.Join(dir, "three", "host-9.jsonl")))
	tb = remembering.resold(t, dir, "false", tools)
	assert.Contains(t, unfolded(strings.Join(tb.failed, "\n")), "ask prices")
	assert.NotContains(t, unfolded(strings.Join(tb.told, "\n")), "to the byte")
}

// A change of the agent is one cause, with the affected turns of all sessions. It is accepted with
// a reason; then the later turns begin with what the earlier ones leave behind now, and the check
// passes.
func TestReplaySessionsAccepts(t *testing.T) {
	thorough.Long(t)
	for name, c := range changedShops {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ADKREPLAY_REASON", "")
			dir := shops(t)
			before := readAll(t, dir)
			tb := c.shop.resold(t, dir, "false", c.live)
			require.NotEmpty(t, tb.failed)
			assert.Contains(t, strings.Join(tb.failed, "\n"), c.says)
			assert.Regexp(t, `in 4 traces:\s+`+dir+`/one/host-1\.jsonl`, strings.Join(tb.failed, "\n"))
			accepting := "to accept this: ADKREPLAY_REASON="
			if c.live.Writes { // for real, so it is not run again to find out what can be accepted
				accepting = "to accept what can be: ADKREPLAY_REASON="
			}
			assert.Contains(t, tb.failed[len(tb.failed)-1], accepting)
			assert.NotEmpty(t, c.shop.resold(t, dir, "true", c.live).failed, "without a reason")
			assert.Equal(t, before, readAll(t, dir))

			t.Setenv("ADKREPLAY_REASON", "It is meant.")
			tb = c.shop.resold(t, dir, "true", c.live)
			assert.Empty(t, tb.failed)
			after := readAll(t, dir)
			assert.Contains(t, after["three/host-3.jsonl"], c.holds)
			assert.Contains(t, after["three/host.journal.jsonl"], c.journal)
			assert.Regexp(t, `\A\d{4}-\d\d-\d\d It is meant\.\n    (changed|extra) `, after["three/host-3.jsonl.reason"])
			assert.Empty(t, c.shop.resold(t, dir, "false", c.live).failed)
			assert.NotEmpty(t, shop.resold(t, dir, "false", c.live).failed, "the former agent is another one now")
			assert.Empty(t, c.shop.resold(t, dir, "true", c.live).failed)
			assert.Equal(t, after, readAll(t, dir), "what is the same is left alone")
		})
	}
}

func TestNoSessionIsAcceptedInCI(t *testing.T) {
	dir := shops(t)
	before := readAll(t, dir)
	t.Setenv("ADKREPLAY_REASON", "It is meant.")
	t.Setenv("CI", "true")
	assert.Contains(t, said(t, shopper{prompt: "You shout."}.resold(t, dir, "true", tools)), "refused where the environment variable CI is set")
	assert.Equal(t, before, readAll(t, dir))
}

// A change that cannot be accepted fails the check, and no file of its folder changes.
func TestReplaySessionsRefuses(t *testing.T) {
	dir := shops(t)
	before := readAll(t, dir)
	t.Setenv("ADKREPLAY_REASON", "It is meant.")
	tb := shopper{prompt: "You sell.", closed: true}.resold(t, dir, "true", tools)
	assert.Empty(t, tb.told)
	told := said(t, tb)
	assert.Contains(t, told, "not accepted in 2 of 2, which are left as they were:\n  the sessions of "+dir+"/one: milk of session \"ada\": its turn does not end as it did")
	assert.Equal(t, before, readAll(t, dir))
}

// A difference that varies from run to run is not accepted, whether it comes from the agent's code or
// from the host's beginning of a turn, and also if code writes for real. The folder is left as it was.
func TestReplaySessionsRefusesWhatVaries(t *testing.T) {
	t.Setenv("ADKREPLAY_REASON", "It is meant.")
	const varies = "it is not the same each time it is run"
	for name, c := range map[string]struct {
		shop  shopper
		live  replay.Live
		tried string // what the check says before anything is accepted
	}{
		"a tool":                      {shopper{prompt: "You sell.", runs: new(atomic.Int32)}, tools, "this cannot be accepted:\n  "},
		"an executor":                 {shopper{prompt: "You sell.", calls: new(atomic.Int32)}, tools, "this cannot be accepted:\n  "},
		"a tool beside what writes":   {shopper{prompt: "You sell.", runs: new(atomic.Int32)}, writing, "this cannot be accepted:\n  "},
		"a prompt":                    {shopper{prompt: "You sell.", begun: new(atomic.Int32)}, tools, "this cannot be accepted:\n  "},
		"a prompt beside what writes": {shopper{prompt: "You sell.", begun: new(atomic.Int32)}, writing, "to accept what can be: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := shops(t)
			before := readAll(t, dir)
			tb := c.shop.resold(t, dir, "false", c.live)
			require.NotEmpty(t, tb.failed)
			told := unfolded(tb.failed[len(tb.failed)-1])
			assert.Contains(t, told, c.tried)
			if !strings.HasPrefix(c.tried, "to accept") {
				assert.Contains(t, told, varies)
				assert.NotContains(t, told, "ADKREPLAY_REASON")
				assert.Contains(t, told, "\nnon-deterministic in ", "a further run is of a host that is made anew")
			}
			told = said(t, c.shop.resold(t, dir, "true", c.live))
			assert.Contains(t, told, "\nnot accepted in 2 of 2, which are left as they were:\n  the sessions of "+dir+"/one: ")
			assert.Contains(t, told, varies)
			assert.Equal(t, before, readAll(t, dir))
		})
	}
}

// Sessions that diverge also get a page with their journals, if a page is requested.
func TestReplaySessionsWritesAPage(t *testing.T) {
	dir, file := shops(t), filepath.Join(t.TempDir(), "red.html")
	t.Setenv("ADKREPLAY_HTML", file)
	assert.Empty(t, shop.resold(t, dir, "false", tools).failed)
	assert.NoFileExists(t, file)
	journal := filepath.Join(dir, "one", "host.journal.jsonl")
	content, err := os.ReadFile(journal)
	require.NoError(t, err)
	body := bytes.Replace(content[:bytes.LastIndex(content, []byte(`{"end":`))], []byte(`"revision":1`), []byte(`"revision":2`), 1)
	require.NoError(t, os.WriteFile(journal, fmt.Appendf(body, "{\"end\":%d,\"sha256\":\"%x\"}\n", bytes.Count(body, []byte("\n"))-1, sha256.Sum256(body)), 0o600))
	assert.NotEmpty(t, shop.resold(t, dir, "false", tools).failed, "no turn differs: the journal does")
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	told, err := tracetest.Unpacked(string(written), "journal-0")
	require.NoError(t, err)
	assert.Contains(t, told, "committed revision 2")
}

// The files that accepting would write are kept for a review, all files of a recording as one
// change. They are removed when the recording matches again.
func TestReplaySessionsIsPending(t *testing.T) {
	dir, folder := shops(t), t.TempDir()
	t.Setenv("ADKREPLAY_PENDING", folder)
	loud := shopper{prompt: "You shout.", counts: true}
	require.NotEmpty(t, loud.resold(t, dir, "false", tools).failed)
	all := pendingIn(t, folder)
	require.Len(t, all, 6)
	for _, p := range all {
		assert.Equal(t, all[0].Causes, p.Causes, "they are one change")
	}
	require.Empty(t, shop.resold(t, dir, "false", tools).failed)
	assert.Empty(t, pendingIn(t, folder))

	require.NotEmpty(t, loud.resold(t, dir, "false", tools).failed)
	accepted(t, pendingIn(t, folder))
	assert.Empty(t, loud.resold(t, dir, "false", tools).failed)
}

// A check that covers less than what was recorded is not green.
func TestReplaySessionsOfOtherFolders(t *testing.T) {
	assert.Contains(t, said(t, shop.resold(t, t.TempDir(), "false", tools)), "there is no trace")
	assert.Contains(t, said(t, shop.resold(t, turns(t), "false", tools)), "there is no journal of sessions: Replay plays traces alone")
	dir := shops(t)
	assert.Contains(t, unfolded(strings.Join(updated(t, dir, "false", nil).failed, "\n")), "this is a journal of sessions: adkreplay show, verify and view read it, and golden.ReplaySessions in go test")
	record(t, dir, "lone.jsonl")
	assert.Contains(t, said(t, shop.resold(t, dir, "false", tools)), dir+"/lone.jsonl: no journal lies in its folder or above it")
	dir = shops(t)
	record(t, filepath.Join(dir, "one"), "lone.jsonl")
	assert.Contains(t, said(t, shop.resold(t, dir, "false", tools)), dir+"/one/lone.jsonl: the trace has no seed: it is none of a session's turn")

	dir = shops(t)
	journal := filepath.Join(dir, "one", "host.journal.jsonl")
	whole, err := os.ReadFile(journal)
	require.NoError(t, err)
	header := whole[:bytes.IndexByte(whole, '\n')+1]
	require.NoError(t, os.WriteFile(journal, header, 0o600))
	assert.Contains(t, said(t, shop.resold(t, dir, "false", tools)), journal+": truncated journal: it has no footer, and tells nothing of attempt 1 ")

	read, err := sessions.Read(bytes.NewReader(whole))
	require.NoError(t, err)
	var other bytes.Buffer
	recorder := sessions.Record(&other)
	for _, step := range read.Steps {
		if step.Keys != nil {
			step.Keys = []string{"shop.total"}
		}
		recorder.Step(step)
	}
	require.NoError(t, recorder.Close())
	require.NoError(t, os.WriteFile(journal, other.Bytes(), 0o600))
	const parted = "the journal and its traces are not of one session, whatever the agent does:\ncommit at "
	assert.Contains(t, said(t, shop.resold(t, dir, "false", tools)), parted+journal+":6, ")
	t.Setenv("ADKREPLAY_REASON", "It is meant.")
	before := readAll(t, dir)
	assert.Contains(t, said(t, shopper{prompt: "You shout."}.resold(t, dir, "true", tools)), parted)
	assert.Equal(t, before, readAll(t, dir))

	require.NoError(t, os.WriteFile(journal, whole, 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "three", "host-2.jsonl")))
	assert.Contains(t, said(t, shop.resold(t, dir, "false", tools)), "1 attempt of "+dir+"/three: no trace: what is not looked at is not the same")
}

// The files of a host that was killed within a turn are no fault. The check says what it has not
// compared, and accepts changes of the rest.
func TestReplaySessionsOfAKilledHost(t *testing.T) {
	dir := shops(t)
	journal, cut := filepath.Join(dir, "three", "host.journal.jsonl"), filepath.Join(dir, "three", "host-3.jsonl")
	whole, err := os.ReadFile(journal)
	require.NoError(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	at := slices.IndexFunc(lines, func(line []byte) bool {
		return bytes.Contains(line, []byte(`"step":"ran"`)) && bytes.Contains(line, []byte(`"seq":3`))
	})
	require.NoError(t, os.WriteFile(journal, append(bytes.Join(lines[:at], nil), lines[at][:40]...), 0o600))
	require.NoError(t, os.Truncate(cut, 3000))
	torn, err := os.ReadFile(cut)
	require.NoError(t, err)
	tb := shop.resold(t, dir, "false", tools)
	require.Empty(t, tb.failed)
	assert.Contains(t, unfolded(strings.Join(tb.told, "\n")), "not compared: trace "+cut+", which ends where its host was killed")

	t.Setenv("ADKREPLAY_REASON", "It is meant.")
	loud := shopper{prompt: "You shout."}
	require.Empty(t, loud.resold(t, dir, "true", tools).failed)
	require.Empty(t, loud.resold(t, dir, "false", tools).failed)
	after, err := os.ReadFile(cut)
	require.NoError(t, err)
	assert.Equal(t, torn, after, "nobody knows how it would go on")
}

// SES-34: redacted sessions pass. A change of their agent is accepted, using the rules by which
// they were redacted. Text that the rules find is then in no file, and in no message of a check.
func TestReplaySessionsRedacted(t *testing.T) {
	thorough.Long(t)
	t.Setenv("ADKREPLAY_REASON", "It is meant.")
	rules := redact.UsualSecrets()
	rules.Patterns = append(rules.Patterns, redact.Pattern{Kind: "code", Expr: `code-[0-9]+`})
	dir := redactedShops(t, rules)
	before := readAll(t, dir)
	require.Contains(t, before["three/host-3.jsonl"], "[redacted:")
	live, loud := replay.Live{Seams: tools.Seams, Redact: rules}, shopper{prompt: "You shout code-7654321."}
	assert.Empty(t, shop.resold(t, dir, "true", live).failed)
	assert.Equal(t, before, readAll(t, dir), "what is the same is left alone")

	blind := loud.resold(t, dir, "true", tools)
	assert.Contains(t, strings.Join(blind.failed, "\n"), "Live.Redact says what it was redacted by")
	assert.Equal(t, before, readAll(t, dir))

	parted := loud.resold(t, dir, "false", live)
	assert.Contains(t, strings.Join(parted.failed, "\n"), "[redacted:code:2]")
	accepted := loud.resold(t, dir, "true", live)
	assert.Empty(t, accepted.failed)
	assert.Empty(t, loud.resold(t, dir, "false", live).failed)
	after := readAll(t, dir)
	assert.Contains(t, after["three/host-3.jsonl"], "You shout [redacted:code:2].")
	assert.Contains(t, after["three/host-3.jsonl.reason"], "It is meant.")
	for name, text := range after {
		assert.NotRegexp(t, `7654321|home\.example`, text, name)
	}
	assert.NotRegexp(t, `7654321|home\.example`, strings.Join(slices.Concat(parted.failed, parted.told, accepted.told), "\n"))
}

// A host that fails to begin a turn is reported, each reason once.
func TestReplaySessionsWithABrokenHost(t *testing.T) {
	dir := shops(t)
	broken := func(string) (*session.Host, replay.Live) {
		kept, err := memory.New(storage.Config{})
		require.NoError(t, err)
		host, err := session.NewHost(session.Config{Store: kept.Sessions(), Agent: adk.Config{Storage: kept.Storage(), Executor: adk.Executor{Name: "model", Run: shop.run}},
			Channels: map[string]func(json.RawMessage) (session.Channel, error){"counter": func(json.RawMessage) (session.Channel, error) { return counter{}, nil }},
			Prompt:   func(session.Seed) (string, []string, error) { return "", nil, errors.New("no prompt today") }})
		require.NoError(t, err)
		return host, replay.Live{}
	}
	tb := &fakeTB{name: "TestShop"}
	golden.ReplaySessions(tb, dir, broken)
	told := said(t, tb)
	assert.Contains(t, told, "today's host does not begin the turn: E_INPUT_PIPELINE_ERROR: Config.Prompt failed: no prompt today")
	assert.Contains(t, told, "and so in 3 other traces")

	tb = &fakeTB{name: "TestShop"}
	golden.ReplaySessions(tb, dir, func(string) (*session.Host, replay.Live) { return nil, replay.Live{} })
	told = said(t, tb)
	assert.Contains(t, told, "there is no host of today: want the one that session.NewHost makes")
	assert.NotContains(t, told, "panic")
}

// A session that a test itself runs is compared with its golden file, which holds the story and
// the transcripts of the turns.
func TestSession(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CI", "")
	sold := func(s shopper, update string) *fakeTB {
		setUpdate(t, update)
		tb := &fakeTB{name: "TestShop"}
		golden.Session(tb, "shop", func(record func(string) *sessions.HostRecorder) error {
			host := s.host(t, record("host"))
			_, err := host.Deliver(t.Context(), session.Delivery{Session: "ada", ID: "milk", Kind: "counter", Payload: json.RawMessage(`1`)})
			return err
		}, golden.Options{Dir: dir})
		return tb
	}
	assert.Contains(t, said(t, sold(shop, "false")), "there is no "+filepath.ToSlash(dir)+"/shop.golden")
	assert.Empty(t, sold(shop, "true").failed)
	assert.Empty(t, sold(shop, "false").failed)
	text := readAll(t, dir)["shop.golden"]
	assert.True(t, strings.HasPrefix(text, "session ada, from 2025-01-01 00:00:00 UTC\n  accepted milk as 1, "), text)
	assert.Contains(t, text, "\nhost-1.jsonl, attempt 1 at milk of session ada\nrun \"You sell.\"")
	changed := said(t, sold(shopper{prompt: "You sell.", counts: true}, "false"))
	assert.Contains(t, changed, "changed shop.basket, shop.total")

	tb := &fakeTB{name: "TestShop"}
	golden.Session(tb, "shop", func(func(string) *sessions.HostRecorder) error { return nil }, golden.Options{Dir: dir})
	assert.Contains(t, said(t, tb), "no session was observed")
}

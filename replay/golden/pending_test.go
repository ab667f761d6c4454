package golden_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// pendingIn returns the pending changes that are kept in a folder.
func pendingIn(t *testing.T, folder string) []corpus.Pending {
	t.Helper()
	all, err := corpus.ReadPending(folder)
	require.NoError(t, err)
	return all
}

// accepted accepts the pending changes.
func accepted(t *testing.T, all []corpus.Pending) {
	t.Helper()
	a, err := corpus.NewAcceptance("The agent is kinder.", time.Now(), func(string) string { return "" })
	require.NoError(t, err)
	for _, p := range all {
		require.NoError(t, a.ReplacePending(p))
	}
}

// A turn that differs from its golden file is kept until somebody reviews it, and is removed when
// the turn matches again. Without the variable nothing is kept.
func TestTurnIsPending(t *testing.T) {
	dir, folder := written(t, greeting("Hello!")), filepath.Join(t.TempDir(), "pending")
	require.Len(t, checked(t, dir, "false", greeting("Goodbye!")).failed, 1)
	assert.NoDirExists(t, folder)
	t.Setenv("ADKREPLAY_PENDING", folder)
	require.Empty(t, checked(t, dir, "false", greeting("Hello!")).failed)
	require.Len(t, checked(t, dir, "false", greeting("Goodbye!")).failed, 1)
	all := pendingIn(t, folder)
	require.Len(t, all, 1)
	assert.Equal(t, corpus.WholePath(filepath.Join(dir, "greeting.golden")), all[0].File)
	assert.Contains(t, all[0].Causes[0], "Goodbye!")
	assert.Contains(t, all[0].Shown, "Goodbye!")
	require.Empty(t, checked(t, dir, "false", greeting("Hello!")).failed)
	assert.Empty(t, pendingIn(t, folder), "it is the one again")

	require.Len(t, checked(t, dir, "false", greeting("Goodbye!")).failed, 1)
	accepted(t, pendingIn(t, folder))
	assert.Empty(t, checked(t, dir, "false", greeting("Goodbye!")).failed, "what was accepted is expected")

	require.Len(t, checked(t, dir, "false", greeting("Hello!")).failed, 1)
	t.Setenv("ADKREPLAY_REASON", "Hello again.")
	require.Empty(t, checked(t, dir, "true", greeting("Hello!")).failed)
	assert.Empty(t, pendingIn(t, folder), "-update has accepted it")
}

// Each trace of a folder that diverged is kept as today's code, including the live code, makes it.
// Traces that match again are removed.
func TestReplayIsPending(t *testing.T) {
	dir, folder := recordings(t, "a.jsonl", "deep/b.jsonl"), t.TempDir()
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_PENDING", folder)
	require.NotEmpty(t, updated(t, dir, "false", saying("Be kind.")).failed)
	all := pendingIn(t, folder)
	require.Len(t, all, 2)
	assert.Equal(t, all[0].Causes, all[1].Causes, "they are one change")
	assert.Contains(t, string(all[0].Content), "Be kind.")
	require.Empty(t, updated(t, dir, "false", saying("Be brief.")).failed)
	assert.Empty(t, pendingIn(t, folder))

	require.NotEmpty(t, updated(t, dir, "false", saying("Be kind.")).failed)
	accepted(t, pendingIn(t, folder))
	assert.Empty(t, updated(t, dir, "false", saying("Be kind.")).failed)
	content, err := os.ReadFile(filepath.Join(dir, "a.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(content), "Be kind.")
}

// A change that cannot be accepted is kept too, with the reason, so that a review names it. go test
// reports how many of each kind there are. If no trace differs, the folder exists and is empty.
func TestReplayKeepsWhatIsRefused(t *testing.T) {
	dir, folder := turns(t), filepath.Join(t.TempDir(), "pending")
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_PENDING", folder)
	require.Empty(t, replayed(dir, unchanged, replay.Executor).failed)
	assert.Empty(t, pendingIn(t, folder))

	tb := replayed(dir, asksTwice, replay.Executor)
	require.NotEmpty(t, tb.failed)
	all := pendingIn(t, folder)
	require.Len(t, all, 2)
	for _, p := range all {
		assert.Contains(t, p.Refused, "the recording has no answer for crossing ")
		assert.Empty(t, p.Content)
		assert.NotEmpty(t, p.Causes)
		a, err := corpus.NewAcceptance("It is meant.", time.Now(), func(string) string { return "" })
		require.NoError(t, err)
		assert.EqualError(t, a.ReplacePending(p), p.Refused)
	}
	require.Len(t, tb.told, 1)
	assert.Equal(t, "golden: kept for a review: 0 of 2; the review names the others, which cannot be accepted: 2", strings.SplitN(unfolded(tb.told[0]), "\nnext: ", 2)[0])
	assert.Contains(t, tb.told[0], "review --pending "+folder)

	require.NotEmpty(t, replayed(dir, func(l *replay.Live) { l.Turn.SystemPrompt = "Be kind." }, replay.Prompt).failed)
	all = pendingIn(t, folder)
	require.Len(t, all, 2)
	assert.Empty(t, all[0].Refused)
	assert.Equal(t, "ADKREPLAY_REASON='why it changed' go test ./replay/golden -run '^TestReplay$' -update", all[0].Accept)
}

// asksTwice makes the executor ask for something that was not recorded.
func asksTwice(l *replay.Live) {
	run := l.Config.Executor.Run
	l.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if _, err := dc.Memories().Fetch(ctx); err != nil {
			return err
		}
		return run(ctx, dc, h)
	}
}

// One more run of live code shows whether a change can be accepted. Another run, and one with a
// freshly made agent, show whether it varies. Code that writes for real is run only once.
func TestWhatWritesIsRunOnce(t *testing.T) {
	dir := turns(t)
	for writes, runs := range map[bool]int32{false: 8, true: 2} {
		var ran atomic.Int32
		tb := replayed(dir, func(l *replay.Live) {
			l.Writes, l.Turn.SystemPrompt = writes, "Be kind."
			run := l.Config.Executor.Run
			l.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				if dc.Iteration() == 0 {
					ran.Add(1)
				}
				return run(ctx, dc, h)
			}
		}, replay.Prompt, replay.Executor)
		require.NotEmpty(t, tb.failed)
		assert.Equal(t, runs, ran.Load(), "of two traces, where live code writes: %v", writes)
		accepting := map[bool]string{false: "to accept this: ", true: "to accept what can be: "}[writes]
		assert.Contains(t, tb.failed[len(tb.failed)-1], accepting)
	}
}

// A change that the report calls acceptable can be accepted. For any other change the report says
// what to do instead. -update does what the report announced.
func TestReplayTellsWhatCanBeAccepted(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_REASON", "It is meant.")
	kind := func(l *replay.Live) { l.Turn.SystemPrompt = "Be kind." }
	for _, c := range []struct {
		name   string
		change func(l *replay.Live)
		says   string
		not    string
		left   int // how many are not accepted
	}{
		{"all", kind, "\nto accept this: ADKREPLAY_REASON=", "cannot be accepted", 0},
		{"none", func(l *replay.Live) { kind(l); asksTwice(l) }, "\nthis cannot be accepted:\n  ", "ADKREPLAY_REASON", 2},
		{"some", nil, "\nto accept it in 1 of 2: ADKREPLAY_REASON=", "this cannot be accepted", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := turns(t)
			live := func(trace string) replay.Live {
				config, raw := weather()
				l := replay.Live{Config: config, Turn: raw, Seams: []string{replay.Prompt, replay.Executor}}
				switch {
				case c.name != "some":
					c.change(&l)
				case strings.HasSuffix(trace, "a.jsonl"):
					kind(&l)
					asksTwice(&l)
				default:
					kind(&l)
				}
				return l
			}
			tb := updated(t, dir, "false", live)
			told := unfolded(tb.failed[len(tb.failed)-1])
			assert.Contains(t, told, c.says)
			assert.NotContains(t, told, c.not)
			assert.Equal(t, min(c.left, 1), strings.Count(told, "the recording has no answer for"), "one reason is said once")
			assert.Equal(t, c.left > 1, strings.Contains(told, "\n  and so it is with "+dir+"/b.jsonl\n"))
			assert.Equal(t, c.left > 0, strings.Contains(told, "record it anew, into that file: run the turn with replay.Record(file)"))

			before := readAll(t, dir)
			tb = updated(t, dir, "true", live)
			assert.Equal(t, c.left > 0, len(tb.failed) > 0)
			after, left := readAll(t, dir), 0
			for _, name := range []string{"a.jsonl", "b.jsonl"} {
				if before[name] == after[name] {
					left++
				}
			}
			assert.Equal(t, c.left, left)
		})
	}
}

// The folder must be an absolute path: a relative one would be another folder for each package.
func TestPendingFolderIsWhole(t *testing.T) {
	dir := written(t, greeting("Hello!"))
	t.Setenv("ADKREPLAY_PENDING", "pending")
	tb := &fakeTB{name: "TestGreeting"}
	setUpdate(t, "false")
	golden.Turn(tb, "greeting", greeting("Goodbye!"), golden.Options{Dir: dir})
	require.Len(t, tb.failed, 2)
	assert.Contains(t, unfolded(tb.failed[1]), `ADKREPLAY_PENDING is "pending": give the whole path`)
}

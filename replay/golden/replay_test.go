package golden_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// turns is a folder with two recorded turns of the weather agent. A check does not record them
// anew.
func turns(t *testing.T) (dir string) {
	t.Helper()
	setUpdate(t, "false")
	dir = t.TempDir()
	record(t, dir, "a.jsonl")
	record(t, dir, "b.jsonl")
	return dir
}

// record records a turn of the weather agent in a folder.
func record(t *testing.T, dir, name string, options ...replay.RecordOptions) {
	t.Helper()
	config, raw := weather()
	recordTurn(t, filepath.Join(dir, name), config, raw, options...)
}

// recordTurn records a turn in a file.
func recordTurn(t *testing.T, path string, config adk.Config, raw adk.RawTurn, options ...replay.RecordOptions) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	recorder := replay.Record(file, options...)
	runner, err := adk.NewRunner(fakes.Deterministic(config, recorder))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), raw))
	require.NoError(t, recorder.Err())
	require.NoError(t, file.Close())
}

// replayed runs the check with the weather agent and the given live seams.
func replayed(dir string, change func(*replay.Live), seams ...string) *fakeTB {
	tb := &fakeTB{name: "TestReplay"}
	golden.Replay(tb, dir, func(string) replay.Live {
		config, raw := weather()
		live := replay.Live{Config: config, Turn: raw, Seams: seams}
		change(&live)
		return live
	})
	return tb
}

func unchanged(*replay.Live) {}

func TestReplayPasses(t *testing.T) {
	dir := turns(t)
	tb := replayed(dir, unchanged, replay.Prompt, replay.Tools, replay.Executor)
	assert.Empty(t, tb.failed)
	assert.Equal(t, []string{"replay: 2 traces of " + dir + ", all the same" +
		notCompared("executor/model", "tool/* storage/*")}, allUnfolded(tb.told))

	tb = replayed(dir, func(l *replay.Live) {
		l.Writes = true
		l.Config.TurnOutput = []adk.TurnMiddleware{}
		l.Config.Tools = append(l.Config.Tools, fakes.NewTool("clock", "Tells the time.").Tool())
	}, replay.Executor, replay.ToolCode, replay.Storage)
	assert.Empty(t, tb.failed)
	assert.Equal(t, []string{"replay: 2 traces of " + dir + ", all the same; live, but in none of them: tool/clock, storage/* (23 obligations)" +
		notCompared("executor/model tool/weather tool/clock storage/*", "run/prompt run/tools")}, allUnfolded(tb.told))
}

// allUnfolded returns the texts, unfolded.
func allUnfolded(texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, unfolded(text))
	}
	return all
}

// assertFits checks that a failure fits on a screen of 80 columns, including the place that go
// test puts before its first line and the eight spaces before the others. A line that cannot be
// folded, and a command, may be longer.
func assertFits(t *testing.T, text string) {
	t.Helper()
	for i, line := range strings.Split(text, "\n") {
		room := 72
		if i == 0 {
			room = 80 - len("    agent_test.go:123: ")
		}
		if strings.Contains(strings.TrimSpace(line), " ") {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), room, "%s", line)
		}
	}
}

// notCompared is the end of the log of a check that found no difference.
func notCompared(live, scripted string) string {
	return "\n  not compared: network, files and memory of " + live +
		"\n  not compared: " + scripted + " (not live)"
}

// A trace for which no live seam is chosen is named: the other traces do not vouch for it.
func TestReplayNamesWhatIsScripted(t *testing.T) {
	dir := turns(t)
	tb := &fakeTB{name: "TestReplay"}
	golden.Replay(tb, dir, func(trace string) (live replay.Live) {
		if path.Base(trace) == "a.jsonl" {
			live.Config, live.Turn = weather()
			live.Seams = []string{replay.Executor}
		}
		return live
	})
	assert.Empty(t, tb.failed)
	require.Len(t, tb.told, 1)
	assert.Contains(t, unfolded(tb.told[0]), "all the same; with nothing live: "+dir+"/b.jsonl\n  not compared: ")
}

// An executor that is given only as a function, without a name, is found too.
func TestReplayOfAnExecutorWithoutAName(t *testing.T) {
	tb := &fakeTB{name: "TestReplay"}
	golden.Replay(tb, turns(t), func(string) replay.Live {
		config, _ := weather()
		return replay.LiveExecutor(config.Executor.Run)
	})
	assert.Empty(t, tb.failed)
}

// A cause is one failure that lists all traces with the cause. Its second line says what changed,
// and its last line is the command that shows it again.
func TestReplayFailsForEachCause(t *testing.T) {
	tb := replayed(turns(t), func(l *replay.Live) { l.Turn.SystemPrompt = "Be kind." }, replay.Prompt, replay.Executor)
	require.Len(t, tb.failed, 1)
	lines := strings.Split(tb.failed[0], "\n")
	assert.Equal(t, []string{"replay: not as recorded:", `changed input in run: prompt: "brief" → "kind"`}, lines[:2])
	assert.Regexp(t, `^  in 2 traces( of .+)?:( |$)`, lines[2], "in as many lines as their names need")
	assert.Equal(t, "next: go test ./replay/golden -run '^TestReplay$' -count=1", lines[len(lines)-1])
	assert.LessOrEqual(t, len(lines), 32)
}

// Each of several causes is a failure of its own, whichever affects more traces. Otherwise fixing
// the reported cause would only reveal the next one.
func TestReplayFailsForEveryCause(t *testing.T) {
	tb := &fakeTB{name: "TestReplay"}
	golden.Replay(tb, turns(t), func(trace string) replay.Live {
		config, raw := weather()
		live := replay.Live{Config: config, Turn: raw, Seams: []string{replay.Prompt}}
		if path.Base(trace) == "a.jsonl" {
			live.Turn.SystemPrompt = "Be kind."
		} else {
			live.Turn.Instructions = []string{"Never guess."}
		}
		return live
	})
	require.Len(t, tb.failed, 2)
	for i, says := range []string{`prompt: "brief" → "kind"`, `instructions: nothing → "Never guess."`} {
		which, rest, _ := strings.Cut(tb.failed[i], "\n")
		assert.Equal(t, fmt.Sprintf("replay: not as recorded, cause %d of 2:", i+1), which)
		assert.True(t, strings.HasPrefix(rest, "changed input in run: "+says+"\n"), rest)
		assert.Contains(t, rest, "next: go test ./replay/golden -run '^TestReplay$' -count=1")
		assert.Equal(t, i == 1, strings.Contains(rest, "to accept this: "), "once, in the last")
	}
}

// A check that compared nothing is not green.
func TestReplayIsRedWhereNobodyLooked(t *testing.T) {
	dir, empty := turns(t), t.TempDir()
	idle := func(l *replay.Live) {
		pass := func(ctx context.Context, _ *adk.DispatchContext, next adk.Next) error { next(ctx); return nil }
		l.Config.DispatchInput = []adk.DispatchMiddleware{{Name: "late", Run: pass}}
	}
	for _, test := range []struct {
		name string
		tb   *fakeTB
		says []string
	}{
		{"an empty folder", replayed(empty, unchanged, replay.Executor), []string{empty + ": there is no trace"}},
		{"no folder", replayed("testdata/none", unchanged, replay.Executor), []string{
			"there is no folder testdata/none in replay/golden: it is to hold recorded turns, which replay.Record writes"}},
		{"a file", replayed(dir+"/a.jsonl", unchanged, replay.Executor), []string{dir + "/a.jsonl is no folder: it is to hold recorded turns"}},
		{"nothing live", replayed(dir, unchanged), []string{"no code of yours ran in 2 traces of " + dir}},
		{"code that no turn comes to", replayed(dir, func(l *replay.Live) { l.Writes = true }, replay.Prompt, "storage/memories.store"),
			[]string{"no code of yours ran in 2 traces", "in which nothing comes to storage/* (1 obligation)"}},
		{"a pattern of which nothing ran", replayed(dir, func(l *replay.Live) { l.Writes = true }, replay.Executor, "storage/memories.*"),
			[]string{`nothing that "storage/memories.*" takes ran in 2 traces`}},
		{"a pattern that takes nothing", replayed(dir, unchanged, replay.Executor, replay.Middleware),
			[]string{`nothing that "*put/*" takes ran in 2 traces`}},
		{"a seam that is not there", replayed(dir, idle, "dispatch-input/lat"),
			[]string{dir + `/a.jsonl: Live: Seams: "dispatch-input/lat" chooses nothing`, "dispatch-input/late", "and so in 1 other trace"}},
		{"a seam that was not recorded", replayed(dir, idle, "dispatch-input/late"), []string{"extra in dispatch-input/late"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Len(t, test.tb.failed, 1)
			for _, says := range test.says {
				assert.Contains(t, unfolded(test.tb.failed[0]), says)
				assertFits(t, test.tb.failed[0])
			}
			assert.Empty(t, test.tb.told)
		})
	}
}

// A trace that cannot be read hides no failure
// of the other traces, nor do they hide it.
func TestReplayOfACutTrace(t *testing.T) {
	dir := turns(t)
	trace, err := os.ReadFile(filepath.Join(dir, "a.jsonl"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), trace[:len(trace)-10], 0o600))

	tb := replayed(dir, unchanged, replay.Executor)
	require.Len(t, tb.failed, 1)
	assert.Contains(t, tb.failed[0], dir+"/a.jsonl:")
	assert.Contains(t, tb.failed[0], "truncated")

	tb = replayed(dir, func(l *replay.Live) { l.Turn.SystemPrompt = "Be kind." }, replay.Prompt)
	assert.Len(t, tb.failed, 2)
}

// An edited trace is reported once, together with the divergence of its replay, which follows from the
// edit and is no difference of the code. A difference that other traces show too is one of the code.
func TestReplayOfAnEditedTrace(t *testing.T) {
	dir := turns(t)
	recorded, err := os.ReadFile(filepath.Join(dir, "a.jsonl"))
	require.NoError(t, err)
	edited := bytes.Replace(recorded, []byte("Oslo"), []byte("Rome"), 1)
	require.NotEqual(t, recorded, edited)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), edited, 0o600))

	for _, seams := range [][]string{{replay.Executor}, {replay.Tools, replay.Executor}, {replay.Prompt}} {
		tb := replayed(dir, unchanged, seams...)
		require.Len(t, tb.failed, 1, "%q", seams)
		said := unfolded(tb.failed[0])
		assert.Contains(t, said, dir+"/a.jsonl:", "%q", seams)
		assert.Contains(t, said, "something changed the file after it was written", "%q", seams)
		assert.Contains(t, said, "a replay differs from it: ", "%q", seams)
		assert.NotContains(t, said, "not as recorded", "%q", seams)
	}

	tb := replayed(dir, func(l *replay.Live) { l.Turn.SystemPrompt = "Be kind." }, replay.Prompt)
	require.Len(t, tb.failed, 2)
	assert.Contains(t, unfolded(tb.failed[1]), "not as recorded")
	assert.Contains(t, unfolded(tb.failed[1]), "in 2 traces of ")
}

// An ask of live code after the place where a file was cut is no change of that code.
func TestReplayOfATraceCutBehindItsAsking(t *testing.T) {
	dir := turns(t)
	trace, err := os.ReadFile(filepath.Join(dir, "a.jsonl"))
	require.NoError(t, err)
	lines := bytes.SplitAfter(trace, []byte("\n"))
	at := slices.IndexFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"kind":"execute"`)) })
	require.Positive(t, at)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), bytes.Join(lines[:at], nil), 0o600))
	tb := replayed(dir, unchanged, replay.Executor)
	require.Len(t, tb.failed, 1)
	assert.Contains(t, unfolded(tb.failed[0]), "truncated trace")
}

// A compressed trace is treated like any other.
func TestReplayOfACompressedTrace(t *testing.T) {
	dir := turns(t)
	record(t, dir, "c.jsonl.zst", replay.RecordOptions{Compress: true})
	tb := replayed(dir, unchanged, replay.Executor)
	assert.Equal(t, []string{"replay: 3 traces of " + dir + ", all the same" +
		notCompared("executor/model", "run/prompt run/tools tool/* storage/*")}, allUnfolded(tb.told))
	tb = replayed(dir, func(l *replay.Live) { l.Turn.SystemPrompt = "Be kind." }, replay.Prompt)
	require.Len(t, tb.failed, 1)
	assert.Contains(t, unfolded(tb.failed[0]), "in 3 traces of "+dir+": a.jsonl, b.jsonl, c.jsonl.zst\n")
}

// A live function that ends its goroutine, as t.Fatal does, ends the check.
func TestReplayEndsWithItsTest(t *testing.T) {
	dir, ended := turns(t), make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- !returned }()
		golden.Replay(&fakeTB{}, dir, func(string) replay.Live { runtime.Goexit(); return replay.Live{} })
		returned = true
	}()
	assert.True(t, <-ended)
}

// The tests of the check also hold with -update and a reason, both of which make golden gives
// them.
func TestReplayWhereFilesAreUpdated(t *testing.T) {
	thorough.Long(t)
	for _, reason := range []string{"", "because"} {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestReplay(Fails|IsRed|Of)", "-update")
		again.Env = append(os.Environ(), "ADKREPLAY_REASON="+reason, "CI=")
		out, err := again.CombinedOutput()
		assert.NoError(t, err, "%q: %s", reason, out)
	}
}

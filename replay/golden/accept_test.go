package golden_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// recordings is a folder with recorded turns of the weather agent, and one file that is no
// recording.
func recordings(t *testing.T, names ...string) (dir string) {
	t.Helper()
	config, raw := weather()
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	runner, err := adk.NewRunner(fakes.Deterministic(config, recorder))
	require.NoError(t, err)
	require.NoError(t, errors.Join(runner.Run(context.Background(), raw), recorder.Err()))
	dir = t.TempDir()
	for _, name := range names {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), trace.Bytes(), 0o600))
	}
	return dir
}

// saying returns today's live seams, with this prompt.
func saying(prompt string) func(string) replay.Live {
	return func(string) replay.Live {
		return replay.Live{Turn: adk.RawTurn{SystemPrompt: prompt}, Seams: []string{replay.Prompt}}
	}
}

func updated(t *testing.T, dir, update string, live func(string) replay.Live) *fakeTB {
	t.Helper()
	t.Setenv("ADKREPLAY_CLAIMS", "")
	setUpdate(t, update)
	tb := &fakeTB{name: "TestGreeting/in the morning"}
	golden.Replay(tb, dir, live)
	return tb
}

// unfolded joins the lines of a text that were folded to fit on a screen.
func unfolded(text string) string {
	return foldedLine.ReplaceAllString(text, "$1 ")
}

var foldedLine = regexp.MustCompile(`([^ ])\n {4,}`)

// said is the text of a check's only failure, unfolded.
func said(t *testing.T, tb *fakeTB) string {
	t.Helper()
	require.Len(t, tb.failed, 1)
	return unfolded(tb.failed[0])
}

// A divergence with the live seams is shown by its cause. After it is accepted with a reason, the
// check passes.
func TestReplayAccepts(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_REASON", "")
	dir := recordings(t, "a.jsonl", "deep/b.jsonl")
	assert.Empty(t, updated(t, dir, "false", saying("Be brief.")).failed)

	told := said(t, updated(t, dir, "false", saying("Be kind.")))
	assert.Contains(t, told, "changed input in run")
	assert.Regexp(t, `in 2 traces:\s+`+dir+`/a\.jsonl,\s+`+dir+`/deep/b\.jsonl\n`, told)
	before := readAll(t, dir)
	said(t, updated(t, dir, "true", saying("Be kind."))) // there is no reason
	assert.Equal(t, before, readAll(t, dir))

	t.Setenv("ADKREPLAY_REASON", "Kindness.")
	tb := updated(t, dir, "true", saying("Be kind."))
	assert.Empty(t, tb.failed)
	require.Len(t, tb.told, 1)
	assert.Contains(t, tb.told[0], "changed input in run")
	assert.Contains(t, unfolded(tb.told[0]), "accepted in 2 of 2:\n  "+dir+"/a.jsonl\n  "+dir+"/deep/b.jsonl")
	assert.Empty(t, updated(t, dir, "false", saying("Be kind.")).failed)
	after := readAll(t, dir)
	assert.Len(t, after, 4)
	assert.Contains(t, after["deep/b.jsonl"], "Be kind.")
	assert.Regexp(t, `\A\d{4}-\d\d-\d\d Kindness\.\n    changed input in run: `, after["deep/b.jsonl.reason"])

	assert.Empty(t, updated(t, dir, "true", saying("Be kind.")).failed)
	assert.Equal(t, after, readAll(t, dir), "what is the same is left alone")
}

func TestNothingIsAcceptedInCI(t *testing.T) {
	dir := recordings(t, "a.jsonl")
	before := readAll(t, dir)
	t.Setenv("ADKREPLAY_REASON", "Kindness.")
	t.Setenv("CI", "true")
	told := said(t, updated(t, dir, "true", saying("Be kind.")))
	assert.Contains(t, told, "refused where the environment variable CI is set")
	assert.Equal(t, before, readAll(t, dir))
}

// A trace that cannot be accepted fails the check, and the other traces are accepted.
func TestReplayRefusesSome(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_REASON", "Kindness.")
	dir := recordings(t, "a.jsonl", "cut.jsonl", "unwritable.jsonl")
	cut := filepath.Join(dir, "cut.jsonl")
	whole := readAll(t, dir)["cut.jsonl"]
	require.NoError(t, os.WriteFile(cut, []byte(whole[:len(whole)-200]), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "unwritable.jsonl.reason"), 0o755))
	tb := updated(t, dir, "true", saying("Be kind."))
	assert.Empty(t, tb.told)
	require.Len(t, tb.failed, 2)
	told := unfolded(tb.failed[0])
	assert.NotContains(t, strings.SplitN(told, "\n", 2)[0], "accepted")
	assert.Contains(t, told, "\naccepted in 1 of 3:\n  "+dir+"/a.jsonl\nnot accepted in 2 of 3, which are left as they were:\n  "+dir+"/cut.jsonl:40: truncated trace: ")
	assert.Contains(t, told, "\n  "+dir+"/unwritable.jsonl: read "+dir+"/unwritable.jsonl.reason: is a directory\n")
	assert.Contains(t, told, "record it anew, into that file: run the turn with replay.Record(file)")
	assert.Contains(t, unfolded(tb.failed[1]), "cut.jsonl:40: truncated trace")
	files := readAll(t, dir)
	assert.Contains(t, files["a.jsonl"], "Be kind.")
	assert.Equal(t, whole, files["unwritable.jsonl"])
	assert.Equal(t, whole[:len(whole)-200], files["cut.jsonl"])
}

// A difference that varies from run to run cannot be accepted: the check says what to do about it,
// and -update does not change the file. This holds for what live code says, for the input of a
// run, and for code that writes for real and is therefore not run again.
func TestReplayRefusesWhatVaries(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_REASON", "It is meant.")
	var n atomic.Int32
	const varies = "it is not the same each time it is run"
	setting := func(runs func() int) []adk.TurnMiddleware {
		return []adk.TurnMiddleware{{Name: "counts", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			err := tc.Stash().Set("runs", runs())
			next(ctx)
			return err
		}}}
	}
	once, counts := setting(func() int { return 0 }), setting(func() int { return int(n.Add(1)) })
	for name, change := range map[string]func(l *replay.Live){
		"what code says":              func(l *replay.Live) { l.Config.TurnInput = counts },
		"what code says that writes":  func(l *replay.Live) { l.Config.TurnInput, l.Writes = counts, true },
		"a prompt":                    func(l *replay.Live) { l.Turn.SystemPrompt = fmt.Sprint("Turn ", n.Add(1)) },
		"a prompt beside what writes": func(l *replay.Live) { l.Turn.SystemPrompt, l.Writes = fmt.Sprint("Turn ", n.Add(1)), true },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range []string{"a.jsonl", "b.jsonl"} {
				config, raw := weather()
				config.TurnInput = once
				recordTurn(t, filepath.Join(dir, file), config, raw)
			}
			before := readAll(t, dir)
			live := func(string) replay.Live {
				config, raw := weather()
				config.TurnInput = once
				l := replay.Live{Config: config, Turn: raw, Seams: []string{replay.Prompt, replay.Middleware, replay.Executor}}
				change(&l)
				return l
			}
			tb := updated(t, dir, "false", live)
			require.NotEmpty(t, tb.failed)
			told := unfolded(tb.failed[len(tb.failed)-1])
			if name == "a prompt beside what writes" { // and so was not run again
				assert.Contains(t, told, "to accept what can be: ")
			} else {
				assert.Contains(t, told, "\nthis cannot be accepted:\n  "+dir+"/a.jsonl: "+varies)
				assert.Contains(t, told, "\n  and so it is with "+dir+"/b.jsonl\ntake the time from the context's Now and ids from its NewID; ")
				assert.NotContains(t, told, "ADKREPLAY_REASON")
				assert.NotContains(t, told, "record it anew")
			}
			told = said(t, updated(t, dir, "true", live))
			assert.Contains(t, told, "\nnot accepted in 2 of 2, which are left as they were:\n  "+dir+"/a.jsonl: "+varies)
			assert.Equal(t, before, readAll(t, dir))

			folder := t.TempDir()
			t.Setenv("ADKREPLAY_PENDING", folder)
			tb = updated(t, dir, "false", live)
			require.NotEmpty(t, tb.failed)
			assert.Contains(t, unfolded(tb.failed[len(tb.failed)-1]), "\ntake the time from the context's Now")
			for _, p := range pendingIn(t, folder) {
				assert.Contains(t, p.Refused, varies)
			}
		})
	}
}

// A tool that writes is not run a second time. If it says the machine's time, the change is
// refused nevertheless, as the next check and every later one would be red.
func TestReplayRefusesTheTimeOfTheMachine(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_REASON", "It is meant.")
	mailing := func(sent func(dc *adk.DispatchContext) string) adk.Config {
		config, _ := weather()
		tool := config.Tools[0]
		mail, err := adk.NewTool(adk.ToolInit{Name: tool.Name(), Description: tool.Description(), InputSchema: tool.InputSchema(), Effect: adk.EffectWrites,
			Handler: func(_ context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				return adk.Text("It is\n" + sent(dc)), nil
			}})
		require.NoError(t, err)
		config.Tools = []*adk.Tool{mail}
		return config
	}
	for name, c := range map[string]struct {
		sent    func(dc *adk.DispatchContext) string
		refused bool
	}{
		"seconds":     {func(*adk.DispatchContext) string { return time.Now().UTC().Format(time.RFC3339) }, true},
		"nanoseconds": {func(*adk.DispatchContext) string { return time.Now().Format(time.RFC3339Nano) }, true},
		"another zone": {func(*adk.DispatchContext) string {
			return time.Now().In(time.FixedZone("", -12600)).Format(time.RFC3339)
		}, true},
		"as Go prints it":   {func(*adk.DispatchContext) string { return time.Now().String() }, true},
		"of a database":     {func(*adk.DispatchContext) string { return time.Now().Format(time.DateTime) }, true},
		"since 1970":        {func(*adk.DispatchContext) string { return fmt.Sprint("at ", time.Now().Unix()) }, true},
		"milliseconds":      {func(*adk.DispatchContext) string { return fmt.Sprint("at ", time.Now().UnixMilli()) }, true},
		"milliardths":       {func(*adk.DispatchContext) string { return fmt.Sprint("at ", time.Now().UnixNano()) }, true},
		"the turn's":        {func(dc *adk.DispatchContext) string { return dc.Now().Format(time.RFC3339) }, false},
		"of the code":       {func(*adk.DispatchContext) string { return "2024-02-03T04:05:06Z, 1706933106" }, false},
		"an hour from here": {func(*adk.DispatchContext) string { return time.Now().Add(time.Hour).Format(time.RFC3339) }, false}, // it is not known what the hour is counted from
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			recordTurn(t, filepath.Join(dir, "a.jsonl"), mailing(func(*adk.DispatchContext) string { return "sent" }), adk.RawTurn{SystemPrompt: "Be brief."})
			before := readAll(t, dir)
			tb := updated(t, dir, "true", func(string) replay.Live {
				return replay.Live{Config: mailing(c.sent), Seams: []string{replay.Executor, replay.ToolCode}, Writes: true}
			})
			if !c.refused {
				assert.Empty(t, tb.failed)
				assert.NotEqual(t, before, readAll(t, dir))
				return
			}
			assert.Regexp(t, `it is not the same each time it is run: crossing \d+, in tool/weather, has the time of the machine in its result: `, said(t, tb))
			assert.Contains(t, said(t, tb), "\ntake the time from the context's Now")
			assert.Equal(t, before, readAll(t, dir))
		})
	}
}

// A check of no traces is not green.
func TestReplayOfNothing(t *testing.T) {
	assert.Contains(t, said(t, updated(t, t.TempDir(), "false", nil)), "there is no trace")
	dir := recordings(t, "a.jsonl")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), nil, 0o600))
	tb := updated(t, dir, "true", nil)
	require.Len(t, tb.failed, 1)
	assert.Contains(t, tb.failed[0], dir+"/a.jsonl:1: truncated trace")
	assert.NotContains(t, tb.failed[0], "ADKREPLAY_REASON")
}

// readAll returns the files below a folder, by their relative paths.
func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(content)
		return err
	}))
	return files
}

// A file that somebody else accepted meanwhile, and reasons that were merged, are no reason to
// record a turn anew: the check says what is to be done, and leaves both as they are.
func TestReplayRefusesFilesAsTheyAre(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_REASON", "Kindness.")
	dir := recordings(t, "a.jsonl", "b.jsonl")
	markers := "2026-01-02 First.\n<<<<<<< HEAD\n2026-01-03 Ours.\n=======\n2026-01-03 Theirs.\n>>>>>>> theirs\n"
	for _, name := range []string{"a.jsonl", "b.jsonl"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".reason"), []byte(markers), 0o600))
	}
	before := readAll(t, dir)
	for _, update := range []string{"true", "false"} {
		told := said(t, updated(t, dir, update, saying("Be kind.")))
		assert.Contains(t, told, "  "+dir+"/a.jsonl.reason:2: these are git's conflict markers: keep the reasons of both sides, delete the lines of the markers, and accept again")
		assert.Contains(t, told, "\n  and so it is with "+dir+"/b.jsonl")
		assert.NotContains(t, told, "record it anew")
	}
	assert.Equal(t, before, readAll(t, dir))

	dir = recordings(t, "a.jsonl")
	var ran atomic.Int32
	verifying := saying("Be kind.")
	other := updated(t, dir, "true", func(trace string) replay.Live {
		if ran.Add(1) == 3 { // behind the two runs of the check, and before the new trace is written
			require.Empty(t, updated(t, dir, "true", verifying).failed, "another test accepts it")
		}
		return verifying(trace)
	})
	told := said(t, other)
	assert.Contains(t, told, dir+"/a.jsonl: it has changed since it was shown: look at it again")
	assert.NotContains(t, told, "record it anew")
	assert.Equal(t, 1, strings.Count(readAll(t, dir)["a.jsonl.reason"], " Kindness.\n"))
}

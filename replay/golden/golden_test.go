package golden_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// fakeTB records what a check reports to its test.
type fakeTB struct {
	name         string
	failed, told []string
}

func (*fakeTB) Helper()                         {}
func (f *fakeTB) Name() string                  { return f.name }
func (f *fakeTB) Logf(text string, args ...any) { f.told = append(f.told, fmt.Sprintf(text, args...)) }
func (f *fakeTB) Errorf(text string, args ...any) {
	f.failed = append(f.failed, fmt.Sprintf(text, args...))
}

// greeting builds a turn in which the model says something.
func greeting(says string) func() (adk.Config, adk.RawTurn) {
	return func() (adk.Config, adk.RawTurn) {
		return adk.Config{
			Executor: fakes.Script{{fakes.Say(says), fakes.Ack()}}.Executor("model"),
			Storage:  fakes.NewStorage().Storage(),
		}, adk.RawTurn{SystemPrompt: "Be brief."}
	}
}

// loud builds the greeting with a listener that panics.
func loud() (adk.Config, adk.RawTurn) {
	config, raw := greeting("Hello!")()
	raw.Functional.Message = func(adk.MessageEvent) { panic("the screen is gone") }
	return config, raw
}

// setUpdate sets goldie's flag for one test. The tests of this package also run with -update,
// which must not affect them.
func setUpdate(t *testing.T, value string) {
	t.Helper()
	before := flag.Lookup("update").Value.String()
	require.NoError(t, flag.Set("update", value))
	t.Cleanup(func() { require.NoError(t, flag.Set("update", before)) })
}

// checked runs a check in the given folder, with -update or without.
func checked(t *testing.T, dir, update string, build func() (adk.Config, adk.RawTurn), contained ...string) *fakeTB {
	t.Helper()
	setUpdate(t, update)
	tb := &fakeTB{name: "TestGreeting/in the morning"}
	golden.Turn(tb, "greeting", build, golden.Options{Dir: dir, Contained: contained})
	return tb
}

// written is a folder that holds the golden file of a turn.
func written(t *testing.T, build func() (adk.Config, adk.RawTurn), contained ...string) (dir string) {
	t.Helper()
	t.Setenv("CI", "")
	dir = t.TempDir()
	require.Empty(t, checked(t, dir, "true", build, contained...).failed)
	return dir
}

// failure returns the only failure of a check, which must end with the command that runs the check
// again.
func failure(t *testing.T, tb *fakeTB, flags string) string {
	t.Helper()
	require.Len(t, tb.failed, 1)
	again := "go test ./replay/golden -run '^TestGreeting$/^in the morning$' " + flags
	assert.Regexp(t, "\n  (ADKREPLAY_REASON='why it changed' )?"+regexp.QuoteMeta(again)+"$", tb.failed[0])
	return tb.failed[0]
}

func TestTurn(t *testing.T) { golden.Turn(t, "weather", weather) }

func TestTurnPasses(t *testing.T) {
	dir := written(t, greeting("Hello!"))
	tb := checked(t, dir, "false", greeting("Hello!"))
	assert.Empty(t, tb.failed)
	assert.Empty(t, tb.told)
}

func TestTurnDiffers(t *testing.T) {
	dir := written(t, greeting("Hello!"))
	said := failure(t, checked(t, dir, "false", greeting("Goodbye!")), "-update")
	assert.Contains(t, said, "the turn is not the one in "+dir+"/greeting.golden")
	assert.Contains(t, said, "-      store m1 assistant \"Hello!\" in messages")
	assert.Contains(t, said, "+      store m1 assistant \"Goodbye!\" in messages")
}

// A golden file whose line endings were changed by a checkout still matches, and is not updated.
func TestTurnThatWasCheckedOut(t *testing.T) {
	dir := written(t, greeting("Hello!"))
	changed := strings.ReplaceAll(goldenFile(t, dir), "\n", "\r\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "greeting.golden"), []byte(changed), 0o600))
	t.Setenv("ADKREPLAY_REASON", "Another machine.")
	for _, update := range []string{"false", "true"} {
		said := failure(t, checked(t, dir, update, greeting("Hello!")), "-count=1")
		assert.Contains(t, said, "put `*.golden -text` into .gitattributes")
		assert.Equal(t, changed, goldenFile(t, dir))
	}
}

func TestTurnWithoutAGoldenFile(t *testing.T) {
	dir := t.TempDir()
	said := failure(t, checked(t, dir, "false", greeting("Hello!")), "-update")
	assert.Contains(t, said, "there is no "+dir+"/greeting.golden")
	assertNoFile(t, dir)
}

// A build function that keeps state between runs is detected, also while updating.
func TestTurnIsNotDeterministic(t *testing.T) {
	for _, update := range []string{"false", "true"} {
		runs, dir := 0, t.TempDir()
		build := func() (adk.Config, adk.RawTurn) {
			runs++
			return greeting(fmt.Sprint("Hello number ", runs))()
		}
		said := failure(t, checked(t, dir, update, build), "-count=1")
		assert.Contains(t, said, "not deterministic: two runs of it differ first in line 8 of the transcript\n")
		assert.Contains(t, said, "report-message m1 \"Hello number 1\"")
		assert.Contains(t, said, "report-message m1 \"Hello number 2\"")
		for _, suspect := range []string{"time", "ids", "map", "goroutines"} {
			assert.Contains(t, said, suspect)
		}
		assertNoFile(t, dir)
	}
}

// If a gate times out in only one of two runs, that is reported rather than any other difference:
// whoever settles the gate came too late.
func TestGateThatTimesOutIsNotDeterministic(t *testing.T) {
	wait := adk.DispatchMiddleware{Name: "ask", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "go on?", Timeout: time.Hour})
		if errors.Is(err, adk.E_TURN_GATE_TIMEOUT) {
			err = nil
		}
		next(ctx)
		return err
	}}
	for _, settles := range []int{1, 2} {
		runs := 0
		said := failure(t, checked(t, t.TempDir(), "false", func() (adk.Config, adk.RawTurn) {
			runs++
			run := runs
			config, raw := greeting("Hello!")()
			config.DispatchInput = []adk.DispatchMiddleware{wait}
			raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
				if run == settles { // in the other run a goroutine came too late
					_, err := e.Gate.Resolve("owner", true)
					assert.NoError(t, err)
				}
			}
			return config, raw
		}), "-count=1")
		assert.Contains(t, said, "! the time of the wait-for is over")
		assert.Contains(t, said, "\nA gate timed out in one of them alone, and is settled by a goroutine, it seems")
		assert.NotContains(t, said, "the order\nof a map")
	}
}

// A run that ends before the other one differs from it at its end.
func TestTurnThatEndsEarlyIsNotDeterministic(t *testing.T) {
	runs := 0
	said := failure(t, checked(t, t.TempDir(), "false", func() (adk.Config, adk.RawTurn) {
		config, raw := greeting("Hello!")()
		if runs++; runs == 2 {
			config.Executor = fakes.Script{{fakes.Nack(nil)}}.Executor("model")
		}
		return config, raw
	}), "-count=1")
	assert.Contains(t, said, "\nsecond       nack")
}

// A contained failure fails the check, unless the test expects it (design: "contained failures are
// loud in tests").
func TestTurnContains(t *testing.T) {
	dir := t.TempDir()
	said := failure(t, checked(t, dir, "true", loud), "-count=1")
	assert.Contains(t, said, "\n  \"listener of message: the screen is gone\"\n")
	assertNoFile(t, dir)

	dir = written(t, loud, "listener of message")
	assert.Empty(t, checked(t, dir, "false", loud, "listener of message").failed)
	said = failure(t, checked(t, dir, "false", loud), "-count=1")
	assert.Contains(t, said, "what nobody expects")
	said = failure(t, checked(t, dir, "false", loud, "listener of message", "second next"), "-count=1")
	assert.Contains(t, said, `no failure with "second next" in it`)
}

// Misuse of the engine is contained in the same way as a panic.
func TestTurnContainsMisuse(t *testing.T) {
	said := failure(t, checked(t, t.TempDir(), "false", func() (adk.Config, adk.RawTurn) {
		config, raw := greeting("Hello!")()
		config.TurnInput = []adk.TurnMiddleware{{Name: "twice", Run: func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
			next(ctx)
			next(ctx)
			return nil
		}}}
		return config, raw
	}), "-count=1")
	assert.Contains(t, said, "second next")
}

func TestUpdateIsRefusedInCI(t *testing.T) {
	dir := written(t, greeting("Hello!"))
	before := goldenFile(t, dir)
	t.Setenv("ADKREPLAY_REASON", "Politeness.")
	for _, ci := range []string{"true", "1", "woodpecker"} {
		t.Setenv("CI", ci)
		said := failure(t, checked(t, dir, "true", greeting("Goodbye!")), "-count=1")
		assert.Contains(t, said, "-update is refused where the environment variable CI is set")
		assert.Equal(t, before, goldenFile(t, dir))
	}
	t.Setenv("CI", "false")
	assert.Empty(t, checked(t, dir, "true", greeting("Goodbye!")).failed)
	t.Setenv("CI", "true")
	assert.Empty(t, checked(t, dir, "false", greeting("Goodbye!")).failed)
}

// An update reports what it changes before it writes, and reports nothing if nothing has changed.
// The reason is appended to the file of reasons beside the golden file.
func TestUpdate(t *testing.T) {
	dir := written(t, greeting("Hello!"))
	assertFiles(t, dir, "greeting.golden") // a new file needs no reason
	assert.Empty(t, checked(t, dir, "true", greeting("Hello!")).told)
	for _, step := range []struct{ says, reason string }{{"Goodbye!", "Politeness:\n\tthe shop  asked for it."}, {"Bye!", "Shorter."}} {
		t.Setenv("ADKREPLAY_REASON", step.reason)
		tb := checked(t, dir, "true", greeting(step.says))
		assert.Empty(t, tb.failed)
		require.Len(t, tb.told, 1)
		assert.Contains(t, tb.told[0], "accepted: the turn is not the one in "+dir+"/greeting.golden")
		assert.Contains(t, tb.told[0], "+      store m1 assistant \""+step.says+"\" in messages")
		assert.Contains(t, goldenFile(t, dir), step.says)
	}
	assertFiles(t, dir, "greeting.golden", "greeting.golden.reason")
	reasons, err := os.ReadFile(filepath.Join(dir, "greeting.golden.reason"))
	require.NoError(t, err)
	assert.Regexp(t, `\A\d{4}-\d\d-\d\d Politeness: the shop asked for it\.
    from line 8 on:
    -       report-message m1 "Hello!"[^\n]*
    \+       report-message m1 "Goodbye!"[^\n]*
    sha256 [0-9a-f]{64} became [0-9a-f]{64}
\d{4}-\d\d-\d\d Shorter\.
(    [^\n]+\n){4}\z`, string(reasons))
	assert.Contains(t, string(reasons), fmt.Sprintf("became %x\n", sha256.Sum256([]byte(goldenFile(t, dir)))))
	assert.Empty(t, checked(t, dir, "false", greeting("Bye!")).failed)
}

// Without a reason a golden file stays as it is, and the check shows what would change.
func TestUpdateNeedsAReason(t *testing.T) {
	dir := written(t, greeting("Hello!"))
	before := goldenFile(t, dir)
	for _, reason := range []string{"", " \n"} {
		t.Setenv("ADKREPLAY_REASON", reason)
		said := failure(t, checked(t, dir, "true", greeting("Goodbye!")), "-update")
		assert.Contains(t, said, "+      store m1 assistant \"Goodbye!\" in messages")
		assert.Contains(t, said, "not accepted without a reason")
		assert.Contains(t, said, "\n  ADKREPLAY_REASON='why it changed' go test ")
		assert.Equal(t, before, goldenFile(t, dir))
		assertFiles(t, dir, "greeting.golden")
	}
}

// If the reason cannot be written, no file is changed.
func TestUpdateThatCannotBeWritten(t *testing.T) {
	dir := written(t, greeting("Hello!"))
	before := goldenFile(t, dir)
	t.Setenv("ADKREPLAY_REASON", "Politeness.")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "greeting.golden.reason"), 0o755))
	said := failure(t, checked(t, dir, "true", greeting("Goodbye!")), "-count=1")
	assert.Contains(t, said, "it is not accepted: ")
	assert.Equal(t, before, goldenFile(t, dir))
}

func TestTurnThatCannotBeRun(t *testing.T) {
	said := failure(t, checked(t, t.TempDir(), "false", func() (adk.Config, adk.RawTurn) {
		config, _ := greeting("Hello!")()
		return config, adk.RawTurn{}
	}), "-count=1")
	assert.Contains(t, said, "SystemPrompt is empty")

	said = failure(t, checked(t, t.TempDir(), "false", func() (adk.Config, adk.RawTurn) {
		return adk.Config{}, adk.RawTurn{}
	}), "-count=1")
	assert.Contains(t, said, "Executor.Run is missing")
}

// transcribed checks a turn that the test itself runs.
func transcribed(t *testing.T, name string, run func(adk.Probe) error) *fakeTB {
	t.Helper()
	setUpdate(t, "false")
	tb := &fakeTB{name: "TestGreeting/in the morning"}
	golden.Transcript(tb, name, run, golden.Options{Dir: t.TempDir()})
	return tb
}

func TestTranscriptNeedsOneTurn(t *testing.T) {
	none := failure(t, transcribed(t, "none", func(adk.Probe) error { return nil }), "-count=1")
	assert.Contains(t, none, "no turn was observed")

	failed := failure(t, transcribed(t, "failed", func(adk.Probe) error { return errors.New("no network") }), "-count=1")
	assert.Contains(t, failed, "was not run: no network")

	two := failure(t, transcribed(t, "two", func(probe adk.Probe) error {
		config, raw := greeting("Hello!")()
		runner, err := adk.NewRunner(fakes.Deterministic(config, probe))
		if err != nil {
			return err
		}
		return errors.Join(runner.Run(context.Background(), raw), runner.Run(context.Background(), raw))
	}), "-count=1")
	assert.Contains(t, two, "has a run already")

	nameless := failure(t, transcribed(t, "", func(adk.Probe) error { return nil }), "-count=1")
	assert.Contains(t, nameless, "needs a name")
}

// A turn that is cut short because its user leaves has a transcript too.
func TestTranscript(t *testing.T) {
	golden.Transcript(t, "user-leaves", func(probe adk.Probe) error {
		config, raw := weather()
		ctx, cancel := context.WithCancelCause(context.Background())
		raw.Functional.ToolCall = func(e adk.ToolCallEvent) {
			if e.Complete {
				cancel(errors.New("the user has left"))
			}
		}
		runner, err := adk.NewRunner(fakes.Deterministic(config, probe))
		if err != nil {
			return err
		}
		return runner.Run(ctx, raw)
	})
}

func goldenFile(t *testing.T, dir string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "greeting.golden"))
	require.NoError(t, err)
	return string(content)
}

func assertNoFile(t *testing.T, dir string) {
	t.Helper()
	assertFiles(t, dir)
}

func assertFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		names = append(names, file.Name())
	}
	assert.Equal(t, want, names)
}

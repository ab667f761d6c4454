package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// withinBudget returns the default flags of explore, with the given budget.
func withinBudget(budget time.Duration) exploreFlags {
	return exploreFlags{exploreOptions: exploreOptions{limits: explore.Options{Bound: 1}, budget: budget}}
}

// given reports whether a flag is among the named ones, which the user set.
func given(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func TestParseExplore(t *testing.T) {
	o, err := parseExplore(exploreFlags{exploreOptions: exploreOptions{limits: explore.Options{Bound: 2, Schedules: 9, Workers: 1}, budget: time.Second, json: true}},
		given("schedules", "workers", "budget", "json"), []string{"hello", "turn.jsonl"})
	require.NoError(t, err)
	assert.Equal(t, explore.Options{Bound: 2, Schedules: 9, Workers: 1}, o.limits)
	assert.Equal(t, []string{"hello", "turn.jsonl"}, []string{o.targets[0].name, o.targets[1].name})
	assert.Nil(t, o.only)

	all := withinBudget(0)
	all.all = true
	o, err = parseExplore(all, given("all"), nil)
	require.NoError(t, err)
	assert.Len(t, o.targets, len(scenarioNames()))

	one := withinBudget(0)
	one.schedule = "cancel@7"
	o, err = parseExplore(one, given("only"), []string{"hello"})
	require.NoError(t, err)
	assert.Equal(t, "cancel@7", o.only.String())
}

// Wrong flags and arguments are refused, and the error says what would be right.
func TestExploreRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "explore needs the name of a scenario, the file of a trace, or --all"},
		{[]string{"helo"}, `there is no scenario "helo", and no file: did you mean hello?`},
		{[]string{"--all", "hello"}, `--all explores every scenario: leave it or "hello" out`},
		{[]string{"hello", "--bound", "0"}, "--bound 0: at least one thing has to go wrong"},
		{[]string{"hello", "--schedules", "0"}, "--schedules 0: give how many to run at most, 1 or more, or leave it out"},
		{[]string{"hello", "--workers", "0"}, "--workers 0: give how many runs to have under way, 1 or more, or leave it out"},
		{[]string{"hello", "--workers", "1025"}, "--workers 1025: give 1024 at most"},
		{[]string{"hello", "--workers", "-1"}, "--workers -1: give how many"},
		{[]string{"hello", "--budget", "0"}, "--budget 0s: give a time such as 10s, or leave it out"},
		{[]string{"hello", "--budget", "-1s"}, "--budget -1s: give a time"},
		{[]string{"hello", "--budget", "soon"}, `invalid argument "soon" for "--budget" flag`},
		{[]string{"hello", "planner", "--only", "cancel@7"}, "--only is a schedule of one turn: name that one alone"},
		{[]string{"hello", "--only", "cancle@7"}, `schedule "cancle@7": there is no kind of fault "cancle": there are cancel, `},
		{[]string{"hello", "--only", " "}, `schedule " ": " ": want a kind of fault and the number of a crossing, as in cancel@7, or order@3=2`},
	} {
		got := adkreplay(append([]string{"explore"}, c.args...)...)
		assert.Equal(t, exitUsage, got.code, "%q", c.args)
		assert.Empty(t, got.out)
		assert.Contains(t, got.err, c.want)
		assert.Contains(t, got.err, "see adkreplay explore --help")
	}
}

// A schedule of another turn cannot be run in this one.
func TestExploreOfAScheduleThatCannotBe(t *testing.T) {
	assert.Equal(t, outcome{exitUsage, "", "adkreplay: hello: cancel@99 cannot happen: the turn has 31 crossings only\n"},
		adkreplay("explore", "hello", "--only", "cancel@99"))
}

// No trace is explored before all of them have been read.
func TestExploreWhatCannotBeRead(t *testing.T) {
	for _, path := range []string{"nosuch.jsonl", truncated(t), malformed(t), t.TempDir()} {
		got := adkreplay("explore", "hello", path)
		assert.Equal(t, exitUnreadable, got.code, path)
		assert.Empty(t, got.out)
		assert.Contains(t, got.err, "adkreplay: "+path+":")
	}
}

// elapsed matches a duration in the summary line.
var elapsed = regexp.MustCompile(`\d+\.\d\d s`)

// The summary line comes first, and the table follows if a flag asks for it.
func TestExploreOne(t *testing.T) {
	brief := adkreplay("explore", "hello")
	assert.Regexp(t, `^hello: 99 schedules, bound 1, 0 violations, \d+\.\d\d s\n$`, brief.out)
	got := adkreplay("explore", "hello", "--table")
	assert.Equal(t, exitSame, got.code)
	assert.Empty(t, got.err)
	lines := strings.Split(elapsed.ReplaceAllString(got.out, "0.02 s"), "\n")
	assert.Equal(t, "hello: 99 schedules, bound 1, 0 violations, 0.02 s", lines[0])
	assert.Contains(t, got.out, "\n  call executor      cancel 1, cancel-after 1, deadline 1, error 1,\n                     panic 1; not cdefghij\n")
	assert.Contains(t, got.out, "\n  report-message     cancel 1, deadline 1, panic 1, cut 1; not adefghijn\n")
	assert.Contains(t, got.out, "\n  d  storage-before, storage-after: only obligations are storage faults'\n     matter\n")
	for _, line := range strings.Split(adkreplay("explore", "tool-round-trip", "--table").out, "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), usualColumns, "it stands in a pipe as it is")
	}
}

// Exploring a trace finds the same as exploring the scenario that it records: as many violations,
// at the same crossings.
func TestExploreATrace(t *testing.T) {
	for _, name := range []string{"hello", "gate-timeout", "parallel-tools"} {
		path := put(t, "turn.jsonl", fixture(t, name))
		of, trace := adkreplay("explore", name), adkreplay("explore", path)
		assert.Equal(t, exitSame, trace.code)
		assert.True(t, strings.HasPrefix(trace.out, path+": "))
		summary := func(of outcome, subject string) []string { // without the line breaks, which depend on the length of the path
			return strings.Fields(elapsed.ReplaceAllString(strings.TrimPrefix(of.out, subject), ""))
		}
		assert.Equal(t, summary(of, name), summary(trace, path))
	}
}

func TestExploreSeveral(t *testing.T) {
	got := adkreplay("explore", "hello", "short-circuit-turn-input", "--workers", "1")
	assert.Equal(t, outcome{exitSame, `hello: 99 schedules, bound 1, 0 violations, 0 s
short-circuit-turn-input: 57 schedules, bound 1, 0 violations, 0 s
2 turns, 156 schedules, bound 1, 0 violations
`, ""}, outcome{got.code, elapsed.ReplaceAllString(got.out, "0 s"), got.err})
}

func TestExploreJSON(t *testing.T) {
	got := adkreplay("explore", "hello", "gates-aborted", "--json")
	assert.Equal(t, exitSame, got.code)
	var all explored
	require.NoError(t, json.Unmarshal([]byte(got.out), &all))
	require.Len(t, all.Explorations, 2)
	assert.Equal(t, 99, all.Explorations[0].Schedules)
	assert.Equal(t, 4, all.Explorations[1].Waited)
	assert.Equal(t, all.Explorations[0].Schedules+all.Explorations[1].Schedules, all.Schedules)
	assert.Equal(t, turn.FaultKinds(), all.Explorations[0].Table.Faults)
	assert.Contains(t, got.out, `"violations": []`)
}

// Reaching a limit is no failure, and the report says what was left out.
func TestExploreToALimit(t *testing.T) {
	got := adkreplay("explore", "hello", "--bound", "2", "--schedules", "150")
	assert.Equal(t, exitSame, got.code)
	assert.Regexp(t, `^hello: 150 schedules, bound 2, 0 violations, \d+\.\d\d s, not all of it\n  not covered: at least \d+ schedules that follow from those tried, and\n      all that follow from these: the limit of 150 schedules was reached\n`, got.out)
}

// exploring runs explore with a clock that advances by a second at each reading.
func exploring(ctx context.Context, o exploreOptions) outcome {
	now := fakes.Epoch
	o.limits.Now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	o.limits.Workers = 1
	var out, stderr bytes.Buffer
	term := newTerminal(&out, &stderr)
	exit := classified(runExplore(ctx, term, o))
	return outcome{exit.code, out.String(), stderr.String()}
}

// All turns share one budget, and turns that got nothing of it are named.
func TestExploreToABudget(t *testing.T) {
	o, err := parseExplore(withinBudget(4*time.Second), given("budget"), []string{"hello", "planner", "stash"})
	require.NoError(t, err)
	got := exploring(t.Context(), o)
	assert.Equal(t, exitSame, got.code)
	assert.Regexp(t, `^hello: \d schedules?, bound 1, 0 violations, \d\.00 s, not all of it\n  not covered: .*\n .*the budget of 4s was used up
not begun, as the budget of 4s was used up: planner, stash
1 turn, \d schedules?, bound 1, 0 violations, not all of it\n$`, got.out)
}

// If the budget ends before the first run, nothing is known, which is no success.
func TestExploreOfNothing(t *testing.T) {
	o, err := parseExplore(withinBudget(time.Millisecond), given("budget"), []string{"hello", "planner"})
	require.NoError(t, err)
	got := exploring(t.Context(), o)
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.out, "hello: 0 schedules, ")
	assert.Contains(t, got.out, "not begun, as the budget of 1ms was used up: planner\n")
	assert.Equal(t, "adkreplay: nothing was explored: the budget of 1ms was used up before the first run; give a longer --budget, or leave it out\n", got.err)
	o.json = true
	document := decoded[explored](t, exploring(t.Context(), o).out)
	assert.Equal(t, exitInternal, document.ExitCode)
	assert.Contains(t, document.Error, "nothing was explored")
}

func TestExploreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, err := parseExplore(withinBudget(0), given(), []string{"hello", "planner"})
	require.NoError(t, err)
	got := exploring(ctx, o)
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.out, "the exploration was interrupted")
	assert.Equal(t, "adkreplay: interrupted: 0 of 2 turns explored to the end\n", got.err)
}

// fickle is a turn that differs in each run in which its storage fails.
func fickle(runs *int) target {
	return target{"fickle one", func(context.Context, *terminal) (turn.Subject, error) {
		return turn.Subject{Name: "fickle one", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				_, err := dc.Memories().Fetch(ctx)
				if ctx.Err() != nil {
					return err
				}
				if *runs++; err != nil {
					h.Log(adk.LevelInfo, "run", strings.Repeat("again ", *runs), nil)
				}
				return dc.Ack()
			}}}, adk.RawTurn{SystemPrompt: "Help."}
		}}, nil
	}}
}

// A violation is followed by the command that repeats that run, finds the same violation, and
// shows where it is.
func TestExploreFinds(t *testing.T) {
	runs := 0
	o, err := parseExplore(withinBudget(0), given(), []string{"hello"})
	require.NoError(t, err)
	o.targets = []target{fickle(&runs)}
	got := exploring(t.Context(), o)
	assert.Equal(t, exitFound, got.code)
	command := regexp.MustCompile(`adkreplay explore 'fickle one' --only '(.*)'`).FindStringSubmatch(got.out)
	require.NotNil(t, command, got.out)
	assert.Equal(t, "storage-before@9", command[1])

	only := turn.MustSchedule(command[1])
	o.only = &only
	again := exploring(t.Context(), o)
	assert.Equal(t, exitFound, again.code)
	assert.Regexp(t, `^fickle one: 1 schedule, bound 1, 1 violation, \d\.00 s
  storage-before@9: crossing \d+: a run is the same every time \(DET-2\): a
      second run of the same schedule made another crossing here
    - .*"again again.*
(        .*\n)*    \+ .*"again again.*
(      .*\n)*    Ids come from .*
(        .*\n)*    storage-before@9: the storage fails at "call storage", in
        storage/memories.fetch
    met by .* at\s+.*explore_test\.go:\d+
    shows in .* at\s+.*explore_test\.go:\d+
    fetch memories.*
(    .*\n)*    next: go run \S+/adkreplay explore 'fickle one' --only 'storage-before@9'\n$`, again.out)
}

func TestExploreDrawsItsProgress(t *testing.T) {
	term, _, stderr := onTerminal()
	o, err := parseExplore(withinBudget(0), given(), []string{"hello"})
	require.NoError(t, err)
	require.NoError(t, runExplore(t.Context(), term, o))
	assert.Contains(t, stderr.String(), "\r\x1b[K99/99 schedules of hello")
	assert.True(t, strings.HasSuffix(stderr.String(), "\r\x1b[K"), "it is taken away before the result")
}

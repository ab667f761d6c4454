package golden_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
)

// example is the agent in the folder of that name, which is a module of its own.
const example = "../../example"

// edit replaces a text that occurs once in a file of the example.
type edit struct{ file, old, new string }

// change is a change of the example, and what the
// headline of the first report must say about it.
type change struct {
	name  string
	edits []edit
	class replay.Class
	says  []string
	at    string // text in the line of code that the first report names
}

const (
	inputs = "\t\t\t{Name: \"history\", Run: history},\n\t\t\t{Name: \"profile\", Run: profile},\n"
	ask    = "\t\ttext, err := adk.Ask(ctx, \"forecasts\", q, service, adk.AskOptions{Effect: adk.EffectReads})\n"
	forked = "\t\t\tlines[i], err = forecast("

	toProfile = "\tnext(ctx)\n\treturn nil\n}\n\n// profile"
	setUnits  = "\tif err := tc.Stash().Set(\"user.units\", units); err != nil {\n\t\treturn err\n\t}\n\tnext(ctx)\n\treturn nil\n}\n"
)

// changes are changes that people make to an agent. Its storage is as recorded.
var changes = []change{
	{"a word in the prompt", []edit{{"agent.go", "Be brief.", "Be kind."}}, replay.ChangedInput, []string{"in run", `prompt: "brief" → "kind"`}, ""},
	{"a sentence more in the prompt", []edit{{"agent.go", "Be brief. ", "Be brief. Never guess. "}}, replay.ChangedInput, []string{"in run", `prompt: now with "Never guess`}, ""},
	{"a bound in the schema", []edit{{"tool.go", "jsonschema.Ptr(7.0)", "jsonschema.Ptr(14.0)"}}, replay.ChangedInput, []string{"tool forecast.inputSchema.properties.days.maximum: 7 → 14"}, ""},
	{"a field of the schema", []edit{{"tool.go", `json:"days,omitempty"`, `json:"nights,omitempty"`}, {"tool.go", `schema.Properties["days"]`, `schema.Properties["nights"]`}}, replay.ChangedInput, []string{`tool forecast.inputSchema.properties: "days" → "nights"`}, `json:"nights,omitempty"`},
	{"the description of the tool", []edit{{"tool.go", "the coming days.", "the next days."}}, replay.ChangedInput, []string{`tool forecast.description: "coming" → "next"`}, ""},
	{"a default argument", []edit{{"tool.go", "defaultDays = 1", "defaultDays = 3"}}, replay.ChangedInput, []string{"tool forecast.inputSchema.properties.days.default: 1 → 3", "written: tool.go:24 (agent.defaultDays)"}, ""},
	{"a dropped middleware", []edit{{"agent.go", "\t\t\t{Name: \"profile\", Run: profile},\n", ""}}, replay.Missing, []string{"in turn-input/profile", `without "profile"`}, ""},
	{"a dropped middleware of the dispatch", []edit{{"agent.go", "\t\t\t{Name: \"cap\", Run: limit},\n", ""}}, replay.Missing, []string{"in dispatch-input/cap", `without "cap"`}, ""},
	{"swapped middlewares", []edit{{"agent.go", inputs, "\t\t\t{Name: \"profile\", Run: profile},\n\t\t\t{Name: \"history\", Run: history},\n"}}, replay.Order, []string{`middlewares: ["history","profile"] → ["profile","history"]`}, ""},
	{"a middleware more", []edit{{"agent.go", `"cap", Run: limit},`, `"cap", Run: limit}, {Name: "audit", Run: limit},`}}, replay.Extra, []string{"in dispatch-input/audit", `now with "audit"`}, ""},
	{"a stash key", []edit{{"middleware.go", `Set("user.units"`, `Set("user.unit"`}}, replay.ChangedInput, []string{"in turn-input/profile", `stash, path: "units" → "unit"`}, `tc.Stash().Set("user.unit"`},
	{"a stash value", []edit{{"middleware.go", `units := "metric"`, `units := "imperial"`}}, replay.ChangedInput, []string{"in turn-input/profile", `stash user.units, value: "metric" → "imperial"`, "greeting"}, ""},
	{"a retry of whatever the service gives", []edit{{"tool.go", ask, strings.Replace(ask, "text, err :=", "_, _ =", 1) + ask}}, replay.Unanswered, []string{"in strand/city: ask forecasts", "once more than recorded"}, "adk.Ask(ctx"},
	{"a retry more", []edit{{"tool.go", "mostAttempts = 2", "mostAttempts = 3"}}, replay.Extra, []string{"in strand/city: sleep and ask forecasts, once more than recorded", "in-circles"}, "dc.Sleep(ctx, pause)"},
	{"no retry", []edit{{"tool.go", "mostAttempts = 2", "mostAttempts = 1"}}, replay.Missing, []string{"in strand/city: sleep and ask forecasts", "in 2 traces of testdata/turns: in-circles.jsonl"}, "adk.Ask(ctx"},
	{"a longer pause", []edit{{"tool.go", "= time.Second", "= 2 * time.Second"}}, replay.ChangedInput, []string{"in strand/city", `sleep, for: "1s" → "2s"`, "written: tool.go:95 (agent.pause)"}, "dc.Sleep(ctx, pause)"},
	{"an extra fetch", []edit{{"middleware.go", "tc.Messages().Fetch(ctx)\n", "tc.Messages().Fetch(ctx)\n\t_, _ = tc.Messages().Fetch(ctx)\n"}}, replay.Unanswered, []string{"in turn-input/history: fetch"}, "_, _ = tc.Messages().Fetch(ctx)"},
	{"a fetch less", []edit{{"middleware.go", "tc.Memories().Fetch(ctx)\n", "[]*adk.Memory(nil), error(nil)\n"}}, replay.Missing, []string{"in turn-input/profile: fetch memories"}, ""},
	{"another argument", []edit{{"tool.go", "Query{city,", "Query{city + \"!\","}}, replay.ChangedInput, []string{"in strand/city: ask", `request.city`, `!`}, ""},
	{"a cancelled sibling", []edit{
		{"tool.go", "\tvar strands []*adk.Strand\n", "\tctx, cancel := context.WithCancelCause(ctx)\n\tdefer cancel(nil)\n\tvar strands []*adk.Strand\n"},
		{"tool.go", forked, "\t\t\tdefer cancel(errors.New(\"one answer is enough\"))\n" + forked},
	}, replay.ChangedError, []string{"in tool/forecast: returns", `"one answer is enough"`, "cancelled at tool.go:70"}, ""},
	{"the text of the tool's error", []edit{{"tool.go", "no forecast for %s", "there is nothing on %s"}}, replay.ChangedError, []string{"in strand/city", "err.text", "nothing on"}, ""},
	{"the text of a nack", []edit{{"middleware.go", "the model was asked %d times and wants more", "the model was asked %d times and has no answer"}}, replay.ChangedInput, []string{"in dispatch-input/cap: nack", "cause.text", "has no answer"}, ""},
	{"a higher cap", []edit{{"middleware.go", "mostIterations = 3", "mostIterations = 4"}}, replay.Missing, []string{"in dispatch-input/cap: nack", "in its place next", "in-circles"}, "next(ctx)"},
	{"a panic", []edit{{"tool.go", forked, strings.Replace(forked, "lines[i]", "lines[i+len(lines)]", 1)}}, replay.Panicked, []string{"in strand/city at tool.go:", ": runtime error: index out of range ["}, "lines[i+len(lines)]"},
	{"a timeout that strikes", []edit{{"tool.go", forked, "\t\t\tctx, stop := context.WithTimeout(ctx, 0)\n\t\t\tdefer stop()\n" + forked}}, replay.ChangedError, []string{"in strand/city", "context.DeadlineExceeded"}, ""},
	{"a message that is not loaded", []edit{{"middleware.go", "range messages {", "range messages[1:] {"}}, replay.Missing, []string{"in turn-input/history: add messages"}, "tc.Messages().Fetch(ctx)"},
	{"a temperature", []edit{{"model.go", "new(0.2)", "new(0.7)"}}, replay.ChangedInput, []string{"in executor/model: ask", "request.body.temperature: 0.2 → 0.7", "option Temperature"}, ""},
	{"a memory that the model is not told", []edit{{"model.go", "Temperature:       ", "BucketOrder: append(chat.Options{}.BucketOrder, \"timeline\"), Temperature: "}}, replay.ChangedInput, []string{"in executor/model: ask", "request.body.messages[].content: without"}, ""},
	{"what the service is asked", []edit{{"tool.go", "{city, in.Days, units}", "{city, in.Days + 1, units}"}}, replay.ChangedInput, []string{"in strand/city: ask", "request.days"}, ""},
	{"a bound of the schema less", []edit{{"tool.go", "days.Minimum, days.Maximum = jsonschema.Ptr(1.0), ", "days.Maximum = "}}, replay.ChangedInput, []string{"tool forecast.inputSchema.properties.days.minimum: 1 → nothing"}, ""},
	{"another name of the tool", []edit{{"tool.go", `"forecast",`, `"weather",`}}, replay.ChangedInput, []string{`tool: "forecast" → "weather"`}, ""},
	{"no next", []edit{{"middleware.go", toProfile, strings.Replace(toProfile, "\tnext(ctx)\n", "", 1)}}, replay.Missing, []string{"in turn-input/history: next"}, "tc.Messages().Add(m)"},
	{"a post-step that fails", []edit{{"middleware.go", toProfile, strings.Replace(toProfile, "nil", "fmt.Errorf(\"too late\")", 1)}}, replay.ChangedError, []string{`in turn-input/history: returns, error "too late"`}, `return fmt.Errorf("too late")`},
	{"an abort", []edit{{"middleware.go", toProfile, "\ttc.Abort(fmt.Errorf(\"enough\"))\n" + toProfile}}, replay.Extra, []string{"in turn-input/history: abort, with error: enough"}, ""},
	{"a gate", []edit{{"middleware.go", toProfile, "\tif _, err := tc.WaitFor(ctx, adk.Gate{ID: \"ok\", Reason: \"sure?\", Timeout: 1}); err != nil {\n\t\treturn err\n\t}\n" + toProfile}}, replay.Extra, []string{"in turn-input/history: wait-for"}, "tc.WaitFor("},
	{"a stash after next", []edit{{"middleware.go", setUnits, "\tnext(ctx)\n\treturn tc.Stash().Set(\"user.units\", units)\n}\n"}}, replay.Order, []string{"in turn-input/profile: next, before stash user.units"}, ""},
	{"white space in the result", []edit{{"tool.go", "adk.Text(text)", "adk.Text(text + \" \")"}}, replay.ChangedResult, []string{"in tool/forecast: returns", `now ends with a space`}, ""},
	{"ids as a provider wants them", []edit{{"model.go", "Temperature:       ", "ToolCallIDs: chat.IDsAlnum9, Temperature: "}}, replay.ChangedInput, []string{"in executor/model: ask", "tool_call_id", "option ToolCallIDs"}, ""},
	{"no retry of a busy model", []edit{{"model.go", "MaxAttempts: new(3)", "MaxAttempts: new(1)"}}, replay.Missing, []string{"in executor/model: sleep and ask localhost POST /v1/chat/completions, in their place nack"}, ""},
	{"an answer that is no stream", []edit{{"model.go", "Temperature:       ", "Stream: new(false), Temperature: "}}, replay.ChangedInput, []string{"in executor/model: ask", `request.body.stream: true → false`}, ""},
	{"an answer that ends nothing", []edit{{"middleware.go", "return dc.Ack()", "return nil"}}, replay.Missing, []string{"in dispatch-output/finish: ack"}, "next(ctx)"},
	{"another name of the executor", []edit{{"agent.go", `model.Executor("model")`, `model.Executor("brain")`}}, replay.Missing, []string{`executor: "model" → "brain"`}, ""},
}

// apply returns the changed files, by their names.
func (c change) apply() (map[string]string, error) {
	files := map[string]string{}
	for _, e := range c.edits {
		if files[e.file] == "" {
			text, err := os.ReadFile(filepath.Join(example, e.file))
			if err != nil {
				return nil, err
			}
			files[e.file] = string(text)
		}
		if n := strings.Count(files[e.file], e.old); n != 1 {
			return nil, fmt.Errorf("%s: %q occurs %d times in %s, want once", c.name, e.old, n, e.file)
		}
		files[e.file] = strings.Replace(files[e.file], e.old, e.new, 1)
	}
	return files, nil
}

func TestChangesFit(t *testing.T) {
	for _, c := range changes {
		_, err := c.apply()
		assert.NoError(t, err)
	}
}

// report matches one failure of golden.Replay, as go test prints it.
var report = regexp.MustCompile(`(?s)replay: not as recorded[^\n]*:\n(.*?)\n\s*next: go test [^\n]*`)

// After any change of the example, its tests say what
// changed: the class and the cause in the headline, and the
// line of code below it, all on one screen. They never pass.
func TestChangesAreNamed(t *testing.T) {
	all := os.Getenv("ADKREPLAY_MUTANTS") == "all"
	if !all {
		thorough.Long(t) // builds the example for each change
		thorough.OneGoroutine(t)
	}
	for _, c := range changes {
		if !all && !slices.Contains(sampled[:thorough.Of(2, 1, 0)], c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := c.test(t)
			reports := report.FindAllStringSubmatch(out, -1)
			require.NotEmpty(t, reports, out)
			if slices.Contains([]string{"what the service is asked", "another argument", "a retry of whatever the service gives", "no retry"}, c.name) {
				assert.Len(t, reports, 1, "one change, whatever was recorded")
			}
			for _, r := range reports {
				assert.LessOrEqual(t, strings.Count(r[0], "\n")+1, 36, r[0])
				assert.Regexp(t, `\n\s+code: (after |asked at |handed in by |made in |cancelled at )?[a-z_]+\.go:\d+ \(`, r[1], "every report says where in the code it is")
				assert.NotContains(t, r[1], `\"`, "JSON is not escaped")
			}
			for line := range strings.Lines(out) {
				assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
			}
			headline, _, _ := strings.Cut(unwrapped(reports[0][1]), "\n")
			assert.True(t, strings.HasPrefix(headline, string(c.class)+" in "), "want the class %q:\n%s", c.class, headline)
			for _, says := range c.says {
				assert.Contains(t, unwrapped(reports[0][1]), says)
			}
			if c.at != "" {
				assert.Contains(t, c.lineOf(t, reports[0][1]), c.at, "the line that is named")
			}
			for _, command := range commandsOf(reports[0][1]) {
				assert.True(t, strings.HasPrefix(command, "go tool adkreplay show testdata/turns/"), command)
				runs(t, example, command)
			}
			t.Log("\n" + out)
		})
	}
}

// sampled are the changes that are tried if not all are; a normal run tries only the first. Their
// reports are among the longest. Each builds the example anew.
var sampled = []string{"a retry of whatever the service gives", "an answer that is no stream"}

// commandsOf returns the commands that a report prints for a closer look, in a form that can be copied.
func commandsOf(report string) (all []string) {
	for _, found := range regexp.MustCompile(`(?m)^ *next: ((?:.*\\\n)*.*)$`).FindAllStringSubmatch(report, -1) {
		all = append(all, found[1])
	}
	return all
}

// runs runs a command as a shell does, in the folder dir.
func runs(t *testing.T, dir, command string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "sh", "-c", command)
	run.Dir = dir
	out, err := run.CombinedOutput()
	assert.NoError(t, err, "%s\n%s", command, out)
	assert.NotEmpty(t, out, command)
}

// The commands that a report suggests run as printed, from the root of the module. The second one
// is a go test command.
func TestNextRuns(t *testing.T) {
	thorough.Long(t)
	tb := replayed(turns(t), func(l *replay.Live) { l.Turn.SystemPrompt = "Be kind." }, replay.Prompt, replay.Executor)
	require.Len(t, tb.failed, 1)
	commands := commandsOf(tb.failed[0])
	require.Len(t, commands, 2)
	runs(t, "../..", commands[0])
	assert.Equal(t, "go test ./replay/golden -run '^TestReplay$' -count=1", commands[1])
}

// unwrapped returns a report with its headline and its list of traces on one line each, and
// without the prefix that go test puts before lines.
func unwrapped(report string) string {
	lines := strings.Split(strings.ReplaceAll(report, "\n        ", "\n"), "\n")
	lines[0] = strings.TrimSpace(lines[0])
	for i := 1; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "    ") && !strings.HasPrefix(lines[i-1], "  - ") {
			lines[i-1] += " " + strings.TrimSpace(lines[i])
			lines = slices.Delete(lines, i, i+1)
			i--
			continue
		}
		break
	}
	return strings.Join(lines, "\n")
}

// codeLine matches what a report says about the code.
var codeLine = regexp.MustCompile(`\n\s+code: (?:after |asked at |handed in by |made in |cancelled at )?([a-z_]+\.go):(\d+) `)

// lineOf is the line of the changed example that a report names.
func (c change) lineOf(t *testing.T, report string) string {
	t.Helper()
	named := codeLine.FindStringSubmatch(report)
	require.NotNil(t, named, report)
	files, err := c.apply()
	require.NoError(t, err)
	text := files[named[1]]
	if text == "" {
		content, err := os.ReadFile(filepath.Join(example, named[1]))
		require.NoError(t, err)
		text = string(content)
	}
	number, err := strconv.Atoi(named[2])
	require.NoError(t, err)
	return strings.Split(text, "\n")[number-1]
}

// test runs the example's replay test with the change in place, and returns the output of the
// failing test. The changed example is a module in a folder of its own, so that the report reads
// the changed source.
func (c change) test(t *testing.T) string {
	t.Helper()
	files, err := c.apply()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(example)))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	module, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	parsed, err := modfile.Parse("go.mod", module, nil)
	require.NoError(t, err)
	require.NoError(t, parsed.AddReplace("github.com/adkreplay/adkreplay", "", root, ""))
	module, err = parsed.Format()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), module, 0o600))

	run := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-ldflags=-s -w", "-run", "^TestReplay$", ".")
	run.Dir = dir
	out, err := run.CombinedOutput()
	require.Error(t, err, "it is green:\n%s", out)
	require.Contains(t, string(out), "--- FAIL: TestReplay", "%s", out)
	return string(out)
}

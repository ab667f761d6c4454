package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// outcome is what a command prints, and its exit code.
type outcome struct {
	code     int
	out, err string
}

// adkreplay runs the command with its outputs going into pipes.
func adkreplay(args ...string) outcome {
	var out, err bytes.Buffer
	code := execute(args, &out, &err)
	return outcome{code, out.String(), err.String()}
}

// decoded parses an output that must be one JSON document and nothing else.
func decoded[Document any](t *testing.T, out string) (d Document) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(out), &d), out)
	return d
}

// misuse is a use of a command that it refuses, with its exit code and its message.
type misuse struct {
	args []string
	code int
	says string
}

// refuses checks that a command refuses the misuses, and writes neither an output nor a file.
func refuses(t *testing.T, command, file string, all []misuse) {
	t.Helper()
	for _, r := range all {
		o := adkreplay(append([]string{command}, r.args...)...)
		assert.Equal(t, r.code, o.code, "%s %q: %s", command, r.args, o.err)
		assert.Empty(t, o.out, "%s %q", command, r.args)
		assert.Contains(t, strings.ReplaceAll(o.err, "\n  ", " "), r.says, "%s %q", command, r.args)
		assert.NoFileExists(t, file)
	}
}

// last returns the last n lines of a text.
func last(n int, text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[max(0, len(lines)-n):]
}

// put makes a file in a folder of its own.
func put(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	content, err := fixtures.Traces.ReadFile(name + corpus.Ending)
	require.NoError(t, err)
	return content
}

// edited is a fixture that a person has edited, with a recomputed footer.
func edited(t *testing.T, name string, edit func(*trace.Trace)) []byte {
	t.Helper()
	recorded, err := trace.Read(bytes.NewReader(fixture(t, name)))
	require.NoError(t, err)
	edit(recorded)
	var content bytes.Buffer
	_, err = recorded.WriteTo(&content)
	require.NoError(t, err)
	return content.Bytes()
}

// moreIterations edits a trace so that its turn has one iteration more.
func moreIterations(recorded *trace.Trace) {
	for i := range recorded.Lines() {
		if recorded.Lines()[i].Kind == adk.KindDispatchEnd {
			recorded.Lines()[i].N++
		}
	}
}

// These functions make broken traces, named by their faults.
func divergent(t *testing.T) string {
	return put(t, "divergent.jsonl", edited(t, "hello", moreIterations))
}

func truncated(t *testing.T) string {
	lines := bytes.SplitAfter(fixture(t, "hello"), []byte("\n"))
	return put(t, "truncated.jsonl", bytes.Join(lines[:10], nil))
}

func ofNextVersion(t *testing.T) string {
	return put(t, "next.jsonl", bytes.Replace(fixture(t, "hello"), []byte(`"version":5`), []byte(`"version":6`), 1))
}

func malformed(t *testing.T) string {
	return put(t, "malformed.jsonl", bytes.Replace(fixture(t, "hello"), []byte(`"kind":"add"`), []byte(`"kind":"subtract"`), 1))
}

func changedByHand(t *testing.T) string {
	return put(t, "changed.jsonl", bytes.Replace(fixture(t, "hello"), []byte(`"turn":"id-1"`), []byte(`"turn":"id-7"`), 1))
}

func good(t *testing.T) string { return put(t, "good.jsonl", fixture(t, "hello")) }

// Scripts and CI files use the exit codes as numbers, and the help gives the numbers.
func TestExitCodesAreNumbersThatScriptsKnow(t *testing.T) {
	assert.Equal(t, []int{0, 1, 1, 2, 3, 4}, []int{exitSame, exitDivergence, exitFound, exitUsage, exitUnreadable, exitInternal})
	help := adkreplay("help", "verify").out
	for code, says := range []string{"the same", "a divergence", "wrong usage", "a trace that cannot be read", "not everything was done"} {
		assert.Contains(t, help, fmt.Sprintf("\n  %d  %s", code, says))
	}
}

func TestExitCodes(t *testing.T) {
	under := put(t, "file", nil) // nothing can be written below a file
	cases := map[string]struct {
		want int
		args []string
	}{
		"help":                        {exitSame, nil},
		"help by flag":                {exitSame, []string{"verify", "--help"}},
		"help of a command":           {exitSame, []string{"help", "show"}},
		"the embedded traces":         {exitSame, []string{"verify"}},
		"a file":                      {exitSame, []string{"verify", good(t)}},
		"a folder":                    {exitSame, []string{"verify", filepath.Dir(good(t))}},
		"the list":                    {exitSame, []string{"run"}},
		"a scenario":                  {exitSame, []string{"run", "hello"}},
		"a recording":                 {exitSame, []string{"run", "hello", "-o", filepath.Join(t.TempDir(), "x")}},
		"a transcript":                {exitSame, []string{"show", good(t)}},
		"a state":                     {exitSame, []string{"show", "--at", "3", good(t)}},
		"a state that is not there":   {exitUsage, []string{"show", "--at", "300", good(t)}},
		"a state and a pattern":       {exitUsage, []string{"show", "--at", "3", "--grep", "x", good(t)}},
		"a pattern that is none":      {exitUsage, []string{"show", "--grep", "(", good(t)}},
		"two that are the same":       {exitSame, []string{"diff", good(t), good(t)}},
		"two that differ":             {exitDivergence, []string{"diff", good(t), divergent(t)}},
		"two that differ, as JSON":    {exitDivergence, []string{"diff", "--json", good(t), divergent(t)}},
		"diff of one":                 {exitUsage, []string{"diff", "a"}},
		"diff with a truncated trace": {exitUnreadable, []string{"diff", good(t), truncated(t)}},
		"diff of an absent file":      {exitUnreadable, []string{"diff", good(t), "nosuch.jsonl"}},
		"a divergence":                {exitDivergence, []string{"verify", divergent(t)}},
		"a divergence among others":   {exitDivergence, []string{"verify", good(t), divergent(t), good(t)}},
		"a divergence, as JSON":       {exitDivergence, []string{"verify", "--json", divergent(t)}},
		"an unknown command":          {exitUsage, []string{"verfy"}},
		"an unknown topic":            {exitUsage, []string{"help", "verfy"}},
		"an unknown flag":             {exitUsage, []string{"verify", "--fast"}},
		"a flag of another command":   {exitUsage, []string{"show", "--times", "x"}},
		"an empty path":               {exitUsage, []string{"verify", ""}},
		"an unknown scenario":         {exitUsage, []string{"run", "helo"}},
		"two scenarios":               {exitUsage, []string{"run", "hello", "stash"}},
		"-o for nothing":              {exitUsage, []string{"run", "-o", "x"}},
		"-o with nothing":             {exitUsage, []string{"run", "hello", "-o"}},
		"-o with an empty name":       {exitUsage, []string{"run", "hello", "-o", ""}},
		"--all to nowhere":            {exitUsage, []string{"run", "--all"}},
		"--all and one":               {exitUsage, []string{"run", "--all", "hello", "-o", "x"}},
		"show of nothing":             {exitUsage, []string{"show"}},
		"show of two":                 {exitUsage, []string{"show", "a", "b"}},
		"truncated":                   {exitUnreadable, []string{"verify", truncated(t)}},
		"of another version":          {exitUnreadable, []string{"verify", ofNextVersion(t)}},
		"malformed":                   {exitUnreadable, []string{"verify", malformed(t)}},
		"changed by hand":             {exitUnreadable, []string{"verify", changedByHand(t)}},
		"no trace at all":             {exitUnreadable, []string{"verify", put(t, "notes.txt", []byte("hello\n"))}},
		"another kind of JSON":        {exitUnreadable, []string{"verify", put(t, "other.jsonl", []byte("{\"a\":1}\n"))}},
		"empty":                       {exitUnreadable, []string{"verify", put(t, "empty.jsonl", nil)}},
		"absent":                      {exitUnreadable, []string{"verify", "nosuch.jsonl"}},
		"a folder without traces":     {exitUnreadable, []string{"verify", t.TempDir()}},
		"unreadable and divergent":    {exitUnreadable, []string{"verify", truncated(t), divergent(t)}},
		"divergent and unreadable":    {exitUnreadable, []string{"verify", divergent(t), truncated(t)}},
		"show of an absent file":      {exitUnreadable, []string{"show", "nosuch.jsonl"}},
		"show of a truncated trace":   {exitUnreadable, []string{"show", truncated(t)}},
		"show of a folder":            {exitUnreadable, []string{"show", t.TempDir()}},
		"-o below a file":             {exitInternal, []string{"run", "hello", "-o", filepath.Join(under, "x")}},
		"-o in a folder that is none": {exitInternal, []string{"run", "hello", "-o", filepath.Join(t.TempDir(), "no", "x")}},
		"-o that is a folder":         {exitInternal, []string{"run", "hello", "-o", t.TempDir()}},
		"--all below a file":          {exitInternal, []string{"run", "--all", "-o", under}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := adkreplay(c.args...)
			assert.Equal(t, c.want, got.code, "%s%s", got.out, got.err)
			assert.NotContains(t, got.out+got.err, "\x1b", "this is a pipe")
			// Wrong usage and failures print one error line, for people; results print none.
			if c.want == exitUsage || c.want == exitInternal {
				assert.Regexp(t, `\Aadkreplay: [^\n]+\n\z`, got.err)
				assert.Empty(t, got.out)
			}
			if c.args != nil && c.args[0] == "verify" && c.want != exitUsage {
				assert.Empty(t, got.err, "what is wrong with a trace is a result")
			}
		})
	}
}

func TestComplaintsSayWhatWouldBeRight(t *testing.T) {
	folder := t.TempDir()
	cases := []struct {
		args []string
		want string
	}{
		{[]string{"verfy"}, `there is no command "verfy": did you mean verify?; see adkreplay --help`},
		{[]string{"help", "shwo"}, `there is no command "shwo": did you mean show?; see adkreplay --help`},
		{[]string{"verify", "--fast"}, "unknown flag: --fast; see adkreplay verify --help"},
		{[]string{"show", "--jsno"}, "unknown flag: --jsno: did you mean --json?; see adkreplay show --help"},
		{[]string{"verify", "--shrad", "1/2"}, "unknown flag: --shrad: did you mean --shard?; see adkreplay verify --help"},
		{[]string{"--json", "verify"}, "unknown flag: --json: it stands behind the command: adkreplay [command] --json; see adkreplay --help"},
		{[]string{"--fast", "verify"}, "unknown flag: --fast; see adkreplay --help"},
		{[]string{"show", "--at", "x"}, `invalid argument "x" for "--at" flag: want a whole number; see adkreplay show --help`},
		{[]string{"show", "--at", "99999999999999999999"}, `invalid argument "99999999999999999999" for "--at" flag: no number is that large here; see adkreplay show --help`},
		{[]string{"diff", "--encoding", "nope", "a", "b"}, `invalid argument "nope" for "--encoding" flag: there is no encoding of this name: want one of gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base, gemini, llama2, claude; see adkreplay diff --help`},
		{[]string{"stats", "--encoding", "o200k"}, `invalid argument "o200k" for "--encoding" flag: there is no encoding of this name: did you mean o200k_base?; see adkreplay stats --help`},
		{[]string{"shrink", "--keep", "turn-bound", "a"}, `invalid argument "turn-bound" for "--keep" flag: there is no violation or divergence of this name: did you mean turn-bounds?; see adkreplay shrink --help`},
		{[]string{"stats", "--fail-if", "nope > 1", folder}, `--fail-if: "nope": there is no such figure: adkreplay stats --csv prints their names; see adkreplay stats --help`},
		{[]string{"schema", "page"}, `there is no schema of "page": want one of check, diff, distil, explore, lint, merge, replay, show, show-at, show-journal, stats, verify; see adkreplay schema --help`},
		{[]string{"verify", "--json", "report.json", "a.jsonl"}, "--json takes its file behind an equals sign: --json=report.json; see adkreplay verify --help"},
		{[]string{"version", "x"}, "version takes no argument, and got 1; see adkreplay version --help"},
		{[]string{"run", "helo"}, `there is no scenario "helo": did you mean hello?; see adkreplay run --help`},
		{[]string{"run", "xyzzy"}, `there is no scenario "xyzzy": adkreplay run lists them; see adkreplay run --help`},
		{[]string{"run", "--all"}, "--all records: give the folder with -o; see adkreplay run --help"},
		{[]string{"show"}, "show takes one file, and got 0; see adkreplay show --help"},
		{[]string{"show", "nosuch.jsonl"}, "nosuch.jsonl: no such file or directory"},
		{[]string{"show", "hello"}, "hello: no such file or directory; adkreplay run hello shows the scenario of this name"},
		{[]string{"show", folder}, folder + ": this is a folder: give the file of one trace in it"},
		{[]string{"run", "hello", "-o", folder}, folder + ": the trace cannot be written: this is a folder: give the name of a file"},
		{[]string{"run", "hello", "-o", folder + "/a/b"}, folder + "/a/b: the trace cannot be written: there is no folder " + folder + "/a"},
	}
	for _, c := range cases {
		assert.Equal(t, "adkreplay: "+c.want+"\n", adkreplay(c.args...).err, "%q", c.args)
	}
}

// A flag whose value is a name of a fixed set refuses any other name when flags are parsed,
// whether the command uses it or not. The names of agents are free, and the names for --of come
// from the trace.
func TestNamesAreOfTheirSets(t *testing.T) {
	takesName := regexp.MustCompile(`--(\S+) name `)
	var taken []string
	for _, cmd := range newRoot(newTerminal(io.Discard, io.Discard)).Commands() {
		for _, found := range takesName.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
			flag := found[1]
			if flag == "agent" || flag == "of" {
				continue
			}
			taken = append(taken, cmd.Name()+" --"+flag)
			for _, wrong := range []string{"no such name", ""} {
				assert.ErrorContains(t, cmd.Flags().Set(flag, wrong), "want one of ", "%s --%s %q", cmd.Name(), flag, wrong)
			}
		}
	}
	assert.Equal(t, []string{"diff --encoding", "shrink --keep", "stats --encoding"}, taken)
}

// A shell replaces an unset variable by an empty text. An empty flag or file is an error, and not
// treated as left out.
func TestNothingIsGivenEmpty(t *testing.T) {
	path := good(t)
	for want, args := range map[string][]string{
		"--html is empty: want --html file":         {"verify", path, "--html", ""},
		"--junit is empty: want --junit file":       {"verify", path, "--junit", ""},
		"--json is empty: want --json file":         {"verify", path, "--json="},
		"--shard is empty: want --shard i/n":        {"verify", path, "--shard", ""},
		"--prices is empty: want --prices file":     {"stats", path, "--prices", ""},
		"--grep is empty: want --grep expression":   {"show", path, "--grep", ""},
		"--only is empty: want --only schedule":     {"explore", "hello", "--only", ""},
		"--reason is empty: want --reason text":     {"accept", path, "--reason", ""},
		"--output is empty: want --output file":     {"view", path, "-o", ""},
		"--agent is empty: want --agent name":       {"export", path, "--agent", ""},
		"argument 1 is empty: give a file; see adk": {"show", ""},
		"argument 1 is empty: give a file; see ad":  {"shrink", ""},
		"argument 2 is empty: give a file; see adk": {"diff", path, ""},
		"argument 1 is empty: give a file; see a":   {"replay", "", "--set", "1.x=1"},
	} {
		got := adkreplay(args...)
		assert.Equal(t, []any{exitUsage, ""}, []any{got.code, got.out}, "%q", args)
		assert.Contains(t, got.err, "adkreplay: "+want, "%q", args)
	}
}

// If a command prints text and writes something else to a file, the name - is refused, as the
// standard output is already in use.
func TestFilesThatAreNoStandardOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"run", "hello", "-o", "-"}, {"run", "--all", "-o", "-"}, {"replay", "x", "--set", "1.x=1", "--out", "-"}, {"distil", ".", "-o", "-"}, {"shrink", "x", "-o", "-"},
		{"verify", "--html", "-"}, {"explore", "hello", "--html", "-"},
	} {
		got := adkreplay(args...)
		assert.Equal(t, []any{exitUsage, ""}, []any{got.code, got.out}, "%q", args)
		assert.NoFileExists(t, "-", "%q", args)
	}
}

// Commands that take other files than traces do not suggest a trace of a folder.
func TestFoldersForOtherFiles(t *testing.T) {
	folder := filepath.Dir(good(t))
	assert.Equal(t, outcome{exitUnreadable, "", "adkreplay: " + folder + ": this is a folder: give the file of a recording\n"}, adkreplay("import", folder))
	assert.Equal(t, outcome{exitUnreadable, "", "adkreplay: " + folder + ": this is a folder: give the file of a report, which verify --json=FILE writes\n"}, adkreplay("merge", folder))
	assert.Equal(t, exitUsage, adkreplay("merge", "-", "-").code)
	t.Setenv("CI", "")
	file := good(t)
	assert.Equal(t, outcome{exitUnreadable, "", "adkreplay: " + file + " is no folder: give the one that ADKREPLAY_PENDING named\n"}, adkreplay("review", "--pending", file))
}

// The list in the documentation names all commands.
func TestCommandsAreListed(t *testing.T) {
	list, err := os.ReadFile("../../docs/commands.md")
	require.NoError(t, err)
	for _, cmd := range newRoot(newTerminal(io.Discard, io.Discard)).Commands() {
		assert.Contains(t, string(list), "adkreplay "+cmd.Name())
	}
}

// Completion for an unknown shell is wrong usage.
func TestCompletionOfNoShell(t *testing.T) {
	assert.Equal(t, outcome{exitUsage, "", "adkreplay: there is no command \"basch\": did you mean bash?; see adkreplay completion --help\n"}, adkreplay("completion", "basch"))
	got := adkreplay("completion", "bash", "extra")
	assert.Equal(t, []any{exitUsage, ""}, []any{got.code, got.out})
	got = adkreplay("completion", "bash")
	assert.Equal(t, exitSame, got.code)
	assert.Contains(t, got.out, "bash completion")
	assert.Equal(t, exitSame, adkreplay("completion").code)
}

// The help of each command lists its exit codes after its usage and its flags, and says what each
// means for that command. Commands that never fail because of what they find have no code 1.
func TestHelpDocumentsTheExitCodes(t *testing.T) {
	found := map[string]string{
		"verify": "a divergence", "merge": "a divergence", "accept": "a divergence", "review": "a change", "stale": "a file is stale", "check": "a violation",
		"lint": "a hint", "explore": "a violation", "shrink": "it was shrunk", "show": "nothing matches --grep", "stats": "a condition of --fail-if holds", "diff": "they differ",
		"export": "nothing was asked over HTTP",
	}
	check := func(name string, args ...string) {
		got := adkreplay(args...)
		assert.Equal(t, exitSame, got.code)
		assert.Empty(t, got.err)
		help, codes, _ := strings.Cut(got.out, exitHeading)
		assert.Contains(t, help, "\n\nUsage:\n", name)
		assert.Regexp(t, `(?s)\A  0  .*\n  2  wrong usage: .*\n  4  not everything was done [^:]*: .*\n\z`, codes, name)
		assert.NotContains(t, codes, "Usage", name)
		assert.Equal(t, found[name] != "", strings.Contains(codes, "\n  1  "), name)
		assert.Contains(t, codes, found[name])
	}
	found[""] = "something was found"
	check("")
	check("run", "run", "--help")
	check("show", "show", "-h")
	for _, cmd := range newRoot(newTerminal(io.Discard, io.Discard)).Commands() {
		switch name := cmd.Name(); name {
		case "schema", "version", "completion", "help": // cannot fail that way
		default:
			check(name, "help", name)
		}
	}
}

// The help of a command writes a flag as it is typed, and leaves flags that every command has to
// the help of the program.
func TestHelpOfFlags(t *testing.T) {
	for _, args := range [][]string{{"verify", "--help"}, {"help", "verify"}, {"merge", "-h"}} {
		help := adkreplay(args...).out
		assert.Contains(t, help, "  --json[=file]  ", "%q", args)
		assert.NotContains(t, help, "crossings (", "%q", args)
		assert.Contains(t, help, "adkreplay --help\n                            lists them", "%q", args)
	}
	assert.Contains(t, adkreplay("--help").out, "crossings (")
}

// writerFunc is a writer of a test.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

var errDiskFull = errors.New("no space left on device")

// A result that could not be written is a failure, whatever the verdict.
func TestUnwritableOutput(t *testing.T) {
	full := writerFunc(func([]byte) (int, error) { return 0, errDiskFull })
	for _, args := range [][]string{
		{}, {"verify"}, {"verify", "--json"}, {"verify", divergent(t)}, {"verify", "--json", "--fast"},
		{"run"}, {"run", "hello"}, {"show", good(t)}, {"show", truncated(t)},
		{"show", "--at", "3", good(t)}, {"show", "--json", good(t)}, {"show", "--grep", "m1", good(t)},
		{"accept", divergent(t)}, {"stale", "--claims", claimed(t, "", "a.golden"), t.TempDir()},
		{"diff", good(t), divergent(t)}, {"diff", "--json", good(t), divergent(t)},
	} {
		var stderr bytes.Buffer
		assert.Equal(t, exitInternal, execute(args, full, &stderr), "%q", args)
		assert.Equal(t, []string{"adkreplay: the result cannot be written: no space left on device"}, last(1, stderr.String()), "%q", args)
	}
}

// A panic ends with its own code, not with Go's 2, which stands for wrong usage here.
func TestPanicIsAnInternalFailure(t *testing.T) {
	panics := writerFunc(func([]byte) (int, error) { panic("out of paper") })
	var stderr bytes.Buffer
	assert.Equal(t, exitInternal, execute([]string{"verify"}, panics, &stderr))
	assert.Equal(t, []string{"adkreplay: internal failure: out of paper"}, last(1, stderr.String()))
	assert.Contains(t, stderr.String(), "goroutine ", "a report of it needs the stack")
}

// interruptedAtFirstWrite runs a command
// that is interrupted at its first output.
func interruptedAtFirstWrite(args ...string) outcome {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	var out, err bytes.Buffer
	code := executeContext(ctx, args, writerFunc(func(p []byte) (int, error) {
		interrupt()
		return out.Write(p)
	}), &err)
	return outcome{code, out.String(), err.String()}
}

func TestInterruptedVerify(t *testing.T) {
	got := interruptedAtFirstWrite("verify", good(t), good(t), good(t))
	assert.Equal(t, exitInternal, got.code)
	assert.Equal(t, "1 trace, 31 crossings, 0 divergences", last(1, got.out)[0])
	assert.Equal(t, "adkreplay: interrupted: 1 of 3 traces were verified\n", got.err)
}

func TestInterruptedBeforeTheStart(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	folder := t.TempDir()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"interrupted: 0 of 1 trace were verified", []string{"verify", good(t)}},
		{"interrupted in scenario hello: nothing was recorded", []string{"run", "hello", "-o", filepath.Join(folder, "x")}},
		{"interrupted in scenario hello: nothing was recorded", []string{"run", "--all", "-o", filepath.Join(folder, "all")}},
		{"interrupted", []string{"show", good(t)}},
		{"interrupted", []string{"diff", good(t), good(t)}},
	} {
		var stderr bytes.Buffer
		assert.Equal(t, exitInternal, executeContext(ctx, c.args, io.Discard, &stderr), "%q", c.args)
		assert.Equal(t, "adkreplay: "+c.want+"\n", stderr.String(), "%q", c.args)
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

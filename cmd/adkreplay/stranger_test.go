package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// These tests cover what a new user meets in the first quarter of an hour.

// version and --version print the same: the versions that decide whether two programs are compatible.
func TestVersion(t *testing.T) {
	got := adkreplay("version")
	assert.Regexp(t, `^adkreplay \S.*\ncontract revision \d+\ntrace format \d+, reads 1 to \d+\ngo1\.\S+ \w+/\w+\n$`, got.out)
	assert.Equal(t, got, adkreplay("--version"))
	assert.Equal(t, exitUsage, adkreplay("version", "5").code)
	build := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}}
	assert.True(t, strings.HasPrefix(version(build, true), "adkreplay v1.2.3 of commit 0123456789ab, changed\n"))
	assert.True(t, strings.HasPrefix(version(nil, false), "adkreplay (unknown)\n"))
}

// piped runs the command with a file as its standard input.
func piped(t *testing.T, path string, args ...string) outcome {
	t.Helper()
	in, err := os.Open(path)
	require.NoError(t, err)
	defer in.Close()
	before := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = before }()
	return adkreplay(args...)
}

// A - stands for the standard input, wherever a trace is read.
func TestTheStandardInput(t *testing.T) {
	path := good(t)
	for _, args := range [][]string{
		{"verify", "-"}, {"check", "-"}, {"lint", "-"}, {"show", "-"}, {"show", "--at", "5", "-"}, {"show", "--grep", "turnStart", "-"}, {"show", "--json", "-"},
		{"diff", path, "-"}, {"shrink", "-"}, {"explore", "--schedules", "3", "-"}, {"replay", "-", "--set", "1.cancel=now"}, {"verify", "--json", "-"},
	} {
		got := piped(t, path, args...)
		assert.Equal(t, exitSame, got.code, "%q: %s", args, got.err)
		assert.NotEmpty(t, got.out, "%q", args)
	}
	assert.Equal(t, "same -: 31 crossings\n", strings.SplitAfter(piped(t, path, "verify", "-").out, "\n")[0])
	for _, args := range [][]string{{"verify", "-", "-"}, {"check", "-", "-"}, {"diff", "-", "-"}, {"explore", "-", "-"}} {
		got := piped(t, path, args...)
		assert.Equal(t, exitUsage, got.code, "%q", args)
		assert.Contains(t, got.err, "- is the standard input, which can be read once", "%q", args)
	}
	assert.Contains(t, piped(t, truncated(t), "verify", "-").out, "unreadable -:11: truncated trace: ")
}

// manyTraces is a folder of n good traces, and one that diverges.
func manyTraces(t *testing.T, n int) string {
	t.Helper()
	folder := t.TempDir()
	for i := range n {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d.jsonl", i)), fixture(t, "hello"), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "050-x.jsonl"), edited(t, "hello", moreIterations), 0o600))
	return folder
}

// If there are many traces, those without a fault are dots, in rows that fit the screen. Faults
// are printed as usual, and -v prints everything.
func TestManyTracesAreDots(t *testing.T) {
	folder := manyTraces(t, 150)
	got := adkreplay("verify", folder)
	assert.Equal(t, exitDivergence, got.code)
	lines := strings.Split(got.out, "\n")
	assert.Equal(t, strings.Repeat(".", 50), lines[0])
	assert.True(t, strings.HasPrefix(lines[1], "divergence "+filepath.Join(folder, "050-x.jsonl")), lines[1])
	assert.Equal(t, []string{strings.Repeat(".", 64), strings.Repeat(".", 36)}, lines[2:4])
	assert.Equal(t, "151 traces, 4675 crossings, 1 divergence", last(1, got.out)[0])
	for command, good := range map[string]string{"verify": "same ", "check": "holds ", "lint": "clean "} {
		assert.GreaterOrEqual(t, strings.Count(adkreplay(command, "-v", folder).out, good), 150, command)
		quiet := adkreplay(command, "--quiet", folder)
		assert.NotContains(t, quiet.out, good)
		assert.NotRegexp(t, `(?m)^\.+$`, quiet.out)
		assert.Contains(t, quiet.out, "151 traces, ")
		assert.Equal(t, exitUsage, adkreplay(command, "-q", "-v", folder).code)
	}
	assert.Contains(t, adkreplay("verify", good(t)).out, "same ", "a few have a line each")
}

// If a file is no trace, the error says what it is instead.
func TestFilesThatAreNoTraces(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(fixture(t, "hello"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	empty, gz, none := put(t, "empty.jsonl", nil), put(t, "packed.jsonl", packed.Bytes()), t.TempDir()
	noise := put(t, "noise.jsonl", []byte("\x8b\x01~~ no line of it"))
	marked, wide := put(t, "marked.jsonl", slices.Concat([]byte("\ufeff"), fixture(t, "hello"))), put(t, "wide.jsonl", []byte("\xff\xfe{\x00"))
	for _, command := range []string{"verify", "check", "lint", "show", "shrink"} {
		for path, says := range map[string]string{
			empty: ":1: truncated trace: it is empty", noise: `:1: no trace: it begins with "\x8b\x01~~ no line of it", and a trace with {"adkreplay":"trace"`, gz: ":1: no trace: the file is gzip: unpack it with gzip -d",
			marked: ":1: no trace: the file begins with a byte order mark", wide: ":1: no trace: the file is UTF-16",
		} {
			got := adkreplay(command, path)
			assert.Equal(t, exitUnreadable, got.code, command)
			assert.Contains(t, got.out+got.err, path+says, command)
		}
	}
	for _, command := range []string{"verify", "check", "lint", "accept"} {
		got := adkreplay(command, none)
		assert.NotEqual(t, exitSame, got.code, "a %s of nothing", command)
		assert.Contains(t, got.out+got.err, "there is no trace: the names of traces end in .jsonl or .jsonl.zst", command)
	}
}

// The commands end with the exit codes that the help names.
func TestExitCodesOfTheHelp(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		args []string
	}{
		"check of a truncated trace": {exitUnreadable, []string{"check", truncated(t)}},
		"lint of a truncated trace":  {exitUnreadable, []string{"lint", truncated(t)}},
		"grep without a match":       {exitFound, []string{"show", "--grep", "rain", good(t)}},
		"keep of no name":            {exitUsage, []string{"shrink", "--keep", "foo", good(t)}},
		"keep of what is not there":  {exitInternal, []string{"shrink", "--keep", "turn-bounds", good(t)}},
	} {
		assert.Equal(t, c.code, adkreplay(c.args...).code, name)
	}
}

// Error messages are folded to the width of a terminal, as reports are.
func TestMessagesFitOnATerminal(t *testing.T) {
	var stdout, stderr bytes.Buffer
	term := newTerminal(&stdout, &stderr)
	term.room = 80
	term.warn("there is no scenario " + strings.Repeat("of that name ", 20))
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	assert.Greater(t, len(lines), 2)
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 80)
	}
}

// Neither a report nor a transcript has a line of more than 80 columns that could be folded.
// Commands are never folded.
func TestReportsFitOnATerminal(t *testing.T) {
	for _, args := range [][]string{
		{"verify", divergent(t), malformed(t), changedByHand(t)}, {"check", violated(t)}, {"lint", hinted(t)},
		{"show", good(t)}, {"show", "--phases", good(t)}, {"show", "--at", "20", good(t)}, {"show", "--grep", ".", good(t)},
		{"diff", good(t), divergent(t)}, {"replay", good(t), "--set", "run.prompt=Be long."}, {"shrink", violated(t)},
	} {
		var out, stderr bytes.Buffer
		term := newTerminal(&out, &stderr)
		term.columns, term.page = 80, safetext.NewFolder(term.out, 80)
		_ = run(t.Context(), term, args)
		require.NotEmpty(t, out.String(), args)
		for _, line := range strings.Split(out.String(), "\n") {
			words := strings.Fields(line)
			if utf8.RuneCountInString(line) > 80 && !safetext.IsCommand(strings.TrimSpace(line)) {
				assert.LessOrEqual(t, len(words), 2, "%q", line)
			}
		}
		wide := adkreplay(args...)
		assert.Equal(t, withoutSpaces(wide.out), withoutSpaces(out.String()), "only white space is another")
	}
}

func withoutSpaces(text string) string { return strings.Join(strings.Fields(text), "") }

// Pages are folded for people: a pipe and a file get whole lines, unless the environment sets the
// number of columns.
func TestAPageIsAsWideAsItIsSaid(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer f.Close()
	said := func(columns string) func(string) string {
		return func(name string) string {
			return map[string]string{"COLUMNS": columns}[name]
		}
	}
	assert.Equal(t, 0, pageColumns(f, said("")))
	assert.Equal(t, 60, pageColumns(f, said("60")))
	assert.Equal(t, 0, pageColumns(io.Discard, said("60")), "nobody reads it")
	assert.Equal(t, usualColumns, columnsOf(f, said("")), "a report is folded for a file too")
}

// The help texts fit on a terminal too, with their examples.
func TestHelpsFitOnATerminal(t *testing.T) {
	root := newRoot(newTerminal(io.Discard, io.Discard))
	for _, cmd := range append(root.Commands(), root) {
		for line := range strings.Lines(adkreplay(cmd.Name(), "--help").out) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), usualColumns, "%s: %s", cmd.Name(), line)
		}
	}
	assert.Equal(t, "one two\nthree four\n  a table  as it is\n\nfive", filled("one\ntwo three\nfour\n  a table  as it is\n\nfive", 10))
}

// Whatever goes wrong, the last document that --json prints holds the exit code. If it is the only
// document, it also holds the message. Flags may stand before the command.
func TestJSONOfWhatFails(t *testing.T) {
	commands := map[string][]string{
		"verify": {}, "merge": {}, "check": {}, "lint": {}, "explore": {"--schedules", "5"}, "replay": {"--set", "1.cancel=now"}, "diff": {good(t)},
		"show": {}, "show --at": {"--at", "3"}, "stats": {}, "distil": {},
	}
	of := map[string][]string{
		"an absent file": {"nosuch.jsonl"}, "a damaged one": {malformed(t)}, "one that was cut": {truncated(t)}, "an empty one": {put(t, "empty.jsonl", nil)},
		"a folder": {t.TempDir()}, "an unknown flag": {"--nosuch", good(t)}, "a limit": {"--limit", "crossings=1", good(t)}, "an unknown limit": {"--limit", "x=1", good(t)},
	}
	for what, given := range of {
		for name, more := range commands {
			name, _, _ = strings.Cut(name, " ")
			for _, args := range [][]string{slices.Concat([]string{name, "--json"}, more, given), slices.Concat([]string{"--limit", "string=100", name, "--json"}, more, given)} {
				got := adkreplay(args...)
				assert.GreaterOrEqual(t, got.code, exitUsage, "%s: %q", what, args)
				var last struct {
					ExitCode int
					Error    string
				}
				documents := 0
				decoder := json.NewDecoder(strings.NewReader(got.out))
				for ; decoder.More(); documents++ {
					last.ExitCode, last.Error = 0, ""
					require.NoError(t, decoder.Decode(&last), "%q: %s", args, got.out)
				}
				assert.Equal(t, got.code, last.ExitCode, "%s: %q", what, args)
				if name == "show" && len(more) == 0 {
					assert.NotEmpty(t, last.Error, "%s: %q", what, args)
				} else {
					assert.Equal(t, 1, documents, "%s: %q", what, args)
				}
				if last.Error != "" && got.err != "" {
					assert.Equal(t, strings.TrimPrefix(got.err, "adkreplay: "), last.Error+"\n", "%s: %q", what, args)
				}
			}
		}
	}
	last := adkreplay("show", "--json", truncated(t))
	assert.True(t, strings.HasSuffix(last.out, `"}`+"\n"), "a failure is a line: %s", last.out)
	assert.Equal(t, 10, strings.Count(last.out, "\n"), "behind the 9 crossings that there are")
}

// The schema names every member that --json prints,
// for all commands, in results and in failures.
func TestJSONKeepsToItsSchema(t *testing.T) {
	outputs := map[string][][]string{
		"verify":  {{"verify", "--json"}, {"verify", "--json", "--shard", "1/2", divergent(t), truncated(t), "nosuch.jsonl"}, {"verify", "--json", "--parallel", "0"}},
		"check":   {{"check", "--json", violated(t), truncated(t), "nosuch.jsonl"}, {"check", "--json", ""}},
		"lint":    {{"lint", "--json"}},
		"explore": {{"explore", "--json", "--schedules", "20", "tool-round-trip", "hello"}, {"explore", "--json", "nosuch"}},
		"replay":  {{"replay", "--json", good(t), "--set", "1.cancel=now"}, {"replay", "--json", "nosuch.jsonl", "--set", "1.cancel=now"}},
		"diff":    {{"diff", "--json", good(t), divergent(t)}, {"diff", "--json", good(t), violated(t)}, {"diff", "--json", good(t), truncated(t)}, {"diff", "--json", good(t), "nosuch.jsonl"}, {"diff", "--json", good(t)}},
		"show":    {{"show", "--json", put(t, "planner.jsonl", fixture(t, "planner"))}, {"show", "--json", truncated(t)}, {"show", "--json", "nosuch.jsonl"}},
		"show-at": {{"show", "--json", "--at", "3", truncated(t)}, {"show", "--json", "--at", "99", good(t)}, {"show", "--json", "--at", "30", put(t, "stash.jsonl", fixture(t, "stash"))}, {"show", "--json", "--at", "30", put(t, "planner.jsonl", fixture(t, "planner"))}},
	}
	outputs["show-journal"] = [][]string{{"show", "--json", recordedSession(t, "upgrade-key")}, {"show", "--json", "--at", "3", recordedSession(t, "upgrade-key")}}
	outputs["verify"] = append(outputs["verify"], []string{"verify", "--json", recordedSession(t, "upgrade-key")})
	outputs["stats"] = [][]string{{"stats", "--json"}, {"stats", "--json", good(t), divergent(t), "--fail-if", "crossings > +0"}, {"stats", "--json", "--fail-if", "x"}}
	outputs["distil"] = [][]string{{"distil", "--json", good(t), put(t, "planner.jsonl", fixture(t, "planner")), truncated(t)}, {"distil", "--json"}}
	report := filepath.Join(t.TempDir(), "report.json")
	adkreplay("verify", "--json="+report, divergent(t))
	outputs["merge"] = [][]string{{"merge", "--json", report}, {"merge", "--json", "nosuch.json"}}
	require.Len(t, outputs, len(documents))
	for name, commands := range outputs {
		assert.Equal(t, exitSame, adkreplay("schema", name).code, name)
		schema, err := schemaOf(name, true)
		require.NoError(t, err, name)
		resolved, err := schema.Resolve(nil)
		require.NoError(t, err, name)
		for _, args := range commands {
			decoder := json.NewDecoder(strings.NewReader(adkreplay(args...).out))
			n := 0
			for ; decoder.More(); n++ {
				var document any
				require.NoError(t, decoder.Decode(&document), "%q", args)
				require.NoError(t, resolved.Validate(document), "%q", args)
			}
			assert.Positive(t, n, "%q", args)
		}
	}
	assert.Equal(t, exitUsage, adkreplay("schema").code)
	assert.Contains(t, adkreplay("schema", "verfy").err, "verify")
}

// For a folder without traces, stats and distil print no result. A command that takes a single
// trace, and gets a folder that has some, suggests one of them.
func TestFoldersForTraces(t *testing.T) {
	empty := t.TempDir()
	for _, command := range []string{"stats", "distil"} {
		got := adkreplay(command, empty)
		assert.Equal(t, exitUnreadable, got.code, command)
		assert.Empty(t, got.out, command)
		assert.Contains(t, got.err, empty+": there is no trace: the names of traces end in .jsonl or .jsonl.zst", command)
	}
	one := good(t)
	got := adkreplay("show", filepath.Dir(one))
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.err, "this is a folder: give the file of one trace in it, such as "+one)
	got = adkreplay("import", one)
	assert.Contains(t, got.err, "it is a trace: adkreplay export writes its conversation")
}

// A report that a file was changed comes before the divergence that results from it.
func TestAChangedFileIsSaidFirst(t *testing.T) {
	state := regexp.MustCompile(`"digest":"[0-9a-f]{8}`)
	got := adkreplay("verify", put(t, "changed.jsonl", state.ReplaceAll(fixture(t, "hello"), []byte(`"digest":"00000000`))))
	fault, divergence := strings.Index(got.out, "unreadable "), strings.Index(got.out, "divergence ")
	assert.Equal(t, 0, fault, got.out)
	assert.Greater(t, divergence, fault, got.out)
}

// What cannot be done is refused with a clear message, whatever the flags, and before anything is done.
func TestContradictionsAreRefused(t *testing.T) {
	for says, args := range map[string][]string{
		"--quiet and --verbose contradict each other: leave one out; see adkreplay verify --help": {"verify", "-q", "-v"},
		"--quiet and --verbose contradict each other: leave one out; see adkreplay lint --help":   {"lint", "-qv"},
		"--json and --csv contradict each other: leave one out; see adkreplay stats --help":       {"stats", "--csv", "--json"},
		"the standard input is no file: give a file or a folder; see adkreplay accept --help":     {"accept", "-"},
		`there is no command "nope"; see adkreplay --help`:                                        {"nope", "--help"},
		`there is no command "nope"; see adkreplay completion --help`:                             {"completion", "nope", "-h"},
	} {
		got := adkreplay(args...)
		assert.Equal(t, exitUsage, got.code, "%q", args)
		assert.NotContains(t, got.out, "Usage:")
		assert.Contains(t, got.err, says)
	}
	assert.Equal(t, adkreplay().out, adkreplay("--help", "verify").out)
}

// A trace counts once, however often and under whichever paths it is given.
func TestATraceIsCountedOnce(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	require.NoError(t, os.WriteFile("a.jsonl", fixture(t, "hello"), 0o600))
	for _, command := range []string{"verify", "check", "lint"} {
		got := adkreplay(command, ".", "a.jsonl", "./a.jsonl", ".")
		assert.Equal(t, exitSame, got.code)
		assert.Contains(t, got.out, "\n1 trace, 31 crossings, 0 ", command)
	}
}

// No next command is suggested for the standard input, which has been read by then.
func TestNextOfTheStandardInput(t *testing.T) {
	in, err := os.Open(divergent(t))
	require.NoError(t, err)
	defer in.Close()
	before := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = before }()
	got := adkreplay("verify", "-")
	assert.Equal(t, exitDivergence, got.code)
	assert.Contains(t, got.out, "divergence -: ")
	assert.NotContains(t, got.out, "next:")
}

// For a folder with subfolders of journals, show suggests a subfolder that it can take. A folder
// that is given twice is reported once.
func TestFoldersOfJournals(t *testing.T) {
	folder := "../../fixtures/sessions"
	got := adkreplay("show", folder)
	assert.Equal(t, exitUnreadable, got.code)
	_, such, found := strings.Cut(strings.TrimSpace(got.err), "; or a folder of journals, such as ")
	require.True(t, found, got.err)
	assert.Equal(t, exitSame, adkreplay("show", such).code)
	assert.NotContains(t, adkreplay("show", t.TempDir()).err, "journals")
	assert.Equal(t, 1, strings.Count(adkreplay("diff", folder, folder).err, "this is a folder"))
}

// The completion of a flag shows its value as the help does.
func TestCompletionOfFlags(t *testing.T) {
	got := adkreplay("__complete", "verify", "--sh")
	assert.Contains(t, got.out, "--shard\tverify one part of the traces only: i/n, auto or /n\n")
	assert.Contains(t, adkreplay("--help").out, "\n  completion  ")
}

// Traces that are given in addition to --pending are reviewed as well.
func TestReviewOfBoth(t *testing.T) {
	t.Setenv("CI", "")
	got := adkreplay("review", "--pending", t.TempDir(), divergent(t))
	assert.Equal(t, exitDivergence, got.code)
	assert.Contains(t, got.out, "1 of 1: changed output in dispatch")
}

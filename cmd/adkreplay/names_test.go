package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
)

// hostileName would begin a line with a command for a CI system, erase a screen and reverse the
// direction of text, and is no valid UTF-8.
const hostileName = "a\n::error::owned\r\x1b[2J\x7f\u009b\u202e\u2066\xff.jsonl"

// hostileFolder has a trace that is as recorded, one that diverges, one that breaks off and one
// file that is no trace, all under such names.
func hostileFolder(t *testing.T) (folder string, files []string) {
	folder = t.TempDir()
	whole := tracetest.FixtureNamed(t, "tool-round-trip")
	lines := strings.Split(strings.TrimSuffix(string(whole.Bytes), "\n"), "\n")
	divergent := string(tracetest.Seal(lines[:len(lines)-2], ""))
	for name, content := range map[string]string{
		"1": string(whole.Bytes), "2": divergent, "3": string(whole.Bytes[:len(whole.Bytes)/2]), "4": "none\n",
	} {
		file := filepath.Join(folder, name+hostileName)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Skipf("this file system takes no such names: %v", err)
		}
		files = append(files, file)
	}
	return folder, files
}

// File names may contain anything. In no report of any command does one begin a line of its own or
// send control sequences to a terminal; JSON has them in full, escaped.
func TestHostileNamesAreEscapedInAllReports(t *testing.T) {
	folder, files := hostileFolder(t)
	out := t.TempDir()
	commands := [][]string{
		{"verify", folder}, {"verify", "--github", folder}, {"verify", "--json", folder}, {"verify", "--junit=-", folder},
		{"check", folder}, {"check", "--json", folder}, {"lint", folder}, {"lint", "--json", folder}, {"accept", folder},
		{"review", folder}, {"stats", folder}, {"stats", "--csv", folder, folder}, {"stats", "--json", folder}, {"distil", folder}, {"distil", "--json", folder}, {"distil", folder, "-o", out},
		{"stale", "--claims", folder}, {"merge", filepath.Join(out, "report.json")}, {"run", "--out", filepath.Join(folder, hostileName), "hello"},
		{"verify", "--json=" + filepath.Join(out, "report.json"), folder}, {"merge", filepath.Join(out, "report.json")},
		{"merge", "--github", "--junit", filepath.Join(out, hostileName, "x"), filepath.Join(out, "report.json")}, {"verify", "--json=" + files[0]},
		{"export", "--otlp", folder}, {"export", "--otlp", "--agent", hostileName, folder}, {"view", folder, "-o", filepath.Join(folder, hostileName, "x")}, {"stats", "--prices", files[3], folder},
		{hostileName}, {"help", hostileName}, {"schema", hostileName}, {"run", hostileName}, {"verify", "--" + hostileName}, {"verify", "--shard", hostileName}, {"check", "--limit", hostileName},
		{"stats", "--fail-if", hostileName}, {"stats", "--encoding", hostileName, files[0]}, {"review", "--pending", folder},
		{"show", "--grep", "(" + hostileName, files[0]}, {"show", "--at", hostileName, files[0]}, {"shrink", "--keep", hostileName, files[0]}, {"explore", "--only", hostileName, files[0]},
		{"explore", hostileName}, {"replay", files[0], "--set", hostileName + "=1"}, {"replay", "--json", files[0], "--set", hostileName + "=1"}, {"replay", files[0], "--set", "run.prompt=" + hostileName},
		{"diff", "--encoding", hostileName, files[0], files[0]}, {"export", "--of", hostileName, files[0]},
	}
	for _, file := range append(files, filepath.Join(folder, hostileName, "not there")) {
		commands = append(commands, []string{"verify", file}, []string{"check", file}, []string{"check", "--json", file}, []string{"show", file}, []string{"show", "--at", "999", file},
			[]string{"show", "--json", file}, []string{"show", "--grep", "^nothing$", file}, []string{"diff", file, files[0]}, []string{"diff", "--json", file, file}, []string{"replay", file, "--set", "run.prompt=x"},
			[]string{"replay", "--json", file, "--set", "run.prompt=x"}, []string{"replay", file, "--set", "run.prompt=x", "--out", filepath.Join(folder, hostileName, "x")},
			[]string{"shrink", file}, []string{"shrink", "--keep", "unsteady", file}, []string{"shrink", "-o", file, file}, []string{"explore", "--schedules", "2", file},
			[]string{"explore", "--json", "--schedules", "2", file}, []string{"merge", file}, []string{"accept", file}, []string{"stats", file},
			[]string{"export", file}, []string{"import", file}, []string{"import", file, file}, []string{"show", "--phases", file})
	}
	for _, args := range commands {
		got := adkreplay(args...)
		for line := range strings.Lines(got.out + "\n" + got.err) {
			assert.False(t, strings.HasPrefix(strings.TrimSpace(line), "::error::"), "%q: %q", args, line)
			for _, r := range strings.TrimRight(line, "\n") {
				assert.True(t, r == '\t' || tracetest.Printable(r), "%q: %U in %q", args, r, line)
			}
		}
		if strings.Contains(strings.Join(args, " "), "--json ") {
			decoder := json.NewDecoder(strings.NewReader(got.out))
			for decoder.More() {
				require.NoError(t, decoder.Decode(new(any)), "%q", args)
			}
		}
	}
	report, err := os.ReadFile(filepath.Join(out, "report.json"))
	require.NoError(t, err)
	tracetest.RequirePrintable(t, string(report))
	var read struct{ Traces []struct{ Trace string } }
	require.NoError(t, json.Unmarshal(report, &read))
	assert.Equal(t, strings.ToValidUTF8(filepath.Join(folder, "1"+hostileName), "\ufffd"), read.Traces[0].Trace, "JSON has no other bytes")
}

// If the name of a file begins with a dash, printed commands give it in a form that is not read as a flag.
func TestNamesWithADashInCommands(t *testing.T) {
	t.Setenv("CI", "")
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("-a.jsonl", edited(t, "hello", moreIterations), 0o600))
	assert.Regexp(t, `next: .* \\\n    show ./-a.jsonl `, adkreplay("verify", "--", "-a.jsonl").out)
	assert.Regexp(t, `(?m)^next: .* accept --reason 'why it is meant' ./-a.jsonl$`, adkreplay("review", "--", "-a.jsonl").out)
	runs := 0
	one := fickle(&runs)
	one.name = "-a.jsonl"
	assert.Regexp(t, `\n    next: .*\badkreplay(@latest)? explore ./-a.jsonl --only `, exploring(t.Context(), exploreOptions{targets: []target{one}}).out)
}

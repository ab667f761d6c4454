package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay/corpus"
)

// folder makes a folder of traces in which one change made
// several diverge: three of hello with one iteration more, one
// that is cut short, and one of each other scenario given.
func folder(t *testing.T, others ...string) string {
	root := t.TempDir()
	files := map[string][]byte{"cut.jsonl": fixture(t, "hello")[:300], "deep/d.jsonl": edited(t, "hello", moreIterations)}
	for _, name := range []string{"a", "b"} {
		files[name+".jsonl"] = edited(t, "hello", moreIterations)
	}
	for _, name := range others {
		files[name+".jsonl"] = fixture(t, name)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	return root
}

// A cause is one entry of the report, with the traces that have it.
func TestVerifyGroupsByCause(t *testing.T) {
	t.Chdir(folder(t, "stash"))
	line := ".jsonl: changed output at crossing 26, in dispatch\n"
	for _, parallel := range []string{"1", "2", "16"} {
		got := adkreplay("verify", "--parallel", parallel, ".")
		assert.Equal(t, exitUnreadable, got.code)
		lines := strings.SplitAfter(got.out, "\n")
		assert.Equal(t, "divergence a"+line+"divergence b"+line+
			"unreadable cut.jsonl:3: truncated trace: the line has no end: the file was cut short within it\n"+
			"divergence deep/d"+line+`same stash.jsonl: 43 crossings
cause 1 of 1: changed output in dispatch: dispatchEnd, iterations: 2 → 1
  in 3 traces: a.jsonl, b.jsonl, deep/d.jsonl
  at crossing 26, in dispatch
    - * dispatchEnd dispatch1 ack after 2 iterations, 1 change made…
    + * dispatchEnd dispatch1 ack after 1 iteration, 1 change made in…
      iterations: expected 2, got 1
`, strings.Join(lines[:11], ""))
		assert.Equal(t, "1 trace could not be read\n"+noUserCode+"\n5 traces, 119 crossings, 3 divergences", strings.Join(last(3, got.out), "\n"))
		assert.Less(t, len(lines), 25, "one cause fits on a screen")
		assert.Empty(t, got.err)
	}
}

// The merged reports of the shards equal the report of a single machine, and merge ends with the
// same exit code.
func TestShardsAndMerge(t *testing.T) {
	t.Chdir(folder(t, "stash", "planner", "tool-round-trip"))
	whole := adkreplay("verify", "--json", ".")
	require.Equal(t, exitUnreadable, whole.code)
	const n = 3
	total := 0
	var reports []string
	for i := n; i >= 1; i-- {
		file := fmt.Sprintf("shard-%d.json", i)
		got := adkreplay("verify", "--shard", fmt.Sprintf("%d/%d", i, n), "--json="+file, ".")
		var d document
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		d = decoded[document](t, string(content))
		assert.Equal(t, got.code, d.ExitCode)
		assert.Contains(t, got.out, fmt.Sprintf("\nshard %d/%d: %d of 7 traces\n", i, n, len(d.Traces)))
		total += len(d.Traces)
		reports = append(reports, file)
	}
	assert.Equal(t, 7, total)
	assert.Equal(t, whole, adkreplay(append([]string{"merge", "--json"}, reports...)...))

	got := adkreplay(append([]string{"merge"}, reports...)...)
	assert.Equal(t, exitUnreadable, got.code)
	assert.NotContains(t, got.out, "same ")
	assert.Contains(t, got.out, "divergence deep/d.jsonl: changed output")
	assert.Contains(t, got.out, "cause 1 of 1: ")
	assert.Equal(t, last(1, adkreplay("verify", ".").out), last(1, got.out))
}

// merge ends with the highest exit code of all shards.
func TestMergeExitCodes(t *testing.T) {
	t.Chdir(folder(t, "hello", "stash"))
	report := func(name string, args ...string) string {
		adkreplay(append([]string{"verify", "--json=" + name}, args...)...)
		return name
	}
	shard := func(i int, paths ...string) string {
		return report(fmt.Sprint(i, ".json"), append([]string{"--shard", fmt.Sprintf("%d/2", i)}, paths...)...)
	}
	merge := func(want int, args ...string) outcome {
		t.Helper()
		got := adkreplay(append([]string{"merge"}, args...)...)
		assert.Equal(t, want, got.code, "%s%s", got.out, got.err)
		return got
	}
	merge(exitSame, shard(1, "hello.jsonl", "stash.jsonl"), shard(2, "hello.jsonl", "stash.jsonl"))
	merge(exitDivergence, shard(1, "hello.jsonl", "a.jsonl"), shard(2, "hello.jsonl", "a.jsonl"))
	got := merge(exitInternal, "1.json")
	assert.Equal(t, "adkreplay: there is no report of 2/2: what these shards would have found is not known\n", got.err)
	assert.Contains(t, got.out, "1 trace, ")
	got = merge(exitUsage, "1.json", "1.json")
	assert.Equal(t, "adkreplay: shard 1/2 has two reports; see adkreplay merge --help\n", got.err)
	got = merge(exitUsage, "1.json", shard(2, "hello.jsonl", "b.jsonl"))
	assert.Contains(t, got.err, "shards 1/2 and 2/2 are of other lists of traces (2 traces, ")
	merge(exitUnreadable, shard(1, "hello.jsonl", "cut.jsonl", "a.jsonl"), shard(2, "hello.jsonl", "cut.jsonl", "a.jsonl"))
	merge(exitDivergence, report("whole.json", "a.jsonl"))

	got = merge(exitUnreadable, "1.json", "absent.json", "a.jsonl")
	assert.Equal(t, "adkreplay: absent.json: no such file or directory\na.jsonl: this is no report of a verification: its format is 0, and this version reads 1\n", got.err)
	assert.Empty(t, got.out)
	merge(exitUsage)
	merge(exitUsage, "")

	// A program that asked for JSON gets JSON, whatever happens.
	for _, args := range [][]string{{"merge", "--json"}, {"merge", "--json", "absent.json"}, {"merge", "--json", "1.json", "1.json"}} {
		got := adkreplay(args...)
		assert.Equal(t, got.code, decoded[document](t, got.out).ExitCode)
		assert.NotEqual(t, exitSame, got.code)
	}
}

// More shards than traces are no failure: the parallelism of a job is fixed, and the size of a
// folder is not.
func TestMoreShardsThanTraces(t *testing.T) {
	t.Chdir(filepath.Dir(good(t)))
	got := adkreplay("verify", "--shard", "9/9", ".")
	assert.Equal(t, outcome{exitSame, "shard 9/9: 0 of 1 trace\n0 traces, 0 crossings, 0 divergences\n", ""}, got)
}

// The XML and the annotations hold the same data.
func TestVerifyJUnitAndGitHub(t *testing.T) {
	t.Chdir(folder(t, "stash"))
	got := adkreplay("verify", "--junit", "report.xml", "--github", ".")
	assert.Equal(t, exitUnreadable, got.code)
	var suite struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
		} `xml:"testsuite"`
	}
	content, err := os.ReadFile("report.xml")
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(content, &suite))
	assert.Equal(t, []int{5, 3, 1}, []int{suite.Suite.Tests, suite.Suite.Failures, suite.Suite.Errors})
	assert.Contains(t, got.out, "\n::error file=a.jsonl,line=27,title=changed output::")
	assert.Contains(t, got.out, "\n::error file=cut.jsonl,title=unreadable::cut.jsonl:3: truncated trace")
	assert.Equal(t, 2, strings.Count(got.out, "::error "))
	assert.Equal(t, "5 traces, 119 crossings, 3 divergences", last(1, got.out)[0], "the last line is for programs too")

	alone := adkreplay("verify", "--junit", "-", ".")
	assert.Equal(t, untimed(string(content)), untimed(alone.out))
	assert.Equal(t, exitUnreadable, alone.code)

	require.Equal(t, exitUnreadable, adkreplay("verify", "--json=report.json", ".").code)
	merged := adkreplay("merge", "--junit", "merged.xml", "--github", "report.json")
	again, err := os.ReadFile("merged.xml")
	require.NoError(t, err)
	assert.Equal(t, untimed(string(content)), untimed(string(again)))
	assert.Equal(t, 2, strings.Count(merged.out, "::error "))
}

// untimed is JUnit's XML without its times, which differ in each run.
func untimed(xml string) string {
	return regexp.MustCompile(` time="[0-9]+\.[0-9]{3}"`).ReplaceAllString(xml, "")
}

// A report never overwrites a trace, and
// two documents never share an output.
func TestReportFlagsThatMakeNoSense(t *testing.T) {
	path := good(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--json=" + path}, "--json writes a report, and " + path + " is the name of a trace: give another name, or - for the standard output"},
		{[]string{"--json=a.jsonl.zst"}, "--json writes a report, and a.jsonl.zst is the name of a trace: give another name, or - for the standard output"},
		{[]string{"--junit", path}, "--junit writes a report, and " + path + " is the name of a trace: give another name, or - for the standard output"},
		{[]string{"--json=--junit", "x"}, `--json needs a file, or - for the standard output: "--junit" is a flag`},
		{[]string{"--json", "--junit", "-"}, "--json and --junit cannot write the same file"},
		{[]string{"--json", "--github"}, "--github prints on the standard output, and a document stands there alone: give it a file"},
		{[]string{"--parallel", "0"}, "--parallel is 0: give how many traces to run at once, 1 or more"},
		{[]string{"--shard", "0/3"}, `--shard "0/3" is no shard: give i/n, such as 3/8, with i from 1 to n, and n up to 10000`},
		{[]string{"--shard", "/x"}, "--shard /x: give how many shards there are behind the slash"},
	} {
		got := adkreplay(append(append([]string{"verify"}, c.args...), path)...)
		assert.Equal(t, exitUsage, got.code, "%q", c.args)
		assert.Equal(t, "adkreplay: "+c.want+"; see adkreplay verify --help\n", got.err)
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(fixture(t, "hello")), string(content), "the trace is as it was")
}

// A report that cannot be written is a failure, whatever the verdict.
func TestReportThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "report.json")
	got := adkreplay("verify", "--json="+path, good(t))
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.err, path+": the report cannot be written: ")
	assert.Contains(t, got.out, "1 trace, 31 crossings, 0 divergences\n")
}

// environment returns a lookup in a job's variables.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, pair := range pairs {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestShardOfEnvironment(t *testing.T) {
	for _, c := range []struct {
		flag string
		env  []string
		want corpus.Shard
	}{
		{"", []string{"CI_NODE_INDEX=2", "CI_NODE_TOTAL=5", "ADKREPLAY_SHARD=1/9"}, corpus.Shard{}}, // no flag asks for a shard
		{"3/4", []string{"CI_NODE_INDEX=2", "CI_NODE_TOTAL=5"}, corpus.Shard{Index: 3, Count: 4}},
		{"auto", []string{"ADKREPLAY_SHARD=2/3"}, corpus.Shard{Index: 2, Count: 3}},
		{"auto", []string{"CI_NODE_INDEX=1", "CI_NODE_TOTAL=5"}, corpus.Shard{Index: 1, Count: 5}},
		{"auto", []string{"CI_NODE_INDEX=5", "CI_NODE_TOTAL=5"}, corpus.Shard{Index: 5, Count: 5}},
		{"auto", []string{"CIRCLE_NODE_INDEX=0", "CIRCLE_NODE_TOTAL=5"}, corpus.Shard{Index: 1, Count: 5}},
		{"auto", []string{"BUILDKITE_PARALLEL_JOB=4", "BUILDKITE_PARALLEL_JOB_COUNT=5"}, corpus.Shard{Index: 5, Count: 5}},
		{"/5", []string{"JOB_COMPLETION_INDEX=0"}, corpus.Shard{Index: 1, Count: 5}},
		{"/5", []string{"JOB_COMPLETION_INDEX=4"}, corpus.Shard{Index: 5, Count: 5}},
		{"/5", []string{"CI_NODE_INDEX=2", "CI_NODE_TOTAL=5"}, corpus.Shard{Index: 2, Count: 5}},
		{"auto", []string{"CI_NODE_TOTAL=1"}, corpus.Shard{Index: 1, Count: 1}}, // GitLab, not parallel
		{"auto", []string{"CI_NODE_TOTAL=1", "ADKREPLAY_SHARD=2/3"}, corpus.Shard{Index: 2, Count: 3}},
		{"auto", []string{"CI_NODE_INDEX=2", "CI_NODE_TOTAL=5", "ADKREPLAY_SHARD=2/5"}, corpus.Shard{Index: 2, Count: 5}}, // they agree
	} {
		got, err := chooseShard(c.flag, environment(c.env...))
		assert.NoError(t, err, "%q %q", c.flag, c.env)
		assert.Equal(t, c.want, got, "%q %q", c.flag, c.env)
	}
}

func TestShardOfEnvironmentRefuses(t *testing.T) {
	for _, c := range []struct {
		flag, want string
		env        []string
	}{
		{"auto", "--shard found none of the environment variables", nil},
		{"/3", "--shard found none of the environment variables", []string{"CI_NODE_TOTAL=1"}},
		{"auto", "CI_NODE_TOTAL is \"3\" and CI_NODE_INDEX is not set: give --shard i/n", []string{"CI_NODE_TOTAL=3"}},
		{"auto", "CIRCLE_NODE_INDEX is set and CIRCLE_NODE_TOTAL is not", []string{"CIRCLE_NODE_INDEX=1"}},
		{"auto", `CI_NODE_INDEX is "0": it should be a number, from 1 on`, []string{"CI_NODE_INDEX=0", "CI_NODE_TOTAL=3"}},
		{"auto", `CI_NODE_INDEX is "4" of 3, counted from 1: there is no such shard`, []string{"CI_NODE_INDEX=4", "CI_NODE_TOTAL=3"}},
		{"auto", `CIRCLE_NODE_INDEX is "3" of 3, counted from 0`, []string{"CIRCLE_NODE_INDEX=3", "CIRCLE_NODE_TOTAL=3"}},
		{"auto", "JOB_COMPLETION_INDEX says which shard this is, and nothing how many there are: give --shard /n", []string{"JOB_COMPLETION_INDEX=1"}},
		{"/3", `JOB_COMPLETION_INDEX is "3" of 3`, []string{"JOB_COMPLETION_INDEX=3"}},
		{"/4", "--shard /4: CI_NODE_INDEX says shard 2/3", []string{"CI_NODE_INDEX=2", "CI_NODE_TOTAL=3"}},
		{"auto", "ADKREPLAY_SHARD says shard 1/2 and CI_NODE_INDEX says 2/3: give --shard i/n", []string{"ADKREPLAY_SHARD=1/2", "CI_NODE_INDEX=2", "CI_NODE_TOTAL=3"}},
		{"auto", `ADKREPLAY_SHARD: "two" is no shard`, []string{"ADKREPLAY_SHARD=two"}},
	} {
		_, err := chooseShard(c.flag, environment(c.env...))
		assert.ErrorContains(t, err, c.want, "%q %q", c.flag, c.env)
	}
}

// The help names every variable, and the real environment is read.
func TestShardAuto(t *testing.T) {
	for _, v := range append(systems, variables{index: ownVariable}) {
		assert.Contains(t, shardHelp, v.index)
		assert.Contains(t, shardHelp, v.count)
		t.Setenv(v.index, "")
		if v.count != "" {
			t.Setenv(v.count, "")
		}
	}
	path := good(t)
	assert.Equal(t, exitUsage, adkreplay("verify", "--shard", "auto", path).code)
	t.Setenv(ownVariable, "2/2")
	assert.Contains(t, adkreplay("verify", "--shard", "auto", path).out, "shard 2/2: 0 of 1 trace\n")
	assert.Contains(t, adkreplay("verify", path).out, "1 trace, 31 crossings", "nobody asked for a shard")
}

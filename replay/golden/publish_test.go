package golden_test

import (
	"context"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// onStdout returns what a function writes to the standard output.
func onStdout(t *testing.T, do func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	before := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = before }()
	do()
	require.NoError(t, file.Close())
	out, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return string(out)
}

// junitCase is a test case as a CI system reads it.
type junitCase struct {
	Name    string    `xml:"name,attr"`
	File    string    `xml:"file,attr"`
	Line    int       `xml:"line,attr"`
	Failure *struct{} `xml:"failure"`
	Error   *struct {
		Message string `xml:"message,attr"`
	} `xml:"error"`
}

type junitDocument struct {
	Suites []struct {
		Name  string      `xml:"name,attr"`
		Cases []junitCase `xml:"testcase"`
	} `xml:"testsuite"`
}

func readJUnit(t *testing.T, file string) (d junitDocument) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(content, &d), string(content))
	return d
}

// sayGoodbye is an executor that differs from the recorded one.
func sayGoodbye(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	_, err := h.ReportMessage("other", "Goodbye!", true)
	return errors.Join(err, dc.Ack())
}

// TestMain hides the output of checks that fail on purpose from the CI system that runs these
// tests, which would show it as errors.
func TestMain(m *testing.M) {
	for _, variable := range []string{"GITHUB_ACTIONS", "ADKREPLAY_JUNIT", "ADKREPLAY_HTML"} {
		_ = os.Unsetenv(variable)
	}
	os.Exit(m.Run())
}

// A check reports a difference to the CI system by itself, at the line of the user's code.
func TestReplayTellsTheCISystem(t *testing.T) {
	dir := turns(t)
	file := filepath.Join(t.TempDir(), "reports", "junit.xml")
	here, err := os.Getwd()
	require.NoError(t, err)
	t.Setenv("GITHUB_ACTIONS", "true")
	t.Setenv("GITHUB_WORKSPACE", filepath.Dir(filepath.Dir(here)))
	t.Setenv("ADKREPLAY_JUNIT", file)

	var tb *fakeTB
	out := onStdout(t, func() { tb = replayed(dir, unchanged, replay.Executor) })
	assert.Empty(t, tb.failed)
	assert.Empty(t, out, "nothing is wrong")
	suite := readJUnit(t, file).Suites[0]
	assert.Equal(t, "replay/golden.TestReplay", suite.Name)
	require.Len(t, suite.Cases, 2)
	assert.Equal(t, junitCase{Name: "a.jsonl"}, suite.Cases[0])

	out = onStdout(t, func() {
		tb = replayed(dir, func(l *replay.Live) { l.Config.Executor.Run = sayGoodbye }, replay.Executor)
	})
	require.Len(t, tb.failed, 1)
	assert.Regexp(t, `^::error file=replay/golden/publish_test\.go,line=\d+,title=`, out)
	assert.Equal(t, 1, strings.Count(out, "\n"), "one cause is one line")
	suites := readJUnit(t, file).Suites
	require.Len(t, suites, 1, "the same test again takes its own place")
	failed := suites[0].Cases[0]
	assert.NotNil(t, failed.Failure)
	assert.Equal(t, "publish_test.go", filepath.Base(failed.File))
	assert.Positive(t, failed.Line)

	tb = &fakeTB{name: "TestNothing"}
	out = onStdout(t, func() { golden.Replay(tb, t.TempDir(), nil) })
	assert.Contains(t, out, "::error title=not everything was verified::")
	suites = readJUnit(t, file).Suites
	require.Len(t, suites, 2, "another test of the package stands beside it")
	assert.Contains(t, suites[1].Cases[0].Error.Message, "there is no trace")
}

// If no report is requested, nothing is printed and no file is written. A * in the file's name
// keeps the reports of several packages apart.
func TestReplayTellsWhoAsks(t *testing.T) {
	dir := turns(t)
	t.Setenv("GITHUB_ACTIONS", "")
	t.Setenv("ADKREPLAY_JUNIT", "")
	change := func(l *replay.Live) { l.Config.Executor.Run = sayGoodbye }
	assert.Empty(t, onStdout(t, func() { replayed(dir, change, replay.Executor) }))
	folder := t.TempDir()
	t.Setenv("ADKREPLAY_JUNIT", filepath.Join(folder, "*.xml"))
	assert.Empty(t, onStdout(t, func() { replayed(dir, change, replay.Executor) }))
	assert.Len(t, readJUnit(t, filepath.Join(folder, "replay-golden.TestReplay.xml")).Suites, 1)
}

// If a page is requested, it holds the red traces only; the page of one test does not replace that
// of another.
func TestReplayWritesAPage(t *testing.T) {
	dir, file := turns(t), filepath.Join(t.TempDir(), "pages", "red.html")
	t.Setenv("GITHUB_ACTIONS", "")
	t.Setenv("ADKREPLAY_HTML", file)
	assert.Empty(t, replayed(dir, unchanged, replay.Executor).failed)
	assert.NoFileExists(t, file)

	change := func(l *replay.Live) { l.Config.Executor.Run = sayGoodbye }
	tb := replayed(dir, change, replay.Executor)
	require.Len(t, tb.failed, 1)
	assert.Contains(t, strings.Join(tb.told, "\n"), file)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(content), `<title>replay/golden.TestReplay</title>`)
	found, err := tracetest.Unpacked(string(content), "contents")
	require.NoError(t, err)
	assert.Contains(t, found, "Goodbye!")

	again := &fakeTB{name: "TestOther"}
	golden.Replay(again, dir, func(string) replay.Live { return replay.Live{} })
	assert.NotContains(t, strings.Join(again.failed, "\n"), "ADKREPLAY_HTML", "it is not red")
	again = &fakeTB{name: "TestOther"}
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "a.jsonl"), []byte("{"), 0o600))
	golden.Replay(again, broken, func(string) replay.Live { return replay.Live{} })
	assert.Contains(t, strings.Join(again.failed, "\n"), "has the page of replay/golden.TestReplay: a * in the name stands for the test")
}

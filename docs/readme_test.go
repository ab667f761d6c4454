package docs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// told is a golden.TB that keeps what it is told.
type told struct {
	strings.Builder
}

func (*told) Helper()                          {}
func (*told) Name() string                     { return "TestTurns" }
func (*told) Logf(string, ...any)              {}
func (t *told) Errorf(format string, a ...any) { fmt.Fprintf(t, format, a...) }

// The agent of the README's first screen asks a model with a plain client, and tells it
// what it remembers, or forgets to.
func rider(model string, remembers bool) adk.Config {
	client := &http.Client{Transport: adkhttp.NewTransport(nil)}
	messages := `{"role":"system","content":"Be brief."},`
	if remembers {
		messages += `{"role":"system","content":"The user rides a bicycle."},`
	}
	ask := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		body := `{"model":"m-1","messages":[` + messages + `{"role":"user","content":"How do I get to work?"}]}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, model+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if _, err := io.ReadAll(resp.Body); err != nil {
			return err
		}
		return dc.Ack()
	}
	return adk.Config{Executor: adk.Executor{Name: "model", Run: ask}, Storage: fakes.NewStorage().Storage()}
}

// codePlace is where the agent asks, which in the README is a file of its own.
var codePlace = regexp.MustCompile(`code: asked at \S+ \(\S+\)`)

// What the README says on its first screen of an agent that forgets is what a check says.
func TestReadmeShowsAForgetfulAgent(t *testing.T) {
	if updating() {
		t.Skip("a check that updates says nothing: it records again")
	}
	page, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	shown := blocksOf(page)[1]
	require.Equal(t, "text", shown.language)

	t.Chdir(t.TempDir())
	const dir = "testdata/turns"
	require.NoError(t, os.MkdirAll(dir, 0o700))
	provider := fakes.NewProvider(fakes.Converse(fakes.Reply{Body: `{"choices":[{"message":{"content":"By bicycle."}}]}`}))
	defer provider.Close()
	file, err := os.Create(filepath.Join(dir, "oslo.jsonl"))
	require.NoError(t, err)
	runner, err := adk.NewRunner(fakes.Deterministic(rider(provider.URL(), true), replay.Record(file)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be brief."}))
	require.NoError(t, file.Close())

	check := func(remembers bool) string {
		var found told
		golden.Replay(&found, dir, func(string) replay.Live {
			return replay.Live{Config: rider("http://127.0.0.1:1", remembers), Seams: []string{replay.Executor}}
		})
		return codePlace.ReplaceAllString(strings.TrimPrefix(found.String(), "replay: not as recorded:\n"), "code: asked at agent.go:48 (agent.ask)")
	}
	assert.Empty(t, check(true), "nobody is there to be asked")
	assert.True(t, strings.HasPrefix(check(false), shown.content), "the README has\n%s\nand the check says\n%s", shown.content, check(false))
}

// A command that has all tests write a page or a report has each write its own: a name without a *
// is the first test's, and one that is no whole path is in the folder of each package.
func TestFilesOfAllTests(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	named, seen := regexp.MustCompile(`ADKREPLAY_(?:HTML|JUNIT)=(\S+) go test`), 0
	for _, name := range append(pages, "../README.md") {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, command := range named.FindAllStringSubmatch(string(page), -1) {
			seen++
			assert.Regexp(t, `^"\$PWD/.*\*.*"$`, command[1], name)
		}
	}
	assert.Positive(t, seen)
}

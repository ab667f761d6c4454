// Package docs_test holds the pages of this folder against the code.
package docs_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// updating reports whether what its commands print is written into the page: package golden
// has the flag.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// block is a fenced block of a page.
type block struct {
	language, file string // of ```go agent.go
	content        string
	from, to       int // of the content, in the page
}

func blocksOf(page []byte) (blocks []block) {
	root := goldmark.DefaultParser().Parse(text.NewReader(page))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		code, ok := n.(*ast.FencedCodeBlock)
		if !ok || code.Lines().Len() == 0 {
			continue
		}
		language, file, _ := strings.Cut(string(code.Info.Segment.Value(page)), " ")
		from, to := code.Lines().At(0).Start, code.Lines().At(code.Lines().Len()-1).Stop
		blocks = append(blocks, block{language, file, string(page[from:to]), from, to})
	}
	return blocks
}

// variable is what is another in every run: how long something took, and when.
var variable = regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b|\(cached\)|\b[0-9]+(\.[0-9]+)?(ns|µs|ms|s)\b`)

// taking is what a step took, which stands behind those alone that took a while.
var taking = regexp.MustCompile(` +\+[0-9]+(\.[0-9]+)?(ns|µs|ms|s)\b`)

func steady(output string) string {
	return variable.ReplaceAllString(taking.ReplaceAllString(output, ""), "…")
}

// offline has go get's lines in the words in which a go.mod says that this repository is at hand.
func offline(t *testing.T) *strings.Replacer {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	return strings.NewReplacer("go get github.com/adkreplay/adkreplay@latest", "go mod edit -replace github.com/adkreplay/adkreplay="+root,
		"go get -tool github.com/adkreplay/adkreplay/cmd/adkreplay@latest", "go mod edit -tool github.com/adkreplay/adkreplay/cmd/adkreplay")
}

// run runs a command of the page, and gives what it prints.
func run(t *testing.T, dir, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "CI=", "GITHUB_ACTIONS=", "ADKREPLAY_JUNIT=", "ADKREPLAY_CLAIMS=", "ADKREPLAY_REASON=", "COLUMNS=") // as in a pipe: where a line is folded hangs on the times in it
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // that it fails shows in what it prints
	require.NoError(t, ctx.Err(), command)
	return out.String()
}

// ran is a block of a console with what its commands print now.
func (b block) ran(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	for _, line := range strings.Split(b.content, "\n") {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			out.WriteString(line + "\n" + run(t, dir, command))
		}
	}
	return out.String()
}

// tutorialVariable has the tutorial followed, if it is set.
const tutorialVariable = "ADKREPLAY_TUTORIAL"

// A stranger who follows the tutorial gets what it says: its files compile, and its
// commands print what stands below them.
func TestTutorial(t *testing.T) {
	if os.Getenv(tutorialVariable) == "" && !updating() {
		t.Skip("it builds a module and its tests several times: make tutorial (" + tutorialVariable + "=all) runs it")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh to run its commands")
	}
	page, err := os.ReadFile("tutorial.md")
	require.NoError(t, err)
	dir, now := t.TempDir(), bytes.Clone(page)
	consoles, here := 0, offline(t)
	for _, b := range blocksOf(page) {
		switch {
		case b.file != "":
			require.NoError(t, os.WriteFile(filepath.Join(dir, b.file), []byte(b.content), 0o600))
		case b.language == "sh":
			printed := run(t, dir, "set -e\n"+here.Replace(b.content)+"echo done")
			require.True(t, strings.HasSuffix(printed, "done\n"), "%s%s", b.content, printed)
		case b.language == "console":
			consoles++
			printed := b.ran(t, dir)
			if steady(printed) != steady(b.content) {
				now = bytes.Replace(now, []byte("```console\n"+b.content), []byte("```console\n"+printed), 1)
			}
		}
	}
	require.NotZero(t, consoles)
	if updating() {
		require.NoError(t, os.WriteFile("tutorial.md", now, 0o600))
		return
	}
	assert.Equal(t, steady(string(page)), steady(string(now)), "go test ./docs -update writes what the commands print now; read the diff")
	assert.NotContains(t, run(t, dir, "gofmt -l ."), ".go", "files that are not formatted")
}

package adk

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The map of one turn for readers of the code names only methods that exist.
func TestTheMapNamesWhatThereIs(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var source strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		source.Write(text)
	}
	doc, err := os.ReadFile("turn.go")
	require.NoError(t, err)
	named := regexp.MustCompile(`\b(turn|run|pass|dispatch|call|visible|Records)\.([a-z][A-Za-z]+)`).FindAllStringSubmatch(comments(string(doc)), -1)
	require.Greater(t, len(named), 10)
	for _, name := range named {
		method := regexp.MustCompile(`(?m)^func \(\w+ \*?` + name[1] + `(\[T\])?\) ` + name[2] + `\(|^\t` + name[2] + ` +\S`)
		assert.Regexp(t, method, source.String(), "turn.go speaks of %s.%s", name[1], name[2])
	}
}

// comments returns the lines of a source that are only a comment.
func comments(source string) string {
	return strings.Join(regexp.MustCompile(`(?m)^//.*$`).FindAllString(source, -1), "\n")
}

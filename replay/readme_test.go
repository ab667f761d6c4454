package replay_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README shows the example as it is compiled.
func TestReadmeShowsTheExample(t *testing.T) {
	example, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, body, found := strings.Cut(string(example), "func Example() {\n")
	require.True(t, found)
	body = strings.ReplaceAll("\n"+strings.TrimSuffix(body, "}\n"), "\n\t", "\n")
	assert.Contains(t, string(readme), "```go"+body+"```")
}

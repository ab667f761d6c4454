package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay/golden"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// What Options.Redact finds is in no file that a check writes, and in nothing that it says.
func TestASecretIsInNoGoldenFile(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_REASON", "Another key.")
	dir := t.TempDir()
	options := golden.Options{Dir: dir, Redact: &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `key-[0-9]+`}}}}
	check := func(update, says string) *fakeTB {
		setUpdate(t, update)
		tb := &fakeTB{name: "TestGreeting"}
		golden.Turn(tb, "greeting", greeting(says), options)
		return tb
	}
	said := []*fakeTB{
		check("true", "It is key-1234567."), check("false", "It is key-7654321."),
		check("false", "No, key-1234567."), check("true", "No, key-1234567."),
	}
	assert.Empty(t, said[1].failed, "another secret in the same place")
	assert.Len(t, said[2].failed, 1)
	for i, tb := range said {
		assert.NotRegexp(t, `key-[0-9]|234567`, strings.Join(append(tb.failed, tb.told...), "\n"), "check %d", i)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2, "the golden file and its reason")
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		assert.NotRegexp(t, `key-[0-9]|234567`, string(content), f.Name())
		assert.Contains(t, string(content), "[redacted:key:1]", f.Name())
	}
}

package shell

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A report names the command as the reader can call it: as it was called, as a tool of the module, from this
// module, as it is found in the path, or by its version.
func TestCaller(t *testing.T) {
	found := func(string) (string, error) { return "/bin/adkreplay", nil }
	nowhere := func(string) (string, error) { return "", errors.New("not found") }
	program := func(path string, deps ...*debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Path: path, Main: debug.Module{Path: "example.com/a", Version: "(devel)"}, Deps: deps}
	}
	released := &debug.Module{Path: ours, Version: "v1.2.3"}
	replaced := &debug.Module{Path: ours, Version: "v0.0.0", Replace: &debug.Module{Path: "../"}}
	const module = "module example.com/a\n\ngo 1.26\n"
	cache := t.TempDir() // of the go command
	t.Setenv("GOCACHE", cache)
	for _, c := range []struct {
		name, gomod string
		r           reader
		want        string
	}{
		{"a tool", module + "\ntool " + command + "\n", reader{lookPath: found}, "go tool adkreplay"},
		{"a tool among others", module + "\ntool (\n\texample.com/b\n\t" + command + "\n)\n", reader{lookPath: nowhere}, "go tool adkreplay"},
		{"our own module", "module " + ours + "\n", reader{lookPath: found}, "go run " + command},
		{"as it was called", module, reader{program: program(command), args: []string{"./bin/it is"}, lookPath: nowhere}, "'./bin/it is'"},
		{"as it was called, with a tool", module + "\ntool " + command + "\n", reader{program: program(command), args: []string{"adkreplay"}, lookPath: found}, "adkreplay"},
		{"as it was called, of a temporary folder", "", reader{program: program(command, released), args: []string{filepath.Join(os.TempDir(), "x/adkreplay")}, lookPath: found}, filepath.Join(os.TempDir(), "x/adkreplay")},
		{"a tool that go has built", module + "\ntool " + command + "\n", reader{program: program(command), args: []string{filepath.Join(cache, "b1/b18e-d/adkreplay")}, lookPath: found}, "go tool adkreplay"},
		{"a test of the command", "", reader{program: program(command), args: []string{"./adkreplay.test"}, lookPath: found}, "adkreplay"},
		{"run by go run", "", reader{program: program(command, released), args: []string{filepath.Join(os.TempDir(), "go-build123/b001/exe/adkreplay")}, lookPath: nowhere}, "go run " + command + "@v1.2.3"},
		{"run by go run again", "", reader{program: program(command, released), args: []string{filepath.Join(cache, "b1/b18e-d/adkreplay")}, lookPath: nowhere}, "go run " + command + "@v1.2.3"},
		{"in the path", module, reader{lookPath: found}, "adkreplay"},
		{"by its version", module, reader{program: program("example.com/a.test", released), lookPath: nowhere}, "go run " + command + "@v1.2.3"},
		{"by none that is replaced", module, reader{program: program("example.com/a.test", replaced), lookPath: nowhere}, "go run " + command + "@latest"},
		{"where it is replaced by a folder", module + "\nreplace " + ours + " => ../adkreplay\n", reader{lookPath: found}, "go run -mod=mod " + command},
		{"where another is", module + "\nreplace example.com/b => ../b\n", reader{lookPath: found}, "adkreplay"},
		{"where a fork replaces it", module + "\nreplace " + ours + " => example.com/fork v1.0.0\n", reader{lookPath: found}, "adkreplay"},
		{"a module that cannot be read", "tool tool\n", reader{lookPath: nowhere}, "go run " + command + "@latest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.dir = filepath.Join(t.TempDir(), "deep", "er")
			require.NoError(t, os.MkdirAll(c.r.dir, 0o700))
			if c.gomod != "" {
				require.NoError(t, os.WriteFile(filepath.Join(c.r.dir, "..", "..", "go.mod"), []byte(c.gomod), 0o600))
			}
			assert.Equal(t, c.want, c.r.caller())
		})
	}
}

// A long command is broken so that a shell still reads it as the same command.
func TestBroken(t *testing.T) {
	command := "go tool adkreplay show 'a file with blanks.jsonl' --from 1 --to 20"
	assert.Equal(t, command, Broken(command, 80))
	broken := Broken(command, 40)
	assert.Equal(t, "go tool adkreplay show \\\n    'a file with blanks.jsonl' \\\n    --from 1 --to 20", broken)
	for line := range strings.Lines(broken) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 40)
	}
	assert.Equal(t, command, strings.ReplaceAll(broken, " \\\n    ", " "))
}

// A file is named relative to the module's root, because that is where a reader of a test's output runs
// commands.
func TestFromModule(t *testing.T) {
	assert.Equal(t, "internal/shell/testdata/a.jsonl", FromModule("testdata/a.jsonl"))
	assert.Equal(t, "/tmp/a.jsonl", FromModule("/tmp/a.jsonl"))
	assert.Equal(t, "internal/shell/-a.jsonl", FromModule("-a.jsonl"))
	t.Chdir(t.TempDir())
	assert.Equal(t, "a.jsonl", FromModule("a.jsonl"))
	assert.Equal(t, "./-a.jsonl", FromModule("-a.jsonl"))
	assert.Equal(t, "-", FromModule("-"), "the standard input")
}

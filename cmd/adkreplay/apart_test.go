package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No command overwrites a file that it reads, under whatever name it is given.
func TestNothingIsWrittenOverWhatIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded := fixture(t, "hello")
	for _, name := range []string{"x.jsonl", "x.txt"} {
		require.NoError(t, os.WriteFile(name, recorded, 0o600))
	}
	require.NoError(t, os.Symlink("x.jsonl", "l.txt"))
	require.NoError(t, os.Mkdir("folder", 0o755))
	require.NoError(t, os.Link("x.jsonl", filepath.Join("folder", "y.jsonl")))
	require.Equal(t, exitSame, adkreplay("verify", "--shard", "1/1", "--json=s.json", "x.jsonl").code)
	report := readFile(t, "s.json")
	before := filesIn(t, ".")
	for _, args := range []string{
		"replay x.jsonl --set run.prompt=a --out x.jsonl", "replay x.jsonl --set run.prompt=a --out l.txt", "replay l.txt --set run.prompt=a --out ./x.jsonl",
		"export x.txt -o x.txt", "export x.txt --otlp -o x.txt", "export --otlp folder -o l.txt", "view x.txt -o x.txt", "view folder -o l.txt",
		"verify x.txt --json=x.txt", "verify x.txt --junit x.txt", "verify x.txt --html x.txt", "verify x.jsonl --html l.txt", "explore x.txt --html x.txt",
		"merge s.json --json=s.json", "merge s.json --html=./s.json", "import x.txt -o x.txt",
		"verify x.txt --html=r --json=./r", "verify x.txt --html=r --junit=folder/../r",
	} {
		got := adkreplay(strings.Fields(args)...)
		assert.Equal(t, exitUsage, got.code, args)
		assert.Regexp(t, `--\w+ would write over \S+, which is read: give another name than \S+; see |--\w+ and --\w+ cannot write the same file`, strings.Join(strings.Fields(got.err), " ")+"\n", args)
		assert.Equal(t, before, filesIn(t, "."), args)
		for _, name := range []string{"x.jsonl", "x.txt"} {
			require.True(t, bytes.Equal(recorded, []byte(readFile(t, name))), "%s: %s", args, name)
		}
		assert.Equal(t, report, readFile(t, "s.json"), args)
	}
	require.NoError(t, os.WriteFile("hello", nil, 0o600))
	assert.Equal(t, exitSame, adkreplay("run", "hello", "-o", "hello").code, "the name of a scenario is no file that is read")
}

// Every flag that names an output file is checked against the input files.
func TestAllFlagsThatWriteAreKnown(t *testing.T) {
	var out, err bytes.Buffer
	for _, cmd := range newRoot(newTerminal(&out, &err)).Commands() {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if strings.Contains(flag.Usage, "`file`") && flag.Name != "prices" {
				assert.Contains(t, writing, flag.Name, cmd.Name())
			}
		})
	}
}

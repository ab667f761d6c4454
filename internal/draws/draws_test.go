package draws

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawn returns the first three values that a check draws.
func drawn(test *testing.T) (all []uint32) {
	rapid.Check(test, func(t *rapid.T) {
		if one := rapid.Uint32().Draw(t, "one"); len(all) < 3 {
			all = append(all, one)
		}
	})
	return all
}

// Every test draws the same values in every run.
func TestDraws(t *testing.T) {
	if flag.Lookup("rapid.seed").Value.String() != usual[0].value {
		t.Skip("new draws were asked for")
	}
	require.Equal(t, []uint32{0x6, 0x520ca7, 0x3075a3c}, drawn(t))
	assert.Equal(t, drawn(t), drawn(t))
}

// The environment variable and the flag both give new draws.
func TestNewDraws(t *testing.T) {
	binary, err := os.Executable()
	require.NoError(t, err)
	for _, asked := range []struct{ variable, flag string }{{"RAPID_SEED=7", ""}, {"", "-rapid.seed=7"}} {
		run := exec.Command(binary, "-test.v", "-test.run=^TestDraws$", asked.flag)
		run.Env = append(os.Environ(), asked.variable)
		out, err := run.CombinedOutput()
		require.NoError(t, err)
		assert.Contains(t, string(out), "new draws were asked for")
	}
}

// Checks makes a search draw the given number of times, even in a quick run. The returned function restores the
// number. If more draws are set already, Checks leaves that.
func TestChecks(t *testing.T) {
	count := func() (n int) {
		rapid.Check(t, func(*rapid.T) { n++ })
		return n
	}
	usual := count()
	back := Checks(usual + 7)
	assert.Equal(t, usual+7, count())
	Checks(1)()
	assert.Equal(t, usual+7, count())
	back()
	assert.Equal(t, usual, count())
}

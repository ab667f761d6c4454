package storagetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// killedAfter is how many records are stored before the program is killed.
const killedAfter = 40

// scopeKilled is the scope of these records.
var scopeKilled = ScopeOf("shop", "killed")

// KeepUntilKilled stores one standing instruction after the other, and prints which ones it has
// stored.
func KeepUntilKilled(s adk.Storage) error {
	for n := 0; ; n++ {
		if err := s.Instructions.Store(context.Background(), scopeKilled, adk.NewTokenizable(fmt.Sprint(n))); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// Kill runs this program again with an environment variable; that process must call
// KeepUntilKilled. Kill kills it while it works, and returns how many records it said that it had
// stored.
func Kill(t require.TestingT, variable string) (kept int) {
	command := exec.Command(os.Args[0])
	command.Env, command.Stderr = append(os.Environ(), variable), os.Stderr
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(out)
	for ; lines.Scan(); kept++ {
		assert.Equal(t, fmt.Sprint(kept), lines.Text())
		if kept == killedAfter {
			require.NoError(t, command.Process.Kill())
		}
	}
	require.NoError(t, lines.Err())
	var killed *exec.ExitError
	require.True(t, errors.As(command.Wait(), &killed), "it was killed")
	require.Greater(t, kept, killedAfter)
	return kept
}

// HoldsKept checks that a storage has all records that were stored, in order, and at most one more.
func HoldsKept(t require.TestingT, s adk.Storage, kept int) {
	fetched, err := s.Instructions.Fetch(context.Background(), scopeKilled)
	require.NoError(t, err)
	for n, one := range fetched {
		assert.Equal(t, fmt.Sprint(n), one.String())
	}
	assert.Contains(t, []int{kept, kept + 1}, len(fetched), "the one that it was killed in may be there")
}

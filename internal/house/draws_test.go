package house_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In every package, tests that draw at random draw the same values in every run.
func TestDrawsAreTheSame(t *testing.T) {
	draws, steady := map[string]string{}, map[string]bool{}
	for _, f := range goFiles(t) {
		if !strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		imports := f.imports()
		if slices.Contains(imports, "pgregory.net/rapid") {
			draws[f.dir] = f.path
		}
		steady[f.dir] = steady[f.dir] || slices.Contains(imports, module+"internal/draws")
	}
	require.NotEmpty(t, draws)
	delete(draws, "internal/draws")
	for dir, name := range draws {
		assert.True(t, steady[dir], "%s draws other values on every run: import internal/draws in a test file beside it", name)
	}
}

// Allocations are counted only through a package that knows when they cannot be counted: under the race
// detector, and while the collector empties a pool.
func TestAllocationsAreCountedInOnePlace(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.dir != "internal/allocs" && f.dir != "internal/house" {
			assert.False(t, strings.Contains(string(f.content), "testing.AllocsPerRun("), "%s: internal/allocs counts", f.path)
			if strings.HasSuffix(f.path, "_test.go") && f.path != "replay/atonce_test.go" { // it measures all memory that the process has from the system, including stacks
				assert.False(t, strings.Contains(string(f.content), "runtime.ReadMemStats("), "%s: internal/allocs counts", f.path)
			}
		}
	}
}

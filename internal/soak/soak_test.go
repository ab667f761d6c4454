package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// soaked soaks for three minutes of a fake clock, on which a check takes 5 ms, or 50 ms for TestSlow. It ends
// when the time is over or all properties are broken.
func soaked(t *testing.T, names string, holds func(name string, seed uint64) bool) (*soak, string, bool) {
	t.Helper()
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	at, end := time.Unix(0, 0), time.Unix(0, 0).Add(3*time.Minute)
	s := newSoak(&out, nil, func(_ context.Context, p *property, seed uint64, checks int) (string, bool) {
		each := 5 * time.Millisecond
		if p.name == "TestSlow" {
			each = 50 * time.Millisecond
		}
		if at = at.Add(time.Duration(checks) * each); at.After(end) {
			stop()
			return "signal: killed", false
		}
		return "it is not so", holds(p.name, seed)
	})
	for name := range strings.FieldsSeq(names) {
		s.all = append(s.all, &property{pkg: "m/p", name: name})
	}
	drawn := uint64(0)
	s.now, s.seed = func() time.Time { return at }, func() uint64 { drawn++; return drawn }
	held := s.run(ctx)
	return s, out.String(), held
}

// Properties are checked in turns, each with seeds of its own, until the time is over. Slow properties are
// checked less often, and there is a report every minute.
func TestSoak(t *testing.T) {
	_, out, held := soaked(t, "TestA TestSlow", func(string, uint64) bool { return true })
	assert.True(t, held)
	assert.Equal(t, `1m6s: 2 properties, 6800 checks from 8 seeds, 0 broken
2m6s: 2 properties, 13400 checks from 14 seeds, 0 broken
3m6s: 2 properties, 19800 checks from 19 seeds, 0 broken
    18100 checks   10 seeds    1m31s     12000 a minute  m/p TestA
     1700 checks    9 seeds    1m25s      1200 a minute  m/p TestSlow
3m6s: 2 properties, 19800 checks from 19 seeds, 0 broken
`, out, "what the end broke off is not counted")
}

// A property that breaks is reported with its seed and not checked again; the others continue.
func TestSoakFinds(t *testing.T) {
	s, out, held := soaked(t, "TestA TestB", func(name string, seed uint64) bool { return name != "TestB" || seed < 4 })
	assert.False(t, held)
	assert.Equal(t, 1, strings.Count(out, "it is not so\nTestB breaks. To see it again:\n  go test m/p -run '^TestB$' -rapid.seed=4 -rapid.checks=2000\n"))
	assert.Contains(t, out, "TestB  BROKEN\n")
	assert.Contains(t, out, ", 1 broken\n")
	assert.Equal(t, []int{17, 2}, []int{s.all[0].seeds, s.all[1].seeds})

	_, out, held = soaked(t, "TestA", func(string, uint64) bool { return false })
	assert.False(t, held)
	assert.Contains(t, out, "1s: 1 properties, 0 checks from 1 seeds, 1 broken\n", "nothing is left to hold")
}

// A property is a test that calls rapid.Check itself, or through a helper.
func TestDrawing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(`package a

func TestDirect(t *testing.T) { rapid.Check(t, nil) }
func TestByHelper(t *testing.T) { t.Run("x", func(t *testing.T) { inner(t) }) }
func TestOfFailing(t *testing.T) { rapid.Check(failing, nil) }
func TestNothing(t *testing.T) { other.Check(t); check(t) }
func inner(t *testing.T) { helper(t) }
`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b_test.go"), []byte("package a\n\nfunc helper(t *testing.T) { rapid.Check(t, nil) }\n"), 0o600))
	names, err := drawing(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"TestByHelper", "TestDirect"}, names)

	ours, err := drawing("../../property/gen")
	require.NoError(t, err)
	assert.Contains(t, ours, "TestTurns")
	assert.NotContains(t, ours, "TestAroundFinds", "it has to fail")
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"1h", "2h"}, {"long"}, {"0s"}} {
		_, err := run(t.Context(), args)
		assert.ErrorContains(t, err, "10m", "%q", args)
	}
}

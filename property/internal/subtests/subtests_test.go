package subtests_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/property/internal/subtests"
)

// told is a test that keeps its failures, and names subtests as package testing does.
type told struct {
	name  string
	lines *[]string
}

func (told) Helper()        {}
func (t told) Name() string { return t.name }
func (t told) Errorf(format string, args ...any) {
	*t.lines = append(*t.lines, fmt.Sprintf(format, args...))
}

func (t told) Run(name string, f func(told)) bool {
	f(told{t.name + "/" + name, t.lines})
	return false
}

type words string

func (w words) String() string { return string(w) + "\n" }

// The command in a failure selects the subtest in which it happened, whatever characters its name has.
func TestFail(t *testing.T) {
	var lines []string
	subtests.Fail(told{"TestAgent", &lines}, "a:deliver@1+fail@5,(b)", words("lost"))
	require.Len(t, lines, 1)
	text, run, ok := strings.Cut(lines[0], "    go test -run ")
	require.True(t, ok)
	assert.Equal(t, "lost\n", text)
	patterns := strings.Split(strings.Trim(run, "'"), "/")
	require.Len(t, patterns, 2)
	assert.Regexp(t, regexp.MustCompile(patterns[0]), "TestAgent")
	assert.Regexp(t, regexp.MustCompile(patterns[1]), "a:deliver@1+fail@5,(b)")
	assert.NotRegexp(t, regexp.MustCompile(patterns[1]), "a:deliver@1+fail@5,(b),resume")
}

// timed is a test with a timeout.
type timed struct {
	*testing.T
	timeout time.Time
}

func (t timed) Deadline() (time.Time, bool) { return t.timeout, !t.timeout.IsZero() }

// A test gets the time that go test gives it, except for a reserve, which is a fraction of a short timeout.
func TestWithin(t *testing.T) {
	for left, spare := range map[time.Duration]time.Duration{time.Hour: 5 * time.Second, 8 * time.Second: 2 * time.Second} {
		timeout := time.Now().Add(left)
		ctx, cancel := subtests.Within(timed{t, timeout})
		ends, given := ctx.Deadline()
		cancel()
		require.True(t, given)
		assert.WithinDuration(t, timeout.Add(-spare), ends, time.Second)
	}
	ctx, cancel := subtests.Within(timed{t, time.Now().Add(-time.Hour)})
	defer cancel()
	assert.ErrorIs(t, context.Cause(ctx), subtests.ErrTimeout)
	for _, without := range []interface{ Context() context.Context }{timed{T: t}, struct{ testing.TB }{t}} {
		ctx, cancel := subtests.Within(without)
		_, given := ctx.Deadline()
		assert.False(t, given)
		assert.NoError(t, ctx.Err())
		cancel()
	}
}

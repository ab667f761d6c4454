package strays_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/property/internal/strays"
)

// Who is still there is told with where it was started; who was there before, or may stay, is
// not, nor are those of other runs.
func TestBeyond(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	mine, others := watchdog.NewLabel(), watchdog.NewLabel()
	here := 0
	leave := func(label watchdog.Label) {
		go func() {
			defer label.Begin()()
			go waitFor(never)
		}()
		here++
		require.True(t, patience.Until(func() bool { return waiting() == here }))
	}
	w := strays.Watch{Labels: func() []watchdog.Label { return []watchdog.Label{mine} }, Over: func() bool { return false }}
	leave(others)
	assert.Empty(t, w.Beyond(nil))
	leave(mine)
	before := w.Now()
	require.Len(t, before, 1)
	assert.Empty(t, w.Beyond(before))
	leave(mine)
	leave(mine)
	left := w.Beyond(before)
	require.Len(t, left, 1)
	assert.Equal(t, 2, left[0].Count)
	assert.Regexp(t, `^2 goroutines had not ended when the turn had: .*\n2 goroutines started by .*strays_test\.TestBeyond.* at .*strays_test\.go:\d+, in .*strays_test\.waitFor at .*strays_test\.go:\d+ \(chan receive\)$`, strays.Text(left))
	w.Background = []string{"github.com/adkreplay/adkreplay/property/internal/strays_test.waitFor"}
	assert.Empty(t, w.Beyond(nil))
}

func waitFor(c chan struct{}) { <-c }

// waiting is how many goroutines have come to their wait.
func waiting() (count int) {
	for _, g := range watchdog.All() {
		if g.State == "chan receive" && strings.HasSuffix(g.Stack[0].Function, ".waitFor") {
			count++
		}
	}
	return count
}

// Only within a client's own sending is a goroutine one that keeps to the client's timeout.
func TestInClient(t *testing.T) {
	assert.False(t, strays.InClient())
	client := http.Client{Transport: asking(func() { assert.True(t, strays.InClient()) })}
	_, err := client.Get("http://weather.example")
	assert.ErrorIs(t, err, http.ErrNotSupported)
}

type asking func()

func (a asking) RoundTrip(*http.Request) (*http.Response, error) {
	a()
	return nil, http.ErrNotSupported
}

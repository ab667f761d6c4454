package watchdog

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answersAtOnce is a transport that answers without a connection.
type answersAtOnce struct{}

func (answersAtOnce) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("x")), Request: req}, nil
}

// A label is alone if its caller is the last goroutine of the run, apart from what a net/http client keeps.
// After many calls that found others, not every call looks.
func TestAlone(t *testing.T) {
	label := NewLabel()
	defer label.Begin()()
	var a Alone
	assert.True(t, a.Is(label))

	client := &http.Client{Timeout: time.Hour, Transport: answersAtOnce{}}
	resp, err := client.Get("http://world.example")
	require.NoError(t, err)
	require.NotEmpty(t, Of(label), "the client waits for the end of the body")
	assert.True(t, a.Is(label))
	require.NoError(t, resp.Body.Close())

	var other sync.WaitGroup
	over := make(chan struct{})
	other.Go(func() { <-over })
	for range 100 {
		assert.False(t, a.Is(label))
	}
	close(over)
	other.Wait()
	asked := 1
	for ; !a.Is(label); asked++ {
	}
	assert.Greater(t, asked, 1, "it does not look each time")
	assert.LessOrEqual(t, asked, 200)
}

package fakes_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fakes"
)

// A transport answers a client as a provider does, in order and without a network.
func TestTransportServesInOrder(t *testing.T) {
	answers := fakes.NewTransport(fakes.Converse(
		fakes.StreamReply("It ", "rains."),
		fakes.Reply{Status: 429, ContentType: "application/json", Body: `{"error":"slow down"}`},
	))
	client := http.Client{Transport: answers}
	post := func(ctx context.Context, body string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat", strings.NewReader(body))
		require.NoError(t, err)
		return client.Do(req)
	}
	resp, err := post(t.Context(), "a")
	require.NoError(t, err)
	first := make([]byte, 1<<10)
	n, err := resp.Body.Read(first)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(first[:n]), "data: "), "event by event")
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, fakes.StreamReply("It ", "rains.").Body, string(first[:n])+string(rest))

	ctx, cancel := context.WithCancelCause(t.Context())
	resp, err = post(ctx, "b")
	require.NoError(t, err)
	assert.Equal(t, 429, resp.StatusCode)
	assert.Equal(t, int64(len(`{"error":"slow down"}`)), resp.ContentLength)
	left := errors.New("left")
	cancel(left)
	_, err = io.ReadAll(resp.Body)
	assert.ErrorIs(t, err, left, "nothing is read of an answer that nobody waits for")
	_, err = post(ctx, "c")
	assert.ErrorIs(t, err, left)
	_, err = post(t.Context(), "d")
	assert.ErrorContains(t, err, "has 2 interactions and this is request 3")
	assert.Equal(t, fakes.ProviderRequest{Method: "POST", URL: "https://model.example/v1/chat", Headers: http.Header{}, Body: "b"}, answers.Requests()[1])
}

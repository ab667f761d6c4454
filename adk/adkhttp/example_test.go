package adkhttp_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// canned answers in the place of a network.
type canned struct{}

func (canned) RoundTrip(r *http.Request) (*http.Response, error) {
	const answer = `{"text":"It rains."}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)), Request: r}, nil
}

// What a client asks with the context of a seam call is a part of the turn: the recording has
// request and answer, and no key.
func Example() {
	client := &http.Client{Transport: adkhttp.NewTransport(canned{})}
	executor := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/answer", strings.NewReader(`{"q":"weather"}`))
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer not-in-the-trace")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return err
		}
		return dc.Ack()
	}
	var trace strings.Builder
	config := adk.Config{Executor: adk.Executor{Name: "model", Run: executor}, Storage: fakes.NoOpStorage()}
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Answer."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("asked:", strings.Contains(trace.String(), `"q":"weather"`), "answered:", strings.Contains(trace.String(), "It rains."),
		"the key:", strings.Contains(trace.String(), "not-in-the-trace"))
	// Output: asked: true answered: true the key: false
}

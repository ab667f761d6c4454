package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// plainAnswers answers a request with what it asks for.
type plainAnswers struct{}

func (plainAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("load of " + req.URL.RequestURI())), Request: req}, nil
}

// got is what answers a GET, of whatever status.
func got(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(body), err
}

// Behind a fault nobody who reads is given what somebody else was answered, also not who asks what
// nobody has asked in the undisturbed run, or asks for the same more often; and who asks by a
// function is answered by that.
func TestNobodyGetsTheAnswerOfAnother(t *testing.T) {
	kinds := []turn.FaultKind{turn.AskRefused, turn.AskTimeout, turn.AskFailed, turn.AskUnavailable, turn.AskBusy, turn.AskSlow, turn.AskCut, turn.AskEmpty, turn.AskDownOne, turn.AskLost}
	for name, ask := range map[string]func(ctx context.Context, client *http.Client, path string) (string, error){
		"http": func(ctx context.Context, client *http.Client, path string) (string, error) {
			return got(ctx, client, "http://metrics.example/"+path)
		},
		"function": func(ctx context.Context, _ *http.Client, path string) (string, error) {
			return adk.Ask(ctx, "metrics", path, func(_ context.Context, path string) (string, error) { return "load of /" + path, nil })
		},
	} {
		for _, atOnce := range []bool{false, true} {
			subject := turn.Subject{Name: name, Open: func(context.CancelCauseFunc) turn.Instance {
				client := &http.Client{Transport: adkhttp.NewTransport(plainAnswers{})}
				var mu sync.Mutex
				var wrong error
				load := func(ctx context.Context, of string) {
					for _, path := range []string{of, of, of + "/replica", of} {
						text, err := ask(ctx, client, path)
						if err == nil && text != "" && text != "load of /"+path {
							mu.Lock()
							wrong = fmt.Errorf("who asked for %s was told %s", path, text)
							mu.Unlock()
						}
						if err == nil && text != "" {
							return
						}
					}
				}
				run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					var wg sync.WaitGroup
					for _, of := range []string{"a", "b", "c"} {
						if atOnce {
							wg.Go(func() { load(ctx, of) })
						} else {
							load(ctx, of)
						}
					}
					wg.Wait()
					return dc.Ack()
				}
				return turn.Instance{Raw: adk.RawTurn{SystemPrompt: "Help."}, Check: func(turn.Run) error { return wrong },
					Config: adk.Config{Executor: adk.Executor{Name: "agent", Run: run}, Storage: fakes.NewStorage().Storage()}}
			}}
			result, err := Explore(t.Context(), subject, Options{Faults: kinds})
			require.NoError(t, err)
			for _, b := range result.Violations {
				assert.NotContains(t, b.Text, "was told", "%s, %v: %s", name, atOnce, b)
			}
		}
	}
}

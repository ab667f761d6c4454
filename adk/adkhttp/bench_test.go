package adkhttp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// copying is the floor: a transport that copies what goes through it, and tells nobody.
type copying struct {
	base http.RoundTripper
	kept []byte
}

func (c *copying) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	var kept bytes.Buffer
	if _, err := io.Copy(&kept, body); err != nil {
		return nil, err
	}
	resp, err := c.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	c.kept = append(kept.Bytes(), answer...)
	return resp, err
}

// answering is a world that is in memory.
var answering = roundTrip(func(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	return &http.Response{StatusCode: 200, ContentLength: -1, Request: req, Body: io.NopCloser(strings.NewReader(said)),
		Header: http.Header{"Content-Type": {"application/json"}}}, nil
})

var (
	said  = `{"choices":[{"message":{"role":"assistant","content":"` + strings.Repeat("It rains. ", 60) + `"}}]}`
	asked = func(n int) string {
		return fmt.Sprintf(`{"model":"m","n":%d,"messages":[{"role":"user","content":"%s"}]}`, n, strings.Repeat("How is the weather in Oslo? ", 146))
	}
)

// post asks once, with a request of 4 KB.
func post(ctx context.Context, client *http.Client, n int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1", strings.NewReader(asked(n)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// What a recorded ask of 4 KB costs, and one through a transport that copies the bodies.
func BenchmarkAsk(b *testing.B) {
	b.Run("copied", func(b *testing.B) {
		client := &http.Client{Transport: &copying{base: answering}}
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			require.NoError(b, post(b.Context(), client, n))
		}
	})
	b.Run("recorded", func(b *testing.B) {
		client := &http.Client{Transport: adkhttp.NewTransport(answering)}
		b.ReportAllocs()
		config := turn(func(ctx context.Context) {
			for n := 0; b.Loop(); n++ {
				require.NoError(b, post(ctx, client, n))
			}
		})
		runner := must(adk.NewRunner(fakes.Deterministic(config, replay.Record(io.Discard))))
		require.NoError(b, runner.Run(b.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	})
}

// How many answers a replay serves, each to a request of 4 KB of its own.
func BenchmarkServed(b *testing.B) {
	for _, asks := range []int{1000, 2000} {
		b.Run(fmt.Sprint(asks), func(b *testing.B) {
			base := http.RoundTripper(answering)
			run := turn(func(ctx context.Context) {
				client := &http.Client{Transport: adkhttp.NewTransport(base)}
				for n := range asks {
					require.NoError(b, post(ctx, client, n))
				}
			})
			var written bytes.Buffer
			runner := must(adk.NewRunner(fakes.Deterministic(run, replay.Record(&written))))
			require.NoError(b, runner.Run(b.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
			base = roundTrip(func(*http.Request) (*http.Response, error) { panic("the world was asked") })
			for b.Loop() {
				report, err := replay.Verify(b.Context(), bytes.NewReader(written.Bytes()), replay.LiveExecutor(run.Executor.Run))
				require.NoError(b, err)
				require.Nil(b, report.Divergence)
			}
			b.ReportMetric(float64(b.N*asks)/b.Elapsed().Seconds(), "answers/s")
		})
	}
}

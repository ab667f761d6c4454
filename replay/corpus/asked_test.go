package corpus_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// fetch is the helper that makes all requests of an agent.
func fetch(ctx context.Context, method, url string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: adkhttp.NewTransport(nil)}).Do(req)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

// ordering is an agent that looks an order up, and may cancel it.
func ordering(server, order string, cancels bool) adk.Config {
	return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if err := fetch(ctx, http.MethodGet, server+"/orders/"+order); err != nil {
			return err
		}
		if cancels {
			if err := fetch(ctx, http.MethodPost, server+"/orders/"+order+"/cancel"); err != nil { // in the step
				return err
			}
		}
		return dc.Ack()
	}}}
}

// A headline names the HTTP request, since one host serves many. Where the traces differ in the request,
// that is data, and the cause is the same. The mark stands at the agent's step, not in the helper.
func TestWhatIsAskedOverHTTPIsNamed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	orders := []string{"17", "18"}
	var sources []corpus.Source
	for _, order := range orders {
		var trace bytes.Buffer
		runner, err := adk.NewRunner(fakes.Deterministic(ordering(server.URL, order, false), replay.Record(&trace)))
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Mind the orders."}))
		sources = append(sources, corpus.Source{Name: order, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(trace.Bytes())), nil
		}})
	}
	live := func(trace string) replay.Live {
		return replay.Live{Config: ordering(server.URL, trace, true), Seams: []string{replay.Executor}}
	}
	one, err := corpus.Verify(t.Context(), sources[:1], live)
	require.NoError(t, err)
	require.Len(t, one.Causes, 1)
	assert.Contains(t, one.Causes[0].Text, " POST /orders/17/cancel")
	both, err := corpus.Verify(t.Context(), sources, live)
	require.NoError(t, err)
	require.Len(t, both.Causes, 1)
	assert.Contains(t, both.Causes[0].Text, " POST /orders/…/cancel")

	d := one.Traces[0].Divergence
	require.NotEmpty(t, d.Callers)
	_, line, _ := strings.Cut(d.Callers[len(d.Callers)-1], ":")
	line, _, _ = strings.Cut(line, " ")
	var annotations, junit bytes.Buffer
	require.NoError(t, one.WriteAnnotations(&annotations))
	require.NoError(t, one.WriteJUnit(&junit))
	assert.Contains(t, annotations.String(), "file=replay/corpus/asked_test.go,line="+line+",")
	assert.Contains(t, junit.String(), `file="replay/corpus/asked_test.go" line="`+line+`"`)
}

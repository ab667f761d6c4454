package replay_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/internal/beside"
	"github.com/adkreplay/adkreplay/replay"
)

// The number of concurrent asks that a replay refused is reported only if no other replay was
// running, whose code may have asked.
func TestRefusalsAreCountedForOneReplay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: adkhttp.NewTransport(nil, adkhttp.Name(func(*http.Request) string { return "shop" }))}
	agent := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		return dc.Ack()
	})
	recorded := turnOf(t, agent, adk.RawTurn{})
	for _, said := range []string{"shop (1 time)", "shop"} {
		if said == "shop" {
			defer beside.Begin(func(string) bool { return false }).End()
		}
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: agent, Seams: []string{replay.Executor}})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		assert.Equal(t, []string{said}, report.Divergence.Refused)
	}
}

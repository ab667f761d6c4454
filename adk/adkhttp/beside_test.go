package adkhttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/replay"
)

// WLD-5: while a turn is replayed with live code, a request without a handle is refused, and
// the report counts it. Whom Outside names is asked; so is, by what an ask does itself,
// whoever it wants.
func TestAskedBesideTheContext(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: adkhttp.NewTransport(nil, adkhttp.Name(func(*http.Request) string { return "tokens" }))}
	var errs []error
	ask := func(ctx context.Context) {
		request := get(ctx, server.URL)
		request.Body = io.NopCloser(strings.NewReader("grant"))
		resp, err := client.Do(request)
		if errs = append(errs, err); err == nil {
			_ = resp.Body.Close()
		}
	}
	run := func(ctx context.Context) {
		ask(context.Background())
		ask(context.Background())
		_, _ = adk.Ask(ctx, "model", "", func(ctx context.Context, _ string) (string, error) {
			ask(ctx)
			return "", nil
		})
	}
	written := recorded(t, run)
	require.Equal(t, 3, asked)

	executor := []string{replay.Executor}
	for name, c := range map[string]struct {
		outside []string
		asked   int
		said    string
	}{
		"nobody may be asked":     {nil, 0, "and refused: tokens (2 times)"},
		"who is may be asked":     {[]string{"tokens"}, 2, ""},
		"what an ask does itself": {[]string{"model"}, 1, "and refused: tokens (2 times)"},
	} {
		asked, errs = 0, nil
		report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.Live{Config: turn(run), Seams: executor, Outside: c.outside})
		require.NoError(t, err)
		assert.Equal(t, c.asked, asked, name)
		said := strings.Join(report.NotCompared, "; ")
		assert.Equal(t, c.said != "", strings.Contains(said, "and refused"), "%s: %s", name, said)
		assert.Contains(t, said, c.said, name)
		for _, err := range errs[:2] {
			assert.Equal(t, c.said != "", errors.Is(err, adk.E_UNANSWERED), "%s: %v", name, err)
		}
	}
	ask(context.Background())
	assert.NoError(t, errs[len(errs)-1], "no turn is replayed any more")
}

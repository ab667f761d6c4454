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

// While a turn is replayed with live code, a request whose context has no handle is refused, and the
// report counts it. A service that Outside names is asked all the same, and so is any service that
// is asked from within the function of an ask.
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

// When a run diverges because a request was refused, the difference says that first, and says what
// to do: an agent whose token source has a context of its own would otherwise look changed.
func TestRefusedBesideTheContextIsSaidFirst(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	name := func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/") }
	client := &http.Client{Transport: adkhttp.NewTransport(nil, adkhttp.Name(name))}
	run := func(ctx context.Context) {
		for _, request := range []*http.Request{get(context.Background(), server.URL+"/tokens"), get(ctx, server.URL+"/model")} {
			resp, err := client.Do(request)
			if err != nil {
				return
			}
			_ = resp.Body.Close()
		}
	}
	written := recorded(t, run)
	verify := func(outside ...string) *replay.Report {
		report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.Live{Config: turn(run), Seams: []string{replay.Executor}, Outside: outside})
		require.NoError(t, err)
		return report
	}
	assert.Nil(t, verify("tokens").Divergence)
	differs := verify().Divergence
	require.NotNil(t, differs)
	assert.Equal(t, []string{"tokens (1 time)"}, differs.Refused)
	said := strings.Join(strings.SplitAfter(differs.String(), "\n")[:8], "")
	assert.Contains(t, said, "refused: tokens (1 time)")
	assert.Contains(t, said, "Live.Outside")
}

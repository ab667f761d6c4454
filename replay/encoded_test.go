package replay_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// shop pays whatever it is asked for in the tests below.
type shop struct{}

func (shop) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// paying is an agent that takes a card and an address out of the stash, encodes them with made,
// and emits the result in every place where an agent can.
func paying(made func(card, mail string) string) adk.Config {
	client := &http.Client{Transport: adkhttp.NewTransport(shop{})}
	return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		card, _ := dc.Stash().Get("card", "").(string)
		mail, _ := dc.Stash().Get("mail", "").(string)
		said := made(card, mail)
		h.Log(adk.LevelInfo, "event", said, map[string]any{"said": said})
		_, err := h.ReportMessage("m", said, true)
		failed := []error{err}
		for _, body := range []string{said, fmt.Sprintf(`{"said":%q}`, said), "said=" + said} {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://shop.example/pay/"+url.PathEscape(mail)+"/"+hex.EncodeToString([]byte(card)), strings.NewReader(body))
			if err != nil {
				return err
			}
			request.Header.Set("X-Said", said)
			answer, err := client.Do(request)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, answer.Body)
			failed = append(failed, err, answer.Body.Close())
		}
		_, err = dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: said + "?"})
		return errors.Join(append(failed, err, dc.Stash().Set("said", said), dc.Stash().Set("bytes", []byte(said)), dc.Ack())...)
	}}}
}

// Code that replays a redacted recording gets placeholders. An encoded placeholder equals the redacted form
// of the encoded secret in the recording, and nothing else does. The turn can therefore be recorded again.
func TestEncodedPlaceholders(t *testing.T) {
	std := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	const card, mail = "4929-1234-5678-1234", "ada@lovelaces.example"
	rules := &redact.Rules{Paths: []string{"card"}, Patterns: []redact.Pattern{{Kind: "mail", Expr: `[a-z.]+@[a-z]+\.example`}}}
	raw := adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{"card": card, "mail": mail}, Observability: adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) {
		_, err := e.Gate.Resolve(mail, true)
		assert.NoError(t, err)
	}}}
	type makes func(card, mail string) string
	for name, c := range map[string]struct{ made, other makes }{
		"in a query": {
			func(c, m string) string { return url.QueryEscape(m) + "&" + url.QueryEscape("c "+c) },
			func(c, m string) string { return url.QueryEscape(m) + "&" + url.QueryEscape("c "+c[1:]) }},
		"in a form": {
			func(c, m string) string { return url.Values{"card": {c}, "mail": {"<" + m + ">"}}.Encode() },
			func(c, m string) string { return url.Values{"card": {c}, "mail": {"<" + c + ">"}}.Encode() }},
		"in hex": {
			func(c, m string) string { return hex.EncodeToString([]byte("<" + m + ">")) },
			func(c, m string) string { return hex.EncodeToString([]byte("<" + m + "!")) }},
		"half of it in hex": {
			func(c, m string) string { return strings.ToUpper(hex.EncodeToString([]byte(m + c))) },
			func(c, m string) string { return strings.ToUpper(hex.EncodeToString([]byte(m + c[len(c)/2:]))) }},
		"another one in base64": {
			func(c, m string) string { return std(m) },
			func(c, m string) string { return std(c) }},
		"between others in base64": {
			func(c, m string) string { return std("a" + c + ":" + m + ";") },
			func(c, m string) string { return std("a" + c + ":" + m + ".") }},
		"without padding": {
			func(c, m string) string { return base64.RawURLEncoding.EncodeToString([]byte("~~~>>" + m + "???" + c)) },
			func(c, m string) string { return base64.RawURLEncoding.EncodeToString([]byte("~~~>>" + m + "??" + c)) }},
	} {
		t.Run(name, func(t *testing.T) {
			var recorded bytes.Buffer
			runner, err := adk.NewRunner(fakes.Deterministic(paying(c.made), replay.Record(&recorded, replay.RecordOptions{Redact: rules})))
			require.NoError(t, err)
			require.NoError(t, runner.Run(t.Context(), raw))
			for _, rules := range []*redact.Rules{rules, nil} {
				live := replay.Live{Config: paying(c.made), Seams: []string{replay.Executor}, Redact: rules}
				report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), live)
				require.NoError(t, err)
				assert.Nil(t, report.Divergence, "rules %v: %v", rules != nil, report)
				if rules != nil {
					var again bytes.Buffer
					_, err = replay.Rerecord(t.Context(), bytes.NewReader(recorded.Bytes()), &again, live)
					require.NoError(t, err)
					assert.Equal(t, recorded.String(), again.String())
				}
				live.Config = paying(c.other)
				report, err = replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), live)
				require.NoError(t, err)
				require.NotNil(t, report.Divergence, "rules %v", rules != nil)
				assert.NotContains(t, report.String(), "]/encoded_test.go", "the replay, which settles a gate in the place of somebody, is no secret")
			}
		})
	}
}

// If code encodes the placeholder that it was given, it does not follow that the rules would find
// the secret if the code knew it from elsewhere.
func TestAnEncodedPlaceholderVouchesForNoSecret(t *testing.T) {
	const secret = "correct-horse"
	agent := func(words string) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			password, _ := dc.Stash().Get("password", "").(string)
			h.Log(adk.LevelInfo, "event", hex.EncodeToString([]byte(password)), nil)
			h.Log(adk.LevelInfo, "event", words, nil)
			return dc.Ack()
		}}}
	}
	rules := &redact.Rules{Paths: []string{"password"}}
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(agent("it is "+secret), replay.Record(&recorded, replay.RecordOptions{Redact: rules})))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{"password": secret}}))
	live := replay.Live{Config: agent("now " + secret + " it is"), Seams: []string{replay.Executor}, Redact: rules}
	assert.Contains(t, refusedToRerecord(t, recorded.Bytes(), live), "in other words what had [redacted:password:1] in the recording")
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), live)
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.NotContains(t, report.String(), "horse")
}

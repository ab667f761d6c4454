package replay_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// messenger is an agent with secrets of its own: the token of a bot, which is part of its paths,
// and the key of a search, in a query and in a body.
type messenger struct {
	base, bot, key string
	sends          string // the token with which messages are sent; bot, if empty
	limit          int
	says           string
	instead        string // the token, in place of the one that it was handed
	quiet          bool   // the log does not say the token
}

// These have the form that botRules find.
const (
	aBot       = "12345678:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
	anotherBot = "87654321:BBEhBOweik6ad9r_QXMENQjcrGbqCr4K-xx"
	aMapKey    = "AIzaSyD-1234567890abcdefghijklmnopqrstu"
)

func botRules() *redact.Rules {
	return &redact.Rules{Paths: []string{"handed"}, Patterns: []redact.Pattern{{Kind: "bot", Expr: `[0-9]{8}:[A-Za-z0-9_-]{35}`}, {Kind: "key", Expr: `AIza[A-Za-z0-9_-]{35}`}}}
}

func (m messenger) run(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	client := &http.Client{Transport: adkhttp.NewTransport(nil)}
	ask := func(where, body string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.base+where, strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}
	sends := cmp.Or(m.sends, m.bot)
	asks := [][2]string{
		{"/bot" + url.PathEscape(m.bot) + "/getUpdates", fmt.Sprintf(`{"limit":%d}`, m.limit)},
		{"/map?key=" + url.QueryEscape(m.key), `{}`},
		{"/search", fmt.Sprintf(`{"key":%q,"text":"Oslo"}`, m.key)},
		{"/bot" + url.PathEscape(sends) + "/sendMessage", fmt.Sprintf(`{"text":%q}`, m.says)},
	}
	if handed := dc.Stash().Get("handed", nil); handed != nil {
		asks = append(asks, [2]string{"/handed", fmt.Sprintf(`{"token":%q}`, cmp.Or(m.instead, fmt.Sprint(handed)))})
	}
	for _, a := range asks {
		if err := ask(a[0], a[1]); err != nil {
			return err
		}
	}
	if !m.quiet {
		h.Log(adk.LevelInfo, "done", "answered as "+m.bot, nil)
	}
	return dc.Ack()
}

func (m messenger) recorded(t *testing.T, rules *redact.Rules) []byte {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	m.base = server.URL
	var out bytes.Buffer
	config := adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: m.run}}
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&out, replay.RecordOptions{Redact: rules})))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Answer.", Stash: map[string]any{"handed": "what-somebody-was-handed"}}))
	require.NotContains(t, out.String(), m.bot)
	require.NotContains(t, out.String(), m.key)
	return out.Bytes()
}

// Live code may have secrets of its own in any request. A redacted recording does not say which
// secrets the recorded code had, so other ones stand for them, even if they do not look like secrets.
func TestSecretsOfLiveCodesOwn(t *testing.T) {
	m := messenger{bot: aBot, key: aMapKey, limit: 1, says: "Hello."}
	recorded := m.recorded(t, botRules())
	verify := func(t *testing.T, recorded []byte, today messenger, rules *redact.Rules) *replay.Report {
		t.Helper()
		today.base = "http://127.0.0.1:1"
		live := replay.LiveExecutor(today.run)
		live.Redact = rules
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), live)
		require.NoError(t, err)
		return report
	}
	quiet := m
	quiet.quiet = true
	short := quiet.recorded(t, botRules())
	for name, today := range map[string]messenger{
		"the same":           {bot: aBot, key: aMapKey},
		"others":             {bot: anotherBot, key: strings.Replace(aMapKey, "1234", "9876", 1)},
		"of tests":           {bot: "a-token-of-tests", key: "a-key-of-tests"},
		"short":              {bot: "bot", key: "k", quiet: true},
		"a word like others": {bot: "sendMessage", key: "a-key-of-tests", quiet: true},
		"with characters":    {bot: `a"to\ken-<&>`, key: `<a>"key&\with-signs`},
		"the placeholders":   {bot: "[redacted:bot:2]", key: "[redacted:key:3]"},
		"one of the two":     {bot: aBot, key: "[redacted:key:3]"},
		"of the other kind":  {bot: aMapKey, key: aBot},
	} {
		for _, rules := range []*redact.Rules{nil, botRules()} {
			t.Run(fmt.Sprintf("%s, rules %t", name, rules != nil), func(t *testing.T) {
				today.limit, today.says = m.limit, m.says
				of := recorded
				if today.quiet {
					of = short
				}
				report := verify(t, of, today, rules)
				assert.Nil(t, report.Divergence, "%v", report.Divergence)
				said := strings.Join(report.NotCompared, "\n")
				assert.Equal(t, name != "the placeholders", strings.Contains(said, "secrets that live code has of its own, for which the recording has [redacted:"), said)
				assert.NotContains(t, fmt.Sprint(report), today.bot+"/")
			})
		}
	}

	// Changes are reported as usual, without the secrets.
	for want, change := range map[string]func(*messenger){
		`changed input at crossing 8, in executor/model#0 ask localhost POST /bot[redacted:bot:2]/getUpdates… request.body.limit: expected 1, got 2`:                   func(m *messenger) { m.limit = 2 },
		`changed input at crossing 17, in executor/model#0 ask localhost POST /bot[redacted:bot:2]/sendMessage… request.body.text: expected "Hello.", got "Good day."`: func(m *messenger) { m.says = "Good day." },
		`request.body.token: expected "[redacted:handed:1]" got "`:                       func(m *messenger) { m.instead = "what-nobody-was-handed" },
		`request.path: expected "/bot[redacted:bot:2]/getUpdates" got "/bot/getUpdates"`: func(m *messenger) { m.bot = "" },
		`request.path: expected "/bot[redacted:bot:2]/sendMessage" got`:                  func(m *messenger) { m.sends = "87654321:CCEhBOweik6ad9r_QXMENQjcrGbqCr4K-zz" },
	} {
		for _, rules := range []*redact.Rules{nil, botRules()} {
			today := m
			today.bot = anotherBot
			change(&today)
			report := verify(t, recorded, today, rules)
			require.NotNil(t, report.Divergence, want)
			assert.Contains(t, strings.Join(strings.Fields(report.Divergence.Summary()), " "), want)
			assert.NotContains(t, report.Divergence.String(), anotherBot)
		}
	}
}

// A new recording has the recorded placeholders, and none of today's secrets.
func TestSecretsOfLiveCodesOwnAreNotRecorded(t *testing.T) {
	m := messenger{bot: aBot, key: aMapKey, limit: 1, says: "Hello."}
	recorded := m.recorded(t, botRules())
	m.base, m.bot, m.key, m.says = "http://127.0.0.1:1", "a-token-of-tests", "a-key-of-tests", "Good day."
	live := replay.LiveExecutor(m.run)
	live.Redact = botRules()
	var out bytes.Buffer
	_, err := replay.Rerecord(t.Context(), bytes.NewReader(recorded), &out, live)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "Good day.")
	assert.Equal(t, strings.Count(string(recorded), "[redacted:bot:2]"), strings.Count(out.String(), "[redacted:bot:2]"))
	assert.NotContains(t, out.String(), "of-tests")
}

// A secret of live code is not part of a reported change, even if something else in the same request
// has changed, and even if the secret is an ordinary word: the report is not searched for it, either.
func TestSecretsOfLiveCodesOwnInChangedRequests(t *testing.T) {
	type speech struct{ Voice, Text, Key string }
	agent := func(says speech) adk.Config {
		return doing(func(ctx context.Context, _ *adk.DispatchContext) error {
			_, err := adk.Ask(ctx, "speech", says, func(context.Context, speech) (string, error) { return "said", nil })
			return err
		})
	}
	var out bytes.Buffer
	config := fakes.Deterministic(agent(speech{"alloy", "I have written", aMapKey}), replay.Record(&out, replay.RecordOptions{Redact: botRules()}))
	runner, err := adk.NewRunner(config)
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
	for key, fields := range map[string][]string{"test": {"request.Voice"}, "ownsecrets": {"request.Voice"}} {
		d := divergenceOf(t, out.Bytes(), replay.LiveExecutor(agent(speech{"nova", "I have written", key}).Executor.Run))
		require.NotNil(t, d)
		var told []string
		for _, f := range d.Fields {
			told = append(told, f.Field)
		}
		assert.Equal(t, fields, told, "%s: %s", key, d)
		assert.Contains(t, d.Place, "ownsecrets_test.go")
	}
}

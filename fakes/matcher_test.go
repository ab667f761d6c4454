package fakes_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fakes"
)

// said returns what a transport answers to a request, or its error.
func said(t *testing.T, transport *fakes.Transport, method, url, body string, headers ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(answer)
}

// CAS-3: the first unused interaction whose matcher fits answers, and no other.
func TestMatchers(t *testing.T) {
	answer := func(body string, when *fakes.Matcher) fakes.Interaction {
		return fakes.Interaction{Response: fakes.Reply{Body: body}, When: when}
	}
	const url = "https://model.example/v1/chat?x=1"
	for name, c := range map[string]struct {
		when *fakes.Matcher
		fits bool
	}{
		"anything":                 {&fakes.Matcher{}, true},
		"the method":               {&fakes.Matcher{Method: "post"}, true},
		"another method":           {&fakes.Matcher{Method: "GET"}, false},
		"the URL":                  {&fakes.Matcher{URL: url}, true},
		"path and query":           {&fakes.Matcher{URL: "/v1/chat?x=1"}, true},
		"another host":             {&fakes.Matcher{URL: "https://other.example/v1/chat?x=1"}, false},
		"another path":             {&fakes.Matcher{URL: "/v1/chat"}, false},
		"a pattern":                {&fakes.Matcher{Pattern: `/v\d+/chat`}, true},
		"another pattern":          {&fakes.Matcher{Pattern: `^/v1`}, false},
		"a pattern that is none":   {&fakes.Matcher{Pattern: `(`}, false},
		"a header":                 {&fakes.Matcher{Headers: map[string]string{"x-team": "weather"}}, true},
		"another header":           {&fakes.Matcher{Headers: map[string]string{"X-Team": "news"}}, false},
		"a part of the body":       {&fakes.Matcher{Body: `{"model":"m","messages":[{"role":"user"}]}`}, true},
		"another value":            {&fakes.Matcher{Body: `{"model":"n"}`}, false},
		"a shorter list":           {&fakes.Matcher{Body: `{"messages":[]}`}, false},
		"a member too many":        {&fakes.Matcher{Body: `{"stream":true}`}, false},
		"another type":             {&fakes.Matcher{Body: `{"model":{}}`}, false},
		"a body that is none":      {&fakes.Matcher{Body: `{`}, false},
		"a function":               {&fakes.Matcher{Fits: func(r fakes.ProviderRequest) bool { return strings.Contains(r.Body, "Hi") }}, true},
		"a function that does not": {&fakes.Matcher{Fits: func(fakes.ProviderRequest) bool { return false }}, false},
	} {
		t.Run(name, func(t *testing.T) {
			transport := fakes.NewTransport(fakes.Conversation{Interactions: []fakes.Interaction{answer("this", c.when), answer("other", nil)}})
			want := map[bool]string{true: "this", false: "other"}[c.fits]
			assert.Equal(t, want, said(t, transport, "POST", url, `{"model":"m","messages":[{"role":"user","content":"Hi"}],"n":1}`, "X-Team", "weather"))
		})
	}
}

// CAS-3: an interaction can be used once, unless it is reusable. The error for a request without an answer
// lists what is left.
func TestMatchersAreUsedUp(t *testing.T) {
	once, again := &fakes.Matcher{URL: "/once"}, &fakes.Matcher{Method: "GET", URL: "/again", Reusable: true}
	transport := fakes.NewTransport(fakes.Conversation{Interactions: []fakes.Interaction{
		{Response: fakes.Reply{Body: "1"}, When: once}, {Response: fakes.Reply{Body: "2"}, When: once}, {Response: fakes.Reply{Body: "3"}, When: again}}})
	assert.Equal(t, "3", said(t, transport, "GET", "http://x/again", ""))
	assert.Equal(t, "1", said(t, transport, "GET", "http://x/once", ""))
	assert.Equal(t, "3", said(t, transport, "GET", "http://x/again", ""))
	assert.Equal(t, "fakes: nothing fits request 4: GET http://x/twice; what remains: interaction 2 (/once), interaction 3 (GET /again)", said(t, transport, "GET", "http://x/twice", ""))
	assert.Equal(t, "2", said(t, transport, "GET", "http://x/once", ""))
	assert.Contains(t, said(t, transport, "GET", "http://x/once", ""), "what remains: interaction 3")
	assert.Len(t, transport.Requests(), 6)
}

// CAS-3: in recorded order, a request that differs is answered, and its differences are reported by path.
func TestDifferences(t *testing.T) {
	recorded := func(method, url, body string) fakes.Interaction {
		return fakes.Interaction{Request: fakes.ProviderRequest{Method: method, URL: url, Body: body}, Response: fakes.Reply{Body: "A", Headers: http.Header{"retry-after": {"1"}}}}
	}
	const url = "https://api.example/v1/chat"
	transport := fakes.NewTransport(fakes.Conversation{Interactions: []fakes.Interaction{
		recorded("POST", url, `{"model":"m","messages":[{"content":"Hi"}]}`),
		recorded("POST", url, `{"model":"m","messages":[{"content":"Hi"}],"n":1}`),
		recorded("PUT", url, `text`), recorded("", "", "")}})
	assert.Equal(t, "A", said(t, transport, "POST", "http://localhost:1/v1/chat", `{"messages":[{"content":"Hi"}], "model":"m"}`))
	assert.Empty(t, transport.Differences())
	assert.Equal(t, "A", said(t, transport, "POST", url, `{"model":"m","messages":[{"content":"Ho"},{"a":[1]}],"x":true}`))
	assert.Equal(t, "A", said(t, transport, "POST", "https://api.example/v2/chat", `other`))
	assert.Equal(t, "A", said(t, transport, "POST", url, `anything`))
	assert.Equal(t, []string{
		`request 2: body.messages[0].content: recorded "Hi", asked "Ho"`,
		`request 2: body.messages[1]: recorded nothing, asked {"a":[1]}`,
		`request 2: body.n: recorded 1, asked nothing`,
		`request 2: body.x: recorded nothing, asked true`,
		`request 3: method: recorded "PUT", asked "POST"`,
		`request 3: url: recorded "/v1/chat", asked "/v2/chat"`,
		`request 3: body: recorded "text", asked "other"`,
	}, transport.Differences())
}

// The headers of a reply are sent, both by a server and by a transport.
func TestReplyHeaders(t *testing.T) {
	conversation := fakes.Converse(fakes.Reply{Status: 429, ContentType: "application/json", Headers: http.Header{"retry-after": {"7"}}, Body: "{}"})
	provider := fakes.NewProvider(conversation)
	defer provider.Close()
	for name, transport := range map[string]http.RoundTripper{provider.URL(): http.DefaultTransport, "http://x": fakes.NewTransport(conversation)} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, name+"/v1", strings.NewReader("x"))
		require.NoError(t, err)
		resp, err := transport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, []string{"7", "application/json"}, []string{resp.Header.Get("Retry-After"), resp.Header.Get("Content-Type")})
	}
	assert.Equal(t, "POST", provider.Requests()[0].Method)
	assert.NotEmpty(t, provider.Requests()[0].Headers)
}

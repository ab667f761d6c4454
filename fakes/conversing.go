package fakes

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
)

// Matcher says which requests an interaction answers. A zero field matches any request.
type Matcher struct {
	Method string `json:"method,omitempty"`
	// URL is the whole URL, or only its path and query.
	URL string `json:"url,omitempty"`
	// Pattern is a regular expression that must match some part of the URL.
	Pattern string `json:"pattern,omitempty"`
	// Headers are headers that the request must have with exactly these values.
	Headers map[string]string `json:"headers,omitempty"`
	// Body is JSON that the request's body must contain: every member that is named here, and lists
	// of the same length.
	Body string `json:"body,omitempty"`
	// Fits is asked last, after all other fields match; nil accepts the request.
	Fits func(ProviderRequest) bool `json:"-"`
	// Reusable lets the interaction answer any number of requests, not only one.
	Reusable bool `json:"reusable,omitempty"`
}

// fits reports whether m matches a request. A nil matcher matches any. A pattern that does not
// compile, or a body that is not JSON, matches none.
func (m *Matcher) fits(request ProviderRequest) bool {
	switch {
	case m == nil:
		return true
	case m.Method != "" && !strings.EqualFold(m.Method, request.Method):
		return false
	case m.URL != "" && !sameURL(m.URL, request.URL):
		return false
	}
	if m.Pattern != "" {
		if pattern, err := regexp.Compile(m.Pattern); err != nil || !pattern.MatchString(request.URL) {
			return false
		}
	}
	for name, value := range m.Headers {
		if !slices.Contains(request.Headers.Values(name), value) {
			return false
		}
	}
	if m.Body != "" {
		part, readable := jsondiff.Decode(m.Body)
		whole, both := jsondiff.Decode(request.Body)
		if !readable || !both || !isPart(part, whole) {
			return false
		}
	}
	return m.Fits == nil || m.Fits(request)
}

// isPart reports whether the JSON tree part is contained in whole.
func isPart(part, whole any) bool {
	switch part := part.(type) {
	case map[string]any:
		object, ok := whole.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range part {
			if other, found := object[name]; !found || !isPart(value, other) {
				return false
			}
		}
		return true
	case []any:
		list, ok := whole.([]any)
		if !ok || len(list) != len(part) {
			return false
		}
		for i := range part {
			if !isPart(part[i], list[i]) {
				return false
			}
		}
		return true
	}
	return part == whole
}

// sameURL reports whether two URLs are equal. If one of them has no scheme and host, it compares
// only path and query.
func sameURL(a, b string) bool {
	whole := strings.Contains(a, "://") && strings.Contains(b, "://")
	return a == b || !whole && pathOf(a) == pathOf(b)
}

// pathOf returns the path of a URL and its query, sorted by parameter name and without the
// parameters that hold secrets, because recordings have none.
func pathOf(text string) string {
	to, err := url.Parse(text)
	if err != nil {
		return text
	}
	query, err := url.ParseQuery(to.RawQuery)
	if err != nil {
		return to.RequestURI()
	}
	maps.DeleteFunc(query, func(name string, _ []string) bool { return httpform.IsSecretParameter(name) })
	to.RawQuery = query.Encode()
	return to.RequestURI()
}

// conversing serves a conversation and remembers how far it has come. It is safe for concurrent
// use.
type conversing struct {
	mu           sync.Mutex
	interactions []Interaction
	spent        []bool
	inOrder      bool // no interaction has a matcher
	requests     []ProviderRequest
	differences  []string
}

func newConversing(c Conversation) conversing {
	return conversing{interactions: c.Interactions, spent: make([]bool, len(c.Interactions)),
		inOrder: !slices.ContainsFunc(c.Interactions, func(one Interaction) bool { return one.When != nil })}
}

// Requests returns all requests so far, in order, including those that got no answer.
func (c *conversing) Requests() []ProviderRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// Differences returns the places in which requests differed from the recorded requests whose
// answers they got, as in "request 2: body.messages[1].content: …". A recorded request without a
// body is not compared.
func (c *conversing) Differences() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.differences)
}

// next remembers a request and returns its reply.
func (c *conversing) next(request ProviderRequest) (Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, request)
	n := len(c.requests)
	if c.inOrder && n > len(c.interactions) {
		return Reply{}, fmt.Errorf("fakes: the conversation has %d interactions and this is request %d: %s %s",
			len(c.interactions), n, request.Method, request.URL)
	}
	for i, one := range c.interactions {
		if c.spent[i] || !one.When.fits(request) {
			continue
		}
		c.spent[i] = one.When == nil || !one.When.Reusable
		c.differences = append(c.differences, differencesOf(n, one.Request, request)...)
		reply, err := one.Response.to(request)
		if err != nil {
			err = fmt.Errorf("fakes: interaction %d cannot be said to request %d, %s %s: %w", i+1, n, request.Method, request.URL, err)
		}
		return reply, err
	}
	return Reply{}, fmt.Errorf("fakes: nothing fits request %d: %s %s; %s", n, request.Method, request.URL, c.rest())
}

// rest describes the interactions that have not been used. The caller holds mu.
func (c *conversing) rest() string {
	var left []string
	for i, one := range c.interactions {
		if !c.spent[i] {
			left = append(left, fmt.Sprintf("interaction %d", i+1)+one.When.words())
		}
	}
	if len(left) == 0 {
		return "nothing remains"
	}
	return "what remains: " + strings.Join(left, ", ")
}

// words describes what a matcher asks for, for an error.
func (m *Matcher) words() string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(strings.Fields(strings.Join([]string{m.Method, m.URL, m.Pattern, m.Body}, " ")), " "))
}

// differencesOf lists the places in which a request differs from the recorded one.
func differencesOf(n int, recorded, asked ProviderRequest) (all []string) {
	if recorded.Body == "" {
		return nil
	}
	tell := func(at string, was, is any) {
		all = append(all, fmt.Sprintf("request %d: %s: recorded %s, asked %s", n, at, brief(was), brief(is)))
	}
	if method := strings.ToUpper(recorded.Method); method != "" && method != asked.Method {
		tell("method", method, asked.Method)
	}
	if was, is := pathOf(recorded.URL), pathOf(asked.URL); recorded.URL != "" && was != is {
		tell("url", was, is)
	}
	was, readable := jsondiff.Decode(recorded.Body)
	is, both := jsondiff.Decode(asked.Body)
	if !readable || !both {
		if recorded.Body != asked.Body {
			tell("body", recorded.Body, asked.Body)
		}
		return all
	}
	rules := jsondiff.Rules{Same: reflect.DeepEqual, Pairs: byPlace, Deepest: 100}
	rules.Walk(jsondiff.At("body"), was, is, func(at jsondiff.Place, was, is any) { tell(at.Path, was, is) })
	return all
}

// byPlace pairs the elements of two lists by index, and elements beyond the shorter list with
// nothing.
func byPlace(a, b []any) (pairs []jsondiff.Pair, apart bool) {
	for i := range max(len(a), len(b)) {
		pair := jsondiff.Pair{A: i, B: i}
		if i >= len(a) {
			pair.A = -1
		}
		if i >= len(b) {
			pair.B = -1
		}
		pairs = append(pairs, pair)
	}
	return pairs, true
}

// brief returns a value as JSON of at most 120 characters.
func brief(value any) string {
	if _, absent := value.(jsondiff.Absent); absent {
		return "nothing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	return fmt.Sprintf("%.120s", text)
}

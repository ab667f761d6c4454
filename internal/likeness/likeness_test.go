package likeness_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/likeness"
)

func of(request string) *likeness.Likeness {
	return likeness.Of(&adk.Crossing{Kind: adk.KindAsk, Name: "model", JSON: json.RawMessage(request)})
}

// The likeness of two requests counts the words that they share, each together with its member, and it is
// symmetric. The upper bound from their lengths alone is never less than it.
func TestAlike(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		alike      float64
	}{
		{"the same", `{"say":"one two"}`, `{"say":"one two"}`, 1},
		{"nothing asked", `{}`, `{}`, 1},
		{"half of the words", `{"say":"one two"}`, `{"say":"one three"}`, 0.5},
		{"twice as many", `{"say":"one two"}`, `{"say":"one two three four"}`, 2.0 * 2 / 6},
		{"in another member", `{"say":"one two"}`, `{"hear":"one two"}`, 0},
		{"in another order", `{"say":"one two"}`, `{"say":"two one"}`, 1},
		{"of another value", `{"n":1}`, `{"n":2}`, 0},
		{"within lists", `{"all":[{"say":"one"},{"say":"two"}]}`, `{"all":[{"say":"two"}]}`, 2.0 / 3},
		{"what is no JSON", `{`, `{`, 1},
		{"another id made at random", `{"key":"k","token":"0b0f9d6e-3f5a-4c0e-9f0e-5d0a1c2b3d4e"}`, `{"key":"k","token":"7c9e6679-7425-40de-944b-e07fc1f90ae7"}`, 1},
		{"the same id, and all else another", `{"key":"k","of":"0b0f9d6e-3f5a-4c0e-9f0e-5d0a1c2b3d4e"}`, `{"key":"l","of":"0b0f9d6e-3f5a-4c0e-9f0e-5d0a1c2b3d4e"}`, 0.5},
		{"an id that is none of chance", `"0b0f9d6e-3f5a-1c0e-9f0e-5d0a1c2b3d4e"`, `"7c9e6679-7425-10de-944b-e07fc1f90ae7"`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := of(c.a).Words, of(c.b).Words
			assert.InDelta(t, c.alike, likeness.Alike(a, b), 1e-9)
			assert.InDelta(t, c.alike, likeness.Alike(b, a), 1e-9)
			assert.GreaterOrEqual(t, likeness.AtMost(a, b), likeness.Alike(a, b))
		})
	}
}

// A request of a few words is also compared by the parts of these words; a request of many words is not.
func TestParts(t *testing.T) {
	alike := func(a, b string) float64 {
		one, other := likeness.Parts(json.RawMessage(a)), likeness.Parts(json.RawMessage(b))
		if one == nil || other == nil {
			return -1
		}
		return likeness.Alike(one, other)
	}
	assert.InDelta(t, 4.0/5, alike(`"cache:docs:login"`, `"cache:login"`), 1e-9)
	assert.InDelta(t, 1.0/3, alike(`{"path":"/tmp/a.txt"}`, `{"path":"/var/b.txt"}`), 1e-9)
	assert.Zero(t, alike(`42`, `43`))
	assert.Equal(t, -1.0, alike(`"one two three four five"`, `"one"`))
}

// For a request over HTTP the method and the path are known; for others they are empty.
func TestOf(t *testing.T) {
	post := of(`{"method":"POST","path":"/chat","body":{"say":"one"}}`)
	assert.Equal(t, []string{"model", "POST", "/chat"}, []string{post.Of, post.Method, post.Path})
	bare := of(`["one"]`)
	assert.Equal(t, []string{"model", "", ""}, []string{bare.Of, bare.Method, bare.Path})
}

// A model's name in a path is part of what is asked, and not of where it is asked.
func TestAsksAt(t *testing.T) {
	at := func(method, path string) *likeness.Likeness { return &likeness.Likeness{Method: method, Path: path} }
	for _, c := range []struct {
		one, other string
		want       bool
	}{
		{"", "", true},
		{"/chat", "/chat", true},
		{"/chat", "/chats", false},
		{"/v1beta/models/flash:generateContent", "/v1beta/models/pro:generateContent", true},
		{"/v1beta/models/flash:generateContent", "/v1beta/models/flash:streamGenerateContent", false},
		{"/v1/models/flash:generateContent", "/v1beta/models/pro:generateContent", false},
		{"/openai/deployments/small/chat/completions", "/openai/deployments/large/chat/completions", true},
		{"/model/small/invoke", "/model/large/invoke", true},
		{"/model/small/invoke", "/models/small/invoke", false},
		{"/v1/models/small", "/v1/models/large", false}, // a member of a list is not a model that is asked
	} {
		assert.Equal(t, c.want, at("POST", c.one).AsksAt(at("POST", c.other)), "%s %s", c.one, c.other)
		assert.False(t, at("POST", c.one).AsksAt(at("GET", c.other)))
	}
}

// Two requests are the same except for their ids if everything else in them is equal and in the same place.
func TestSameButForIDs(t *testing.T) {
	const one, other = "9c2f6b1e-3a4d-4e5f-8a6b-7c8d9e0f1a2b", "9c2f6b1e-3a4d-4e5f-9b7c-0d1e2f3a4b5c"
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"key":"` + one + `","of":"tea"}`, `{"key":"` + other + `","of":"tea"}`, true},
		{`{"keys":["a` + one + `","` + other + `"]}`, `{"keys":["a` + other + `","` + one + `"]}`, true},
		{`{"key":"` + one + `","of":"tea"}`, `{"key":"` + other + `","of":"pie"}`, false},
		{`{"key":"` + one + `"}`, `{"key":"` + strings.Repeat("x", len(one)) + `"}`, false},
		{`{"key":"` + one + `"}`, `{"key":"` + one + `x"}`, false},
		{`{"of":"tea"}`, `{"of":"pie"}`, false},
		{`{"of":"tea"}`, `{"of":"tea"}`, true},
		{``, ``, true},
	} {
		assert.Equal(t, c.want, likeness.SameButForIDs([]byte(c.a), []byte(c.b)), "%s and %s", c.a, c.b)
	}
}

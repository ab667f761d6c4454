package likeness_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/likeness"
)

func of(request string) *likeness.Likeness {
	return likeness.Of(&adk.Crossing{Kind: adk.KindAsk, Name: "model", JSON: json.RawMessage(request)})
}

// How much two requests have in common is counted in words, each with the member that it
// stands in, and both ways alike; by their lengths alone it is never thought to be less.
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
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := of(c.a).Words, of(c.b).Words
			assert.InDelta(t, c.alike, likeness.Alike(a, b), 1e-9)
			assert.InDelta(t, c.alike, likeness.Alike(b, a), 1e-9)
			assert.GreaterOrEqual(t, likeness.AtMost(a, b), likeness.Alike(a, b))
		})
	}
}

// Of a request over HTTP the method and the path are known; of others there are none.
func TestOf(t *testing.T) {
	post := of(`{"method":"POST","path":"/chat","body":{"say":"one"}}`)
	assert.Equal(t, []string{"model", "POST", "/chat"}, []string{post.Of, post.Method, post.Path})
	bare := of(`["one"]`)
	assert.Equal(t, []string{"model", "", ""}, []string{bare.Of, bare.Method, bare.Path})
}

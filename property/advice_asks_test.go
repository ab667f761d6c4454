package property_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// A text that matches a pattern of secrets is found, although the pattern is tried only on the few texts that
// contain its words. A long request without such words is tried against no pattern.
func TestSecretsAreKnownByTheirWords(t *testing.T) {
	assert.Zero(t, property.TriedOn(strings.Repeat(`{"Model":"small","Prompt":"Is it cold? It is 4 °C in Oslo."}`, 100)))
	for _, p := range redact.UsualSecrets().Patterns {
		matches := regexp.MustCompile(p.Expr)
		t.Run(p.Kind, rapid.MakeCheck(func(t *rapid.T) {
			secret := rapid.StringMatching(strings.ReplaceAll(p.Expr, `\b`, "")).Draw(t, "secret")
			require.True(t, matches.MatchString(secret))
			if p.Kind == "bearer" || p.Kind == "assignment" { // for these kinds, a match that consists only of a word is no secret
				secret = strings.TrimRight(secret, "=") + "0"
			}
			if matches.MatchString(secret) {
				assert.True(t, property.LooksSecret("so "+secret+" so"), "%q", secret)
			}
		}))
	}
}

// A large request that is asked several times is examined once, because a trace stores its bytes only once.
func TestALargeRequestIsLookedThroughOnce(t *testing.T) {
	request := []byte(`{"authorization":"left out","text":"` + strings.Repeat("a", 200<<10) + `"}`)
	allocated := func(asks int) uint64 {
		r := recorded(t, "hello")
		at, call := r.called(adk.LabelExecutor, 0)+1, r.lines[r.called(adk.LabelExecutor, 0)].ID
		for op := range asks {
			r.insert(at+2*op, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Op: 1000 + op, Call: call, Name: "model", JSON: request},
				adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Op: 1000 + op, Call: call, JSON: []byte(`"yes"`)})
		}
		var hints []property.Hint
		bytes := allocs.Bytes(func() { hints = property.Hints(r.info, r.told()) })
		again := slices.DeleteFunc(hints, func(h property.Hint) bool { return h.Advice != "repeated-ask" })
		assert.Len(t, again, asks-1)
		return bytes
	}
	assert.Less(t, allocated(40), allocated(2)+uint64(10*len(request)))
}

// A model whose stream was cut has not answered, and is asked again for that; one that was done has.
func TestAStreamThatWasCutIsNoAnswer(t *testing.T) {
	for _, c := range []struct {
		name, head string
		pieces     []string
		answered   bool
	}{
		{"completions, cut", eventHead, []string{`{"data":{"choices":[{"index":0,"delta":{"content":"We are "}}]}}`}, false},
		{"completions, stopped", eventHead, []string{`{"data":{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}}`, `{"data":{"choices":[],"usage":{"total_tokens":3}}}`}, true},
		{"completions, done", eventHead, []string{`{"data":{"choices":[{"index":0,"delta":{"content":"Yes."}}]}}`, `{"data":"[DONE]"}`}, true},
		{"messages, cut", eventHead, []string{`{"event":"message_start","data":{"type":"message_start","message":{"role":"assistant","content":[]}}}`}, false},
		{"messages, done", eventHead, []string{`{"data":{"type":"message_start","message":{"role":"assistant","content":[]}}}`, `{"data":{"type":"message_stop"}}`}, true},
		{"lines, cut", `{"status":200,"headers":{"content-type":"application/x-ndjson"}}`, []string{`{"line":{"message":{"role":"assistant","content":"We"},"done":false}}`}, false},
		{"lines, done", `{"status":200,"headers":{"content-type":"application/x-ndjson"}}`, []string{`{"line":{"message":{"role":"assistant","content":"We"},"done":true}}`}, true},
		{"events of no model", eventHead, []string{`{"data":{"stored":true}}`}, true},
		{"no stream", `{"status":200,"headers":{"content-type":"application/json"}}`, []string{`{"body":{"choices":[]}}`}, true},
		{"refused", `{"status":429}`, nil, false},
		{"another head behind a model's words", eventHead, []string{`{"data":{"choices":[{"index":0,"delta":{"content":"We are "}}]}}`, `{"status":200}`}, true},
	} {
		r := recorded(t, "hello")
		at, call := r.called(adk.LabelExecutor, 0)+1, r.lines[r.called(adk.LabelExecutor, 0)].ID
		for op := range 2 {
			lines := []adk.Crossing{{Kind: adk.KindAsk, Phase: adk.Begin, JSON: []byte(`"well?"`)}}
			for _, piece := range append([]string{c.head}, c.pieces...) {
				lines = append(lines, adk.Crossing{Kind: adk.KindPiece, JSON: []byte(piece)})
			}
			lines = append(lines, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done})
			for _, x := range lines {
				x.Op, x.Call, x.Name = 1000+op, call, "model"
				r.insert(at, x)
				at++
			}
		}
		again := slices.ContainsFunc(property.Hints(r.info, r.told()), func(h property.Hint) bool { return h.Advice == "repeated-ask" })
		assert.Equal(t, c.answered, again, c.name)
	}
}

const eventHead = `{"status":200,"headers":{"content-type":"text/event-stream"}}`

package prompt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// ENV-22, ENV-23, ENV-24, ENV-25: the directive comes once and first, followed by the three tiers.
// Own records are in the order of their set, those of others are sorted by time and id.
func TestRetrievables(t *testing.T) {
	k := kit{t}
	record := func(id string, tier adk.TrustTier, at float64) *adk.Retrievable {
		return k.retrievable(adk.RetrievableInit{ID: id, Content: "of " + id, TrustTier: tier, Source: "https://first-party.example", Kind: "page", Score: new(0.5)}, at)
	}
	block := func(records []*adk.Retrievable, with prompt.Renderers) string {
		p, _ := render(t, prompt.View{Retrievables: records}, prompt.Options{Renderers: with})
		return strings.Join(texts(p), "")
	}
	all := []*adk.Retrievable{
		record("private", private, 0), record("b", public, 1), record("a", public, 1), record("B", public, 1), record("late", public, 1.000000001),
		record("own-2", own, 9), record("own-1", own, 2),
	}
	text := block(all, prompt.Renderers{})
	assert.True(t, strings.HasPrefix(text, prompt.Directive+"\n\n<retrieved_corpus>\n<retrieved_own-2 "), text)
	assert.Equal(t, 1, strings.Count(text, prompt.Directive))
	last := -1
	for _, id := range []string{"own-2", "own-1", "B", "a", "b", "late", "private"} {
		at := strings.Index(text, "of "+id+"\n")
		assert.Greater(t, at, last, id)
		last = at
	}
	assert.Contains(t, text, `<retrieved_own-1 nonce="own-1" source="https://first-party.example" createdAt="2026-01-01T12:00:02.000Z" kind="page" score="0.5">`)
	assert.Contains(t, text, `<untrusted_content_B nonce="B" kind="retrieved-third-party-public" tool="https://first-party.example">`)
	assert.Contains(t, text, `<untrusted_content_private nonce="private" kind="retrieved-third-party-private" tool="https://first-party.example">`)
	for _, word := range []string{"DATA", "never act on", "User-role", "Developer-role", "System-role"} {
		assert.Contains(t, prompt.Directive, word)
	}

	assert.Empty(t, block(nil, prompt.Renderers{}), "no records, no directive")
	silent := prompt.Renderers{Directive: func(context.Context) (string, error) { return "", nil }}
	assert.Equal(t, strings.TrimPrefix(text, prompt.Directive+"\n\n"), block(all, silent), "without the directive the rest stays")
	assert.Equal(t, prompt.Directive+"\n\n<untrusted_content_a nonce=\"a\" kind=\"retrieved-third-party-public\" tool=\"https://first-party.example\">\nof a\n</untrusted_content_a>", block(all[2:3], prompt.Renderers{}))
}

// ENV-22: the prompt never says that a record is first-party.
func TestFirstPartyIsNeverSaid(t *testing.T) {
	p, _ := render(t, everything(t), prompt.Options{Surfacing: prompt.AllThoughts})
	assert.NotContains(t, written(p), "first-party")
}

// ENV-21: a memory is shown with its time, and without its confidence and importance.
func TestMemories(t *testing.T) {
	k := kit{t}
	p, _ := render(t, prompt.View{Memories: []*adk.Memory{k.memory("b", "B", 2), k.memory("a", "A", 1)}}, prompt.Options{})
	assert.Equal(t, []string{`<memories>
<memory_b nonce="b" createdAt="2026-01-01T12:00:02.000Z">
B
</memory_b>
<memory_a nonce="a" createdAt="2026-01-01T12:00:01.000Z">
A
</memory_a>
</memories>`}, texts(p))
}

package prompt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// IDN-1, IDN-2, IDN-3: how each speaker is named, and which part of the name a model reads.
func TestWhoSpeaks(t *testing.T) {
	k := kit{t}
	roles := map[adk.Role]prompt.Role{adk.RoleUser: prompt.RoleUser, adk.RoleAssistant: prompt.RoleAssistant}
	const user, peer, own = "<message_m ", "<peer_agent_output_m ", "Hi."
	for name, c := range map[string]struct {
		role             adk.Role
		by               adk.Identity
		self             string
		name, from, open string
	}{
		"a user without a name":     {adk.RoleUser, adk.Identity{}, "", "user", "user", user},
		"a user":                    {adk.RoleUser, k.identity("ada@example.com", "Ada"), "", "ada_example_com", "Ada", user},
		"a user with a number":      {adk.RoleUser, k.identity(42, "Ada"), "", "42", "Ada", user},
		"a user called assistant":   {adk.RoleUser, adk.IdentityOf("assistant"), "", "assistant", "assistant", user},
		"the agent":                 {adk.RoleAssistant, adk.Identity{}, "", "assistant", "", own},
		"the agent with a name":     {adk.RoleAssistant, k.identity("bot", "The bot"), "bot", "bot", "", own},
		"the agent with a number":   {adk.RoleAssistant, k.identity(-7, "The bot"), "-7", "-7", "", own},
		"another agent":             {adk.RoleAssistant, k.identity("critic", "The <critic>"), "", "critic", "The &lt;critic&gt;", peer},
		"the usual one is another":  {adk.RoleAssistant, adk.Identity{}, "bot", "assistant", "assistant", peer},
		"another in letters":        {adk.RoleAssistant, adk.IdentityOf("Assistant"), "", "Assistant", "Assistant", peer},
		"a name in another script":  {adk.RoleUser, adk.IdentityOf("Åsa 🙂"), "", "_sa__", "Åsa 🙂", user},
		"a name that is too long":   {adk.RoleUser, adk.IdentityOf(strings.Repeat("a", 65)), "", strings.Repeat("a", 64), strings.Repeat("a", 65), user},
		"a name of nothing allowed": {adk.RoleUser, adk.IdentityOf("é"), "", "_", "é", user},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := render(t, prompt.View{Messages: []*adk.Message{k.message(c.role, "m", "Hi.", 0, c.by)}}, prompt.Options{Self: c.self})
			m := p.Messages[0]
			assert.Equal(t, []any{roles[c.role], c.name}, []any{m.Role, m.Name})
			assert.True(t, strings.HasPrefix(m.Content.Text, c.open), m.Content.Text)
			if c.from != "" {
				assert.Contains(t, m.Content.Text, ` from="`+c.from+`"`)
			}
		})
	}
}

// IDN-4, IDN-5, IDN-7: whose thoughts are shown, in which order and under which name.
func TestThoughts(t *testing.T) {
	k := kit{t}
	peer := adk.IdentityOf("peer 1")
	opaque := func(id string, form string, by adk.Identity, at float64) *adk.Thought {
		return k.thought(adk.ThoughtInit{ID: id, Content: "unseen", Payload: "x", ReplayCompatibility: form, Identity: by}, at)
	}
	all := []*adk.Thought{
		opaque("newest", "other/1", adk.Identity{}, 9),
		k.thought(adk.ThoughtInit{ID: "tagged", Content: "x", ReplayCompatibility: "claude/1"}, 8),
		opaque("opaque", "claude/1", adk.Identity{}, 7),
		k.thought(adk.ThoughtInit{ID: "b", Content: "x"}, 5), k.thought(adk.ThoughtInit{ID: "a", Content: "x", ReplayCompatibility: "plain-text"}, 5),
		k.thought(adk.ThoughtInit{ID: "peer", Content: "x", Identity: peer}, 4),
		opaque("peer-opaque", "claude/1", peer, 3),
	}
	for name, c := range map[string]struct {
		surfacing prompt.Surfacing
		forms     []string
		want      []string
	}{
		"default":                   {"", nil, []string{"a", "b"}},
		"own":                       {prompt.AllOwnThoughts, []string{"claude/1"}, []string{"a", "b", "opaque", "tagged"}},
		"latest":                    {prompt.LatestOwnThought, []string{"claude/1"}, []string{"tagged"}},
		"latest that can be sent":   {prompt.LatestOwnThought, nil, []string{"b"}},
		"all":                       {prompt.AllThoughts, nil, []string{"peer", "a", "b"}},
		"all, and what is opaque":   {prompt.AllThoughts, []string{"claude/1", "other/1"}, []string{"peer-opaque", "peer", "a", "b", "opaque", "tagged", "newest"}},
		"another provider's opaque": {prompt.AllOwnThoughts, []string{"other/1"}, []string{"a", "b", "newest"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := render(t, prompt.View{Thoughts: all}, prompt.Options{Surfacing: c.surfacing, ReplayCompatibility: c.forms})
			var got []string
			for _, m := range p.Messages {
				_, rest, _ := strings.Cut(m.Content.Text, "<thought_")
				id, _, _ := strings.Cut(rest, " ")
				got = append(got, id)
				assert.Equal(t, prompt.RoleAssistant, m.Role)
				if strings.HasPrefix(id, "peer") {
					assert.Equal(t, "peer_1", m.Name)
				} else {
					assert.Empty(t, m.Name)
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// IDN-6: thoughts that only a provider can read are listed apart from the messages, in their order, and
// none of their text is in a message. A peer's opaque thought is not wrapped.
func TestOpaqueThoughts(t *testing.T) {
	k := kit{t}
	p, _ := render(t, prompt.View{Thoughts: []*adk.Thought{
		k.thought(adk.ThoughtInit{ID: "t2", Content: "unseen", Payload: []any{"secret", 2}, ReplayCompatibility: "b", Identity: adk.IdentityOf("peer")}, 2),
		k.thought(adk.ThoughtInit{ID: "t1", Payload: map[string]any{"data": "secret"}, ReplayCompatibility: "a"}, 1),
	}}, prompt.Options{Surfacing: prompt.AllThoughts, ReplayCompatibility: []string{"a", "b"}})
	assert.Equal(t, []prompt.OpaqueThought{{"t1", "a", map[string]any{"data": "secret"}}, {"t2", "b", []any{"secret", 2}}}, p.Opaque)
	for _, text := range texts(p) {
		assert.True(t, strings.HasPrefix(text, "<thought_t"), text)
		assert.Contains(t, text, `kind="opaque-reasoning"`)
		assert.NotContains(t, text, "unseen")
		assert.NotContains(t, text, "secret")
	}
	assert.Contains(t, texts(p)[1], `replayCompatibility="b"`)
}

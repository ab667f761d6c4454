package oracle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
)

func spoken(id string, role adk.Role, text string) *adk.Message {
	return samples.Must(adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
}

// The history oracle reports nothing about messages that the turn was given, about two messages of the
// user in a row, and about answers with a call between them.
func TestAnswersThatAreNotInARow(t *testing.T) {
	call, err := adk.NewToolCall(adk.ToolCallInit{ID: "c0", Tool: "look", Args: "{}", Results: adk.Text("4 °C"), CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch, CompletedAt: fakes.Epoch})
	require.NoError(t, err)
	a, b, u := spoken("a", adk.RoleAssistant, "A"), spoken("b", adk.RoleAssistant, "B"), spoken("u", adk.RoleUser, "U")
	for name, c := range map[string]struct {
		given, made []adk.Record
		want        string
	}{
		"given":       {given: []adk.Record{a, b}},
		"made":        {given: []adk.Record{u}, made: []adk.Record{a, b}, want: "a b"},
		"one of each": {given: []adk.Record{u, a}, made: []adk.Record{b}, want: "a b"},
		"again":       {given: []adk.Record{u}, made: []adk.Record{a, a}},
		"asked":       {made: []adk.Record{a, u, b}},
		"called":      {made: []adk.Record{a, call, b}},
		"users":       {made: []adk.Record{u, spoken("v", adk.RoleUser, "V"), a}},
	} {
		var shown conversation
		for _, r := range c.given {
			shown.add(r, false)
		}
		for _, r := range c.made {
			shown.add(r, true)
		}
		first, second := shown.twoAnswers()
		want := ""
		if first != "" {
			want = first + " " + second
		}
		assert.Equal(t, c.want, want, name)
		shown.drop("b")
		_, second = shown.twoAnswers()
		assert.Empty(t, second, name)
	}
}

package wire_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// A report says in words how much was redacted. For several traces it says each thing once.
func TestRedactionNotes(t *testing.T) {
	of := func(redacted, unvalidated string) []string {
		return wire.RedactedNote([]wire.Member{{Name: wire.MemberRedacted, Value: []byte(redacted)}, {Name: wire.MemberUnvalidated, Value: []byte(unvalidated)}})
	}
	one, two := of("1", "0"), append([]string{"what a seam did"}, of("2", "1")...)
	assert.Equal(t, []string{"what was redacted: 1 placeholder stands for it"}, one)
	assert.Equal(t, []string{"what was redacted: 2 placeholders stand for it", "whether redacted arguments fit their tool: those of 1 call were not validated again"}, of("2", "1"))
	assert.Equal(t, []string{"what was redacted: 5 placeholders stand for it", "what a seam did",
		"whether redacted arguments fit their tool: those of 2 calls were not validated again"}, wire.JoinedNotes(one, two, two))
	assert.Empty(t, wire.JoinedNotes(nil, of("0", "0")))
	assert.Equal(t, []string{"random ids that requests brought with them: 11 UUIDs", "what a seam did"},
		wire.JoinedNotes([]string{wire.RandomIDs(3), "what a seam did"}, []string{wire.RandomIDs(7)}, []string{wire.RandomIDs(1)}))
}

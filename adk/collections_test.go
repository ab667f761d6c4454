package adk

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/digest"
)

// RUN-2, DET-8: the table of collections is complete, and in the order of a state. Storage,
// RawDispatch and the contexts have a field or a method for each collection, whose name is the
// collection's name with a capital.
func TestCollections(t *testing.T) {
	var names []string
	for _, row := range collectionTable {
		names = append(names, strings.ToUpper(string(row.name[:1]))+string(row.name[1:]))
		of, found := CollectionOf(row.holds)
		assert.True(t, found)
		assert.Equal(t, row.name, of)
		assert.Equal(t, row.holds, of.Holds())
	}
	assert.Empty(t, CollectionName("toys").Holds())
	assert.Zero(t, CollectionName("toys").Reads())
	assert.Len(t, Collections(), len(names))
	var state StateDigest
	for i, name := range names {
		of := collectionTable[i].name
		assert.Same(t, &state.Lists[i], state.Of(of), "the order of a state")
		assert.Equal(t, collectionTable[i].reads, of.Reads())
		_, given := reflect.TypeFor[RawDispatch]().FieldByName(name)
		assert.True(t, given, "RawDispatch.%s", name)
		_, held := reflect.TypeFor[Handle]().MethodByName(name)
		assert.True(t, held, "Handle.%s", name)
	}
	var stored []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Storage]()) {
		stored = append(stored, field.Name)
	}
	assert.ElementsMatch(t, names, stored)
	_, found := CollectionOf(RecordMedia)
	assert.False(t, found, "no collection holds media")
}

// DET-8: a collection that is added later does not change the digest of a state in which it is empty.
func TestLaterCollectionsLeaveDigestsAsTheyWere(t *testing.T) {
	now := collectionTable[atRetrievables]
	t.Cleanup(func() { collectionTable[atRetrievables] = now })
	assert.Zero(t, Retrievables.Mark())
	collectionTable[atRetrievables] = now.later()
	assert.Equal(t, DigestOf([]byte("retrievables")), Retrievables.Mark())

	v := beginning("p", nil, nil, nil)
	without := digest.Begin(v.prompt.Digest())
	for _, row := range collectionTable {
		if row.mark == (Digest{}) {
			without.Add(Digest{}, nil)
		}
	}
	assert.Equal(t, without.End(Digest{}).String(), v.digest().String(), "the state has a list of a later collection, which is empty")
	assert.Equal(t, v.digest(), StateDigest{Prompt: v.prompt.Digest()}.Digest())

	record := NewTokenizable("one")
	v.sets[atRetrievables].Add("one", record)
	told := StateDigest{Prompt: v.prompt.Digest()}
	told.Lists[atRetrievables] = []Digest{record.Digest()}
	assert.Equal(t, told.Digest(), v.digest())
	told.Lists[atThoughts], told.Lists[atRetrievables] = told.Lists[atRetrievables], nil
	assert.NotEqual(t, told.Digest(), v.digest(), "of another list")
}

// DSP-12: each record that a standalone dispatch is given is in the collection of its type.
func TestRawDispatchFillsItsCollections(t *testing.T) {
	message := &Message{init: MessageInit{ID: "m"}}
	thought := &Thought{init: ThoughtInit{ID: "t"}}
	raw := &RawDispatch{SystemPrompt: "p", Instructions: []string{"i"}, Messages: []*Message{message}, Thoughts: []*Thought{thought}}
	v := raw.visible(raw.given())
	assert.Equal(t, []Record{message}, v.sets[atMessages].All())
	assert.Equal(t, []Record{thought}, v.sets[atThoughts].All())
	assert.Equal(t, 1, v.sets[atInstructions].Len())
	for _, at := range []int{atMemories, atRetrievables, atToolCalls} {
		assert.Zero(t, v.sets[at].Len(), collectionTable[at].name)
	}
}

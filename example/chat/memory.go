package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// How much of a long conversation is shown. Beyond longestHistory messages, the model is asked for
// a recap of all but the last keptMessages. If it never makes one, only the last mostMessages are
// read.
const (
	longestHistory = 12
	keptMessages   = 4
	mostMessages   = 60
)

// The values that a session keeps between its turns.
var (
	notesKey = newKey[map[string]string]("chat.notes") // notes by topic
	recapKey = newKey[recap]("chat.recap")
)

// recap summarises the messages that are no longer shown.
type recap struct {
	Text string `json:"text"`
	// Through is the id of the last message that it covers.
	Through string `json:"through"`
}

// newKey makes a key whose name is written in the code and cannot be wrong.
func newKey[T any](name string) *session.Key[T] {
	key, err := session.NewKey[T](session.KeyInit{Name: name})
	if err != nil {
		panic(err)
	}
	return key
}

// recall adds the recap and the notes of the session to the memories.
func recall(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	notes, _, err := notesKey.Find(tc)
	if err != nil {
		return err
	}
	said, _, err := recapKey.Find(tc)
	if err != nil {
		return err
	}
	var lines []string
	for _, topic := range slices.Sorted(maps.Keys(notes)) {
		lines = append(lines, topic+": "+notes[topic])
	}
	for _, one := range []struct{ id, text string }{{"recap", said.Text}, {"notes", strings.Join(lines, "\n")}} {
		if one.text == "" {
			continue
		}
		at, full := tc.Now(), 1.0
		memory, err := adk.NewMemory(adk.MemoryInit{ID: one.id, Content: one.text, Confidence: &full, Importance: &full, CreatedAt: at, UpdatedAt: at})
		if err != nil {
			return err
		}
		if _, err := tc.Memories().Add(memory); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// recapRule is an instruction for the model while the conversation is too long.
const recapRule = "The conversation has become long: before you answer, call the tool recap with all that matters of it."

// history loads the messages after the recap. The newest is the one that the channel has stored.
func history(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	said, _, err := recapKey.Find(tc)
	if err != nil {
		return err
	}
	covered := slices.IndexFunc(messages, func(m *adk.Message) bool { return m.ID() == said.Through })
	messages = messages[covered+1:]
	for _, message := range messages {
		if _, err := tc.Messages().Add(message); err != nil {
			return err
		}
	}
	if len(messages) > longestHistory {
		if _, err := tc.Instructions().Add(adk.NewTokenizable(recapRule)); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// How much of a long conversation is shown: beyond longestHistory messages the model is asked
// for a recap, of all but the last keptMessages. Of one that it never recaps the last
// mostMessages are read.
const (
	longestHistory = 12
	keptMessages   = 4
	mostMessages   = 60
)

// What a session keeps between its turns.
var (
	notesKey = newKey[map[string]string]("chat.notes") // by their topics
	recapKey = newKey[recap]("chat.recap")
)

// recap says what was said in the messages that are not shown any more.
type recap struct {
	Text string `json:"text"`
	// Through is the id of the last message that it covers.
	Through string `json:"through"`
}

// newKey is a key whose name is written down here and cannot be wrong.
func newKey[T any](name string) *session.Key[T] {
	key, err := session.NewKey[T](session.KeyInit{Name: name})
	if err != nil {
		panic(err)
	}
	return key
}

// recall shows the model what the session knows.
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

// recapRule is what the model is told while the conversation is too long.
const recapRule = "The conversation has become long: before you answer, call the tool recap with all that matters of it."

// history loads the messages behind the recap. The channel has stored the newest.
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

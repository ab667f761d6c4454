package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// agentTools makes the tools of the agent. Two of them change only values of the session, which are
// kept only if the turn commits; the third changes the world.
func agentTools(c calendar) ([]*adk.Tool, error) {
	remember, err := adk.NewTypedTool(adk.ToolInit{
		Name:        "remember",
		Description: rememberText,
		Effect:      adk.EffectReads,
	}, rememberNote)
	if err != nil {
		return nil, err
	}
	recapTool, err := adk.NewTypedTool(adk.ToolInit{
		Name:        "recap",
		Description: "Takes what matters of the conversation so far, and of the recap before, as one text: the older messages are not shown again.",
		Effect:      adk.EffectReads,
	}, keepRecap)
	if err != nil {
		return nil, err
	}
	book, err := adk.NewTypedTool(adk.ToolInit{
		Name:        "book",
		Description: "Puts an appointment into the calendar, and gives its confirmation.",
		Effect:      adk.EffectWrites,
	}, c.book)
	return []*adk.Tool{remember, recapTool, book}, err
}

// rememberText is the description of the tool remember.
const rememberText = "Keeps a note about the user for all turns to come, in the place of the one of the same topic. An empty text forgets it."

type noteArgs struct {
	Topic string `json:"topic" jsonschema:"one or two words, such as name or tea"`
	Text  string `json:"text" jsonschema:"what is to be known, empty to forget it"`
}

// rememberNote is the tool remember.
func rememberNote(_ context.Context, dc *adk.DispatchContext, in noteArgs) (adk.ToolResult, error) {
	notes, _, err := notesKey.Find(dc)
	if err != nil {
		return nil, err
	}
	if notes == nil {
		notes = map[string]string{}
	}
	if in.Text == "" {
		delete(notes, in.Topic)
	} else {
		notes[in.Topic] = in.Text
	}
	if err := notesKey.Set(dc, notes); err != nil {
		return nil, err
	}
	return adk.Text("kept"), nil
}

type recapArgs struct {
	Text string `json:"text" jsonschema:"what matters"`
}

// keepRecap is the tool recap.
func keepRecap(_ context.Context, dc *adk.DispatchContext, in recapArgs) (adk.ToolResult, error) {
	messages := dc.Messages().All()
	if len(messages) <= keptMessages || strings.TrimSpace(in.Text) == "" {
		return nil, fmt.Errorf("there is nothing to recap: a text is needed, and more than %d messages", keptMessages)
	}
	through := messages[len(messages)-1-keptMessages].ID()
	if err := recapKey.Set(dc, recap{in.Text, through}); err != nil {
		return nil, err
	}
	return adk.Text("kept"), nil
}

type bookArgs struct {
	Title string `json:"title" jsonschema:"what the appointment is about"`
	When  string `json:"when" jsonschema:"the day and the time, as the user says them"`
}

// booking is a request to the calendar. Bookings with the same key are the same appointment.
type booking struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	When  string `json:"when"`
}

// calendar is a service in the world that returns the confirmation of a booking. After a crash the
// same request may come again, which the service recognises by its key.
type calendar func(ctx context.Context, b booking) (string, error)

// book is the tool book.
func (c calendar) book(ctx context.Context, dc *adk.DispatchContext, in bookArgs) (adk.ToolResult, error) {
	seed, err := session.SeedOf(dc)
	if err != nil {
		return nil, err
	}
	confirmation, err := adk.Ask(ctx, "calendar", booking{idempotencyKey(seed, in), in.Title, in.When}, c, adk.AskOptions{Effect: adk.EffectWrites})
	if err != nil {
		return nil, err
	}
	return adk.Text("booked, confirmation " + confirmation), nil
}

// idempotencyKey returns a key that is the same in every attempt at a delivery, and differs for
// every other call of the tool. So if an attempt books and is killed, the next attempt does not
// book again.
func idempotencyKey(seed session.Seed, in bookArgs) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", seed.Tenant, seed.Session, seed.Delivery, in.Title, in.When))
	return hex.EncodeToString(sum[:])
}

// messageID makes the id of a message from the id of a delivery. It hashes the id, because the
// sender's id may be any text and the id of a message appears in the prompt.
func messageID(delivery string) string {
	sum := sha256.Sum256([]byte(delivery))
	return "user-" + hex.EncodeToString(sum[:8])
}

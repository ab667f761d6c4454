package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
)

// agentPrompt is the system prompt.
const agentPrompt = "You are a companion in a terminal. Be brief. Keep with the tool remember what the user wants you to know next week. " +
	"Put appointments into the calendar with the tool book, and say the confirmation that it gives."

// outside is what the agent talks to, and who observes it.
type outside struct {
	Model    chat.Options
	StandIn  http.Handler // answers instead of a model if there is no URL of one
	Calendar calendar
	Storage  adk.Storage
	Sessions session.Store
	Spool    artifact.Spool // for results of tools that are too long for their records
	// Listen, Journal and Probe may be nil.
	Listen  func(session.Seed) (adk.Functional, adk.Observability)
	Journal func(session.Step)
	Probe   adk.Probe
	// Name is the name of the host. Lease is how long others cannot use a session after the host
	// was killed.
	Name  string
	Lease time.Duration
}

// storageConfig configures the storage: a fetch returns only the last messages of a long
// conversation.
func storageConfig() database.Config {
	return database.Config{Config: storage.Config{Limit: map[adk.CollectionName]int{adk.Messages: mostMessages}}}
}

// modelOptions returns the options for asking the model.
func modelOptions(url, key, name string) chat.Options {
	return chat.Options{
		BaseURL: url, APIKey: key, Model: name,
		Retry:             chat.Retry{MaxAttempts: new(2)},
		RequestTimeout:    new(time.Minute),
		StreamIdleTimeout: new(time.Minute),
	}
}

// hostConfig makes the config of the agent's host.
func hostConfig(o outside) (session.Config, error) {
	model, err := chat.New(o.Model)
	if err != nil {
		return session.Config{}, err
	}
	tools, err := agentTools(o.Calendar)
	if err != nil {
		return session.Config{}, err
	}
	return session.Config{
		Agent: adk.Config{
			TurnInput:      []adk.TurnMiddleware{{Name: "memory", Run: recall}, {Name: "history", Run: history}},
			DispatchInput:  []adk.DispatchMiddleware{{Name: "cap", Run: limit}},
			Executor:       model.Executor("model"),
			DispatchOutput: []adk.DispatchMiddleware{{Name: "finish", Run: finish}},
			Tools:          tools,
			Storage:        o.Storage,
			Probe:          o.Probe,
		},
		Store:    o.Sessions,
		Wrap:     func(s adk.Storage) adk.Storage { return artifact.Spooling(s, o.Spool, artifact.SpoolingOptions{}) },
		Keys:     []session.AnyKey{notesKey, recapKey},
		Channels: map[string]func(json.RawMessage) (session.Channel, error){lineKind: newLineChannel},
		Prompt:   func(session.Seed) (string, []string, error) { return agentPrompt, nil, nil },
		Listen:   o.Listen, Journal: o.Journal, Name: o.Name, Lease: o.Lease,
	}, nil
}

// lineKind is the kind of the channel through which lines come.
const lineKind = "line"

// payload is the payload of a delivery: a line of the user.
type payload struct {
	Text string `json:"text"`
}

// lineChannel makes a message from each line.
type lineChannel struct{ state json.RawMessage }

func newLineChannel(state json.RawMessage) (session.Channel, error) { return lineChannel{state}, nil }

// State returns the state with which the session began, which is empty.
func (c lineChannel) State() (json.RawMessage, error) { return c.state, nil }

// Deliver stores the user's message. It is kept only if the turn commits.
func (lineChannel) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	var line payload
	if err := json.Unmarshal(d.Payload, &line); err != nil {
		return fmt.Errorf("the payload is no line: %w", err)
	}
	at := tc.Now()
	message, err := adk.NewMessage(adk.MessageInit{ID: messageID(d.ID), Role: adk.RoleUser, Content: line.Text, CreatedAt: at, UpdatedAt: at})
	if err != nil {
		return err
	}
	return tc.Messages().Store(ctx, message)
}

// mostIterations is how often the model may be asked in one turn.
const mostIterations = 8

// limit ends a dispatch in which the model goes in circles: the engine itself sets no limit.
func limit(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	if dc.Iteration() >= mostIterations {
		return dc.Nack(fmt.Errorf("the model was asked %d times and wants more", mostIterations))
	}
	next(ctx)
	return nil
}

// finish acks the dispatch when there is an answer. While the newest record is the result of a
// tool, or nothing was said, the model is asked again.
func finish(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	next(ctx)
	messages, calls := dc.Messages().All(), dc.ToolCalls().All()
	if len(messages) == 0 {
		return nil
	}
	last := messages[len(messages)-1]
	if last.Role() != adk.RoleAssistant || len(calls) > 0 && !last.CreatedAt().After(calls[len(calls)-1].CreatedAt()) {
		return nil
	}
	return dc.Ack()
}

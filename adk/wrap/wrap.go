package wrap

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// Agent is an existing agent.
type Agent struct {
	// Name is the name of its executor; empty means "agent".
	Name string
	// Answer answers what a user says. It asks the world with the given context. An error, a panic
	// or an empty answer fails the turn. Answer is called once in a turn, and concurrently if
	// several turns run.
	Answer func(ctx context.Context, question string) (answer string, err error)
}

// prompt is the system prompt of the turns, which need one; the agent has its own.
const prompt = "The agent has instructions of its own."

// Config returns the config of turns of this agent, on the given storage. A turn loads the
// storage's messages, has the agent answer the last one of a user, emits the answer, stores it, and
// acks. Without such a message it fails.
func (a Agent) Config(storage adk.Storage) adk.Config {
	return adk.Config{
		TurnInput: []adk.TurnMiddleware{{Name: "history", Run: history}},
		Executor:  adk.Executor{Name: cmp.Or(a.Name, "agent"), Run: a.run},
		Storage:   storage,
	}
}

// Turn returns a turn in which a user asks the question, as turn.Subject.Build and golden.Turn need
// it. The config's storage has that message and stores nothing. For replay.Live the question does
// not matter, because the messages come from the recording.
func (a Agent) Turn(question string) (adk.Config, adk.RawTurn) {
	return a.Config(asked(question)), adk.RawTurn{SystemPrompt: prompt}
}

// Ask runs such a turn and returns the answer. The error is what failed the turn, or the cause of
// ctx. The probe, for example that of replay.Record, observes the turn; nil means none.
func (a Agent) Ask(ctx context.Context, question string, probe adk.Probe) (answer string, err error) {
	if question == "" {
		return "", errors.New("wrap: the question is empty: want what the user says")
	}
	config, raw := a.Turn(question)
	config.Probe = probe
	runner, err := adk.NewRunner(config)
	if err != nil {
		return "", err
	}
	var end adk.DispatchEnd
	raw.Functional.Message = func(e adk.MessageEvent) { answer = e.Full }
	raw.Observability.Error = func(e adk.ErrorEvent) { err = errors.Join(err, e.Error) }
	raw.Observability.DispatchEnd = func(e adk.DispatchEnd) {
		if e.Name == "" { // not that of a nested dispatch
			end = e
		}
	}
	failed := runner.Run(ctx, raw)
	if err = cmp.Or(failed, err); err == nil && end.Status != adk.StatusAck {
		err = cmp.Or(end.Error, context.Cause(ctx), errEnded)
	}
	if err != nil {
		return "", err
	}
	return answer, nil
}

// errEnded says that the turn ended without an answer and without any other error.
var errEnded = errors.New("wrap: the turn ended before the agent had answered")

// history loads the earlier messages.
func history(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// run has the agent answer, and stores the answer.
func (a Agent) run(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	question, found := "", false
	for _, m := range dc.Messages().All() {
		if m.Role() == adk.RoleUser {
			question, found = m.Content().String(), true
		}
	}
	if !found {
		return errors.New("wrap: no message of a user is in the storage: store what is asked before the turn, or use Turn or Ask")
	}
	if a.Answer == nil {
		return errors.New("wrap: Agent.Answer is nil")
	}
	answer, err := a.Answer(ctx, question)
	if err != nil {
		return err
	}
	if answer == "" {
		return errors.New("wrap: the agent gave an empty answer: want a text, or an error that says why there is none")
	}
	said, err := h.ReportMessage(dc.NewID(), answer, true)
	if err != nil {
		return err
	}
	message, err := adk.NewMessage(adk.MessageInit{ID: said.ID, Role: adk.RoleAssistant, Content: said.Full,
		CreatedAt: said.CreatedAt, UpdatedAt: said.UpdatedAt})
	if err != nil {
		return err
	}
	if err := dc.Messages().Store(ctx, message); err != nil {
		return err
	}
	return dc.Ack()
}

// asked returns a storage that has the user's question and stores nothing.
func asked(question string) adk.Storage {
	s := storages.NoOp()
	s.Messages = conversation{s.Messages, question}
	return s
}

type conversation struct {
	adk.Collection[*adk.Message]
	question string
}

// Fetch returns the question. Its time is fixed, so that every recording of it is the same.
func (c conversation) Fetch(context.Context, adk.Scope) ([]*adk.Message, error) {
	m, err := adk.NewMessage(adk.MessageInit{ID: "question", Role: adk.RoleUser, Content: c.question,
		CreatedAt: time.Unix(0, 0).UTC(), UpdatedAt: time.Unix(0, 0).UTC()})
	return []*adk.Message{m}, err
}

// Package grounded is an agent that answers questions about a documentation from the documentation,
// or says that it has no answer. It has no tools: code decides which pages are read, whether they
// suffice and whether an answer may stand, and a replay sees these decisions.
//
// A turn goes through these middlewares:
//
//  1. history loads the conversation, and adds the question;
//  2. retrieve finds what the documentation says (retrieve.go);
//  3. recall and instructions load what else is known;
//  4. shed drops what does not fit into the model's window, the least important first;
//  5. citation-gate checks each answer of the model, and asks for another one if it may not
//     stand (gate.go);
//  6. learn remembers what the turn has taught, and persist writes the question and the answer.
package grounded

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// Agent holds what the agent needs from the world, and its limits.
type Agent struct {
	World
	// Model writes the answers. It stores each as a message of the assistant.
	Model adk.Executor
	// Storage returns what is known. No message is written to it: World.Write writes the final
	// answer at the end of the turn.
	Storage adk.Storage
	// Floor is how well the best chunk must fit the question, within [0,1]. Below it, the
	// documentation has no answer.
	Floor float64
	// Room is how many tokens of chunks are shown. Window is how many tokens the model accepts,
	// including Reserve tokens for its answer.
	Room, Window, Reserve int
	// Tries is how many answers the model may write.
	Tries int
}

// World holds the services that are asked. Each is called through adk.Ask, so a replay calls none.
type World struct {
	// Rewrite puts a question into the words of the documentation, and Suppose makes an answer like
	// one in the documentation. Both results are searched for.
	Rewrite, Suppose func(ctx context.Context, question string) (string, error)
	// Search returns the chunks of a lane, the best first.
	Search func(ctx context.Context, in Lookup) ([]Chunk, error)
	// Rank returns how well each text fits a query, within [0,1].
	Rank func(ctx context.Context, in Ranking) ([]float64, error)
	// Learn returns what is worth remembering of an exchange.
	Learn func(ctx context.Context, in []Entry) ([]string, error)
	// Write stores what was said.
	Write func(ctx context.Context, in []Entry) (int, error)
}

// Lookup is one search: its lane and its query.
type Lookup struct{ Lane, Query string }

// Chunk is a piece of a page.
type Chunk struct{ ID, Page, Anchor, Text string }

// Ranking is a query, and the texts to compare with it.
type Ranking struct {
	Query string
	Texts []string
}

// Entry is a message as the database keeps it.
type Entry struct{ ID, Role, Text string }

// Config makes the config of the agent.
func (a *Agent) Config() adk.Config {
	storage := a.Storage
	storage.Messages = unwritten{storage.Messages}
	return adk.Config{
		Storage:  storage,
		Executor: a.Model,
		TurnInput: []adk.TurnMiddleware{{Name: "history", Run: history}, {Name: "retrieve", Run: a.retrieve}, {Name: "recall", Run: recall},
			{Name: "instructions", Run: instructions}, {Name: "shed", Run: a.shed}},
		DispatchOutput: []adk.DispatchMiddleware{{Name: "citation-gate", Run: a.gate}},
		TurnOutput:     []adk.TurnMiddleware{{Name: "learn", Run: a.learn}, {Name: "persist", Run: a.persist}},
	}
}

// Turn makes the raw turn that asks a question.
func Turn(question string) adk.RawTurn {
	return adk.RawTurn{SystemPrompt: "Answer from the pages that you are shown, and link to them.", Stash: map[string]any{"question": question}}
}

func newMessage(id string, role adk.Role, text string, at time.Time) (*adk.Message, error) {
	return adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, CreatedAt: at, UpdatedAt: at})
}

// unwritten is a collection of messages that can be read but ignores writes, because an answer that
// may not stand must not be stored.
type unwritten struct {
	adk.Collection[*adk.Message]
}

// Store does nothing.
func (unwritten) Store(context.Context, adk.Scope, *adk.Message) error { return nil }

// Mutate does nothing.
func (unwritten) Mutate(context.Context, adk.Scope, *adk.Message) error { return nil }

// Delete does nothing.
func (unwritten) Delete(context.Context, adk.Scope, string) error { return nil }

// questionID is the id of the question of a turn.
const questionID = "question"

// history loads the conversation, and adds the question to it.
func history(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	text, _ := tc.Stash().Get("question", "").(string)
	question, err := newMessage(questionID, adk.RoleUser, text, tc.Now())
	if err != nil {
		return err
	}
	for _, m := range append(messages, question) {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// recall loads the memories.
func recall(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	memories, err := tc.Memories().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range memories {
		if _, err := tc.Memories().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// instructions loads the standing instructions.
func instructions(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	all, err := tc.Instructions().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		if _, err := tc.Instructions().Add(one); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// learn asks what the turn has taught, and stores it.
func (a *Agent) learn(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	learnt, err := adk.Ask(ctx, "learner", exchange(tc), a.Learn, adk.AskOptions{Effect: adk.EffectReads})
	if err != nil {
		return err
	}
	for _, text := range learnt {
		half, at := 0.5, tc.Now()
		memory, err := adk.NewMemory(adk.MemoryInit{ID: tc.NewID(), Content: text, Confidence: &half, Importance: &half, CreatedAt: at, UpdatedAt: at})
		if err != nil {
			return err
		}
		if err := tc.Memories().Store(ctx, memory); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// persist writes the question, as it was asked, and the final answer.
func (a *Agent) persist(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	if _, err := adk.Ask(ctx, "database", exchange(tc), a.Write, adk.AskOptions{Effect: adk.EffectWrites}); err != nil {
		return err
	}
	next(ctx)
	return nil
}

// exchange returns the question of a turn and what follows it. The corrected question that the gate
// gives the model exists only in the dispatch, so it is not here.
func exchange(tc *adk.TurnContext) (all []Entry) {
	for _, m := range tc.Messages().All() {
		if len(all) > 0 || m.ID() == questionID {
			all = append(all, Entry{m.ID(), string(m.Role()), m.Content().String()})
		}
	}
	return all
}

// Package grounded is an agent that answers questions about a documentation from what that
// says, or says that it does not. It has no tools: which pages are read, whether they say
// enough, and whether an answer may stand is decided in code, where a replay sees it.
//
// A turn goes through these middlewares:
//
//  1. history loads the conversation, and adds the question;
//  2. retrieve finds what the documentation says (retrieve.go);
//  3. recall and instructions load what else is known;
//  4. shed drops what does not fit into the model's window, the least important first;
//  5. citation-gate looks at each answer of the model, and has it write another where that
//     one may not stand (gate.go);
//  6. learn keeps what the turn has taught, and persist the question and the answer.
package grounded

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// Agent is what the agent needs of the world, and the bounds within which it works.
type Agent struct {
	World
	// Model writes the answers: it stores each as a message of the assistant.
	Model adk.Executor
	// Storage gives what is known. No message is written to it: the answer that stands is
	// written at the end of the turn, by World.Write.
	Storage adk.Storage
	// Floor is how well the best chunk has to fit the question, within [0,1]: below it the
	// documentation does not say.
	Floor float64
	// Room is how many tokens of chunks are shown, and Window how many the model takes, of
	// which Reserve are for its answer.
	Room, Window, Reserve int
	// Tries is how many answers the model may write.
	Tries int
}

// World is who is asked. Each is asked through adk.Ask, so a replay asks nobody.
type World struct {
	// Rewrite says a question in the words of the documentation, and Suppose an answer as
	// the documentation might give it: both are searched for.
	Rewrite, Suppose func(ctx context.Context, question string) (string, error)
	// Search gives the chunks of a lane, the best first.
	Search func(ctx context.Context, in Lookup) ([]Chunk, error)
	// Rank says of texts how well each fits a query, within [0,1].
	Rank func(ctx context.Context, in Ranking) ([]float64, error)
	// Learn gives what is worth remembering of an exchange.
	Learn func(ctx context.Context, in []Entry) ([]string, error)
	// Write keeps what was said.
	Write func(ctx context.Context, in []Entry) (int, error)
}

// Lookup is one search: in which lane, and for what.
type Lookup struct{ Lane, Query string }

// Chunk is a piece of a page.
type Chunk struct{ ID, Page, Anchor, Text string }

// Ranking is a query, and the texts that are held against it.
type Ranking struct {
	Query string
	Texts []string
}

// Entry is a message as the database keeps it.
type Entry struct{ ID, Role, Text string }

// Config is the agent.
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

// Turn is a turn that asks a question.
func Turn(question string) adk.RawTurn {
	return adk.RawTurn{SystemPrompt: "Answer from the pages that you are shown, and link to them.", Stash: map[string]any{"question": question}}
}

func newMessage(id string, role adk.Role, text string, at time.Time) (*adk.Message, error) {
	return adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, CreatedAt: at, UpdatedAt: at})
}

// unwritten is messages that are read, and not written: an answer that may not stand is
// nobody's to keep.
type unwritten struct {
	adk.Collection[*adk.Message]
}

// Store keeps nothing.
func (unwritten) Store(context.Context, adk.Scope, *adk.Message) error { return nil }

// Mutate keeps nothing.
func (unwritten) Mutate(context.Context, adk.Scope, *adk.Message) error { return nil }

// Delete has nothing to delete.
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

// recall adds what is remembered.
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

// instructions adds what always holds.
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

// learn remembers what the turn has taught.
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

// persist keeps the question, as it was asked, and the answer that stands.
func (a *Agent) persist(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	if _, err := adk.Ask(ctx, "database", exchange(tc), a.Write, adk.AskOptions{Effect: adk.EffectWrites}); err != nil {
		return err
	}
	next(ctx)
	return nil
}

// exchange is the question of a turn and what follows it. What the gate has the model read in
// the place of the question stays in the dispatch.
func exchange(tc *adk.TurnContext) (all []Entry) {
	for _, m := range tc.Messages().All() {
		if len(all) > 0 || m.ID() == questionID {
			all = append(all, Entry{m.ID(), string(m.Role()), m.Content().String()})
		}
	}
	return all
}

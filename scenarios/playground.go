package scenarios

import (
	"context"
	"fmt"
	"regexp"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/numbers"
	"github.com/adkreplay/adkreplay/fakes"
)

// playground are turns from which one can learn to read the phases of a turn.
var playground = []Scenario{
	{
		Name:  "minimal",
		About: "a turn with nothing in it but an executor: no history, no tool, a streamed reply that is stored",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"Hello there."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Stream("Hello", " there."), fakes.Ack()}}
			return adk.Config{Executor: script.Executor("model"), Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "multi-turn-memory",
		About: "the third turn of a session: its storage gives what the two before it have stored",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"Reply 3."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			session := fakes.NewStorage()
			for turn := range 2 {
				must(0, replied(session, turn+1))
			}
			return remembering(session, 3), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "tool-use",
		About: "two tools that the storage has are registered, called in one iteration, and answered from in the next",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"It is noon, and 6 times 7 is 42."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			clock := fakes.NewTool("get_time", "Tells the time.", "12:00").Tool()
			script := fakes.Script{
				{fakes.Call("get_time", `{}`), fakes.Call("calculate", `{"expression":"6 * 7"}`)},
				{fakes.Say("It is noon, and 6 times 7 is 42."), fakes.Ack()},
			}
			config := agent(script, "What time is it, and what is 6 times 7?")
			config.Storage = fakes.NewStorage(asked("q1", "What time is it, and what is 6 times 7?"), clock, numbers.Calculate()).Storage()
			config.TurnInput = append(config.TurnInput, equip)
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "standing-instructions",
		About: "what always holds comes from the storage: role, constraints and format stand beside the prompt",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"1. Oslo 2. Rome"}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("1. Oslo 2. Rome"), "Name two capitals.")
			config.Storage = fakes.NewStorage(asked("q1", "Name two capitals."), adk.NewTokenizable("You are a teacher of geography."),
				adk.NewTokenizable("Say nothing of politics."), adk.NewTokenizable("Answer with a numbered list.")).Storage()
			config.TurnInput = append(config.TurnInput, instruct)
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "input-pipeline",
		About: "a middleware takes mail addresses and numbers out of what the model sees; the storage keeps the question as it was",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"We will write to you."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("We will write to you."), "I am ada@example.com, or call +47 22 33 44 55.")
			config.TurnInput = append(config.TurnInput, redactLastUserMessage)
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// remembering makes the config of one turn of a session: it stores its question and its answer, and
// sees those of earlier turns.
func remembering(session *fakes.Storage, turn int) adk.Config {
	question := asked(fmt.Sprintf("q%d", turn), fmt.Sprintf("Question %d?", turn))
	script := fakes.Script{{fakes.Say(fmt.Sprintf("Reply %d.", turn)).As(fmt.Sprintf("a%d", turn)), fakes.Ack()}}
	return adk.Config{
		Executor: script.Executor("model"),
		Storage:  session.Storage(),
		TurnInput: []adk.TurnMiddleware{hydrate, {Name: "ask", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			if err := tc.Messages().Store(ctx, question); err != nil {
				return err
			}
			if _, err := tc.Messages().Add(question); err != nil {
				return err
			}
			next(ctx)
			return nil
		}}},
	}
}

// replied runs one turn of a session.
func replied(session *fakes.Storage, turn int) error {
	runner, err := adk.NewRunner(fakes.Deterministic(remembering(session, turn)))
	if err != nil {
		return err
	}
	return runner.Run(context.Background(), adk.RawTurn{SystemPrompt: prompt})
}

// equip registers the tools from the storage.
var equip = adk.TurnMiddleware{Name: "equip", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	tools, err := tc.Tools().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if err := tc.Tools().Register(tool); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}}

// instruct adds the current standing instructions from the storage.
var instruct = adk.TurnMiddleware{Name: "instruct", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	instructions, err := tc.Instructions().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, instruction := range instructions {
		if _, err := tc.Instructions().Add(instruction); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}}

// What is removed from a message.
var (
	mailAddress = regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.-]*\w`)
	phoneNumber = regexp.MustCompile(`\+?\d[\d ()-]{6,}\d`)
)

// redactLastUserMessage replaces, for this turn, what the model need not know in the last message
// of the user. It stores nothing.
var redactLastUserMessage = adk.TurnMiddleware{Name: "redactLastUserMessage", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	var last *adk.Message
	for _, m := range tc.Messages().All() {
		if m.Role() == adk.RoleUser {
			last = m
		}
	}
	if last != nil {
		init := last.Init()
		init.Content = phoneNumber.ReplaceAllString(mailAddress.ReplaceAllString(last.Content().String(), "[EMAIL]"), "[PHONE]")
		redacted, err := adk.NewMessage(init)
		if err != nil {
			return err
		}
		if _, err := tc.Messages().Add(redacted); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}}

package scenarios

import (
	"context"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// grounded are scenarios of an agent without tools, in which code decides whether an answer may
// stand. Package example/grounded is such an agent to copy, with complete retrieval.
var grounded = []Scenario{
	{
		Name:  "grounded-answer",
		About: "a gate lets no answer stand that does not link to what was retrieved: the model is told so, twice, and nothing of the rejected answers is left",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 3, Said: []string{"At noon.", "At noon, says [the manual](/manual).", "At noon, says [the guide](/gates#hours)."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(fakes.Script{
				{fakes.Say("At noon.")},
				{fakes.Say("At noon, says [the manual](/manual).")},
				{fakes.Say("At noon, says [the guide](/gates#hours).")},
			}, "When does the gate open?")
			config.TurnInput = append(config.TurnInput, retrieve)
			config.DispatchOutput = []adk.DispatchMiddleware{citationGate}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "grounded-refused",
		About: "a question that is longer than the model's window: what can go goes, the report says refused, and the executor refuses before it asks; nobody aborts the turn",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_LLM_EXECUTION_EXECUTOR_ERROR}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(nil, "When does the gate open? "+strings.Repeat("I have to know. ", 8))
			config.TurnInput = append(config.TurnInput, retrieve, shed)
			config.Executor = adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if n := tokensIn(dc.Messages().All(), dc.Retrievables().All()); n > window {
					return fmt.Errorf("%d tokens do not fit into a window of %d", n, window)
				}
				return dc.Ack()
			}}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// window is how many tokens the model of a scenario accepts.
const window = 32

// shed drops retrievables, the last first, until everything fits, and logs how many it dropped and
// whether the rest still does not fit. It does not refuse the turn itself: the model's executor
// does.
var shed = adk.TurnMiddleware{Name: "shed", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	dropped := 0
	for retrieved := tc.Retrievables().All(); len(retrieved) > 0 && tokensIn(tc.Messages().All(), retrieved) > window; retrieved = tc.Retrievables().All() {
		if _, err := tc.Retrievables().Remove(retrieved[len(retrieved)-1].ID()); err != nil {
			return err
		}
		dropped++
	}
	refused := tokensIn(tc.Messages().All(), tc.Retrievables().All()) > window
	if dropped > 0 || refused {
		tc.Log(adk.LevelWarn, "window-report", "not all fits into the model's window", map[string]any{"retrievables": dropped, "refused": refused})
	}
	next(ctx)
	return nil
}}

// tokensIn returns how many tokens the model reads for these records.
func tokensIn(messages []*adk.Message, retrieved []*adk.Retrievable) (sum int) {
	for _, m := range messages {
		sum += m.Content().EstimateTokens(adk.EncodingCL100kBase)
	}
	for _, r := range retrieved {
		sum += r.Content().EstimateTokens(adk.EncodingCL100kBase)
	}
	return sum
}

// retrieve asks an index, and adds what it finds to the retrievables.
var retrieve = adk.TurnMiddleware{Name: "retrieve", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	type lookup struct{ Query string }
	messages := tc.Messages().All()
	if len(messages) == 0 { // there is no question
		next(ctx)
		return nil
	}
	found, err := adk.Ask(ctx, "index", lookup{messages[0].Content().String()}, func(context.Context, lookup) ([]string, error) {
		return []string{"The gate opens at noon."}, nil
	}, adk.AskOptions{Effect: adk.EffectReads})
	if err != nil {
		return err
	}
	for i, text := range found {
		score := 1 / float64(i+1)
		chunk, err := adk.NewRetrievable(adk.RetrievableInit{ID: fmt.Sprintf("chunk-%d", i), Content: text, TrustTier: adk.TrustFirstParty, Source: "/gates#hours",
			Score: &score, CreatedAt: earlier, UpdatedAt: earlier})
		if err != nil {
			return err
		}
		if _, err := tc.Retrievables().Add(chunk); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}}

// citationGate acks an answer that links to a retrieved page. It removes any other answer from the
// dispatch, and puts the question again with a correction.
var citationGate = adk.DispatchMiddleware{Name: "citation-gate", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	messages := dc.Messages().All()
	if len(messages) < 2 { // no question, or no answer
		next(ctx)
		return nil
	}
	question, answer := messages[0], messages[len(messages)-1]
	for _, shown := range dc.Retrievables().All() {
		if strings.Contains(answer.Content().String(), "("+shown.Source()+")") {
			next(ctx)
			return dc.Ack()
		}
	}
	if err := dc.Messages().Delete(ctx, answer.ID()); err != nil {
		return err
	}
	init := question.Init()
	init.Content = "When does the gate open?\n\nLink to a page that you were shown, and to no other page."
	corrected, err := adk.NewMessage(init)
	if err != nil {
		return err
	}
	if _, err := dc.Messages().Add(corrected); err != nil {
		return err
	}
	next(ctx)
	return nil
}}

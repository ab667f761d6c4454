package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// talkRequest is a request of Chat Completions.
type talkRequest struct {
	Messages []sentence `json:"messages"`
}

type sentence struct {
	Role    string       `json:"role"`
	Content string       `json:"content"`
	Calls   []wantedCall `json:"tool_calls,omitempty"`
	Answers string       `json:"tool_call_id,omitempty"`
}

type wantedCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type talkAnswer struct {
	Choices []talkChoice `json:"choices"`
}

type talkChoice struct {
	Message sentence `json:"message"`
	Finish  string   `json:"finish_reason"`
}

// framed returns an agent whose tool is a plain function that the engine does not know. The model's call says
// how many pages it should ask for, and it returns what they cost.
func framed(tool func(ctx context.Context, args string, page func(n int) (int, error)) (string, error)) turn.Subject {
	model := func(_ context.Context, q talkRequest) (talkAnswer, error) {
		if last := q.Messages[len(q.Messages)-1]; last.Role == "tool" {
			return talkAnswer{[]talkChoice{{sentence{Role: "assistant", Content: "There you are."}, "stop"}}}, nil
		}
		w := wantedCall{ID: "call_1"}
		w.Function.Name, w.Function.Arguments = "cost", `{"pages":2}`
		return talkAnswer{[]talkChoice{{sentence{Role: "assistant", Calls: []wantedCall{w}}, "tool_calls"}}}, nil
	}
	run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		said := []sentence{{Role: "user", Content: "What does it cost?"}}
		for range 4 {
			got, err := adk.Ask(ctx, "model", talkRequest{said}, model)
			switch {
			case err != nil:
				return err
			case len(got.Choices) == 0 || len(got.Choices[0].Message.Calls) == 0 && got.Choices[0].Finish != "stop":
				return errors.New("the model says nothing")
			case len(got.Choices[0].Message.Calls) == 0:
				return saysAndAcks(ctx, dc, got.Choices[0].Message.Content)
			}
			answer := got.Choices[0].Message
			said = append(said, answer)
			for _, call := range answer.Calls {
				text, err := tool(ctx, call.Function.Arguments, func(n int) (int, error) {
					return adk.Ask(ctx, "pages", n, func(context.Context, int) (int, error) { return 10 * n, nil })
				})
				if err != nil {
					return err
				}
				said = append(said, sentence{Role: "tool", Answers: call.ID, Content: text})
			}
		}
		return errors.New("the model comes to no end")
	}
	return turn.Subject{Name: "framed", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}
}

// The result of a plain function appears in the next request to the model. It is compared with what failed
// meanwhile, in the same way as the result of one of the engine's tools.
func TestPartToldByPlainFunctions(t *testing.T) {
	const oracle = "what failed is not told as done"
	for name, c := range map[string]struct {
		failed func(page func(int) (int, error), err error) (costs string, handedOn error)
		says   string
	}{
		"without it": {func(func(int) (int, error), error) (string, error) { return "", nil }, "it gives the usual words with other figures"},
		"handed on":  {func(_ func(int) (int, error), err error) (string, error) { return "", err }, ""},
		"said":       {func(func(int) (int, error), error) (string, error) { return "unknown", nil }, ""},
		"asked again": {func(page func(int) (int, error), _ error) (string, error) {
			n, err := page(1)
			return fmt.Sprint(n), err
		}, ""},
		"asked for less": {func(page func(int) (int, error), _ error) (string, error) {
			n, err := page(3)
			return fmt.Sprint(n), err
		}, ""},
	} {
		result := exploredAll(t, framed(func(_ context.Context, _ string, page func(int) (int, error)) (string, error) {
			first, err := page(1)
			costs := fmt.Sprint(first)
			if err != nil {
				if costs, err = c.failed(page, err); err != nil {
					return "", err
				}
				if costs == "" {
					costs = "0"
				}
			}
			second, err := page(2)
			return strings.Join([]string{"It costs", costs, "and", fmt.Sprint(second)}, " "), err
		}))
		found := breaches(result.Violations, oracle)
		if c.says == "" {
			assert.Empty(t, found, "%s: %s", name, result)
			continue
		}
		if assert.Len(t, found, 1, "%s: %s", name, result) {
			assert.Contains(t, found[0], "pages failed, and the tool cost gives what is left")
			assert.Contains(t, found[0], c.says)
		}
	}
	for name, c := range map[string]struct{ failed, says string }{
		"nothing":  {"", "it gives nothing"},
		"a part":   {"the lamp", "it gives a part of the usual words"},
		"a letter": {"x", ""},
	} {
		result := exploredAll(t, framed(func(_ context.Context, _ string, page func(int) (int, error)) (string, error) {
			if _, err := page(1); err != nil {
				return c.failed, nil
			}
			return "the lamp and the bulb", nil
		}))
		found := breaches(result.Violations, oracle)
		assert.Equal(t, c.says != "", len(found) == 1, "%s: %s", name, result)
		if len(found) == 1 {
			assert.Contains(t, found[0], c.says)
		}
	}
}

// The explorer cannot see the arguments of a plain function, but it sees what the function asks for. If it asks
// for something new after a cut answer of the model, that is a hint.
func TestPlainFunctionsThatRunOnHalf(t *testing.T) {
	const oracle = "a tool is given what the model wanted"
	for name, c := range map[string]struct {
		unread func(args string) (pages int, says string, handedOn error)
		hinted bool
	}{
		"none in their place": {func(string) (int, string, error) { return 0, "", nil }, true},
		"the usual ones":      {func(string) (int, string, error) { return 2, "", nil }, false},
		"said":                {func(string) (int, string, error) { return 0, "these are no arguments", nil }, false},
		"handed on":           {func(args string) (int, string, error) { return 0, "", errors.New(args) }, false},
	} {
		result := exploredAll(t, framed(func(_ context.Context, args string, page func(n int) (int, error)) (string, error) {
			var wants struct{ Pages int }
			if json.Unmarshal([]byte(args), &wants) != nil {
				pages, says, err := c.unread(args)
				if err != nil || says != "" {
					return says, err
				}
				wants.Pages = pages
			}
			n, err := page(wants.Pages)
			return fmt.Sprint("It costs ", n), err
		}))
		assert.Empty(t, breaches(result.Violations, oracle), "%s: %s", name, result)
		hints := breaches(result.Hints, oracle)
		assert.Equal(t, c.hinted, len(hints) == 1, "%s: %s", name, result)
		if len(hints) == 1 {
			assert.Contains(t, hints[0], "what model wanted was cut, and pages is asked for what it never is")
		}
	}
}

// A service that a tool asks is not a model. If its answer is cut, that is not taken for cut arguments, whatever
// the tool then asks other services.
func TestAServiceWantsNoTool(t *testing.T) {
	client := &http.Client{Transport: adkhttp.NewTransport(plainAnswers{})}
	result := exploredAll(t, framed(func(ctx context.Context, _ string, _ func(n int) (int, error)) (string, error) {
		said, err := got(ctx, client, "http://weather.example/oslo")
		if err != nil || said != "load of /oslo" {
			said = "the weather is not known"
		}
		_, err = adk.Ask(ctx, "audit", said, func(context.Context, string) (string, error) { return "noted", nil }, adk.AskOptions{Effect: adk.EffectReads})
		return said, err
	}))
	assert.Empty(t, breaches(result.Hints, "a tool is given what the model wanted"), "%s", result)
}

// If a tool returns something else than usual, the report shows the text from where the two differ.
func TestLessIsShownWhereItDiffers(t *testing.T) {
	const lead = `{"orders":["the first of all orders, which is a long one","the second"],`
	result := exploredAll(t, framed(func(_ context.Context, _ string, page func(n int) (int, error)) (string, error) {
		if _, err := page(1); err != nil {
			return lead + `"debts":["ten"]}`, nil
		}
		return lead + `"debts":["ten","twenty"]}`, nil
	}))
	found := breaches(result.Violations, "what failed is not told as done")
	require.Len(t, found, 1, "%s", result)
	assert.Contains(t, found[0], `"twenty"`)
}

// A list that nothing was put into is null in JSON that Go writes, and says no more than an empty one. A
// number that is null is said to be unknown, and other members say what is missing.
func TestNullsInThePlaceOfLists(t *testing.T) {
	for name, c := range map[string]struct {
		usual, failed string
		accused       bool
	}{
		"a list":             {`{"orders":["lamp"],"tickets":["late"]}`, `{"orders":null,"tickets":["late"]}`, true},
		"an object":          {`[{"orders":{"lamp":2}},"<all>"]`, `[{"orders":null},"<all>"]`, true},
		"the words of one":   {`{"orders":["lamp"],"tickets":["lamp"]}`, `{"orders":null,"tickets":["lamp"]}`, true},
		"an empty list":      {`{"orders":[],"tickets":["lamp"]}`, `{"orders":null,"tickets":["lamp"]}`, false},
		"a number":           {`{"price":12,"tickets":["late"]}`, `{"price":null,"tickets":["late"]}`, false},
		"a list, with a why": {`{"orders":["lamp"],"tickets":["late"]}`, `{"orders":null,"tickets":["late"],"errors":["refused"]}`, false},
		"no JSON":            {`orders: lamp, tickets: late`, `orders: null, tickets: late`, false},
	} {
		result := exploredAll(t, framed(func(_ context.Context, _ string, page func(n int) (int, error)) (string, error) {
			if _, err := page(1); err != nil {
				return c.failed, nil
			}
			return c.usual, nil
		}))
		found := breaches(result.Violations, "what failed is not told as done")
		assert.Equal(t, c.accused, len(found) == 1, "%s: %s", name, result)
		if len(found) == 1 {
			assert.Contains(t, found[0], "it gives a part of the usual words")
		}
	}
}

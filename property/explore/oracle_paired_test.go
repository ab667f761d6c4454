package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/turn"
)

const pairing = "an answer stays with what it was asked for"

// arrived is one of several answers that were asked for concurrently.
type arrived struct {
	of    int
	value string
}

var cities = []string{"Oslo", "Rome", "Lima"}

// asksAtOnce asks for the weather of all cities on goroutines, and returns the answers in the order in
// which they arrive.
func asksAtOnce(ctx context.Context) ([]arrived, error) {
	var mu sync.Mutex
	var all []arrived
	var errs error
	var wg sync.WaitGroup
	for i, city := range cities {
		wg.Go(func() {
			value, err := adk.Ask(ctx, "weather", city, func(context.Context, string) (string, error) { return fmt.Sprint(10*i, "°"), nil })
			mu.Lock()
			defer mu.Unlock()
			all, errs = append(all, arrived{i, value}), errors.Join(errs, err)
		})
	}
	wg.Wait()
	return all, errs
}

// An agent that matches several answers to its questions by the order of their arrival mixes them up when the
// first one is late. An agent that keeps them apart, or tells them as they arrive, does not.
func TestAnswersOfSeveralAtOnce(t *testing.T) {
	thorough.Long(t)
	lines := func(line func(n int, a arrived) string) func([]arrived) string {
		return func(all []arrived) string {
			var text strings.Builder
			for n, a := range all {
				text.WriteString(line(n, a) + "\n")
			}
			return text.String()
		}
	}
	object := func(city, value string) string { return fmt.Sprintf(`{"city":%q,"value":%q}`, city, value) }
	list := func(element func(n int, a arrived) string) func([]arrived) string {
		return func(all []arrived) string {
			elements := make([]string, len(all))
			for n, a := range all {
				elements[n] = element(n, a)
			}
			return "[" + strings.Join(elements, ",") + "]"
		}
	}
	for name, c := range map[string]struct {
		tell  func([]arrived) string
		wrong bool
	}{
		"lines of the next city":   {lines(func(n int, a arrived) string { return cities[n] + ": " + a.value }), true},
		"objects of the next city": {list(func(n int, a arrived) string { return object(cities[n], a.value) }), true},
		"members of the next city": {func(all []arrived) string {
			members := map[string]string{}
			for n, a := range all {
				members[cities[n]] = a.value
			}
			text, _ := json.Marshal(members)
			return string(text)
		}, true},
		"lines as they come":         {lines(func(_ int, a arrived) string { return cities[a.of] + ": " + a.value }), false},
		"numbered lines":             {lines(func(n int, a arrived) string { return fmt.Sprintf("%d. %s: %s", n+1, cities[a.of], a.value) }), false},
		"lines of workers":           {lines(func(n int, a arrived) string { return fmt.Sprintf("worker %d: %s: %s", n+1, cities[a.of], a.value) }), false},
		"objects as they come":       {list(func(_ int, a arrived) string { return object(cities[a.of], a.value) }), false},
		"one line":                   {func(all []arrived) string { return fmt.Sprint(all) }, false},
		"the first one, and no more": {func(all []arrived) string { return cities[all[0].of] + ": " + all[0].value }, false},
		"each at its place": {func(all []arrived) string {
			said := make([]string, len(cities))
			for _, a := range all {
				said[a.of] = cities[a.of] + ": " + a.value
			}
			return strings.Join(said, "\n")
		}, false},
	} {
		tool := samples.Must(adk.NewTool(adk.ToolInit{Name: "weather", Description: "Tells it.", InputSchema: json.RawMessage(`{"type":"object"}`), Effect: adk.EffectReads,
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				all, err := asksAtOnce(ctx)
				if err != nil {
					return nil, err
				}
				return adk.Text(c.tell(all)), nil
			}}))
		found := breaches(exploredAll(t, turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tool},
				Executor: fakes.Script{{fakes.Call("weather", "{}")}, {fakes.Ack()}}.Executor("model")}, adk.RawTurn{SystemPrompt: "Help."}
		}}).Violations, pairing)
		assert.Equal(t, c.wrong, len(found) > 0, "%s: %s", name, found)
	}
}

// Results of tools that run concurrently, on goroutines or on strands, have to be stored with their own calls,
// not with the calls that are next in order.
func TestResultsOfSeveralToolsAtOnce(t *testing.T) {
	tool := samples.Must(adk.NewTool(adk.ToolInit{Name: "weather", Description: "Tells it.", InputSchema: json.RawMessage(`{"type":"object"}`), Effect: adk.EffectReads,
		Handler: func(ctx context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			value, err := adk.Ask(ctx, "weather", args["city"], func(_ context.Context, city any) (string, error) { return fmt.Sprint("fine in ", city), nil })
			return adk.Text(value), err
		}}))
	for _, wrong := range []bool{true, false} {
		for _, strands := range []bool{true, false} {
			run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				type ended struct {
					of     int
					result adk.ToolResult
				}
				var mu sync.Mutex
				var all []ended
				var errs error
				var wg sync.WaitGroup
				var forked []*adk.Strand
				for i, city := range cities {
					ask := func(ctx context.Context, dc *adk.DispatchContext) error {
						result, err := dc.Execute(ctx, tool, fmt.Sprintf(`{"city":%q}`, city))
						mu.Lock()
						defer mu.Unlock()
						all, errs = append(all, ended{i, result}), errors.Join(errs, err)
						return nil
					}
					if !strands {
						wg.Go(func() { _ = ask(ctx, dc) })
						continue
					}
					s, err := dc.Fork(ctx, "city", ask)
					if err != nil {
						return err
					}
					forked = append(forked, s)
				}
				wg.Wait()
				var ends error
				for _, s := range forked {
					ends = errors.Join(ends, s.Wait())
				}
				mu.Lock() // a strand that outlives an abort may still be writing
				defer mu.Unlock()
				if err := errors.Join(ends, errs); err != nil {
					return err
				}
				for n, e := range all {
					of := e.of
					if wrong {
						of = n
					}
					now := dc.Now()
					call, err := adk.NewToolCall(adk.ToolCallInit{ID: fmt.Sprint("call", of), Tool: "weather", Args: map[string]any{"city": cities[of]}, Results: e.result, CreatedAt: now, UpdatedAt: now, CompletedAt: now})
					if err != nil {
						return err
					}
					if err := dc.ToolCalls().Store(ctx, call); err != nil {
						return err
					}
				}
				return dc.Ack()
			}
			found := breaches(exploredAll(t, executor("tools", run)).Violations, pairing)
			assert.Equal(t, wrong, len(found) > 0, "%v, %v: %s", wrong, strands, found)
		}
	}
}

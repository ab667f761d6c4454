package livetest

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Version is a version of a turn.
type Version struct {
	Config adk.Config
	Raw    adk.RawTurn
}

// WeatherVersion returns a turn with a tool and two iterations.
func WeatherVersion(script fakes.Script) Version {
	return Version{
		Config: adk.Config{
			TurnInput: []adk.TurnMiddleware{
				{Name: "hydrate", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
					next(ctx)
					return tc.Stash().Set("hydrated", true)
				}},
				{Name: "rank", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
					next(ctx)
					return nil
				}},
			},
			Executor: script.Executor("model"),
			Storage:  fakes.NewStorage().Storage(),
			Tools:    []*adk.Tool{fakes.NewTool("weather", "Tells the weather in a city.", "4 °C").Tool()},
		},
		Raw: adk.RawTurn{SystemPrompt: "You are a helpful assistant.", Instructions: []string{"Be brief."}},
	}
}

// AskAndSay returns a script that asks for the weather of a city and then says an answer.
func AskAndSay(city, answer string) fakes.Script {
	return fakes.Script{{fakes.Call("weather", `{"city":"`+city+`"}`)}, {fakes.Say(answer), fakes.Ack()}}
}

// Record runs a version and returns its trace.
func (v Version) Record(t testing.TB) *trace.Trace {
	t.Helper()
	var out bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(v.Config, replay.Record(&out)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), v.Raw))
	recorded, err := trace.Read(&out)
	require.NoError(t, err)
	return recorded
}

// InsertSpy inserts a middleware between two others that only looks at the turn.
func InsertSpy(v *Version) {
	v.Config.TurnInput = slices.Insert(slices.Clone(v.Config.TurnInput), 1, adk.TurnMiddleware{
		Name: "spy", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			if _, err := tc.Messages().Fetch(ctx); err != nil {
				return err
			}
			next(ctx)
			return nil
		}})
}

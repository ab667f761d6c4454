package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// looking returns an agent that calls a tool, which returns text, and logs the result.
func looking(t *testing.T, text string) turn.Subject {
	look, err := adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text(text), nil
		}})
	require.NoError(t, err)
	return executing("looks", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		result, err := dc.Execute(ctx, look, map[string]any{})
		if err != nil {
			return err
		}
		h.Log(adk.LevelInfo, "said", result.(*adk.Tokenizable).String(), nil)
		return dc.Ack()
	})
}

// The explorer replaces a tool's text by nothing, by half of it (never cut within a letter), by a far
// longer text, and by unexpected text. JSON is cut too, and one of its texts, if it has one, made far longer.
func TestToolsGiveOtherTexts(t *testing.T) {
	given := func(text string, kind turn.FaultKind) []string { return keysOf(came(t, looking(t, text), kind)) }
	assert.Equal(t, []string{""}, given("4 °C", turn.ResultEmpty))
	assert.Equal(t, []string{"4 "}, given("4 °", turn.ResultCut), "its half is within a letter")
	for _, kind := range []turn.FaultKind{turn.ResultLong, turn.ResultOdd} {
		got := given("4 °C", kind)
		require.Len(t, got, 1, kind)
		assert.True(t, strings.HasPrefix(got[0], "4 °C\n") && utf8.ValidString(got[0]), kind)
	}
	for kind, want := range map[turn.FaultKind][]string{turn.ResultEmpty: nil, turn.ResultLong: nil, turn.ResultOdd: nil, turn.ResultCut: {`{"degr`}} {
		assert.Equal(t, want, given(`{"degrees":4}`[:12]+"}", kind), kind)
	}
	for _, text := range []string{`{"city" : "Oslo", "says \"so\"":"it \"rains\" there"}`, `["a","it rains"]`} {
		got := given(text, turn.ResultLong)
		require.Len(t, got, 1, text)
		assert.True(t, json.Valid([]byte(got[0])), got[0][:100])
		assert.Greater(t, len(got[0]), 10_000)
		assert.Equal(t, text[:strings.LastIndex(text, "\"")], got[0][:strings.LastIndex(text, "\"")], "the longest text is longer, at its end")
	}
}

// If a check fails after a tool's text was replaced, that is a violation when the new text is the reason,
// and only a hint when the check simply expects the usual text.
func TestChecksThatKnowTexts(t *testing.T) {
	checked := func(check func(text string) error) *explore.Exploration {
		s := looking(t, "4 °C")
		s.Check = func(r turn.Run) error {
			for x := range r.Crossings {
				if x.Kind == adk.KindReportLog {
					return check(x.Text)
				}
			}
			return nil
		}
		return explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.ResultLong}})
	}
	long := checked(func(text string) error {
		if len(text) > 10_000 {
			return errors.New("too long")
		}
		return nil
	})
	require.Len(t, long.Violations, 1, long)
	assert.Regexp(t, `^result-long@\d+$`, long.Violations[0].Schedule.String())
	knows := checked(func(text string) error {
		if text != "4 °C" {
			return fmt.Errorf("it is %d bytes", len(text))
		}
		return nil
	})
	assert.Empty(t, knows.Violations, knows)
	assert.Len(t, knows.Hints, 1, knows)
}

// The newest message of the user begins with something odd before its own text, or has no text at all; the
// record in the storage stays as it was.
func TestSaid(t *testing.T) {
	storage := fakes.NewStorage(uttered("u0", adk.RoleUser, "What now?"))
	s := turn.Subject{Name: "repeats", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Storage: storage.Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			all, err := dc.Messages().Fetch(ctx)
			if err != nil {
				return err
			}
			h.Log(adk.LevelInfo, "said", all[len(all)-1].Content().String(), nil)
			return dc.Ack()
		}}}, adk.RawTurn{SystemPrompt: "Help."}
	}}
	heard := map[string]string{}
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog && r.Schedule.Input.Kind == turn.Said {
				heard[r.Schedule.String()] = x.Text
			}
		}
		return nil
	}
	result := explored(t, s, explore.Options{Workers: 1, Faults: []turn.FaultKind{}})
	assert.Empty(t, result.Violations, result)
	assert.Equal(t, "\n", heard["said@1"])
	assert.Greater(t, len(heard), 5)
	for schedule, text := range heard {
		assert.True(t, schedule == "said@1" || len(text) > 10 && strings.HasSuffix(text, "\nWhat now?") && utf8.ValidString(text), "%s: %q", schedule, text)
	}
	assert.Equal(t, "What now?", storage.Messages()[0].Content().String())
	_, err := explore.RunSchedule(t.Context(), s, turn.MustSchedule("said@99"), explore.Options{})
	assert.ErrorContains(t, err, "said@99 cannot happen")
}

// An ask whose context belongs to no call is never struck by a fault, and the report says so. It is a hint if a call
// makes such an ask, itself or through a goroutine that it waits for; not if a service asks on its own behalf.
func TestAsksBesideTheCall(t *testing.T) {
	const asked = ", is asked with a context that is no call's: nothing of that crosses, and nothing breaks it. Hand on the call's"
	const within = "model.example, in explore_test.post at property/explore/world_test.go:LINE, called by explore_test.TestAsksBesideTheCall."
	for name, c := range map[string]struct {
		ask        func(ctx context.Context, ask func(context.Context) error) error
		notCovered string
		hint       string
	}{
		"with its context": {func(ctx context.Context, ask func(context.Context) error) error { return ask(ctx) }, "", ""},
		"with another":     {func(_ context.Context, ask func(context.Context) error) error { return ask(context.Background()) }, "what is asked with a context that is no call's: see the hints", within},
		"beside": {func(_ context.Context, ask func(context.Context) error) error {
			done := make(chan error)
			go func() { done <- ask(context.Background()) }()
			return <-done
		}, "what is asked with a context that is no call's: see the hints", within},
		"by a service": {func(_ context.Context, ask func(context.Context) error) error {
			s := service{ask, make(chan error)}
			s.begin()
			return <-s.done
		}, "what " + within, ""},
	} {
		s := executing("asks", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if err := c.ask(ctx, func(ctx context.Context) error {
				_, err := post(ctx, &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(fakes.Reply{ContentType: "application/json", Body: completion})))})
				return err
			}); err != nil {
				return err
			}
			return dc.Ack()
		})
		result := explored(t, s, explore.Options{})
		line := regexp.MustCompile(`\.go:\d+`)
		if c.notCovered == "" {
			assert.Empty(t, result.NotCovered, name)
		} else if assert.Len(t, result.NotCovered, 1, name) {
			said := line.ReplaceAllString(result.NotCovered[0], ".go:LINE")
			assert.True(t, strings.HasPrefix(said, c.notCovered), "%s: %s", name, said)
			assert.Equal(t, c.hint == "", strings.HasSuffix(said, asked), "%s: %s", name, said)
		}
		if c.hint == "" {
			assert.Empty(t, result.Hints, name)
		} else if assert.Len(t, result.Hints, 1, name) {
			said := line.ReplaceAllString(result.Hints[0].Text, ".go:LINE")
			assert.Equal(t, "a call asks with its context", result.Hints[0].Invariant)
			assert.True(t, strings.HasPrefix(said, c.hint) && strings.HasSuffix(said, asked), "%s: %s", name, said)
			log := &recorder{T: t}
			explore.Test(log, s, explore.Options{Workers: 1})
			assert.Contains(t, log.logs[0], "\n  hint: undisturbed: a call asks with its context: ", "the log of a test has it")
		}
	}
}

// service asks on its own behalf, on a goroutine of its own.
type service struct {
	ask  func(context.Context) error
	done chan error
}

func (s service) begin() { go s.serve() }
func (s service) serve() { s.done <- s.ask(context.Background()) }

// A body that is never closed is found even without a fault.
func TestABodyThatIsNotClosed(t *testing.T) {
	for closes, entries := range map[bool]int{true: 0, false: 1} {
		s := executing("asks", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			client := &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(fakes.Reply{ContentType: "application/json", Body: completion})))}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions", strings.NewReader(`{"messages":[],"stream":true}`))
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			if closes {
				defer resp.Body.Close()
			}
			if resp.StatusCode != http.StatusOK {
				return errors.New(resp.Status)
			}
			return dc.Ack()
		})
		result := explored(t, s, explore.Options{})
		assert.Len(t, result.Violations, entries, "%s", result)
		assert.Len(t, says(result, "was neither read to its end nor closed"), entries)
	}
}

// A stored message that ends where the answer should have been counts as no answer; other words do.
func TestNoAnswerIsNotKeptAsOne(t *testing.T) {
	sumsUp := func(with func(answer string) string) []explore.Breach {
		return says(explored(t, executing("sums up", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			summary, _ := adk.Ask(ctx, "model", "sum up", func(context.Context, string) (string, error) { return "They counted.", nil })
			now := dc.Now()
			m, err := adk.NewMemory(adk.MemoryInit{ID: "sum", Content: with(summary), Confidence: new(1.0), Importance: new(1.0), CreatedAt: now, UpdatedAt: now})
			if err == nil {
				err = dc.Memories().Store(ctx, m)
			}
			if err != nil {
				return err
			}
			return dc.Ack()
		}), explore.Options{Faults: []turn.FaultKind{turn.AskRefused, turn.AskEmpty}}), "is the beginning of")
	}
	found := sumsUp(func(answer string) string { return "So far: " + answer })
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Text, `there was no answer, and memory "sum" is kept as "So far: ", which is the beginning of "So far: They counted."`)
	assert.Empty(t, sumsUp(func(answer string) string {
		if answer == "" {
			return "So far: nothing is known."
		}
		return "So far: " + answer
	}))
}

// A stored message that ends where the connection broke counts as no answer, unless the message says that
// it is cut or the failure is reported.
func TestHalfAnAnswerIsNotKeptAsAWhole(t *testing.T) {
	streams := func(end func(text string, err error, h *adk.Helpers) string) *explore.Exploration {
		return explored(t, executing("streams", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text := ""
			var broke error
			for piece, err := range adk.AskStream(ctx, "model", "the weather", func(_ context.Context, _ string, yield func(string) error) error {
				return errors.Join(yield("It "), yield("rains."))
			}) {
				text, broke = text+piece, err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if text = end(text, broke, h); text == "" {
				return dc.Nack(broke)
			}
			if err := dc.Messages().Store(ctx, uttered("m0", adk.RoleAssistant, text)); err != nil {
				return err
			}
			return dc.Ack()
		}), explore.Options{Faults: []turn.FaultKind{turn.AskCut, turn.AskStalled}})
	}
	found := says(streams(func(text string, _ error, _ *adk.Helpers) string { return text }), "is the beginning of")
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Text, `message "m0" is kept as "It ", which is the beginning of "It rains."`)
	assert.Equal(t, "half an answer is not kept as a whole", found[0].Invariant)
	for name, end := range map[string]func(text string, err error, h *adk.Helpers) string{
		"is told": func(text string, err error, h *adk.Helpers) string {
			if err != nil {
				h.Log(adk.LevelWarn, "model", err.Error(), nil)
			}
			return text
		},
		"says so": func(text string, err error, _ *adk.Helpers) string {
			if err != nil {
				text += "[broken off]"
			}
			return text
		},
		"fails": func(text string, err error, _ *adk.Helpers) string {
			if err != nil {
				return ""
			}
			return text
		},
	} {
		assert.Empty(t, streams(end).Violations, name)
	}
}

// uttered returns a message with this text.
func uttered(id string, role adk.Role, text string) *adk.Message {
	m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	if err != nil {
		panic(err)
	}
	return m
}

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"example.com/agent"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Whatever breaks at one point of a turn, the agent ends well: what the model and the
// weather service answer is broken too, in all the ways in which the world does.
func TestExplored(t *testing.T) {
	for _, c := range turns {
		t.Run(c.name, func(t *testing.T) { explore.Test(t, c.subject(), explore.Options{}) })
	}
}

// The same holds for every recorded turn, on what the model, the weather service and the
// storage said then.
func TestRecordedTurnsExplored(t *testing.T) {
	explore.Traces(t, folder, func(string) turn.Instance {
		live := today(agent.NewModel("http://localhost/v1", "", "small", nil))
		live.Config.Storage = adk.Storage{} // the recording's
		return turn.Instance{Config: live.Config, Raw: live.Turn, Check: answered}
	}, explore.Options{}, reading)
}

// subject is the turn for an exploration: its model has no server.
func (c conversation) subject() turn.Subject {
	return turn.Subject{Name: c.name, Check: answered, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		world := fakes.NewTransport(fakes.Converse(completions(c.replies)...))
		config, raw, err := c.build(agent.NewModel("https://model.example/v1", "sk-example", "small", world))
		if err != nil {
			panic(err)
		}
		return config, raw
	}}
}

// answered holds that a turn ends well with all that the model said last, and with
// something.
func answered(r turn.Run) error {
	var last, said, reason string
	for x := range r.Crossings {
		var piece struct{ Body *modelAnswer }
		switch {
		case x.Kind == adk.KindPiece && json.Unmarshal(x.JSON, &piece) == nil && piece.Body != nil && len(piece.Body.Choices) > 0:
			choice := piece.Body.Choices[0]
			last, reason = choice.Message.Content+choice.Message.Refusal, choice.FinishReason
		case x.Kind == adk.KindReportMessage && x.Err == nil:
			said = x.Text
		case x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck:
			if said == "" || said != last || reason != "stop" {
				return fmt.Errorf("the turn ended well with %q, and the model ended with %q for the reason %s", said, last, reason)
			}
		}
	}
	return nil
}

// modelAnswer is what the check reads of an answer.
type modelAnswer struct {
	Choices []struct {
		Message struct {
			Content, Refusal string
		}
		FinishReason string `json:"finish_reason"`
	}
}

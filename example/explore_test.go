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
		live := today(agent.Model("http://localhost/v1", "", "small"))
		live.Config.Storage = adk.Storage{} // the recording's
		return turn.Instance{Config: live.Config, Raw: live.Turn, Check: answered}
	}, explore.Options{}, reading)
}

// subject is the turn for an exploration: its model has no server.
func (c conversation) subject() turn.Subject {
	return turn.Subject{Name: c.name, Check: answered, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		model := agent.Model("https://model.example/v1", "sk-example", "small")
		model.Transport = fakes.NewTransport(fakes.Converse(c.replies...))
		config, raw, err := c.build(model)
		if err != nil {
			panic(err)
		}
		return config, raw
	}}
}

// answered holds that a turn ends well with all that the model said last, and with
// something.
func answered(r turn.Run) error {
	var last, said string // of the model, and to the user
	var stored *adk.Message
	for x := range r.Crossings {
		switch {
		case x.Kind == adk.KindAsk && x.Phase == adk.Begin && x.Name != "forecasts":
			last = ""
		case x.Kind == adk.KindPiece:
			last += deltaIn(x.JSON)
		case x.Kind == adk.KindReportMessage && x.Err == nil:
			said += x.Text
		case x.Kind == adk.KindIterationStart:
			said = ""
		case x.Kind == adk.KindStore:
			if m, ok := x.Record.(*adk.Message); ok {
				stored = m
			}
		case x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck:
			if said == "" || said != last || stored.Content().String() != said {
				return fmt.Errorf("the turn ended well with %q, and the model ended with %q", said, last)
			}
		}
	}
	return nil
}

// deltaIn is what a piece of an answer adds to the text.
func deltaIn(piece json.RawMessage) string {
	type message struct{ Content, Refusal string }
	type answer struct {
		Choices []struct{ Delta, Message message }
	}
	var p struct{ Data, Body answer }
	if json.Unmarshal(piece, &p) != nil {
		return ""
	}
	text := ""
	for _, c := range append(p.Data.Choices, p.Body.Choices...) {
		text += c.Delta.Content + c.Delta.Refusal + c.Message.Content + c.Message.Refusal
	}
	return text
}

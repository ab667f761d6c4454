package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Whatever breaks at one point of a turn, it ends well: the model, the calendar and the storage
// fail in all the ways in which the world does.
func TestExplored(t *testing.T) {
	t.Parallel()
	explore.Test(t, turn.Subject{Name: "book", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		kept := must(memory.New(storageConfig().Config))
		model := modelOptions("https://model.example/v1", "", "small")
		model.Transport = fakes.NewTransport(fakes.Converse(
			fakes.StreamToolCall("call_1", "remember", `{"topic":"tea","text":"green"}`),
			fakes.StreamToolCall("call_2", "book", `{"title":"the dentist",`, `"when":"noon"}`),
			fakes.StreamReply("Booked: ", "12ab34cd."),
		))
		host := must(session.NewHost(must(hostConfig(outside{
			Model: model, Storage: kept.Storage(), Sessions: kept.Sessions(), Spool: artifact.NewMemorySpool(), Name: "explored",
			Calendar: func(context.Context, booking) (string, error) { return "12ab34cd", nil },
		}))))
		next := session.Accepted{Delivery: session.Delivery{Payload: json.RawMessage(`{"text":"My tea is green, and book the dentist at noon."}`)}}
		raw := must(host.Begin(session.Seed{Tenant: "me", Session: "main", Delivery: "one", Kind: lineKind, Seq: 1, Attempt: 1, Epoch: 1}, session.Loaded{Next: &next}))
		return host.Agent(), raw
	}}, explore.Options{})
}

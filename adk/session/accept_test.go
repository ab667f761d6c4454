package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
)

// SES-10, SES-25: one process accepts a delivery and another one settles it. Journal and Notify report the
// same as if one process did both.
func TestAcceptNowSettleLater(t *testing.T) {
	w := newWorld(t)
	receives, works := w.config(counting), w.config(counting)
	receives.Name, works.Name = "receiver", "worker"
	receiver, worker := w.host(receives), w.host(works)
	for seq, id := range []string{"a", "b"} {
		a, err := receiver.Accept(t.Context(), delivery("one", id))
		require.NoError(t, err)
		assert.Equal(t, []any{int64(seq + 1), session.Unsettled, false}, []any{a.Seq, a.State, a.Known})
	}
	a, err := receiver.Accept(t.Context(), delivery("one", "a"))
	require.NoError(t, err)
	assert.True(t, a.Known)
	assert.Equal(t, []session.StepKind{session.StepAccepted, session.StepAccepted}, w.kinds(), "no turn is run, and nothing is told twice")
	assert.Equal(t, []any{"receiver", int64(1), delivery("one", "a").Digest()}, []any{w.steps[0].Host, w.steps[0].Seq, w.steps[0].Payload})

	settled, err := worker.Resume(t.Context(), 10)
	require.NoError(t, err)
	assert.Equal(t, 2, settled)
	assert.Equal(t, "2", w.counted(worker, "one"))
	a, err = receiver.Accept(t.Context(), delivery("one", "a"))
	require.NoError(t, err)
	assert.Equal(t, session.Committed, a.State)
	assert.Equal(t, session.Outcome{Delivery: delivery("one", "a").DeliveryID(), Seq: 1, State: session.Committed, Duplicate: true, Attempt: 1, TurnID: w.told[0].TurnID, Revision: 1}, a.Outcome)
}

// SES-9, SES-10: Accept refuses the same deliveries as Deliver, and reports nothing about them.
func TestAcceptRefuses(t *testing.T) {
	w := newWorld(t)
	h := w.host(w.config(counting))
	_, err := h.Accept(t.Context(), delivery("one", "a"))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(d *session.Delivery)
		code   adk.Code
	}{
		"no payload":      {func(d *session.Delivery) { d.Payload = nil }, adk.E_INVALID_DELIVERY},
		"no tenant":       {func(d *session.Delivery) { d.Tenant = "" }, adk.E_INVALID_DELIVERY}, // the records' storage is strict
		"another payload": {func(d *session.Delivery) { d.Payload = json.RawMessage(`"x"`) }, adk.E_DELIVERY_CONFLICT},
		"another channel": {func(d *session.Delivery) { d.ID, d.Kind = "b", "mail" }, adk.E_SESSION_CHANNEL_STATE_CHANGED},
		"much": {func(d *session.Delivery) {
			d.Payload = json.RawMessage(`"` + strings.Repeat("x", session.MaxPayload) + `"`)
		}, adk.E_INVALID_DELIVERY},
	} {
		d := delivery("one", "a")
		c.change(&d)
		a, err := h.Accept(t.Context(), d)
		assert.ErrorIs(t, err, c.code, name)
		assert.Zero(t, a, name)
	}
	assert.Equal(t, []session.StepKind{session.StepAccepted}, w.kinds())
	require.NoError(t, h.EraseSession(t.Context(), "shop", "one"))
	_, err = h.Accept(t.Context(), delivery("one", "c"))
	assert.ErrorIs(t, err, adk.E_SESSION_ERASED)
}

// SES-32: when a store accepts a delivery but does not answer, the journal learns of it when the delivery
// comes again, once.
func TestAcceptWithoutAnAnswer(t *testing.T) {
	w := newWorld(t)
	c := w.config(counting)
	broken := true
	c.Store = &faultyStore{Store: w.kept.Sessions(), after: func(call string) error {
		if broken && call == "Accept" {
			return errBroken
		}
		return nil
	}}
	h := w.host(c)
	_, err := h.Accept(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, errBroken)
	assert.ErrorContains(t, err, `delivery "a" of session "one"`)
	assert.Empty(t, w.kinds())
	broken = false
	for range 2 {
		a, err := h.Accept(t.Context(), delivery("one", "a"))
		require.NoError(t, err)
		assert.True(t, a.Known)
	}
	assert.Equal(t, []session.StepKind{session.StepAccepted}, w.kinds())
}

// A webhook is answered when its delivery is kept; a worker, here or elsewhere, runs it.
func ExampleHost_Accept() {
	kept, err := memory.New(storage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	host, err := session.NewHost(session.Config{
		Agent: adk.Config{
			Storage: kept.Storage(),
			Executor: adk.Executor{Name: "greeter", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				fmt.Println("a turn")
				return dc.Ack()
			}},
		},
		Store: kept.Sessions(),
		Channels: map[string]func(json.RawMessage) (session.Channel, error){
			"door": func(state json.RawMessage) (session.Channel, error) { return noRecords{state}, nil },
		},
		Prompt: func(session.Seed) (string, []string, error) { return "You greet.", nil, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	webhook := func(d session.Delivery) int {
		switch _, err := host.Accept(ctx, d); {
		case errors.Is(err, adk.E_INVALID_DELIVERY):
			return 400
		case err != nil:
			return 503 // it may come again
		}
		return 202
	}
	fmt.Println(webhook(session.Delivery{Session: "ada", ID: "monday", Kind: "door", Payload: json.RawMessage(`{}`)}))
	fmt.Println(webhook(session.Delivery{Session: "ada", ID: "tuesday", Kind: "door", Payload: json.RawMessage(`{`)}))
	fmt.Println(host.Resume(ctx, 100))
	// Output:
	// 202
	// 400
	// a turn
	// 1 <nil>
}

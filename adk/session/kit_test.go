package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
)

// chatChannel stores a delivery's payload, which is a text, as a message of the user.
type chatChannel struct{ state json.RawMessage }

func newChatChannel(state json.RawMessage) (session.Channel, error) { return &chatChannel{state}, nil }

func (c *chatChannel) State() (json.RawMessage, error) { return c.state, nil }

func (c *chatChannel) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	var text string
	if err := json.Unmarshal(d.Payload, &text); err != nil {
		return err
	}
	history, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range history {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: tc.NewID(), Role: adk.RoleUser, Content: text, CreatedAt: tc.Now(), UpdatedAt: tc.Now()})
	if err != nil {
		return err
	}
	return tc.Messages().Keep(ctx, m)
}

// world is a store with its records, and a clock, which the hosts of a test share.
type world struct {
	t     require.TestingT
	kept  *memory.Memory
	clock *fakes.Clock
	ids   *fakes.IDs

	mu    sync.Mutex
	steps []session.Step
	told  []session.Outcome
}

func newWorld(t require.TestingT) *world {
	kept, err := memory.New(storage.Config{Strict: new(true)})
	require.NoError(t, err)
	return &world{t: t, kept: kept, clock: fakes.NewClock(), ids: fakes.NewIDs()}
}

// count is a value to which turns add.
var count = must(session.NewKey[int](session.KeyInit{Name: "test.count"}))

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// config is the config of a host whose turns call a function and then ack.
func (w *world) config(turn func(ctx context.Context, dc *adk.DispatchContext) error) session.Config {
	return session.Config{
		Agent: adk.Config{Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if err := turn(ctx, dc); err != nil {
				return err
			}
			return dc.Ack()
		}}, Storage: w.kept.Storage(), Clock: w.clock, IDs: w.ids},
		Store:    w.kept.Sessions(),
		Keys:     []session.AnyKey{count},
		Channels: map[string]func(json.RawMessage) (session.Channel, error){"chat": newChatChannel},
		Prompt:   func(session.Seed) (string, []string, error) { return "You count.", nil, nil },
		Name:     "host",
		Notify: func(_ context.Context, o session.Outcome) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.told = append(w.told, o)
			return nil
		},
		Journal: func(s session.Step) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.steps = append(w.steps, s)
		},
	}
}

func (w *world) host(c session.Config) *session.Host {
	h, err := session.NewHost(c)
	require.NoError(w.t, err)
	return h
}

// counting is a turn that adds one to count, and stores a message with the sum.
func counting(ctx context.Context, dc *adk.DispatchContext) error {
	n, err := count.Ensure(dc, func() int { return 0 })
	if err != nil {
		return err
	}
	if err := count.Set(dc, n+1); err != nil {
		return err
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: dc.NewID(), Role: adk.RoleAssistant, Content: fmt.Sprint("that makes ", n+1), CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
	if err != nil {
		return err
	}
	return dc.Messages().Store(ctx, m)
}

// delivery is a delivery to a session, whose payload is its id.
func delivery(to, id string) session.Delivery {
	return session.Delivery{Tenant: "shop", Session: to, ID: id, Kind: "chat", Payload: json.RawMessage(fmt.Sprintf("%q", id))}
}

// said returns the texts of the stored messages of a session.
func (w *world) said(of string) (texts []string) {
	scope := storage.Partition{Tenant: "shop", Session: of}.Scope()
	messages, err := w.kept.Storage().Messages.Fetch(context.Background(), scope)
	require.NoError(w.t, err)
	for _, m := range messages {
		texts = append(texts, m.Content().String())
	}
	return texts
}

// counted returns the stored value of count.
func (w *world) counted(h *session.Host, of string) string {
	state, err := h.State(context.Background(), "shop", of)
	require.NoError(w.t, err)
	for _, key := range state.Keys {
		if key.Name == count.Name() {
			return string(key.Value)
		}
	}
	return ""
}

// kinds returns the kinds of the steps that the journal received.
func (w *world) kinds() (kinds []session.StepKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.steps {
		kinds = append(kinds, s.Kind)
	}
	return kinds
}

func deliver(t *testing.T, h *session.Host, d session.Delivery) session.Outcome {
	t.Helper()
	o, err := h.Deliver(t.Context(), d)
	require.NoError(t, err)
	return o
}

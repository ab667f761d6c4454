package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/sessions"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// heard is the key for the ids of the deliveries that a session has heard so far, in order.
var heard = must(session.NewKey[[]string](session.KeyInit{Name: "test.heard"}))

// chat is a channel that stores each payload, a text, as a message.
type chat struct{ state json.RawMessage }

func newChat(state json.RawMessage) (session.Channel, error) { return &chat{state}, nil }

func (c *chat) State() (json.RawMessage, error) { return c.state, nil }

func (c *chat) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	var text string
	if err := json.Unmarshal(d.Payload, &text); err != nil {
		return err
	}
	if _, err := tc.Messages().Fetch(ctx); err != nil {
		return err
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: tc.NewID(), Role: adk.RoleUser, Content: text, CreatedAt: tc.Now(), UpdatedAt: tc.Now()})
	if err != nil {
		return err
	}
	return tc.Messages().Store(ctx, m)
}

// hears is a turn that appends the id of its delivery to heard.
func hears(ctx context.Context, dc *adk.DispatchContext) error {
	seed, err := session.SeedOf(dc)
	if err != nil {
		return err
	}
	all, err := heard.Ensure(dc, func() []string { return nil })
	if err != nil {
		return err
	}
	if err := heard.Set(dc, append(all, seed.Delivery)); err != nil {
		return err
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: dc.NewID(), Role: adk.RoleAssistant, Content: fmt.Sprint("heard ", len(all)+1), CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
	if err != nil {
		return err
	}
	return dc.Messages().Store(ctx, m)
}

// agent returns a config of hosts whose turns call turn and then ack.
func agent(turn func(context.Context, *adk.DispatchContext) error) session.Config {
	return session.Config{
		Agent: adk.Config{Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if err := turn(ctx, dc); err != nil {
				return err
			}
			return dc.Ack()
		}}},
		Keys:     []session.AnyKey{heard},
		Channels: map[string]func(json.RawMessage) (session.Channel, error){"chat": newChat},
		Prompt:   func(session.Seed) (string, []string, error) { return "You listen.", nil, nil },
	}
}

// kept returns a subject with this config, on a store in memory that the functions in change may wrap.
func kept(name string, config func(func() *session.Host) session.Config, change ...func(session.Store) session.Store) sessions.Subject {
	return sessions.Subject{Name: name, Deliveries: deliveries(2), Erases: true, Open: func() sessions.Instance {
		m := must(memory.New(storage.Config{}))
		store := m.Sessions()
		for _, f := range change {
			store = f(store)
		}
		return sessions.Instance{Releases: []sessions.Release{func(host func() *session.Host) session.Config {
			c := config(host)
			c.Store = store
			if c.Agent.Storage.Messages == nil {
				c.Agent.Storage = m.Storage()
			}
			return c
		}}}
	}}
}

// listener returns the subject of most tests, which has no mistake.
func listener() sessions.Subject {
	return kept("listener", func(func() *session.Host) session.Config { return agent(hears) })
}

// elsewhere returns a subject whose records are in a storage that the session store does not write.
func elsewhere() sessions.Subject {
	return sessions.Subject{Name: "elsewhere", Deliveries: deliveries(2), Erases: true, Open: func() sessions.Instance {
		m, records := must(memory.New(storage.Config{})), must(memory.New(storage.Config{}))
		return sessions.Instance{Releases: []sessions.Release{func(func() *session.Host) session.Config {
			c := providing(nil)
			c.Store, c.Agent.Storage = m.Sessions(), records.Storage()
			return c
		}}}
	}}
}

func deliveries(n int) (all []session.Delivery) {
	for i := range n {
		id := fmt.Sprint("d", i+1)
		all = append(all, session.Delivery{Tenant: "shop", Session: "one", ID: id, Kind: "chat", Payload: json.RawMessage(fmt.Sprintf("%q", id))})
	}
	return all
}

// quiet is a test that keeps its failures and logs.
type quiet struct{ failures, logs []string }

func (q *quiet) Helper() {}
func (q *quiet) Logf(format string, args ...any) {
	q.logs = append(q.logs, fmt.Sprintf(format, args...))
}
func (q *quiet) Errorf(format string, args ...any) {
	q.failures = append(q.failures, fmt.Sprintf(format, args...))
}

var errNotNow = errors.New("not now")

// newSharedStorage returns a storage that ignores tenants: everybody sees all records.
func newSharedStorage() adk.Storage { return fakes.NewStorage().Storage() }

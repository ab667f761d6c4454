package storagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// sum is the key that the turns of SettleAll add to.
var sum, errSum = session.NewKey[int](session.KeyInit{Name: "storagetest.sum"})

// numbers is a channel whose payload is a number, which it adds to sum.
type numbers struct{}

func (numbers) State() (json.RawMessage, error) { return nil, nil }

func (numbers) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	var number int
	if err := json.Unmarshal(d.Payload, &number); err != nil {
		return err
	}
	held, err := sum.Ensure(tc, func() int { return 0 })
	if err != nil {
		return err
	}
	if err := sum.Set(tc, held+number); err != nil {
		return err
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: d.ID, Role: adk.RoleUser, Content: fmt.Sprint(held + number), CreatedAt: tc.Now(), UpdatedAt: tc.Now()})
	if err != nil {
		return err
	}
	return tc.Messages().Store(ctx, m)
}

// SessionHost returns a host whose turns add the payloads of their deliveries, which are numbers.
func SessionHost(t require.TestingT, records adk.Storage, store session.Store, change ...func(*session.Config)) *session.Host {
	require.NoError(t, errSum)
	config := session.Config{
		Agent: adk.Config{Storage: records, Executor: adk.Executor{Name: "acks", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return dc.Ack()
		}}},
		Store: store, Keys: []session.AnyKey{sum},
		Channels: map[string]func(json.RawMessage) (session.Channel, error){"numbers": func(json.RawMessage) (session.Channel, error) { return numbers{}, nil }},
		Prompt:   func(session.Seed) (string, []string, error) { return "Add.", nil, nil },
	}
	for _, f := range change {
		f(&config)
	}
	h, err := session.NewHost(config)
	require.NoError(t, err)
	return h
}

// SettleAll lets several hosts settle deliveries concurrently, each of which is sent twice. It
// checks that each delivery counts once, in the order of acceptance, together with its record.
func SettleAll(t require.TestingT, hosts []*session.Host, records adk.Storage) {
	const many, each = 4, 5
	var all sync.WaitGroup
	for s := range many {
		for n := range each {
			for _, host := range hosts {
				all.Go(func() {
					d := session.Delivery{Tenant: "shop", Session: fmt.Sprint("s", s), ID: fmt.Sprint("d", n), Kind: "numbers", Payload: json.RawMessage(fmt.Sprint(n + 1))}
					o, err := host.Deliver(context.Background(), d)
					assert.NoError(t, err)
					assert.Equal(t, o.Seq, o.Revision)
				})
			}
		}
	}
	all.Wait()
	for s := range many {
		state, err := hosts[0].State(context.Background(), "shop", fmt.Sprint("s", s))
		require.NoError(t, err)
		assert.EqualValues(t, each, state.Revision)
		require.Len(t, state.Keys, 1)
		assert.Equal(t, fmt.Sprint(each*(each+1)/2), string(state.Keys[0].Value))
		messages, err := records.Messages.Fetch(context.Background(), ScopeOf("shop", state.Session))
		require.NoError(t, err)
		require.Len(t, messages, each)
		last := 0
		for i, m := range messages {
			d := state.Deliveries[each-1-i]
			assert.Equal(t, d.ID, m.ID(), "records are in the order of acceptance")
			var number int
			require.NoError(t, json.Unmarshal(d.Payload, &number))
			last += number
			assert.Equal(t, fmt.Sprint(last), m.Content().String())
		}
	}
}

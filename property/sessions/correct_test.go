package sessions_test

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/property/sessions"
)

// newHeard is the key heard in a later release, which keeps the texts in an object.
var newHeard = must(session.NewKey[struct {
	All []string `json:"all"`
}](session.KeyInit{Name: heard.Name(), Version: 2, Upgrade: func(_ int, old json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(map[string]json.RawMessage{"all": old})
}}))

// hearsNow is hears in the later release.
func hearsNow(_ context.Context, dc *adk.DispatchContext) error {
	seed, err := session.SeedOf(dc)
	if err != nil {
		return err
	}
	all, _, err := newHeard.Find(dc)
	if err != nil {
		return err
	}
	all.All = append(all.All, seed.Delivery)
	return newHeard.Set(dc, all)
}

// upgraded returns a subject with two releases of a program.
func upgraded() sessions.Subject {
	return sessions.Subject{Name: "upgraded", Deliveries: deliveries(2), Open: func() sessions.Instance {
		m := must(memory.New(storage.Config{}))
		release := func(turn func(context.Context, *adk.DispatchContext) error, key session.AnyKey) sessions.Release {
			return func(func() *session.Host) session.Config {
				c := agent(turn)
				c.Keys, c.Store, c.Agent.Storage = []session.AnyKey{key}, m.Sessions(), m.Storage()
				return c
			}
		}
		return sessions.Instance{Releases: []sessions.Release{release(hears, heard), release(hearsNow, newHeard)}}
	}}
}

// sleeping is a turn that takes longer than a third of its lease.
func sleeping(ctx context.Context, dc *adk.DispatchContext) error {
	if err := dc.Sleep(ctx, 45*time.Second); err != nil {
		return err
	}
	return hears(ctx, dc)
}

// counting is a provider that stores how often it was asked.
type counting struct{ n int }

func (*counting) Name() string    { return "counting" }
func (*counting) Needs() []string { return nil }

func (c *counting) Create(_ context.Context, _ *adk.TurnContext, snapshot json.RawMessage) (bool, error) {
	c.n = 0
	if snapshot == nil {
		return true, nil
	}
	return true, json.Unmarshal(snapshot, &c.n)
}

func (c *counting) Commit(context.Context, *adk.TurnContext) (json.RawMessage, error) {
	return json.Marshal(c.n + 1)
}

// providing returns a config with a provider.
func providing(func() *session.Host) session.Config {
	c := agent(hears)
	c.Providers = []session.Provider{&counting{}}
	return c
}

// delegating returns a config whose turn delegates work on its first delivery to a new session.
func delegating(host func() *session.Host) session.Config {
	return agent(func(ctx context.Context, dc *adk.DispatchContext) error {
		seed, err := session.SeedOf(dc)
		if err == nil && seed.Parent == nil && seed.Delivery == "d1" {
			_, err = host().Delegate(dc, session.Delivery{Kind: "chat", Payload: json.RawMessage(`"look it up"`)})
		}
		if err != nil {
			return err
		}
		return hears(ctx, dc)
	})
}

// correct returns subjects without a mistake.
func correct() []sessions.Subject {
	direct := kept("direct", func(func() *session.Host) session.Config {
		c := agent(hears)
		c.Persist, c.Attempts = session.Direct, 1
		return c
	})
	return []sessions.Subject{
		listener(), elsewhere(), upgraded(), kept("delegating", delegating), direct, kept("providing", providing),
		kept("sleeping", func(func() *session.Host) session.Config { return agent(sleeping) }),
		kept("failing", func(func() *session.Host) session.Config { return agent(failing) }),
		kept("deleting", func(func() *session.Host) session.Config { return agent(deleting) }),
	}
}

// everything reports whether the environment asks for a full run (ADKREPLAY_ZOO=all).
func everything() bool { return os.Getenv("ADKREPLAY_ZOO") == "all" }

// Hosts and stores without a mistake are never accused, whatever faults occur around them.
func TestCorrectHosts(t *testing.T) {
	o := sessions.Options{Schedules: 12}
	if everything() {
		o.Schedules, o.Length = 3000, 14
		o.Seed, _ = strconv.ParseUint(os.Getenv("ADKREPLAY_SEED"), 10, 64)
	}
	for _, s := range correct() {
		found, err := sessions.Explore(t.Context(), s, o)
		require.NoError(t, err)
		assert.Empty(t, found.Violations, "%s", found)
		t.Logf("%s\n%s", found.Summary(), found.Table)
	}
}

// SES-31, SES-34: if the host that committed a delegation could not learn the number of the new delivery, the
// host that runs that delivery journals that it was accepted.
func TestChildrenAreToldByWhoRunsThem(t *testing.T) {
	sessions.Reproduce(t, kept("delegating", delegating), "a:deliver@1+fail@5")
}

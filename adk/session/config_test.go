package session_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// named is a provider that does nothing.
type named struct {
	name  string
	needs []string
}

func (n named) Name() string    { return n.name }
func (n named) Needs() []string { return n.needs }
func (n named) Create(context.Context, *adk.TurnContext, json.RawMessage) (bool, error) {
	return false, nil
}

// SES-1: every fault of a config is named in one error.
func TestConfigFaults(t *testing.T) {
	_, err := session.NewHost(session.Config{})
	require.ErrorIs(t, err, adk.E_INVALID_SESSION_CONFIG)
	for _, says := range []string{"Agent.Executor", "Agent.Storage", "Store is missing", "Prompt is missing", "Channels is missing"} {
		assert.ErrorContains(t, err, says)
	}
	w := newWorld(t)
	key := func(name string) session.AnyKey { return must(session.NewKey[int](session.KeyInit{Name: name})) }
	pass := func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error { next(ctx); return nil }
	for says, change := range map[string]func(*session.Config){
		`names "a" twice`:               func(c *session.Config) { c.Keys = []session.AnyKey{key("a"), must(session.NewRuntimeKey[int]("a"))} },
		`"a.b.c" below "a"`:             func(c *session.Config) { c.Keys = []session.AnyKey{key("a"), key("a.b.c"), key("ab")} },
		"Keys has nil at 1":             func(c *session.Config) { c.Keys = []session.AnyKey{key("a"), nil} },
		"Keys has nil at 0":             func(c *session.Config) { c.Keys = []session.AnyKey{(*session.Key[int])(nil)} },
		`"b", which needs "c"`:          func(c *session.Config) { c.Providers = []session.Provider{named{"b", []string{"c"}}, named{"c", nil}} },
		`Providers names "b" twice`:     func(c *session.Config) { c.Providers = []session.Provider{named{"b", nil}, named{"b", nil}} },
		`the name "b.c"`:                func(c *session.Config) { c.Providers = []session.Provider{named{"b.c", nil}} },
		"Providers has nil":             func(c *session.Config) { c.Providers = []session.Provider{nil} },
		`a middleware "session-x"`:      func(c *session.Config) { c.Agent.TurnInput = []adk.TurnMiddleware{{Name: "session-x", Run: pass}} },
		`nothing that makes a "chat"`:   func(c *session.Config) { c.Channels["chat"] = nil },
		"Persist is \"later\"":          func(c *session.Config) { c.Persist = "later" },
		"Lease is 1ms":                  func(c *session.Config) { c.Lease = time.Millisecond },
		"Attempts is -1":                func(c *session.Config) { c.Attempts = -1 },
		"Wrap gives no storage":         func(c *session.Config) { c.Wrap = func(adk.Storage) adk.Storage { return adk.Storage{} } },
		"Name is not UTF-8 without NUL": func(c *session.Config) { c.Name = "a\x00" },
	} {
		c := w.config(counting)
		change(&c)
		_, err := session.NewHost(c)
		require.ErrorIs(t, err, adk.E_INVALID_SESSION_CONFIG, says)
		assert.ErrorContains(t, err, says)
	}
}

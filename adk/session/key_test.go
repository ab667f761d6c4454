package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/fakes"
)

type tenant struct {
	Name string   `json:"name"`
	Tags []string `json:"tags,omitempty"`
}

var (
	tenantKey = must(session.NewKey[tenant](session.KeyInit{Name: "test.tenant"}))
	shortKey  = must(session.NewKey[string](session.KeyInit{Name: "test.short", MaxBytes: 8, Schema: json.RawMessage(`{"type":"string","pattern":"^[a-z]*$"}`)}))
	nothing   = must(session.NewRuntimeKey[map[string]int]("test.runtime"))
)

// SES-2: NewKey refuses an invalid key, and says all that is wrong with it.
func TestKeysThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		init session.KeyInit
		says []string
	}{
		"no name":   {session.KeyInit{}, []string{"Name is missing"}},
		"segments":  {session.KeyInit{Name: "a..b"}, []string{"a segment that is empty"}},
		"blank":     {session.KeyInit{Name: "a.b c"}, []string{"a blank or a control character"}},
		"long":      {session.KeyInit{Name: strings.Repeat("a", 256)}, []string{"256 bytes, want at most 255"}},
		"upgrade":   {session.KeyInit{Name: "a", Version: 2}, []string{"Upgrade is missing"}},
		"version":   {session.KeyInit{Name: "a", Version: -1}, []string{"Version is -1"}},
		"schema":    {session.KeyInit{Name: "a", Schema: json.RawMessage(`{"type":5}`)}, []string{"Schema is refused"}},
		"all of it": {session.KeyInit{Version: 3, MaxBytes: -1, Schema: json.RawMessage(`1`)}, []string{"Name", "Upgrade", "MaxBytes", "Schema"}},
	} {
		_, err := session.NewKey[int](c.init)
		require.ErrorIs(t, err, adk.E_INVALID_SESSION_KEY, name)
		for _, says := range c.says {
			assert.ErrorContains(t, err, says, name)
		}
	}
	_, err := session.NewKey[chan int](session.KeyInit{Name: "a"})
	assert.ErrorIs(t, err, adk.E_INVALID_SESSION_KEY)
	_, err = session.NewRuntimeKey[int]("a.")
	assert.ErrorIs(t, err, adk.E_INVALID_SESSION_KEY)
}

// plan is a recursive value of types whose JSON form differs from their Go form.
type plan struct {
	ID    netip.Addr           `json:"id"`
	Total *big.Int             `json:"total"`
	Body  []byte               `json:"body"`
	Raw   json.RawMessage      `json:"raw"`
	Found map[string]int       `json:"found"`
	Steps []*plan              `json:"steps,omitempty"`
	By    map[int]*json.Number `json:"by"`
}

// SES-4: a value of a type that marshals itself to JSON fits the schema of its key, and is restored.
func TestKeysOfTypesThatWriteThemselves(t *testing.T) {
	key, err := session.NewKey[plan](session.KeyInit{Name: "test.plan"})
	require.NoError(t, err)
	want := plan{ID: netip.MustParseAddr("10.0.0.1"), Total: big.NewInt(5), Body: []byte("hello"), Raw: json.RawMessage(`{"a":1}`),
		Steps: []*plan{{Raw: json.RawMessage(`null`), Found: map[string]int{"a": 1}, By: map[int]*json.Number{1: new(json.Number("2"))}}}}
	w := newWorld(t)
	c := w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		if !key.Has(dc) {
			return key.Set(dc, want)
		}
		got, err := key.Get(dc)
		assert.Equal(t, want, got)
		return err
	})
	c.Keys = append(c.Keys, key)
	h := w.host(c)
	for _, id := range []string{"a", "b"} {
		assert.Equal(t, session.Committed, deliver(t, h, delivery("one", id)).State)
	}
}

// SES-4: the six methods of a key, in a dispatch and in a turn.
func TestKeyMethods(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		_, err := tenantKey.Get(dc)
		assert.ErrorIs(t, err, adk.E_SESSION_KEY_ABSENT)
		assert.False(t, tenantKey.Has(dc))
		assert.NoError(t, tenantKey.Delete(dc))
		made, err := tenantKey.Ensure(dc, func() tenant { return tenant{Name: "<shop>", Tags: []string{"a"}} })
		require.NoError(t, err)
		again, err := tenantKey.Ensure(dc, func() tenant { panic("it is there") })
		require.NoError(t, err)
		assert.Equal(t, made, again)
		again.Tags[0] = "changed"
		held, found, err := tenantKey.Find(dc)
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, "a", held.Tags[0], "the value is a copy")
		assert.Equal(t, json.RawMessage(`{"v":1,"x":{"name":"<shop>","tags":["a"]}}`), dc.Stash().Get("session.context.test.tenant", nil))

		err = shortKey.Set(dc, "SECRET")
		assert.ErrorIs(t, err, adk.E_INVALID_SESSION_VALUE)
		assert.ErrorContains(t, err, "pattern")
		assert.NotContains(t, err.Error(), "SECRET")
		assert.ErrorIs(t, shortKey.Set(dc, "abcdefghi"), adk.E_SESSION_TOO_LARGE)
		require.NoError(t, shortKey.Set(dc, "abc"))
		require.NoError(t, shortKey.Delete(dc))
		assert.False(t, shortKey.Has(dc))
		return nil
	})
	c.Keys = append(c.Keys, tenantKey, shortKey)
	assert.Equal(t, session.Committed, deliver(t, w.host(c), delivery("one", "a")).State)
}

// SES-4: a value with a text that JSON would change is refused: two names of a map would become one.
func TestTextsOfOtherBytesAreNoValues(t *testing.T) {
	w := newWorld(t)
	text, names := must(session.NewKey[string](session.KeyInit{Name: "test.text"})), must(session.NewKey[map[string]int](session.KeyInit{Name: "test.names"}))
	raw := must(session.NewKey[any](session.KeyInit{Name: "test.raw"}))
	c := w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		err := text.Set(dc, "a\xff")
		assert.ErrorIs(t, err, adk.E_INVALID_SESSION_VALUE)
		assert.ErrorContains(t, err, `the value of "test.text" has a text that is no UTF-8`)
		assert.ErrorIs(t, names.Set(dc, map[string]int{"\xff": 1, "\xfe": 2}), adk.E_INVALID_SESSION_VALUE)
		assert.ErrorIs(t, raw.Set(dc, map[string]any{"a": []any{"\xff"}}), adk.E_INVALID_SESSION_VALUE)
		assert.False(t, text.Has(dc) || names.Has(dc) || raw.Has(dc))
		require.NoError(t, text.Set(dc, "\ufffd"))
		require.NoError(t, raw.Set(dc, json.RawMessage(`"\ufffd"`)))
		return nil
	})
	c.Keys = append(c.Keys, text, names, raw)
	assert.Equal(t, session.Committed, deliver(t, w.host(c), delivery("one", "a")).State)
}

// SES-4, SES-3: outside of a host's turn keys have no values.
func TestOutsideOfAHost(t *testing.T) {
	script := fakes.Script{{fakes.Do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := count.Get(dc)
		assert.ErrorIs(t, err, adk.E_SESSION_OUTSIDE)
		assert.ErrorIs(t, count.Set(dc, 1), adk.E_SESSION_OUTSIDE)
		assert.ErrorIs(t, count.Delete(dc), adk.E_SESSION_OUTSIDE)
		_, err = nothing.Get(dc)
		assert.ErrorIs(t, err, adk.E_SESSION_OUTSIDE)
		assert.ErrorIs(t, nothing.Set(dc, nil), adk.E_SESSION_OUTSIDE)
		_, err = session.SeedOf(dc)
		assert.ErrorContains(t, err, "Host.Deliver")
		return dc.Ack()
	})}}
	runner, err := adk.NewRunner(adk.Config{Executor: script.Executor("model"), Storage: fakes.NewStorage().Storage()})
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Look."}))
}

// SES-5: a runtime key returns the same value that was set, which is gone after its turn.
func TestRuntimeKeys(t *testing.T) {
	w := newWorld(t)
	shared := map[string]int{"a": 1}
	c := w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		assert.False(t, nothing.Has(dc))
		assert.NoError(t, nothing.Delete(dc))
		_, err := nothing.Get(dc)
		assert.ErrorIs(t, err, adk.E_SESSION_KEY_ABSENT)
		held, err := nothing.Ensure(dc, func() map[string]int { return shared })
		require.NoError(t, err)
		held["a"]++
		again, err := nothing.Get(dc)
		require.NoError(t, err)
		assert.Equal(t, shared, again, "it is shared, and no copy")
		return nil
	})
	c.Keys = append(c.Keys, nothing)
	h := w.host(c)
	deliver(t, h, delivery("one", "a"))
	deliver(t, h, delivery("one", "b"))
	assert.Equal(t, 3, shared["a"])
	state, err := h.State(t.Context(), "shop", "one")
	require.NoError(t, err)
	assert.Empty(t, state.Keys)
}

// upgrading is a text key whose first version was a number.
func upgrading(t *testing.T, version int) *session.Key[string] {
	key, err := session.NewKey[string](session.KeyInit{Name: "test.upgraded", Version: version, Upgrade: func(from int, old json.RawMessage) (json.RawMessage, error) {
		var text string
		if err := json.Unmarshal(old, &text); err != nil {
			return nil, err
		}
		if text == "broken" {
			return nil, errors.New("cannot be upgraded")
		}
		return json.Marshal(text + ">" + string(rune('0'+from+1)))
	}})
	require.NoError(t, err)
	return key
}

// SES-4, SES-13: a value of an earlier version is upgraded step by step when it is read, and is stored
// upgraded only when it is set. A value of a later version prevents the host from running the turn.
func TestVersions(t *testing.T) {
	w := newWorld(t)
	seen := ""
	hostOf := func(version int, set string) *session.Host {
		key := upgrading(t, version)
		c := w.config(func(_ context.Context, dc *adk.DispatchContext) (err error) {
			if set != "" {
				return key.Set(dc, set)
			}
			seen, err = key.Get(dc)
			return err
		})
		c.Keys = []session.AnyKey{key}
		c.NoWait = true
		return w.host(c)
	}
	version := func(h *session.Host) int {
		state, err := h.State(t.Context(), "shop", "one")
		require.NoError(t, err)
		return state.Keys[0].Version
	}
	deliver(t, hostOf(1, "one"), delivery("one", "a"))
	third := hostOf(3, "")
	deliver(t, third, delivery("one", "b"))
	assert.Equal(t, "one>2>3", seen)
	assert.Equal(t, 1, version(third), "reading writes nothing")
	deliver(t, hostOf(3, "three"), delivery("one", "c"))
	assert.Equal(t, 3, version(third))

	old := hostOf(2, "")
	_, err := old.Deliver(t.Context(), delivery("one", "d"))
	require.ErrorIs(t, err, adk.E_SESSION_STATE_NEWER)
	n, err := old.Resume(t.Context(), 10)
	assert.NoError(t, err, "it is left to others")
	assert.Zero(t, n)
	found, _, err := w.kept.Sessions().Find(t.Context(), delivery("one", "d").DeliveryID())
	require.NoError(t, err)
	assert.Zero(t, found.Attempts, "no attempt is counted")
	n, err = third.Resume(t.Context(), 10)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, "three", seen)
}

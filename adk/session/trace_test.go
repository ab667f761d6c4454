package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// ownSeams are the seams of the host's middlewares, and of the storage calls in which it writes.
var ownSeams = []string{"turn-input/session-*", "dispatch-input/session-*", "turn-output/session-*", "storage/*.store"}

// SES-31, SES-33: the trace of an attempt replays on its own. The host's own code does the same in the
// replay, and nothing of the replay reaches a store or a storage.
func TestTracesOfAttempts(t *testing.T) {
	w := newWorld(t)
	var trace bytes.Buffer
	c := w.config(counting)
	c.Keys = append(c.Keys, partsKey)
	c.Providers = []session.Provider{lastPart{}}
	deliver(t, w.host(c), delivery("one", "a"))
	c.Agent.Probe = replay.Record(&trace)
	h := w.host(c)
	deliver(t, h, delivery("one", "b"))
	recorded := bytes.Clone(trace.Bytes())
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)

	elsewhere := newWorld(t)
	again := elsewhere.config(counting)
	again.Keys, again.Providers = c.Keys, c.Providers
	report, err = replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: elsewhere.host(again).Agent(), Seams: ownSeams, Writes: true})
	require.NoError(t, err)
	if report.Divergence != nil {
		t.Error(report)
	}
	assert.Empty(t, elsewhere.said("one"))
	assert.Empty(t, elsewhere.kinds())

	other := c
	other.Channels = map[string]func(json.RawMessage) (session.Channel, error){"chat": func(state json.RawMessage) (session.Channel, error) { return noRecords{state}, nil }}
	report, err = replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: w.host(other).Agent(), Seams: ownSeams[:1]})
	require.NoError(t, err)
	assert.NotNil(t, report.Divergence, "a channel that does something else is seen")
}

// SES-33: the same host may replay a turn again right after a run of it has ended: nothing of that run
// is left.
func TestReplaysOfOneTurn(t *testing.T) {
	w := newWorld(t)
	var trace bytes.Buffer
	c := w.config(counting)
	c.Agent.Probe = replay.Record(&trace)
	deliver(t, w.host(c), delivery("one", "a"))
	elsewhere := newWorld(t)
	agent := elsewhere.host(elsewhere.config(counting)).Agent()
	for range 300 {
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{Config: agent, Seams: ownSeams, Writes: true})
		require.NoError(t, err)
		if !assert.Nil(t, report.Divergence) {
			return
		}
	}
}

// SES-31: the sender's auth is in one leaf of the stash, which redaction removes as a whole.
func TestRedactedAuth(t *testing.T) {
	w := newWorld(t)
	var trace bytes.Buffer
	c := w.config(counting)
	c.Agent.Probe = replay.Record(&trace, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"session.auth"}}})
	d := delivery("one", "a")
	d.Auth = json.RawMessage(`{"user":"ada.lovelace","claims":{"sub":"4711-0815-ada"}}`)
	deliver(t, w.host(c), d)
	assert.NotContains(t, trace.String(), "lovelace")
	assert.NotContains(t, trace.String(), "4711-0815")
	assert.Contains(t, trace.String(), "session")
	recorded := trace.Bytes()
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)

	live := w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		seed, err := session.SeedOf(dc)
		assert.JSONEq(t, `"[redacted:auth:1]"`, string(seed.Auth))
		assert.JSONEq(t, `"[redacted:auth:1]"`, string(seed.Initiator))
		return errors.Join(err, counting(t.Context(), dc))
	})
	report, err = replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: w.host(live).Agent(), Seams: []string{"turn-input/session-*", replay.Executor}})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "live code runs on what stands for it")
}

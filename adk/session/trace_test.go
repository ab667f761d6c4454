package session_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// ownSeams are the host's middlewares, and the storage where it writes.
var ownSeams = []string{"turn-input/session-*", "dispatch-input/session-*", "turn-output/session-*", "storage/*.store"}

// SES-31, SES-33: an attempt's trace replays by itself; the host's own code does the same
// again in it, and nothing of it reaches a store or a storage.
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

// SES-31: who sends stands in one leaf, which redaction takes out as a whole.
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
	report, err := replay.Verify(t.Context(), &trace, replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
}

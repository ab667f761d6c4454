package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// hostSeams are the host's own seams in a turn. If they are not live, values are set to what was
// recorded, whatever live code made of them.
var hostSeams = []string{"turn-input/session-*", "dispatch-input/session-*", "turn-output/session-*"}

// Today returns live for the trace of one turn of today's host. Its config is the host's agent. Its
// turn is what the host begins with, given the seed and the values in the trace. The prompt, the
// stash and the host's own middlewares are live, and so are the channel and the providers. Today
// returns an error if the trace is not one of a session's turn, or if the host does not begin the
// turn.
func Today(host *session.Host, live replay.Live, recorded io.Reader, reading ...trace.Options) (replay.Live, error) {
	r, err := trace.NewReader(recorded, reading...)
	if err != nil {
		return live, err
	}
	var first *adk.Crossing
	for n := 0; n < mostBefore && first == nil; n++ { // a cancel may come before the call
		line, err := r.Next()
		if err != nil {
			return live, err
		}
		if line.Kind == adk.KindCall {
			first = &line.Crossing
		}
	}
	begun, err := beginningOf(first)
	if err != nil {
		return live, fmt.Errorf("sessions: %w", err)
	}
	return begun.live(host, live, begun.values)
}

// live is Today for an attempt that begins with the given values.
func (b beginning) live(host *session.Host, live replay.Live, values map[string]session.Value) (replay.Live, error) {
	if host == nil {
		return live, errors.New("sessions: there is no host of today: want the one that session.NewHost makes, with the agent and the channels of its sessions")
	}
	raw, err := b.today(host, values)
	if err != nil {
		return live, fmt.Errorf("sessions: today's host does not begin the turn: %w", err)
	}
	live.Config, live.Turn = host.Agent(), raw
	live.Seams = append(slices.Clip(live.Seams), replay.Prompt, replay.Stash)
	live.Seams = append(live.Seams, hostSeams...)
	return live, nil
}

// own returns what is below session in the stash.
func (b beginning) own() map[string]any {
	own, _ := b.raw.Stash["session"].(map[string]any)
	return own
}

// payload returns the payload of the delivery.
func (b beginning) payload() json.RawMessage {
	payload, _ := b.own()["payload"].(json.RawMessage)
	return payload
}

// today returns what a host begins the attempt with if the session has the given values. What
// providers kept of the last commit is as recorded.
func (b beginning) today(host *session.Host, values map[string]session.Value) (raw adk.RawTurn, err error) {
	var who struct{ Current, Initiator json.RawMessage }
	auth, _ := b.own()["auth"].(json.RawMessage)
	masked := isMasked(auth)
	if !masked && json.Unmarshal(auth, &who) != nil {
		return raw, errors.New("session.auth is not what a host puts there")
	}
	seed := b.seed
	seed.Auth, seed.Initiator = who.Current, who.Initiator
	l := session.Loaded{Values: maps.Clone(values), Snapshots: map[string]json.RawMessage{}, Next: &session.Accepted{Delivery: session.Delivery{Payload: b.payload()}}}
	snapshots, _ := b.own()["internal"].(map[string]any)
	for name, leaf := range snapshots {
		l.Snapshots[name], _ = leaf.(json.RawMessage)
	}
	hidden := map[string]json.RawMessage{} // values of which only the placeholder is known
	for key, value := range values {
		if isWhollyMasked(value.Body) {
			hidden[key] = value.Body
			l.Values[key] = session.Value{Body: json.RawMessage(strconv.Quote(string(value.Body)))}
		}
	}
	raw, err = host.Begin(seed, l)
	for key, leaf := range hidden {
		hide(raw.Stash, "session.context."+key, leaf)
	}
	if own, ok := raw.Stash["session"].(map[string]any); ok && masked {
		own["auth"] = auth // only the placeholder is known
	}
	return raw, err
}

// hide replaces the leaf at a path of a stash, if there is one.
func hide(stash map[string]any, path string, leaf json.RawMessage) {
	name, below, deeper := strings.Cut(path, ".")
	if deeper {
		next, _ := stash[name].(map[string]any)
		hide(next, below, leaf)
	} else if stash[name] != nil {
		stash[name] = leaf
	}
}

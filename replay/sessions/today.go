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

// hostSeams are what is a host's own in a turn: where it is not live, values are set to what
// was recorded, whatever live code has made of them.
var hostSeams = []string{"turn-input/session-*", "dispatch-input/session-*", "turn-output/session-*"}

// Today is live with a host of today in it, for the trace of one of its turns: its config is
// the host's agent, its turn what the host begins with, of the seed and the values that stand
// in the trace, and the prompt, the stash and the host's own middlewares are live, and so the
// channel and the providers. An error says that the trace is none of a session's turn, or that
// the host does not begin it.
func Today(host *session.Host, live replay.Live, recorded io.Reader, reading ...trace.Options) (replay.Live, error) {
	r, err := trace.NewReader(recorded, reading...)
	if err != nil {
		return live, err
	}
	var first *adk.Crossing
	for n := 0; n < mostBefore && first == nil; n++ { // a cancel may come before it
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

// live is Today for an attempt that begins with values.
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

// own is what lies below session in the stash.
func (b beginning) own() map[string]any {
	own, _ := b.raw.Stash["session"].(map[string]any)
	return own
}

// payload is that of the delivery.
func (b beginning) payload() json.RawMessage {
	payload, _ := b.own()["payload"].(json.RawMessage)
	return payload
}

// today is what a host begins the attempt with, where the session has these values. What
// providers have kept of the last commit is as recorded.
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
	hidden := map[string]json.RawMessage{} // leaves of which nobody knows more
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
		own["auth"] = auth // nobody knows more of it
	}
	return raw, err
}

// hide puts a leaf at a path of a stash where there is one.
func hide(stash map[string]any, path string, leaf json.RawMessage) {
	name, below, deeper := strings.Cut(path, ".")
	if deeper {
		next, _ := stash[name].(map[string]any)
		hide(next, below, leaf)
	} else if stash[name] != nil {
		stash[name] = leaf
	}
}

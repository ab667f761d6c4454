package session

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/stash"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// The paths at which a host puts its data for a turn into the stash (SES-3). All of it is JSON,
// except the values of runtime keys, the id of the dispatch and the seal.
const (
	stashRoot     = "session"
	stashSeed     = "session.seed"
	stashAuth     = "session.auth"     // masked by redaction
	stashPayload  = "session.payload"  // until the channel has taken it
	stashContext  = "session.context"  // the values, by key
	stashInternal = "session.internal" // the snapshots, by provider
	stashRuntime  = "session.runtime"  // any Go values, by runtime key
	stashDispatch = "session.dispatch" // the id of the dispatch whose changes are kept
	stashSealed   = "session.sealed"   // set when changes are no longer kept
)

// Seed describes the delivery to its turn.
type Seed struct {
	Tenant  string `json:"tenant,omitempty"`
	Session string `json:"session"`
	// Delivery is the id that its sender chose. Together with ToolCall.Checksum it is a key by
	// which an outside service can recognize a repeated request (SES-24).
	Delivery     string          `json:"delivery"`
	Kind         string          `json:"kind"`
	ChannelState json.RawMessage `json:"channelState"`
	Parent       *DeliveryID     `json:"parent,omitempty"`
	Seq          int64           `json:"seq"`
	// Attempt counts from 1.
	Attempt int   `json:"attempt"`
	Epoch   int64 `json:"epoch"`
	// Auth says who sent this delivery, Initiator who began the session; null if not given. In a
	// replay of a redacted trace both are the placeholder text.
	Auth      json.RawMessage `json:"-"`
	Initiator json.RawMessage `json:"-"`
}

// auth is the leaf of the stash that redaction masks.
type auth struct {
	Current   json.RawMessage `json:"current"`
	Initiator json.RawMessage `json:"initiator"`
}

// authOf reads the leaf. Text that is not JSON is the placeholder of a redacted trace. That is
// safe, since a turn whose leaf differs from the host's does not commit.
func authOf(raw json.RawMessage) (who auth, err error) {
	if len(raw) > 0 && !json.Valid(raw) {
		text, err := unescaped.Marshal(string(raw))
		return auth{text, text}, err
	}
	return who, json.Unmarshal(raw, &who)
}

// Stasher has a stash: a *adk.TurnContext or a *adk.DispatchContext.
type Stasher interface{ Stash() adk.Stash }

// SeedOf returns the seed of a turn. Outside of a host's turn the error is E_SESSION_OUTSIDE.
func SeedOf(h Stasher) (Seed, error) {
	var seed Seed
	if err := within(h); err != nil {
		return seed, err
	}
	s := h.Stash()
	raw, _ := s.Get(stashSeed, nil).(json.RawMessage)
	if err := json.Unmarshal(raw, &seed); err != nil {
		return Seed{}, notTheHosts(stashSeed)
	}
	raw, _ = s.Get(stashAuth, nil).(json.RawMessage)
	who, err := authOf(raw)
	if err != nil {
		return Seed{}, notTheHosts(stashAuth)
	}
	seed.Auth, seed.Initiator = who.Current, who.Initiator
	return seed, nil
}

func notTheHosts(path string) error {
	return stateError("%s in the stash is not what the host has put there", path)
}

// within returns an error if no host runs the turn.
func within(h Stasher) error {
	if h.Stash().Has(stashSeed) {
		return nil
	}
	return &adk.Error{Code: adk.E_SESSION_OUTSIDE, Message: "this turn has no session: Host.Deliver runs turns that have one"}
}

func stateError(format string, args ...any) error {
	f := faults{code: adk.E_INVALID_SESSION_STATE}
	f.add("", format, args...)
	return f.err()
}

// seedOf returns the seed of an attempt.
func seedOf(l Loaded, attempt int, epoch int64) Seed {
	d := l.Next
	seed := Seed{Tenant: d.Tenant, Session: d.Session, Delivery: d.ID, Kind: l.Kind, ChannelState: orNull(l.ChannelState),
		Seq: d.Seq, Attempt: attempt, Epoch: epoch, Auth: orNull(d.Auth), Initiator: orNull(l.Initiator)}
	if d.Parent != (DeliveryID{}) {
		seed.Parent = &d.Parent
	}
	return seed
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// stashOf returns the stash with which an attempt's turn begins. Of the session's values it has
// those of known keys, one leaf each.
func stashOf(seed Seed, l Loaded, known func(key string) bool) (map[string]any, error) {
	leaves := map[string]any{
		storage.StashTenant: seed.Tenant, storage.StashSession: seed.Session,
		stashAuth:    auth{seed.Auth, seed.Initiator},
		stashSeed:    seed,
		stashPayload: l.Next.Payload,
	}
	for key, value := range l.Values {
		if known(key) {
			leaves[stashContext+"."+key] = value
		}
	}
	for provider, snapshot := range l.Snapshots {
		leaves[stashInternal+"."+provider] = snapshot
	}
	var tree stash.Tree
	for _, path := range slices.Sorted(maps.Keys(leaves)) {
		leaf := leaves[path]
		if _, text := leaf.(string); !text {
			raw, err := unescaped.Marshal(leaf)
			if err != nil {
				return nil, err
			}
			leaf = raw
		}
		if err := tree.Set(path, leaf); err != nil {
			return nil, err
		}
	}
	return tree.Root(), nil
}

// valuesIn returns the leaves below session.context of a stash, by key. A leaf that is not a
// json.RawMessage is in the result as nil.
func valuesIn(s adk.StashReader) map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	under, _ := s.Get(stashContext, nil).(map[string]any)
	gatherLeaves(under, "", func(key string, leaf any) {
		raw, _ := leaf.(json.RawMessage)
		values[key] = raw
	})
	return values
}

func gatherLeaves(tree map[string]any, prefix string, found func(path string, leaf any)) {
	for name, value := range tree {
		if below, ok := value.(map[string]any); ok {
			gatherLeaves(below, prefix+name+".", found)
		} else {
			found(prefix+name, value)
		}
	}
}

// parseValue reads a leaf of session.context.
func parseValue(raw json.RawMessage) (Value, bool) {
	var value Value
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&value) != nil || decoder.More() || value.Version < 1 || len(value.Body) == 0 {
		return Value{}, false
	}
	return value, true
}

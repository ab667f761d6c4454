package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// The limits of a session (SES-29).
const (
	MaxPayload   = 1 << 20   // bytes of a delivery's payload, channel state, auth or initiator, each
	MaxBag       = 1 << 20   // bytes of all values of a session
	MaxSnapshot  = 256 << 10 // bytes of a provider's snapshot
	MaxUnsettled = 10_000    // unsettled deliveries of a session
)

// MaxRetryPause is the longest pause between a failed attempt and the next one (SES-21).
const MaxRetryPause = 5 * time.Minute

// SessionID names a session. Both texts are UTF-8 without NUL of at most storage.MaxID bytes. The
// tenant may be empty.
type SessionID struct {
	Tenant  string `json:"tenant,omitempty"`
	Session string `json:"session"`
}

// String formats the id for messages.
func (id SessionID) String() string {
	if id.Tenant == "" {
		return fmt.Sprintf("session %.64q", id.Session)
	}
	return fmt.Sprintf("session %.64q of tenant %.64q", id.Session, id.Tenant)
}

// DeliveryID names a delivery of a session by the id that its sender chose.
type DeliveryID struct {
	SessionID
	Delivery string `json:"delivery"`
}

// String formats the id for messages.
func (id DeliveryID) String() string {
	return fmt.Sprintf("delivery %.64q of %s", id.Delivery, id.SessionID)
}

// Delivery is one input for a session (SES-9).
type Delivery struct {
	// Tenant and Session name the session, which begins with its first delivery. Session is
	// required; so is Tenant if the agent's storage is strict, as databases are.
	Tenant, Session string
	// ID is chosen by the sender; required. The same id means the same input, however often it
	// comes.
	ID string
	// Kind is the kind of the session's channel; required.
	Kind string
	// ChannelState is the JSON that the channel is made from. The first delivery fixes it: empty
	// means null there, and in a later delivery it means the fixed state.
	ChannelState json.RawMessage
	// Payload is the input for the channel: JSON of at most MaxPayload bytes; required.
	Payload json.RawMessage
	// Auth says who sends this delivery, Initiator who began the session. The session keeps the
	// Initiator of its first delivery, or that delivery's Auth if there is none. Both are JSON and
	// may be empty.
	Auth, Initiator json.RawMessage
	// Parent is the delivery whose turn made this one; the zero value means none.
	Parent DeliveryID
}

// SessionID names the session of the delivery.
func (d Delivery) SessionID() SessionID { return SessionID{d.Tenant, d.Session} }

// DeliveryID names the delivery.
func (d Delivery) DeliveryID() DeliveryID { return DeliveryID{d.SessionID(), d.ID} }

// Digest identifies the payload: the SHA-256, in lowercase hexadecimal, of the payload without
// blanks between its tokens.
func (d Delivery) Digest() string { return digestOf(d.Payload) }

// digestOf returns the SHA-256 of compacted JSON.
func digestOf(raw json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		compact.Write(raw)
	}
	sum := sha256.Sum256(compact.Bytes())
	return hex.EncodeToString(sum[:])
}

// Check returns E_INVALID_DELIVERY with every fault of the delivery, or nil.
func (d Delivery) Check() error {
	f := faults{code: adk.E_INVALID_DELIVERY}
	f.id("Tenant", d.Tenant, false)
	f.id("Session", d.Session, true)
	f.id("ID", d.ID, true)
	f.id("Kind", d.Kind, true)
	for _, one := range []struct {
		field string
		raw   json.RawMessage
		most  int
	}{{"ChannelState", d.ChannelState, MaxPayload}, {"Payload", d.Payload, MaxPayload}, {"Auth", d.Auth, MaxPayload}, {"Initiator", d.Initiator, MaxPayload}} {
		switch {
		case len(one.raw) == 0 && one.field == "Payload":
			f.add(one.field, "is missing, want JSON")
		case len(one.raw) > one.most:
			f.add(one.field, "has %d bytes, want at most %d", len(one.raw), one.most)
		case len(one.raw) > 0 && !(json.Valid(one.raw) && utf8.Valid(one.raw)):
			why := "is not JSON in UTF-8"
			var value json.RawMessage
			if err := json.Unmarshal(one.raw, &value); err != nil && strings.HasSuffix(err.Error(), "exceeded max depth") {
				why = "is JSON nested deeper than package encoding/json reads"
			}
			f.add(one.field, "%s", why)
		}
	}
	return f.err()
}

// named adds the session's or delivery's name to an error of a store, since a database does not
// know it. Errors of the host, and of the rules that all stores share, have the name already.
func named(what fmt.Stringer, err error) error {
	if err == nil || isRefused(err) {
		return err
	}
	return fmt.Errorf("session: %s: %w", what, err)
}

// DeliveryState is how far a delivery has got.
type DeliveryState string

// The states. Committed and failed deliveries are settled: they never run again.
const (
	Unsettled DeliveryState = "accepted"
	Committed DeliveryState = "committed"
	Failed    DeliveryState = "failed"
)

// Settled reports whether the delivery will never run again.
func (s DeliveryState) Settled() bool { return s == Committed || s == Failed }

// Outcome is the result of a settled delivery.
type Outcome struct {
	Delivery DeliveryID
	// Seq is the delivery's number within the session, from 1.
	Seq   int64
	State DeliveryState
	// Duplicate says that the delivery was settled already when it came this time.
	Duplicate bool
	// Attempt is the number, from 1, of the attempt that settled the delivery, and TurnID the turn
	// of that attempt; empty if no turn was run.
	Attempt int
	TurnID  string
	// Revision is how many deliveries the session has committed, including this one; 0 for a failed
	// delivery.
	Revision int64
	// Code says why the delivery failed: the outermost code of the last attempt's error.
	Code adk.Code
	// OutputFailed says that turn output failed or was aborted after the answer was acked. The
	// delivery is committed all the same.
	OutputFailed bool
}

// faults collects what is wrong with an input.
type faults struct {
	code adk.Code
	all  []adk.Fault
}

func (f *faults) add(path, format string, args ...any) {
	f.all = append(f.all, adk.Fault{Path: path, Message: fmt.Sprintf(format, args...)})
}

// id checks a name that databases have to be able to store.
func (f *faults) id(path, name string, required bool) {
	switch {
	case name == "" && required:
		f.add(path, "is missing, want a text")
	case len(name) > storage.MaxID:
		f.add(path, "has %d bytes, want at most %d", len(name), storage.MaxID)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		f.add(path, "is not UTF-8 without NUL")
	}
}

// err returns one error with all faults, or nil.
func (f *faults) err() error {
	if len(f.all) == 0 {
		return nil
	}
	texts := make([]string, len(f.all))
	for i, one := range f.all {
		texts[i] = strings.TrimSpace(one.Path + " " + one.Message)
	}
	return &adk.Error{Code: f.code, Message: strings.Join(texts, "; "), Faults: f.all}
}

// sameJSON reports whether two JSON texts have the same meaning: the order of members does not
// count, numbers are compared as they are written, and an empty text is null.
func sameJSON(a, b json.RawMessage) bool {
	return bytes.Equal(Canonical(a), Canonical(b))
}

// Canonical returns a JSON text in one form: members sorted by name, no blanks, numbers as they are
// written. An empty text becomes null; a text that is not JSON is returned unchanged.
func Canonical(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) != nil || decoder.More() {
		return raw
	}
	text, err := unescaped.Marshal(tree)
	if err != nil {
		return raw
	}
	return text
}

// asMillis returns a time as stores keep it: UTC, in whole milliseconds.
func asMillis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/unheld"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/schema"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// defaultMaxBytes is KeyInit.MaxBytes if that is 0.
const defaultMaxBytes = 64 << 10

// KeyInit is what a key is made from.
type KeyInit struct {
	// Name is required: dotted, such as "myapp.tenant".
	Name string
	// Schema is the JSON Schema of the value; nil means the one derived from T. An object that
	// lists its properties accepts no others, as with tools.
	Schema json.RawMessage
	// Version is the version of the value's shape; 0 means 1. Raise it for every new field, even an
	// optional one, if hosts of an earlier release still run: such a host would read the value into
	// its own type and write it back without the field, and nothing would report the loss. A host
	// does not touch a session whose value has a higher version than it knows
	// (E_SESSION_STATE_NEWER); hosts that know it settle that session. To add a field under the
	// same version, with no session waiting, let a first release read and write the field without
	// setting it, and a second one set it when every host runs the first.
	Version int
	// Upgrade converts a value of version from to version from+1. It is required above version 1.
	// An old value passes through it once for each version in between.
	Upgrade func(from int, old json.RawMessage) (json.RawMessage, error)
	// MaxBytes is the greatest length of the value's JSON; 0 means 64 KiB.
	MaxBytes int
}

// Key names a value that a session keeps between its turns. The host has to know the key
// (Config.Keys). Keys are safe for concurrent use.
type Key[T any] struct{ keyInfo }

// keyInfo is what a host knows of a durable key.
type keyInfo struct {
	name     string
	schema   *schema.Schema
	version  int
	upgrade  func(from int, old json.RawMessage) (json.RawMessage, error)
	maxBytes int
}

// AnyKey is a *Key or a *RuntimeKey, of whatever type.
type AnyKey interface {
	// Name is the name that the key was made with.
	Name() string
	// durable is nil for a RuntimeKey.
	durable() *keyInfo
}

// NewKey makes a key for values of type T. The error is E_INVALID_SESSION_KEY and lists every
// fault.
func NewKey[T any](init KeyInit) (*Key[T], error) {
	f := faults{code: adk.E_INVALID_SESSION_KEY}
	f.keyName(init.Name)
	if init.Version < 0 {
		f.add("Version", "is %d, want 1 or more", init.Version)
	}
	if init.Version > 1 && init.Upgrade == nil {
		f.add("Upgrade", "is missing: values of versions before %d may be stored", init.Version)
	}
	if init.MaxBytes < 0 || init.MaxBytes > MaxBag {
		f.add("MaxBytes", "is %d, want 0 to %d", init.MaxBytes, MaxBag)
	}
	raw, err := init.Schema, error(nil)
	if raw == nil {
		raw, err = schema.OfValue[T]()
	}
	var compiled *schema.Schema
	if err == nil {
		compiled, err = schema.CompileValue(raw)
	}
	if err != nil {
		f.add("Schema", "is refused: %s", err)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	k := &Key[T]{keyInfo{init.Name, compiled, max(init.Version, 1), init.Upgrade, cmp.Or(init.MaxBytes, defaultMaxBytes)}}
	return k, nil
}

// keyName checks the name of a key, whose segments are names in the stash.
func (f *faults) keyName(name string) {
	f.id("Name", name, true)
	if name == "" {
		return
	}
	for segment := range strings.SplitSeq(name, ".") {
		if fault := segmentFault(segment); fault != "" {
			f.add("Name", "%.64q has a segment that %s", name, fault)
			return
		}
	}
}

// segmentFault says why a text cannot be a segment of a name, or returns "".
func segmentFault(segment string) string {
	switch {
	case segment == "":
		return "is empty"
	case !utf8.ValidString(segment) || strings.ContainsFunc(segment, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "has a blank or a control character"
	}
	return ""
}

// Name is the name that the key was made with.
func (k *keyInfo) Name() string { return k.name }

func (k *keyInfo) durable() *keyInfo { return k }

func (k *keyInfo) path() string { return stashContext + "." + k.name }

// Get returns a copy of the value. If there is none, the error is E_SESSION_KEY_ABSENT.
func (k *Key[T]) Get(h Stasher) (T, error) { return get(k.name, h, k.Find) }

// get returns the value that find finds, and an error if there is none.
func get[T any](name string, h Stasher, find func(Stasher) (T, bool, error)) (T, error) {
	value, found, err := find(h)
	if err == nil && !found {
		err = &adk.Error{Code: adk.E_SESSION_KEY_ABSENT, Message: fmt.Sprintf("nobody has set %q: ask with Find, or set it with Ensure", name)}
	}
	return value, err
}

// Find returns a copy of the value; found reports whether there is one. A value of an earlier
// version is upgraded for the caller; the session keeps the old form until the next Set. Errors are
// E_SESSION_OUTSIDE, E_INVALID_SESSION_STATE, and E_INVALID_SESSION_VALUE if the upgraded value
// does not match the schema.
func (k *Key[T]) Find(h Stasher) (value T, found bool, err error) {
	if err := within(h); err != nil {
		return value, false, err
	}
	leaf := h.Stash().Get(k.path(), nil)
	if leaf == nil {
		return value, false, nil
	}
	raw, _ := leaf.(json.RawMessage)
	held, ok := parseValue(raw)
	if !ok {
		return value, false, stateError("%q holds what no key has set", k.name)
	}
	body, err := k.upgraded(held)
	if err != nil {
		return value, false, err
	}
	if err := json.Unmarshal(body, &value); err != nil {
		return value, false, &adk.Error{Code: adk.E_INVALID_SESSION_VALUE, Message: fmt.Sprintf("the value of %q is none of %T", k.name, value), Cause: err}
	}
	return value, true, nil
}

// upgraded returns the value in the key's version.
func (k *keyInfo) upgraded(held Value) (json.RawMessage, error) {
	if held.Version > k.version {
		return nil, k.newer(held)
	}
	body := held.Body
	for version := held.Version; version < k.version; version++ {
		next, err := k.upgrade(version, slices.Clone(body))
		if err != nil {
			return nil, fmt.Errorf("session: upgrading %q from version %d: %w", k.name, version, err)
		}
		body = next
	}
	if held.Version == k.version {
		return body, nil
	}
	return body, k.check(body)
}

func (k *keyInfo) newer(held Value) error {
	return &adk.Error{Code: adk.E_SESSION_STATE_NEWER, Message: fmt.Sprintf("%q is of version %d, this host knows %d", k.name, held.Version, k.version)}
}

// check returns why the key does not accept a value, or nil.
func (k *keyInfo) check(body json.RawMessage) error {
	if len(body) > k.maxBytes {
		return &adk.Error{Code: adk.E_SESSION_TOO_LARGE, Message: fmt.Sprintf("the value of %q has %d bytes, want at most %d", k.name, len(body), k.maxBytes)}
	}
	found := k.schema.CheckJSON(body)
	if len(found) == 0 {
		return nil
	}
	of := make([]adk.Fault, len(found))
	for i, f := range found {
		of[i] = adk.Fault{Path: f.Path, Keyword: f.Keyword, Message: f.String()}
	}
	return &adk.Error{Code: adk.E_INVALID_SESSION_VALUE, Message: fmt.Sprintf("the value of %q: %s", k.name, schema.FaultsText(found)), Faults: of}
}

// Has reports whether there is a value.
func (k *Key[T]) Has(h Stasher) bool { return h.Stash().Has(k.path()) }

// Set sets the value. Errors are E_INVALID_SESSION_VALUE, E_SESSION_TOO_LARGE, E_SESSION_OUTSIDE,
// and E_SESSION_SEALED: after the ack of the dispatch, and in a dispatch whose changes are not
// kept. What a dispatch sets is kept if the dispatch is acked; what a turn sets is kept if the turn
// reaches turn output.
func (k *Key[T]) Set(h Stasher, value T) error {
	body, err := unescaped.Marshal(value)
	if err != nil {
		return &adk.Error{Code: adk.E_INVALID_SESSION_VALUE, Message: fmt.Sprintf("the value of %q has no JSON", k.name), Cause: err}
	}
	if !unheld.Holds(body, value) {
		return &adk.Error{Code: adk.E_INVALID_SESSION_VALUE, Message: fmt.Sprintf("the value of %q has a text that is no UTF-8, which JSON would hold as another one: keep it as []byte", k.name)}
	}
	if err := k.check(body); err != nil {
		return err
	}
	leaf, err := unescaped.Marshal(Value{k.version, body})
	if err != nil {
		return err
	}
	return k.write(h, leaf)
}

// write changes the leaf of the key; nil removes it. It checks the seal again after writing, since
// another strand may seal the dispatch meanwhile, without having seen the change.
func (k *keyInfo) write(h Stasher, leaf any) error {
	if err := writable(h); err != nil {
		return err
	}
	if err := h.Stash().Set(k.path(), leaf); err != nil {
		return err
	}
	return writable(h)
}

// Ensure returns the value. If there is none, it calls value and sets the result.
func (k *Key[T]) Ensure(h Stasher, value func() T) (T, error) {
	held, found, err := k.Find(h)
	if found || err != nil {
		return held, err
	}
	made := value()
	if err := k.Set(h, made); err != nil {
		return held, err
	}
	return made, nil
}

// Delete removes the value. Deleting an absent value is no error; errors are those of Set.
func (k *Key[T]) Delete(h Stasher) error {
	if err := writable(h); err != nil || !k.Has(h) {
		return err
	}
	return k.write(h, nil)
}

// writable returns why nothing that is set through the handle is kept, or nil.
func writable(h Stasher) error {
	if err := within(h); err != nil {
		return err
	}
	dispatch, ok := h.(interface{ DispatchID() string })
	if !ok {
		return nil
	}
	s := h.Stash()
	message := ""
	switch {
	case s.Get(stashDispatch, nil) != dispatch.DispatchID():
		message = "nothing is kept of what this dispatch sets: session.Dispatch runs one whose changes are"
	case s.Has(stashSealed):
		message = "the dispatch was acked, and nothing is kept of what it sets now: set before the ack, or in turn output"
	default:
		return nil
	}
	return &adk.Error{Code: adk.E_SESSION_SEALED, Message: message}
}

// RuntimeKey names a value that lives for one turn: a provider makes it, later code of the turn
// gets it, and the next turn begins without it. It can be any Go value. A trace cannot hold it, so
// a replay has it only if the code that makes it runs live.
type RuntimeKey[T any] struct{ name string }

// runtimeValue holds a value by pointer, so that the stash shares it; the stash would copy maps and
// slices.
type runtimeValue[T any] struct{ value T }

// NewRuntimeKey makes a key by a name of the same form as that of a Key. The error is
// E_INVALID_SESSION_KEY.
func NewRuntimeKey[T any](name string) (*RuntimeKey[T], error) {
	f := faults{code: adk.E_INVALID_SESSION_KEY}
	if f.keyName(name); f.err() != nil {
		return nil, f.err()
	}
	return &RuntimeKey[T]{name}, nil
}

// Name is the name that the key was made with.
func (k *RuntimeKey[T]) Name() string { return k.name }

func (k *RuntimeKey[T]) durable() *keyInfo { return nil }

func (k *RuntimeKey[T]) path() string { return stashRuntime + "." + k.name }

// Get returns the value. If there is none, the error is E_SESSION_KEY_ABSENT.
func (k *RuntimeKey[T]) Get(h Stasher) (T, error) { return get(k.name, h, k.Find) }

// Find returns the value; found reports whether there is one. A replay does not restore a recorded
// value.
func (k *RuntimeKey[T]) Find(h Stasher) (value T, found bool, err error) {
	if err := within(h); err != nil {
		return value, false, err
	}
	if held, ok := h.Stash().Get(k.path(), nil).(*runtimeValue[T]); ok {
		return held.value, true, nil
	}
	return value, false, nil
}

// Has reports whether there is a value.
func (k *RuntimeKey[T]) Has(h Stasher) bool {
	_, found, _ := k.Find(h)
	return found
}

// Set sets the value for the rest of the turn, or of the dispatch.
func (k *RuntimeKey[T]) Set(h Stasher, value T) error {
	if err := within(h); err != nil {
		return err
	}
	return h.Stash().Set(k.path(), &runtimeValue[T]{value})
}

// Ensure returns the value. If there is none, it calls value and sets the result.
func (k *RuntimeKey[T]) Ensure(h Stasher, value func() T) (T, error) {
	held, found, err := k.Find(h)
	if found || err != nil {
		return held, err
	}
	made := value()
	return made, k.Set(h, made)
}

// Delete removes the value. Deleting an absent value is no error.
func (k *RuntimeKey[T]) Delete(h Stasher) error {
	if err := within(h); err != nil || !h.Stash().Has(k.path()) {
		return err
	}
	return h.Stash().Set(k.path(), nil)
}

// partitionOf returns the storage partition of a session.
func partitionOf(id SessionID) storage.Partition {
	return storage.Partition{Tenant: id.Tenant, Session: id.Session}
}

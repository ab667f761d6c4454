package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// New is the storage that keeps its records in rows. The error is
// E_INVALID_STORAGE_CONFIG, with every fault of the config.
//
// What is kept is the JSON of a record, which has no body of an artifact: a record whose
// artifact no spool has is refused with E_NOT_A_SPOOL_READER, unless the rows last
// (LastingRows).
//
// Errors of its obligations name the collection, the operation, the beginning of the key
// and the cause, and never what a record says (STO-19).
func New(config Config, rows Rows) (adk.Storage, error) {
	if err := config.check(); err != nil {
		return adk.Storage{}, err
	}
	k := &keeper{config: config, rows: rows}
	k.known, _ = lru.New[adk.Digest, knownRecord](mostKnown) // which fails for no size alone
	if config.Spool != nil {
		k.parser.MediaReader = artifact.Readers(config.Spool)
	}
	return storages.Of(k), nil
}

// A session that goes on is fetched again and again: these many records are kept as they
// were read, and none of more bytes.
const (
	mostKnown  = 4096
	knownBytes = 4 << 10
)

// keeper makes rows of records, and records of rows.
type keeper struct {
	config Config
	rows   Rows
	parser adk.RecordParser
	// known are records that were read, by their digests: equal bytes are the same record,
	// wherever they stand, and records do not change.
	known *lru.Cache[adk.Digest, knownRecord]
}

// knownRecord is a record that was read, and held against its row.
type knownRecord struct {
	record adk.Record
	key    KeyHash
}

// Fetch gives the records of a collection, each as it was stored, or an error: nothing is
// skipped.
func (k *keeper) Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, error) {
	return k.fetch(ctx, scope, of, k.config.Limit[of])
}

// fetch is Fetch of the last so many, or of all where last is 0.
func (k *keeper) fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName, last int) ([]adk.Record, error) {
	if ctx.Err() != nil {
		return nil, fault(of, of.Reads().String(), "", context.Cause(ctx))
	}
	if of == adk.Tools {
		return k.tools(ctx, scope)
	}
	place, err := k.config.place(scope, of)
	if err != nil {
		return nil, fault(of, of.Reads().String(), "", err)
	}
	rows, err := k.rows.Fetch(ctx, place, last)
	if err != nil {
		return nil, fault(of, of.Reads().String(), "", causeOf(ctx, err))
	}
	records := make([]adk.Record, len(rows))
	for i, row := range rows {
		if records[i], err = k.record(of, row); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// FetchAll gives the records of a collection whatever its limit.
func (k *keeper) FetchAll(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, bool, error) {
	records, err := k.fetch(ctx, scope, of, 0)
	return records, err == nil, err
}

// Owner says whose the records are that a scope sees. Nobody's, where a Config.Partition of
// one's own names nobody: the stash may say more of them then.
func (k *keeper) Owner(scope adk.Scope, of adk.CollectionName) (storages.Owner, error) {
	place, err := k.config.place(scope, of)
	if err != nil {
		return storages.Owner{}, fault(of, "owner", "", err)
	}
	known := k.config.Partition == nil || place.Partition != Partition{}
	return storages.Owner{Tenant: place.Tenant, Session: place.Session, Known: known}, nil
}

// tools are those of the config.
func (k *keeper) tools(ctx context.Context, scope adk.Scope) ([]adk.Record, error) {
	if k.config.Tools == nil {
		return nil, nil
	}
	tools, err := k.config.Tools(ctx, scope)
	if err != nil {
		return nil, fault(adk.Tools, adk.Tools.Reads().String(), "", err)
	}
	records := make([]adk.Record, len(tools))
	for i, tool := range tools {
		if tool == nil {
			return nil, fault(adk.Tools, adk.Tools.Reads().String(), "", fmt.Errorf("Config.Tools gave a tool that is nil, number %d", i))
		}
		records[i] = tool
	}
	return records, nil
}

// Write stores or mutates a record, which is the same here, or deletes the one with the key.
func (k *keeper) Write(ctx context.Context, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	if ctx.Err() != nil {
		return fault(of, verb.String(), key, context.Cause(ctx))
	}
	change, err := k.change(scope, of, verb, record, key)
	if err != nil {
		return err
	}
	if err := k.rows.Write(ctx, change); err != nil {
		return fault(of, verb.String(), key, causeOf(ctx, err))
	}
	return nil
}

// change is what Write writes.
func (k *keeper) change(scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) (Change, error) {
	place, err := k.config.place(scope, of)
	if err != nil {
		return Change{}, fault(of, verb.String(), key, err)
	}
	if record == nil {
		return Deletion(place, key), nil
	}
	change, err := Storing(place, record)
	if err != nil {
		return Change{}, fault(of, verb.String(), key, err)
	}
	own, first := bodiesOf(record)
	if _, last := k.rows.(LastingRows); own != nil && !last {
		return Change{}, fault(of, verb.String(), key, errUnkept(record, first))
	}
	change.Row.bodies = own
	change.Row.TurnID, change.Row.DispatchID = readable(scope.TurnID), readable(scope.DispatchID)
	return change, nil
}

// Storing is the change that keeps a record. A record of another collection is an error,
// as is one that no constructor made.
func Storing(place Place, record adk.Record) (Change, error) {
	if record == nil {
		return Change{}, errors.New("the record is nil")
	}
	if record.RecordKind() != place.Collection.Holds() {
		return Change{}, fmt.Errorf("a %s is no record of %s", record.RecordKind(), place.Collection)
	}
	body, err := record.MarshalJSON()
	if err != nil {
		return Change{}, err
	}
	return Change{Place: place, Row: Row{Key: HashOf(record.Key()), Body: body, Digest: record.Digest()}}, nil
}

// Deletion is the change that forgets the record with a key.
func Deletion(place Place, key string) Change {
	return Change{Place: place, Row: Row{Key: HashOf(key)}, Delete: true}
}

// record reads a row back, and holds it against its digest and its key.
func (k *keeper) record(of adk.CollectionName, row Row) (adk.Record, error) {
	wrong := func(what string, cause error) error {
		return fault(of, of.Reads().String(), salvagedKey(row), &adk.Error{Code: adk.E_STORAGE_CORRUPT, Message: what, Cause: cause})
	}
	if adk.DigestOf(row.Body) != row.Digest {
		return nil, wrong("the bytes of the record are not those that were stored", nil)
	}
	parser := k.parser
	if row.bodies != nil { // which do not outlast it
		parser.MediaReader = row.bodies.reader(parser.MediaReader)
	} else if known, ok := k.known.Get(row.Digest); ok && known.key == row.Key && known.record.RecordKind() == of.Holds() {
		return known.record, nil
	}
	record, err := parser.Parse(of.Holds(), row.Body)
	switch {
	case err != nil:
		return nil, wrong("the record cannot be read", err)
	case record.Digest() != row.Digest:
		return nil, wrong("the record holds what this release does not know", nil)
	case HashOf(record.Key()) != row.Key:
		return nil, wrong("the record stands under the key of another", nil)
	}
	if len(row.Body) <= knownBytes && row.bodies == nil {
		k.known.Add(row.Digest, knownRecord{record, row.Key})
	}
	return record, nil
}

// salvagedKey is the key of a row that may be broken: from what is left of the record, if
// that is certain, or what is known of it.
func salvagedKey(row Row) string {
	tokens := json.NewDecoder(bytes.NewReader(row.Body))
	for range 8 { // the id comes first
		token, err := tokens.Token()
		if err != nil {
			break
		}
		if text, ok := token.(string); ok && HashOf(text) == row.Key {
			return text
		}
	}
	return fmt.Sprintf("of the hash %x", row.Key[:8])
}

// maxKeyShown is how many characters of a key an error shows.
const maxKeyShown = 64

// fault is the error of an obligation.
func fault(of adk.CollectionName, verb, key string, cause error) error {
	if key != "" {
		key = fmt.Sprintf(" %.*q", maxKeyShown, key)
	}
	return fmt.Errorf("storage: %s: %s%s: %w", of, verb, key, cause)
}

// causeOf is why an obligation failed: where its context has ended, that is why.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.As(err, new(*adk.Error)) {
		return context.Cause(ctx)
	}
	return err
}

// readable is an id as databases take a text.
func readable(id string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(id, "\uFFFD"), "\x00", "\uFFFD")
}

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

// New returns a storage that keeps its records in rows. The error is E_INVALID_STORAGE_CONFIG, with
// every fault of the config.
//
// The storage keeps the JSON of a record, which does not contain the body of an artifact. A record
// with an artifact whose body is in no spool is therefore refused with E_NOT_A_SPOOL_READER, unless
// the rows last (LastingRows).
//
// Errors of its obligations name the collection, the operation, the beginning of the key and the
// cause, but never the content of a record (STO-19).
func New(config Config, rows Rows) (adk.Storage, error) {
	if err := config.check(); err != nil {
		return adk.Storage{}, err
	}
	k := &keeper{config: config, rows: rows}
	k.known, _ = lru.New[adk.Digest, knownRecord](mostKnown) // fails only for a size below 1
	if config.Spool != nil {
		k.parser.MediaReader = artifact.Readers(config.Spool)
	}
	return storages.Of(k), nil
}

// A session that goes on is fetched again and again. Therefore this many parsed records are cached,
// each of at most knownBytes bytes.
const (
	mostKnown  = 4096
	knownBytes = 4 << 10
)

// keeper converts records to rows and back.
type keeper struct {
	config Config
	rows   Rows
	parser adk.RecordParser
	// known caches parsed records by digest. Equal bytes are the same record, wherever they are
	// stored, and records are immutable.
	known *lru.Cache[adk.Digest, knownRecord]
}

// knownRecord is a parsed record that was checked against its row.
type knownRecord struct {
	record adk.Record
	key    KeyHash
}

// Fetch returns the records of a collection, each exactly as it was stored, or an error. It skips
// none.
func (k *keeper) Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, error) {
	return k.fetch(ctx, scope, of, k.config.Limit[of])
}

// fetch is Fetch for the last records, or for all if last is 0.
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

// FetchAll returns the records of a collection, whatever its limit.
func (k *keeper) FetchAll(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, bool, error) {
	records, err := k.fetch(ctx, scope, of, 0)
	return records, err == nil, err
}

// Owner returns whose records a scope sees. If Config.Partition is set and returns an empty
// partition, the owner is unknown; the stash may then say more.
func (k *keeper) Owner(scope adk.Scope, of adk.CollectionName) (storages.Owner, error) {
	place, err := k.config.place(scope, of)
	if err != nil {
		return storages.Owner{}, fault(of, "owner", "", err)
	}
	known := k.config.Partition == nil || place.Partition != Partition{}
	return storages.Owner{Tenant: place.Tenant, Session: place.Session, Known: known}, nil
}

// tools returns the tools of the config.
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

// change returns what Write writes.
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

// Storing returns the change that stores a record. A record of another collection is an error, and
// so is one that no constructor made.
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

// Deletion returns the change that deletes the record with a key.
func Deletion(place Place, key string) Change {
	return Change{Place: place, Row: Row{Key: HashOf(key)}, Delete: true}
}

// record parses a row, and checks the record against the row's digest and key.
func (k *keeper) record(of adk.CollectionName, row Row) (adk.Record, error) {
	wrong := func(what string, cause error) error {
		return fault(of, of.Reads().String(), salvagedKey(row), &adk.Error{Code: adk.E_STORAGE_CORRUPT, Message: what, Cause: cause})
	}
	if adk.DigestOf(row.Body) != row.Digest {
		return nil, wrong("the bytes of the record are not those that were stored", nil)
	}
	parser := k.parser
	if row.bodies != nil { // its readers last only as long as the row
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

// salvagedKey returns the key of a row that may be corrupt: from the readable part of the record,
// if it matches the hash, and otherwise the beginning of the hash.
func salvagedKey(row Row) string {
	tokens := json.NewDecoder(bytes.NewReader(row.Body))
	for range 8 { // the id comes early
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

// fault returns the error of an obligation.
func fault(of adk.CollectionName, verb, key string, cause error) error {
	if key != "" {
		key = fmt.Sprintf(" %.*q", maxKeyShown, key)
	}
	return fmt.Errorf("storage: %s: %s%s: %w", of, verb, key, cause)
}

// causeOf returns why an obligation failed: if its context is done, the cause of that.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.As(err, new(*adk.Error)) {
		return context.Cause(ctx)
	}
	return err
}

// readable returns an id in a form that databases accept.
func readable(id string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(id, "\uFFFD"), "\x00", "\uFFFD")
}

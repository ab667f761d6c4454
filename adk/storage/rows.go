package storage

import (
	"context"
	"crypto/sha256"

	"github.com/adkreplay/adkreplay/adk"
)

// Place is a collection of a partition. Its session is empty if the sessions of the tenant share
// the collection.
type Place struct {
	Partition
	Collection adk.CollectionName
}

// KeyHash is the SHA-256 of a record's key, because keys are any text of any length.
type KeyHash [sha256.Size]byte

// HashOf returns the hash of a key.
func HashOf(key string) KeyHash { return sha256.Sum256([]byte(key)) }

// Row is a record in the form in which it is stored.
type Row struct {
	Key KeyHash
	// Body is the record's MarshalJSON, byte for byte, and Digest the record's digest. Nobody may
	// change the bytes.
	Body   []byte
	Digest adk.Digest
	// TurnID and DispatchID name the writer, for people who look at the data: UTF-8 without NUL. A
	// fetch need not return them.
	TurnID, DispatchID string

	bodies bodies // kept only by LastingRows
}

// Change stores a row at its place, or deletes the one with its key.
type Change struct {
	Place Place
	Row   Row
	// Delete says that the row with this key is deleted; only Row.Key is set then.
	Delete bool
}

// Rows store rows. To write a storage of your own, implement Rows; New makes the obligations of
// adk.Storage from it. Rows are safe for concurrent use. fakes.TestStorageWith checks the resulting
// storage.
type Rows interface {
	// Fetch returns the rows of a place in the order in which their keys were first written: all of
	// them, or the last ones if last is above 0. The caller owns the slice.
	Fetch(ctx context.Context, place Place, last int) ([]Row, error)
	// Has returns which of the keys a place has, in any order.
	Has(ctx context.Context, place Place, keys ...KeyHash) ([]KeyHash, error)
	// Write makes all changes, one after the other, or fails and makes none. A row with a known key
	// replaces the old one at its place; any other row comes last. Deleting an unknown key is no
	// error.
	Write(ctx context.Context, changes ...Change) error
}

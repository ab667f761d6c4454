package storage

import (
	"context"
	"crypto/sha256"

	"github.com/adkreplay/adkreplay/adk"
)

// Place is a collection of a partition. Its session is empty where the sessions of the
// tenant share the collection.
type Place struct {
	Partition
	Collection adk.CollectionName
}

// KeyHash is the SHA-256 of the key of a record: keys are any text, of any length.
type KeyHash [sha256.Size]byte

// HashOf is the hash of a key.
func HashOf(key string) KeyHash { return sha256.Sum256([]byte(key)) }

// Row is a record as it is kept.
type Row struct {
	Key KeyHash
	// Body is the record's MarshalJSON, byte for byte, and Digest that of the record. The
	// bytes are not to be changed, by whoever has the row.
	Body   []byte
	Digest adk.Digest
	// TurnID and DispatchID say who wrote it, for people: UTF-8 without NUL. A fetch need
	// not give them.
	TurnID, DispatchID string

	bodies bodies // which LastingRows give back
}

// Change puts a row in its place, or deletes the one with its key.
type Change struct {
	Place Place
	Row   Row
	// Delete says that the row with this key goes; it has nothing else.
	Delete bool
}

// Rows keep rows: what a storage of one's own has to do for New to make the obligations of
// adk.Storage of it. They are safe for concurrent use. fakes.TestStorageWith checks what comes of them.
type Rows interface {
	// Fetch gives the rows of a place in the order in which their keys came: all of them,
	// or the last so many where last is above 0. The slice is the caller's.
	Fetch(ctx context.Context, place Place, last int) ([]Row, error)
	// Has gives those of the keys that a place has, in any order.
	Has(ctx context.Context, place Place, keys ...KeyHash) ([]KeyHash, error)
	// Write makes all changes, one after the other, or fails and makes none. A row
	// whose key is there takes the place of the old one, and any other comes last; to
	// delete a key that is not there is no error.
	Write(ctx context.Context, changes ...Change) error
}

package adk

import "context"

// Scope tells a storage obligation for which turn, dispatch and seam call it is called (RUN-13).
type Scope struct {
	// TurnID is empty in a standalone dispatch, DispatchID outside a dispatch.
	TurnID, DispatchID string
	// Stash is the caller's stash, for reading; it is never nil when the engine calls.
	Stash StashReader
	// Call and Strand are the numbers that crossings give to this seam call and its strand; see
	// Handle.Where.
	Call, Strand int
}

// Collection is the four storage obligations for one kind of record (RUN-2). For standing
// instructions, Fetch is the obligation called refresh, and the key is the text. An obligation may
// do nothing, but none may be left out. Fetch must have no visible effect; the others write
// (Seam.Effect). Implementations must be safe for concurrent use.
type Collection[T Record] interface {
	// Fetch returns the stored records, in the order in which a set should hold them.
	Fetch(ctx context.Context, scope Scope) ([]T, error)
	// Store keeps a record.
	Store(ctx context.Context, scope Scope, record T) error
	// Mutate replaces the record with the same key, or keeps record as a new one.
	Mutate(ctx context.Context, scope Scope, record T) error
	// Delete removes the record with the key. An unknown key is not an error.
	Delete(ctx context.Context, scope Scope, key string) error
}

// ToolSource is the storage obligation for tools (RUN-2). It only reads.
type ToolSource interface {
	Fetch(ctx context.Context, scope Scope) ([]*Tool, error)
}

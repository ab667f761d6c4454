// Package forging is shared by the artifacts and by the code that records and replays them. It says
// which tools were forged, which means that user code did not write them, and which marks do not
// reveal their bodies.
package forging

import "context"

// meta is the key of a forged tool's metadata that says so.
const meta = "artifact.forged"

// IsForged reports whether a tool was forged. It also works for a tool that was read from a trace.
func IsForged(tool interface {
	MetaAt(path string) (any, bool)
}) bool {
	is, _ := tool.MetaAt(meta)
	return is == true
}

// What a trace holds of artifacts.
const (
	// StashKey is the entry of a media's stash that is a mark.
	StashKey = "artifact"
	// Hash is the member of a mark, and of a question to a large body, that is the hash of the
	// body. Redaction removes it.
	Hash = "sha256"
	// Spool is the name of what is asked for a large body.
	Spool = "spool"
	// CallID is the argument of a forged tool that is the id of the tool call which made the
	// artifact.
	CallID = "callId"
)

// Size is what a mark says of a body besides its hash.
type Size struct{ Bytes, Lines int }

// Unhashed returns the size in a mark from which redaction removed the hash. It returns false for a
// mark with a hash, and for something that is not a mark.
func Unhashed(mark any) (size Size, unhashed bool) {
	object, _ := mark.(map[string]any)
	bytes, sized := object["bytes"].(int)
	lines, counted := object["lines"].(int)
	_, hashed := object[Hash]
	return Size{bytes, lines}, sized && counted && !hashed
}

// HashOf returns the hash in a mark, and false if there is none.
func HashOf(mark any) (hash string, hashed bool) {
	object, _ := mark.(map[string]any)
	hash, hashed = object[Hash].(string)
	return hash, hashed
}

type sizesKey struct{}

// WithSizes returns a context for a replay in which the bodies of these tool calls may have been
// redacted. A mark that the replay makes for such a call has no hash, and the recorded size.
func WithSizes(ctx context.Context, byCall map[string]Size) context.Context {
	return context.WithValue(ctx, sizesKey{}, byCall)
}

// SizeOf returns the recorded size for a tool call whose body may have been redacted.
func SizeOf(ctx context.Context, callID string) (size Size, redacted bool) {
	byCall, _ := ctx.Value(sizesKey{}).(map[string]Size)
	size, redacted = byCall[callID]
	return size, redacted
}

// Package forging is what artifacts, and who records and replays them, know of each other:
// which tools were forged, whose author is no user's code, and which marks say nothing of
// what their bodies are.
package forging

import "context"

// meta is what the meta of a forged tool says.
const meta = "artifact.forged"

// IsForged reports whether a tool was forged, also where it was read from a trace.
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
	// Hash is the member of a mark, and of a question to a large body, that is the hash
	// of the body; redaction takes it away.
	Hash = "sha256"
	// Spool is who is asked of a large body.
	Spool = "spool"
	// CallID is the argument of a forged tool that is the tool call which made the artifact.
	CallID = "callId"
)

// Size is what a mark says of a body beside its hash.
type Size struct{ Bytes, Lines int }

// Unhashed is the size that a mark says without a hash, which redaction took away; false
// for a mark that has one, and for what is none.
func Unhashed(mark any) (size Size, unhashed bool) {
	object, _ := mark.(map[string]any)
	bytes, sized := object["bytes"].(int)
	lines, counted := object["lines"].(int)
	_, hashed := object[Hash]
	return Size{bytes, lines}, sized && counted && !hashed
}

// HashOf is the hash of the body that a mark says; false where it says none.
func HashOf(mark any) (hash string, hashed bool) {
	object, _ := mark.(map[string]any)
	hash, hashed = object[Hash].(string)
	return hash, hashed
}

type sizesKey struct{}

// WithSizes is a context of a replay in which the bodies of these tool calls may have been
// redacted: what is made of them now has no hash either, and the size that was recorded.
func WithSizes(ctx context.Context, byCall map[string]Size) context.Context {
	return context.WithValue(ctx, sizesKey{}, byCall)
}

// SizeOf is the size that was recorded for a tool call whose body may have been redacted.
func SizeOf(ctx context.Context, callID string) (size Size, redacted bool) {
	byCall, _ := ctx.Value(sizesKey{}).(map[string]Size)
	size, redacted = byCall[callID]
	return size, redacted
}

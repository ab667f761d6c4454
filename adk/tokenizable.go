package adk

import (
	"sync/atomic"

	"github.com/adkreplay/adkreplay/adk/internal/tokens"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/digest"
)

// Tokenizable is text that knows what it is worth in tokens (PRM-1). Every text
// field of a record is one; as a Record it is a standing instruction, keyed by
// its text, and as a ToolResult it is a tool's answer in text.
//
// It is immutable, made by NewTokenizable or Text, used by pointer and safe for
// concurrent use. What is computed from it is computed when first asked for, so
// that a text nobody counts costs one small allocation.
type Tokenizable struct {
	text   string
	counts tokens.Cache
	digest atomic.Pointer[Digest]
}

// NewTokenizable makes a Tokenizable of any text, the empty one included (PRM-1).
func NewTokenizable(text string) *Tokenizable { return &Tokenizable{text: text} }

// Text is NewTokenizable under the name that reads well where a tool's handler
// returns its result (TOL-5).
func Text(text string) *Tokenizable { return NewTokenizable(text) }

// String is the text itself.
func (t *Tokenizable) String() string { return t.text }

// EstimateTokens is what the function EstimateTokens gives for the text,
// counted once for each encoding (PRM-1).
func (t *Tokenizable) EstimateTokens(encoding Encoding) int {
	return t.counts.Estimate(t.text, encoding)
}

// RecordKind is RecordInstruction: of all records, only a standing instruction
// is text alone.
func (t *Tokenizable) RecordKind() RecordKind { return RecordInstruction }

// Key is the text (RUN-12).
func (t *Tokenizable) Key() string { return t.text }

// Digest is the digest of the text as JSON, computed once (DET-8).
func (t *Tokenizable) Digest() Digest {
	if d := t.digest.Load(); d != nil {
		return *d
	}
	d := Digest(digest.OfJSON(t))
	t.digest.Store(&d)
	return d
}

// MarshalJSON is the text as a JSON string in which <, > and & stand as they
// are. Like every marshaler's output, it is escaped again by json.Marshal and
// kept by a json.Encoder whose SetEscapeHTML is off.
func (t *Tokenizable) MarshalJSON() ([]byte, error) { return recordJSONOf(t) }

// AppendJSON appends what MarshalJSON gives.
func (t *Tokenizable) AppendJSON(dst []byte) []byte { return canonical.AppendString(dst, t.text) }

func (t *Tokenizable) isRecord() {}

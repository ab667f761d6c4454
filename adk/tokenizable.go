package adk

import (
	"sync/atomic"

	"github.com/adkreplay/adkreplay/adk/internal/tokens"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/digest"
)

// Tokenizable is text that can count its tokens (PRM-1). Every text field of a record is one. As a
// Record it is a standing instruction, keyed by its text; as a ToolResult it is a tool's answer in
// text.
//
// It is immutable, made by NewTokenizable or Text, used by pointer and safe for concurrent use.
// Counts and digest are computed on first use, so that a text whose tokens are never counted costs
// one small allocation.
type Tokenizable struct {
	text   string
	counts tokens.Cache
	digest atomic.Pointer[Digest]
}

// NewTokenizable makes a Tokenizable from any text, including the empty one (PRM-1).
func NewTokenizable(text string) *Tokenizable { return &Tokenizable{text: text} }

// Text is NewTokenizable, under a name that reads well where a tool's handler returns its result
// (TOL-5).
func Text(text string) *Tokenizable { return NewTokenizable(text) }

// String is the text itself.
func (t *Tokenizable) String() string { return t.text }

// EstimateTokens returns what the function EstimateTokens returns for the text. It counts once per
// encoding (PRM-1).
func (t *Tokenizable) EstimateTokens(encoding Encoding) int {
	return t.counts.Estimate(t.text, encoding)
}

// RecordKind is RecordInstruction: a standing instruction is the only record that is text alone.
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

// MarshalJSON returns the text as a JSON string in which <, > and & are not escaped. As for every
// Marshaler, json.Marshal escapes them in its output; a json.Encoder with SetEscapeHTML(false) does
// not.
func (t *Tokenizable) MarshalJSON() ([]byte, error) { return recordJSONOf(t) }

// AppendJSON appends what MarshalJSON returns.
func (t *Tokenizable) AppendJSON(dst []byte) []byte { return canonical.AppendString(dst, t.text) }

func (t *Tokenizable) isRecord() {}

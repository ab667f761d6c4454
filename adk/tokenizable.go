package adk

import "github.com/adkreplay/adkreplay/internal/canonical"

// Tokenizable is text.
type Tokenizable struct {
	text   string
	digest digestOnce
}

// NewTokenizable makes a Tokenizable of a text.
func NewTokenizable(text string) *Tokenizable { return &Tokenizable{text: text} }

// Text makes a Tokenizable of a text.
func Text(s string) *Tokenizable { return NewTokenizable(s) }

// String is the text.
func (t *Tokenizable) String() string { return t.text }

// RecordKind is RecordInstruction.
func (t *Tokenizable) RecordKind() RecordKind { return RecordInstruction }

// Key is the text.
func (t *Tokenizable) Key() string { return t.text }

// Digest is the digest of the JSON.
func (t *Tokenizable) Digest() Digest { return t.digest.of(t) }

// MarshalJSON is the text as a JSON string.
func (t *Tokenizable) MarshalJSON() ([]byte, error) { return t.appendJSON(nil), nil }

func (t *Tokenizable) appendJSON(dst []byte) []byte { return canonical.AppendString(dst, t.text) }

func (t *Tokenizable) isRecord() {}

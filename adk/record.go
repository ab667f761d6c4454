package adk

import (
	"encoding/hex"
	"fmt"

	"github.com/adkreplay/adkreplay/internal/digest"
	"github.com/adkreplay/adkreplay/internal/fields"
)

// RecordKind names the kinds of immutable records that cross seams whole.
type RecordKind string

// The kinds of records. RecordInstruction is a standing instruction: a
// Tokenizable, keyed by its text. RecordTool is a tool as described, without
// its handler.
const (
	RecordMessage     RecordKind = "message"
	RecordMemory      RecordKind = "memory"
	RecordThought     RecordKind = "thought"
	RecordToolCall    RecordKind = "toolCall"
	RecordRetrievable RecordKind = "retrievable"
	RecordInstruction RecordKind = "instruction"
	RecordTool        RecordKind = "tool"
	RecordMedia       RecordKind = "media"
)

// Record is one of *Message, *Memory, *Thought, *ToolCall, *Retrievable,
// *Tokenizable (a standing instruction), *Tool and *Media. Records are
// immutable once made.
type Record interface {
	// RecordKind tells which of the types it is.
	RecordKind() RecordKind
	// Key is what sets tell records apart by: the id, a standing instruction's
	// text, a tool's name.
	Key() string
	// Digest is the digest of the record's JSON, computed once (DET-8).
	Digest() Digest
	// MarshalJSON is the record as a trace and a state see it: the same bytes
	// for equal records, on every machine.
	MarshalJSON() ([]byte, error)
	// AppendJSON appends what MarshalJSON gives.
	AppendJSON(dst []byte) []byte

	isRecord()
}

// made reports whether a record is one that its constructor made: nil, a zero
// value and a type of somebody's own that embeds a record are none. It is the one
// gate of the union, whose unexported method embedding passes on.
func made(record Record) bool {
	switch r := record.(type) {
	case *Message:
		return r != nil && r.init.ID != ""
	case *Memory:
		return r != nil && r.id != ""
	case *Thought:
		return r != nil && r.init.ID != ""
	case *ToolCall:
		return r != nil && r.id != ""
	case *Retrievable:
		return r != nil && r.init.ID != ""
	case *Media:
		return r != nil && r.init.ID != ""
	case *Tool:
		return r != nil && r.spec != nil
	case *Tokenizable:
		return r != nil
	}
	return false
}

// recordFault says what keeps a record from being taken into a set, a registry
// or a storage; it is empty for one that can be.
func recordFault[T record](record T) string {
	var none T
	if record == none {
		return "is nil"
	}
	if text, ok := any(record).(*Tokenizable); ok { // a standing instruction
		return instructionFault(text.text)
	}
	if !made(record) {
		return fmt.Sprintf("is a zero %T, which no constructor made", record)
	}
	return ""
}

// instructionFault says what is wrong with the text of a standing instruction.
func instructionFault(text string) string {
	if text == "" {
		return "is empty"
	}
	return fields.TextFault(text)
}

// recordJSONOf is what MarshalJSON of a record gives: one that no constructor made
// has no JSON, as nobody could read it back.
func recordJSONOf(record Record) ([]byte, error) {
	if !made(record) {
		return nil, fmt.Errorf("adk: a %T that no constructor made has no JSON", record)
	}
	return record.AppendJSON(nil), nil
}

// Digest is the first 16 bytes of a SHA-256: enough to tell any two values of
// one turn apart, short enough to read. The zero Digest stands for nothing.
type Digest [16]byte

// DigestOf is the digest of data.
func DigestOf(data []byte) Digest { return digest.Of(data) }

// String is the digest as 32 lowercase hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

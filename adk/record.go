package adk

import (
	"crypto/sha256"
	"encoding/hex"
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
	// MarshalJSON is the record as a trace and a sight see it: the same bytes
	// for equal records, on every machine.
	MarshalJSON() ([]byte, error)
	// AppendJSON appends what MarshalJSON gives.
	AppendJSON(dst []byte) []byte

	isRecord()
}

// Digest is the first 16 bytes of a SHA-256: enough to tell any two values of
// one turn apart, short enough to read. The zero Digest stands for nothing.
type Digest [16]byte

// DigestOf is the digest of data.
func DigestOf(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest(sum[:16])
}

// String is the digest as 32 lowercase hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

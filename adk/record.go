package adk

import (
	"encoding/hex"
	"fmt"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
	"github.com/adkreplay/adkreplay/internal/digest"
)

// RecordKind names a kind of record. Records are immutable and cross seams as a whole.
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
	// RecordKind returns which of the types the record is.
	RecordKind() RecordKind
	// Key identifies the record within a set: the id, a standing instruction's text, or a tool's
	// name.
	Key() string
	// Digest is the digest of the record's JSON, computed once (DET-8).
	Digest() Digest
	// MarshalJSON returns the record as traces and states use it: the same bytes for equal records,
	// on every machine.
	MarshalJSON() ([]byte, error)
	// AppendJSON appends what MarshalJSON returns.
	AppendJSON(dst []byte) []byte

	isRecord()
}

// made reports whether a record was made by its constructor. That is false for nil, for a zero
// value, and for a foreign type that embeds a record: embedding passes on the unexported method of
// Record, so this check is what closes the union.
func made(record Record) bool {
	switch r := record.(type) {
	case *Message:
		return r != nil && r.init.ID != ""
	case *Memory:
		return r != nil && r.init.ID != ""
	case *Thought:
		return r != nil && r.init.ID != ""
	case *ToolCall:
		return r != nil && r.init.ID != ""
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

// ParseRecord parses a record of a kind from the JSON that its MarshalJSON wrote, and checks it as
// the constructor of the kind does, with the same error code. The record has the same JSON and the
// same digest again. Unknown fields are ignored. A media has no bytes: opening it returns
// E_NOT_A_MEDIA_READER.
func ParseRecord(kind RecordKind, data []byte) (Record, error) {
	return RecordParser{}.Parse(kind, data)
}

// RecordParser parses records from JSON, for callers that know where the bytes of their media are.
// The zero RecordParser works like ParseRecord.
type RecordParser struct {
	// MediaReader returns the reader for each media that is parsed, whether it is a record, an
	// attachment, a result of a tool or part of plain data. If it is nil or returns nil, the media
	// has no bytes.
	MediaReader func(*Media) MediaReader
}

// Parse is ParseRecord, but gives each media its reader.
func (p RecordParser) Parse(kind RecordKind, data []byte) (Record, error) {
	switch kind {
	case RecordMessage:
		return asRecord(p.message(data))
	case RecordMemory:
		return parseInit(E_INVALID_INITIAL_MEMORY_VALUE, data, NewMemory)
	case RecordThought:
		return asRecord(p.thought(data))
	case RecordToolCall:
		return asRecord(p.toolCall(data))
	case RecordRetrievable:
		return parseInit(E_INVALID_INITIAL_RETRIEVABLE_VALUE, data, NewRetrievable)
	case RecordInstruction:
		return asRecord(parseInstruction(data))
	case RecordMedia:
		return asRecord(p.media(data))
	case RecordTool:
		return parseTool(data)
	}
	return nil, fmt.Errorf("adk: %.40q is no kind of record", string(kind))
}

// recordFault says why a record must not go into a set, a registry or a storage, or returns "" if
// it may.
func recordFault[T record](record T) string {
	var none T
	if record == none {
		return "is nil"
	}
	if text, ok := any(record).(*Tokenizable); ok { // a standing instruction
		return fields.InstructionFault(text.text)
	}
	if !made(record) {
		return fmt.Sprintf("is a zero %T, which no constructor made", record)
	}
	return ""
}

// recordJSONOf implements MarshalJSON of a record. A record that no constructor made has no JSON,
// because the JSON could not be read back.
func recordJSONOf(record Record) ([]byte, error) {
	if !made(record) {
		return nil, fmt.Errorf("adk: a %T that no constructor made has no JSON", record)
	}
	return record.AppendJSON(nil), nil
}

// Digest is the first 16 bytes of a SHA-256: enough to tell any two values of one turn apart, and
// short enough to read. The zero Digest means that there is nothing.
type Digest [16]byte

// DigestOf is the digest of data.
func DigestOf(data []byte) Digest { return digest.Of(data) }

// String is the digest as 32 lowercase hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

package adk

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adkreplay/adkreplay/internal/plain"
)

// ParseRecord reads a record of a kind from the JSON that its MarshalJSON wrote,
// and checks it as the constructor of the kind does, with the same error code.
// The record has the same JSON and the same digest again. Fields that are not
// known are passed over. A media has no bytes: opening it is
// E_NOT_A_MEDIA_READER.
func ParseRecord(kind RecordKind, data []byte) (Record, error) {
	return RecordParser{}.Parse(kind, data)
}

// RecordParser reads records from JSON, for those who know where the bytes of
// their media are. The zero RecordParser is ParseRecord.
type RecordParser struct {
	// MediaReader gives a reader to each media that is read: to a record, an
	// attachment, a result of a tool and a media inside plain data alike. A nil
	// reader, like a nil function, leaves the media without bytes.
	MediaReader func(*Media) MediaReader
}

// Parse is ParseRecord, where a media gets its reader.
func (p RecordParser) Parse(kind RecordKind, data []byte) (Record, error) {
	switch kind {
	case RecordMessage:
		return asRecord(p.message(data))
	case RecordMemory:
		return asRecord(parseMemory(data))
	case RecordThought:
		return asRecord(p.thought(data))
	case RecordToolCall:
		return asRecord(p.toolCall(data))
	case RecordRetrievable:
		return asRecord(parseRetrievable(data))
	case RecordInstruction:
		return asRecord(parseInstruction(data))
	case RecordMedia:
		return asRecord(p.media(data))
	case RecordTool:
		return parseTool(data)
	}
	return nil, fmt.Errorf("adk: %.40q is no kind of record", string(kind))
}

// PlainTag marks a standing instruction inside plain data.
func (t *Tokenizable) PlainTag() string { return string(RecordInstruction) }

// asRecord keeps a nil pointer from becoming a record that is not nil.
func asRecord[R Record](record R, err error) (Record, error) {
	if err != nil {
		return nil, err
	}
	return record, nil
}

// marked reads the records inside plain data by their marks.
func (p RecordParser) marked(tag string, raw []byte) (any, error) {
	return p.Parse(RecordKind(tag), raw)
}

// decodeRecord reads JSON into the shape of a record.
func decodeRecord(code Code, data []byte, shape any) error {
	if err := json.Unmarshal(data, shape); err != nil {
		return &Error{Code: code, Message: "the JSON is not that of such a record", Cause: err}
	}
	return nil
}

// plain reads the plain data of a field; no text is nil.
func (p RecordParser) plain(code Code, field string, raw json.RawMessage) (any, error) {
	if raw == nil {
		return nil, nil
	}
	v, err := plain.Parse(raw, p.marked)
	if err != nil {
		return nil, &Error{Code: code, Message: field + ": is not plain data", Cause: err}
	}
	return v, nil
}

// parsedIdentity is an identity as a record's JSON holds it.
type parsedIdentity struct{ Identity }

func (p *parsedIdentity) UnmarshalJSON(data []byte) error {
	var shape struct {
		Identifier     json.RawMessage `json:"identifier"`
		Representation string          `json:"representation"`
	}
	if err := json.Unmarshal(data, &shape); err != nil {
		return err
	}
	var name string
	var number int64
	var identifier any
	switch {
	case json.Unmarshal(shape.Identifier, &name) == nil:
		identifier = name
	case json.Unmarshal(shape.Identifier, &number) == nil:
		identifier = number
	default:
		return errors.New("the identifier is neither a text nor an integer")
	}
	identity, err := NewIdentity(identifier, shape.Representation)
	p.Identity = identity
	return err
}

// The shapes below are what constructors are given, but for the fields in whose place
// they have what JSON holds of them. JSON tells no large letters from small ones, so id
// is ID.

func (p RecordParser) message(data []byte) (*Message, error) {
	var shape struct {
		MessageInit
		Attachments []json.RawMessage
		Identity    parsedIdentity
	}
	if err := decodeRecord(E_INVALID_INITIAL_MESSAGE_VALUE, data, &shape); err != nil {
		return nil, err
	}
	attachments, err := p.medias(shape.Attachments)
	if err != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_MESSAGE_VALUE, Message: "attachments", Cause: err}
	}
	shape.MessageInit.Attachments, shape.MessageInit.Identity = attachments, shape.Identity.Identity
	return NewMessage(shape.MessageInit)
}

func (p RecordParser) medias(list []json.RawMessage) ([]*Media, error) {
	var medias []*Media
	for _, one := range list {
		media, err := p.media(one)
		if err != nil {
			return nil, err
		}
		medias = append(medias, media)
	}
	return medias, nil
}

func parseMemory(data []byte) (*Memory, error) {
	var init MemoryInit
	if err := decodeRecord(E_INVALID_INITIAL_MEMORY_VALUE, data, &init); err != nil {
		return nil, err
	}
	return NewMemory(init)
}

func parseRetrievable(data []byte) (*Retrievable, error) {
	var init RetrievableInit
	if err := decodeRecord(E_INVALID_INITIAL_RETRIEVABLE_VALUE, data, &init); err != nil {
		return nil, err
	}
	return NewRetrievable(init)
}

func (p RecordParser) thought(data []byte) (*Thought, error) {
	var shape struct {
		ThoughtInit
		Identity parsedIdentity
		Payload  json.RawMessage
	}
	if err := decodeRecord(E_INVALID_INITIAL_THOUGHT_VALUE, data, &shape); err != nil {
		return nil, err
	}
	payload, err := p.plain(E_INVALID_INITIAL_THOUGHT_VALUE, "payload", shape.Payload)
	if err != nil {
		return nil, err
	}
	shape.ThoughtInit.Payload, shape.ThoughtInit.Identity = payload, shape.Identity.Identity
	return NewThought(shape.ThoughtInit)
}

func (p RecordParser) toolCall(data []byte) (*ToolCall, error) {
	var shape struct {
		ToolCallInit
		Args    json.RawMessage
		Results parsedResults
	}
	if err := decodeRecord(E_INVALID_INITIAL_TOOL_CALL_VALUE, data, &shape); err != nil {
		return nil, err
	}
	results, err := shape.Results.result(p)
	if err != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_TOOL_CALL_VALUE, Message: "results", Cause: err}
	}
	shape.ToolCallInit.Args, shape.ToolCallInit.Results = shape.Args, results
	return NewToolCall(shape.ToolCallInit)
}

// parsedResults is what appendResults wrote: one of the fields is there.
type parsedResults struct {
	Text      *string
	Media     json.RawMessage
	MediaList []json.RawMessage
}

func (r parsedResults) result(p RecordParser) (ToolResult, error) {
	switch {
	case r.Text != nil:
		return NewTokenizable(*r.Text), nil
	case r.Media != nil:
		return p.media(r.Media)
	default:
		list, err := p.medias(r.MediaList)
		return MediaList(list), err
	}
}

func parseInstruction(data []byte) (*Tokenizable, error) {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return nil, fmt.Errorf("adk: the JSON is not that of a standing instruction: %w", err)
	}
	if text == nil {
		return nil, errors.New("adk: the JSON of a standing instruction is null, want a text")
	}
	return NewTokenizable(*text), nil
}

func (p RecordParser) media(data []byte) (*Media, error) {
	const code = E_INVALID_INITIAL_MEDIA_VALUE
	var shape struct {
		MediaInit
		Reader json.RawMessage // no JSON has one
		Stash  map[string]struct {
			MediaStashEntry
			Value json.RawMessage
		}
	}
	if err := decodeRecord(code, data, &shape); err != nil {
		return nil, err
	}
	init := shape.MediaInit
	init.Reader, init.Stash = unreadMedia(init.ID), make(map[string]MediaStashEntry, len(shape.Stash))
	for key, entry := range shape.Stash {
		value, err := p.plain(code, "stash", entry.Value)
		if err != nil {
			return nil, err
		}
		entry.MediaStashEntry.Value = value
		init.Stash[key] = entry.MediaStashEntry
	}
	media, err := NewMedia(init)
	if err != nil || p.MediaReader == nil {
		return media, err
	}
	return media.WithReader(p.MediaReader(media)), nil
}

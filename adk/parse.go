package adk

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

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

func (p RecordParser) message(data []byte) (*Message, error) {
	var shape struct {
		ID          string            `json:"id"`
		Role        Role              `json:"role"`
		Content     string            `json:"content"`
		Attachments []json.RawMessage `json:"attachments"`
		Identity    parsedIdentity    `json:"identity"`
		CreatedAt   time.Time         `json:"createdAt"`
		UpdatedAt   time.Time         `json:"updatedAt"`
	}
	if err := decodeRecord(E_INVALID_INITIAL_MESSAGE_VALUE, data, &shape); err != nil {
		return nil, err
	}
	attachments, err := p.medias(shape.Attachments)
	if err != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_MESSAGE_VALUE, Message: "attachments", Cause: err}
	}
	return NewMessage(MessageInit{
		ID: shape.ID, Role: shape.Role, Content: shape.Content, Attachments: attachments,
		Identity: shape.Identity.Identity, CreatedAt: shape.CreatedAt, UpdatedAt: shape.UpdatedAt,
	})
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
	var shape struct {
		ID         string    `json:"id"`
		Content    string    `json:"content"`
		Confidence *float64  `json:"confidence"`
		Importance *float64  `json:"importance"`
		CreatedAt  time.Time `json:"createdAt"`
		UpdatedAt  time.Time `json:"updatedAt"`
	}
	if err := decodeRecord(E_INVALID_INITIAL_MEMORY_VALUE, data, &shape); err != nil {
		return nil, err
	}
	return NewMemory(MemoryInit(shape))
}

func parseRetrievable(data []byte) (*Retrievable, error) {
	var shape struct {
		ID        string    `json:"id"`
		Content   string    `json:"content"`
		TrustTier TrustTier `json:"trustTier"`
		Source    string    `json:"source"`
		Kind      string    `json:"kind"`
		Score     *float64  `json:"score"`
		CreatedAt time.Time `json:"createdAt"`
		UpdatedAt time.Time `json:"updatedAt"`
	}
	if err := decodeRecord(E_INVALID_INITIAL_RETRIEVABLE_VALUE, data, &shape); err != nil {
		return nil, err
	}
	return NewRetrievable(RetrievableInit(shape))
}

func (p RecordParser) thought(data []byte) (*Thought, error) {
	var shape struct {
		ID                  string          `json:"id"`
		Content             string          `json:"content"`
		Identity            parsedIdentity  `json:"identity"`
		Payload             json.RawMessage `json:"payload"`
		ReplayCompatibility string          `json:"replayCompatibility"`
		CreatedAt           time.Time       `json:"createdAt"`
		UpdatedAt           time.Time       `json:"updatedAt"`
	}
	if err := decodeRecord(E_INVALID_INITIAL_THOUGHT_VALUE, data, &shape); err != nil {
		return nil, err
	}
	payload, err := p.plain(E_INVALID_INITIAL_THOUGHT_VALUE, "payload", shape.Payload)
	if err != nil {
		return nil, err
	}
	return NewThought(ThoughtInit{
		ID: shape.ID, Content: shape.Content, Identity: shape.Identity.Identity, Payload: payload,
		ReplayCompatibility: shape.ReplayCompatibility, CreatedAt: shape.CreatedAt, UpdatedAt: shape.UpdatedAt,
	})
}

func (p RecordParser) toolCall(data []byte) (*ToolCall, error) {
	var shape struct {
		ID               string          `json:"id"`
		Tool             string          `json:"tool"`
		Args             json.RawMessage `json:"args"`
		Results          parsedResults   `json:"results"`
		Inline           *bool           `json:"inline"`
		IsError          bool            `json:"isError"`
		FromArtifactTool bool            `json:"fromArtifactTool"`
		CreatedAt        time.Time       `json:"createdAt"`
		UpdatedAt        time.Time       `json:"updatedAt"`
		CompletedAt      time.Time       `json:"completedAt"`
	}
	if err := decodeRecord(E_INVALID_INITIAL_TOOL_CALL_VALUE, data, &shape); err != nil {
		return nil, err
	}
	results, err := shape.Results.result(p)
	if err != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_TOOL_CALL_VALUE, Message: "results", Cause: err}
	}
	return NewToolCall(ToolCallInit{
		ID: shape.ID, Tool: shape.Tool, Args: shape.Args, Results: results, Inline: shape.Inline,
		IsError: shape.IsError, FromArtifactTool: shape.FromArtifactTool,
		CreatedAt: shape.CreatedAt, UpdatedAt: shape.UpdatedAt, CompletedAt: shape.CompletedAt,
	})
}

// parsedResults is what appendResults wrote: one of the fields is there.
type parsedResults struct {
	Text      *string           `json:"text"`
	Media     json.RawMessage   `json:"media"`
	MediaList []json.RawMessage `json:"mediaList"`
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
		ID             string         `json:"id"`
		Kind           MediaKind      `json:"kind"`
		MIMEType       string         `json:"mimeType"`
		Filename       string         `json:"filename"`
		TrustTier      TrustTier      `json:"trustTier"`
		ModalityHazard ModalityHazard `json:"modalityHazard"`
		Source         string         `json:"source"`
		Stash          map[string]struct {
			Value       json.RawMessage `json:"value"`
			TrustTier   TrustTier       `json:"trustTier"`
			DerivedFrom string          `json:"derivedFrom"`
		} `json:"stash"`
	}
	if err := decodeRecord(code, data, &shape); err != nil {
		return nil, err
	}
	stash := make(map[string]MediaStashEntry, len(shape.Stash))
	for key, entry := range shape.Stash {
		value, err := p.plain(code, "stash", entry.Value)
		if err != nil {
			return nil, err
		}
		stash[key] = MediaStashEntry{Value: value, TrustTier: entry.TrustTier, DerivedFrom: entry.DerivedFrom}
	}
	media, err := NewMedia(MediaInit{
		ID: shape.ID, Kind: shape.Kind, MIMEType: shape.MIMEType, Filename: shape.Filename, Reader: unreadMedia(shape.ID),
		TrustTier: shape.TrustTier, ModalityHazard: shape.ModalityHazard, Source: shape.Source, Stash: stash,
	})
	if err != nil || p.MediaReader == nil {
		return media, err
	}
	return media.WithReader(p.MediaReader(media)), nil
}

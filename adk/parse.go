package adk

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
	"github.com/adkreplay/adkreplay/internal/jsonfault"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// PlainTag is the tag that marks a standing instruction inside plain data.
func (t *Tokenizable) PlainTag() string { return string(RecordInstruction) }

// asRecord keeps a nil pointer from becoming a non-nil Record.
func asRecord[R Record](record R, err error) (Record, error) {
	if err != nil {
		return nil, err
	}
	return record, nil
}

// marked parses a record inside plain data by its tag.
func (p RecordParser) marked(tag string, raw []byte) (any, error) {
	return p.Parse(RecordKind(tag), raw)
}

// decodeRecord decodes JSON into the shape of a record: what its constructor takes, except that
// some fields hold the raw JSON instead. Field names match because encoding/json ignores case: id
// is ID.
func decodeRecord(code Code, data []byte, shape any) error {
	if err := json.Unmarshal(data, shape); err != nil {
		return &Error{Code: code, Message: "the JSON is not that of such a record", Cause: jsonfault.Of(err)}
	}
	return nil
}

// parseInit parses a record whose JSON decodes directly into what its constructor takes.
func parseInit[Init any, R Record](code Code, data []byte, construct func(Init) (R, error)) (Record, error) {
	var init Init
	if err := decodeRecord(code, data, &init); err != nil {
		return nil, err
	}
	return asRecord(construct(init))
}

// plain parses the plain data of a field; a nil raw gives nil.
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

// parsedIdentity decodes an identity from a record's JSON.
type parsedIdentity struct{ Identity }

func (p *parsedIdentity) UnmarshalJSON(data []byte) error {
	identifier, representation, err := fields.ReadIdentity(data)
	if err == nil {
		p.Identity, err = NewIdentity(identifier, representation)
	}
	return err
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

func parseInstruction(data []byte) (*Tokenizable, error) {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return nil, fmt.Errorf("adk: the JSON is not that of a standing instruction: %w", jsonfault.Of(err))
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
		Reader json.RawMessage // hides MediaInit.Reader from the decoder; the JSON has no such field
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

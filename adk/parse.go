package adk

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
	"github.com/adkreplay/adkreplay/internal/jsonfault"
	"github.com/adkreplay/adkreplay/internal/plain"
)

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

// decodeRecord reads JSON into the shape of a record: what its constructor is given, but
// for the fields in whose place it has what JSON holds of them. JSON tells no large letters
// from small ones, so id is ID.
func decodeRecord(code Code, data []byte, shape any) error {
	if err := json.Unmarshal(data, shape); err != nil {
		return &Error{Code: code, Message: "the JSON is not that of such a record", Cause: jsonfault.Of(err)}
	}
	return nil
}

// parseInit reads a record of whose fields JSON holds what its constructor is given.
func parseInit[Init any, R Record](code Code, data []byte, construct func(Init) (R, error)) (Record, error) {
	var init Init
	if err := decodeRecord(code, data, &init); err != nil {
		return nil, err
	}
	return asRecord(construct(init))
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

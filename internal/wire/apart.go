package wire

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// Apart writes and reads single fields outside a trace. They look as they do in a trace, except
// that every record is written in full each time it appears, so a change to one copy changes no
// other.
type Apart struct {
	Sentinels *Sentinels
	Media     *Openings // where media that are read find their bytes
}

// Append returns field f of x as JSON; it returns nothing if the field is zero.
func (a Apart) Append(f adk.Field, x *adk.Crossing) ([]byte, error) {
	e := NewEncoder(a.Sentinels)
	e.apart = true
	err := FieldRows[f].Append(e, "", x)
	return e.Out, err
}

// Read sets field f of x to the value raw, or to its zero value if raw is null. A record in raw may
// lack its number; it may also lack its kind, which then is the argument kind. A record given by
// number alone must appear in full earlier in raw.
func (a Apart) Read(f adk.Field, x *adk.Crossing, raw []byte, kind adk.RecordKind) error {
	if string(raw) == "null" {
		FieldRows[f].Zero(x)
		return nil
	}
	d := NewDecoder(a.Sentinels)
	d.Media, d.apart = a.Media, &recordsApart{kind: kind, numbered: map[int]adk.Record{}}
	return FieldRows[f].Read(d, x, raw)
}

// recordsApart is the state of reading the records of one field for Apart.
type recordsApart struct {
	kind     adk.RecordKind // the kind of records that do not name theirs
	numbered map[int]adk.Record
}

// recordApart reads a record for Apart.
func (d *Decoder) recordApart(raw []byte) (r adk.Record, err error) {
	var members []ScannedMember
	if raw[0] == '{' {
		if members, err = ScanMembers(nil, raw); err != nil {
			return nil, err
		}
	}
	number, kind := 0, d.apart.kind
	if len(members) > 0 && string(members[0].Name) == "#" {
		if number, err = IntOfJSON(members[0].Value); err != nil {
			return nil, fmt.Errorf("#: %w", err)
		}
		if members = members[1:]; len(members) == 0 {
			if r = d.apart.numbered[number]; r == nil {
				return nil, fmt.Errorf("record %d does not stand before", number)
			}
			return r, nil
		}
	}
	if len(members) == 1 && isRecordKind(adk.RecordKind(members[0].Name)) {
		kind, raw = adk.RecordKind(members[0].Name), members[0].Value
	}
	if kind == "" {
		return nil, ErrWant(`a record, such as {"message":{…}}`, raw)
	}
	if r, err = d.parse(kind, raw); err == nil && number > 0 {
		d.apart.numbered[number] = r
	}
	return r, err
}

func isRecordKind(kind adk.RecordKind) bool {
	_, held := adk.CollectionOf(kind)
	return held || kind == adk.RecordMedia
}

package wire

import (
	"regexp"
	"strconv"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsonpointer"
)

// Placeholder matches what stands for a secret in a redacted trace. It contains the kind of the
// secret and its number.
var Placeholder = regexp.MustCompile(`\[redacted:([a-z0-9-]+):([0-9]+)\]`)

// PlaceholderBegin is the prefix of a placeholder.
const PlaceholderBegin = "[redacted:"

// PlaceholderOf returns the placeholder of the secret with the given kind and number.
func PlaceholderOf(kind string, number int) string {
	return PlaceholderBegin + kind + ":" + strconv.Itoa(number) + "]"
}

// EachText calls give for each text in a JSON value, in order, with the JSON pointer of its place.
// Member names are not texts.
func EachText(value []byte, place string, give func(place, text string)) error {
	_, err := MapTexts(nil, value, place, func(place, text string) string {
		give(place, text)
		return text
	})
	return err
}

// MapTexts appends the JSON value to out, with each text replaced by what to returns for its place
// and text.
func MapTexts(out, value []byte, place string, to func(place, text string) string) ([]byte, error) {
	if len(value) == 0 {
		return out, nil
	}
	switch value[0] {
	case '"':
		text, err := TextOfJSON(value)
		if err != nil {
			return out, err
		}
		if changed := to(place, text); changed != text {
			return canonical.AppendString(out, changed), nil
		}
	case '{':
		members, err := ScanMembers(nil, value)
		if err != nil {
			return out, err
		}
		out = append(out, '{')
		for i, m := range members {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(canonical.AppendString(out, string(m.Name)), ':')
			if out, err = MapTexts(out, m.Value, place+"/"+jsonpointer.Escape(string(m.Name)), to); err != nil {
				return out, err
			}
		}
		return append(out, '}'), nil
	case '[':
		list, err := Elements(value)
		if err != nil {
			return out, err
		}
		out = append(out, '[')
		for i, one := range list {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = MapTexts(out, one, place+"/"+strconv.Itoa(i), to); err != nil {
				return out, err
			}
		}
		return append(out, ']'), nil
	}
	return append(out, value...), nil
}

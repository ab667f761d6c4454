package wire

import (
	"regexp"
	"strconv"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsonpointer"
)

// Placeholder is what stands for a secret in a redacted trace, with its kind and its number
// among the secrets.
var Placeholder = regexp.MustCompile(`\[redacted:([a-z0-9-]+):([0-9]+)\]`)

// PlaceholderBegin is what a placeholder begins with.
const PlaceholderBegin = "[redacted:"

// PlaceholderOf is the placeholder of the secret of that number, of a kind.
func PlaceholderOf(kind string, number int) string {
	return PlaceholderBegin + kind + ":" + strconv.Itoa(number) + "]"
}

// EachText gives the texts of a JSON in their order, each with its place in it, as a JSON
// pointer. Names are no texts.
func EachText(value []byte, place string, give func(place, text string)) error {
	_, err := MapTexts(nil, value, place, func(place, text string) string {
		give(place, text)
		return text
	})
	return err
}

// MapTexts appends a JSON with other texts: to gives, of each place and the text there, the
// one to be there.
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

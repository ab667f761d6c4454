package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
)

// SameJSON reports whether two texts say the same JSON, in whatever order and with
// whatever white space; a number is the same in one spelling only. What is no JSON is
// the same as itself.
func SameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	one, isJSON := decodedJSON(a)
	other, both := decodedJSON(b)
	return isJSON && both && reflect.DeepEqual(one, other)
}

// SortedJSON is one text for all that SameJSON takes for the same.
func SortedJSON(text json.RawMessage) []byte {
	if value, isJSON := decodedJSON(text); isJSON {
		if sorted, err := json.Marshal(value); err == nil {
			return sorted
		}
	}
	return text
}

func decodedJSON(text []byte) (value any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, err == io.EOF
}

package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"

	"github.com/adkreplay/adkreplay/adk"
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

// SumOfJSON is a digest that two texts have in common where they say the same JSON, as
// SameJSON has it, and no others do.
func SumOfJSON(text json.RawMessage) adk.Digest {
	if value, isJSON := decodedJSON(text); isJSON {
		if sorted, err := json.Marshal(value); err == nil {
			return adk.DigestOf(append([]byte("json "), sorted...))
		}
	}
	return adk.DigestOf(append([]byte("text "), text...))
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

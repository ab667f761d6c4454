package fields

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// TextOrInteger gives a string, or an integer of any kind, as string or int64. The error
// says what is wrong with anything else.
func TextOrInteger(v any) (any, error) {
	switch value := reflect.ValueOf(v); {
	case v == nil:
		return nil, errors.New("is missing, want a text or an integer")
	case value.Kind() == reflect.String:
		return value.String(), nil
	case value.CanInt():
		return value.Int(), nil
	case value.CanUint() && value.Uint() <= math.MaxInt64:
		return int64(value.Uint()), nil
	case value.CanUint():
		return nil, errors.New("is beyond int64, want a smaller integer or its text")
	default:
		return nil, fmt.Errorf("is of the type %T, want a text or an integer", v)
	}
}

// readTextOrInteger reads what TextOrInteger gives from JSON.
func readTextOrInteger(raw []byte) (any, error) {
	var name string
	var number int64
	switch {
	case json.Unmarshal(raw, &name) == nil:
		return name, nil
	case json.Unmarshal(raw, &number) == nil:
		return number, nil
	}
	return nil, errors.New("the identifier is neither a text nor an integer")
}

// AppendTextOrInteger appends the JSON of what TextOrInteger gives.
func AppendTextOrInteger(dst []byte, v any) []byte {
	if number, ok := v.(int64); ok {
		return strconv.AppendInt(dst, number, 10)
	}
	return canonical.AppendString(dst, v.(string))
}

// ReadIdentity reads the two sides of an identity from its JSON: an identifier, as
// TextOrInteger gives it, and what a model reads.
func ReadIdentity(data []byte) (identifier any, representation string, err error) {
	var shape struct {
		Identifier     json.RawMessage `json:"identifier"`
		Representation string          `json:"representation"`
	}
	if err := json.Unmarshal(data, &shape); err != nil {
		return nil, "", err
	}
	identifier, err = readTextOrInteger(shape.Identifier)
	return identifier, shape.Representation, err
}

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

// TextOrInteger converts a string type, or any integer type, to string or int64. For anything else
// the error says what is wrong.
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

// readTextOrInteger reads the JSON that AppendTextOrInteger wrote.
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

// AppendTextOrInteger appends the JSON of a result of TextOrInteger.
func AppendTextOrInteger(dst []byte, v any) []byte {
	if number, ok := v.(int64); ok {
		return strconv.AppendInt(dst, number, 10)
	}
	return canonical.AppendString(dst, v.(string))
}

// ReadIdentity reads an identity from its JSON: the identifier, as TextOrInteger returns it, and
// the representation.
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

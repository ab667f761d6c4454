package jsonfault_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/jsonfault"
)

// Init is embedded, as the argument of a constructor is embedded in the JSON shape of its record.
type Init struct {
	ID, MIMEType string
	CreatedAt    time.Time
	Count        *int
}

type shape struct {
	Init
	List    []string
	Members map[string]float64
	Flag    bool
	Within  struct {
		Deep struct{ N uint8 } `json:"deep"`
	} `json:"within"`
}

// A fault is described with the member's path, without a Go type and without the value.
func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		`7`:                                 "want an object, found a number",
		`{"id":1.5}`:                        "id: want a text, found a number",
		`{"mimeType":[]}`:                   "mimeType: want a text, found a list",
		`{"createdAt":"12 Nov` + "é" + `"}`: "want times as in 2025-01-01T00:00:00Z",
		`{"createdAt":12}`:                  "want times as in 2025-01-01T00:00:00Z",
		`{"count":9223372036854775808}`:     "count: want a whole number that is not too large, found a number",
		`{"list":{}}`:                       "list: want a list, found an object",
		`{"members":true}`:                  "members: want an object, found true or false",
		`{"members":{"a":1e400}}`:           "members: want a number that is not too large, found a number",
		`{"flag":"true"}`:                   "flag: want true or false, found a text",
		`{"within":{"deep":{"n":-1}}}`:      "within.deep.n: want a whole number that is not too large, found a number",
		`{"more":1}`:                        `there is no member "more"`,
		`{"id":`:                            "the JSON breaks off",
		`{]`:                                "invalid character ']' looking for beginning of object key string",
	} {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		assert.EqualError(t, jsonfault.Of(decoder.Decode(new(shape))), want, text)
	}
	assert.EqualError(t, jsonfault.Of(json.Unmarshal([]byte(`{`), new(shape))), "the JSON breaks off")
	require.NoError(t, jsonfault.Of(nil))
	nameless := &json.UnmarshalTypeError{Value: "number 7", Type: reflect.TypeFor[string](), Field: "a..b"}
	assert.EqualError(t, jsonfault.Of(nameless), "a..b: want a text, found a number", "a member may have no name")
	other := errors.New("the disk is out")
	assert.Equal(t, other, jsonfault.Of(other))
}

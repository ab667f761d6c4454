package schema_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/schema"
)

// id marshals itself as a text, as 16-byte ids do.
type id [2]byte

func (i id) MarshalText() ([]byte, error)     { return []byte{'a' + i[0], 'a' + i[1]}, nil }
func (i *id) UnmarshalText(text []byte) error { *i = id{text[0] - 'a', text[1] - 'a'}; return nil }

// either marshals itself in one of two forms.
type either struct{ Number *int }

func (e either) MarshalJSON() ([]byte, error) {
	if e.Number == nil {
		return []byte(`"none"`), nil
	}
	return json.Marshal(*e.Number)
}

type tree struct {
	Name  string           `json:"name" jsonschema:"what it is called"`
	Below []*tree          `json:"below,omitempty"`
	By    map[string]*tree `json:"by"`
	Other *pair            `json:"other,omitempty" jsonschema:"another"`
}

type pair struct{ Left, Right tree }

type nested map[string]nested

type chain []chain

type base struct{ Tags map[int]string }

type embedding struct {
	base
	Parent *embedding `json:"parent,omitempty"`
	secret tree
}

type odd struct {
	ID     id                `json:"id"`
	IDs    map[id]*id        `json:"ids"`
	Either *either           `json:"either" jsonschema:"this or that"`
	Addr   netip.Addr        `json:"addr"`
	Big    *big.Int          `json:"big"`
	Raw    json.RawMessage   `json:"raw"`
	Bytes  []byte            `json:"bytes"`
	Lines  [][]byte          `json:"lines"`
	Map    map[string]int    `json:"map"`
	Maps   []map[string]bool `json:"maps"`
	Number json.Number       `json:"number"`
	At     time.Time         `json:"at"`
	Rat    *big.Rat          `json:"rat"`
}

// fits checks a value's JSON against the schema of its type.
func fits[T any](t *testing.T, value T) {
	t.Helper()
	raw, err := schema.OfValue[T]()
	require.NoError(t, err, "%T", value)
	compiled, err := schema.CompileValue(raw)
	require.NoError(t, err, "%s", raw)
	text, err := json.Marshal(value)
	require.NoError(t, err)
	var decoded any
	require.NoError(t, json.Unmarshal(text, &decoded))
	_, faults := compiled.Check(decoded)
	assert.Empty(t, faults, "%T: %s by %s", value, text, raw)
}

// SES-4: the JSON of a Go value fits the schema of its type, however the value is marshaled.
func TestValuesFitTheSchemasOfTheirTypes(t *testing.T) {
	seven := 7
	fits(t, odd{})
	fits(t, odd{ID: id{1, 2}, IDs: map[id]*id{{1, 2}: {3, 4}, {0, 1}: nil}, Either: &either{&seven}, Addr: netip.MustParseAddr("::1"), Big: big.NewInt(1 << 40), Raw: json.RawMessage(`[{}]`),
		Bytes: []byte("hello"), Lines: [][]byte{nil, {1}}, Map: map[string]int{"a": 1}, Maps: []map[string]bool{nil, {"a": true}}, Number: "1.5", At: time.Unix(0, 0), Rat: big.NewRat(1, 3)})
	fits(t, id{1, 2})
	fits(t, either{})
	fits(t, []*either{nil, {&seven}})
	fits(t, big.NewInt(5))
	fits(t, json.RawMessage(`"x"`))
	fits(t, []byte(nil))
	fits(t, map[string]int(nil))
	fits(t, map[int8]string{-1: "a"})
	fits(t, map[string]map[uint]bool{"a": nil, "b": {1: true}})
	fits(t, tree{Name: "a", Below: []*tree{nil, {Name: "b"}}, By: map[string]*tree{"c": nil}, Other: &pair{Right: tree{Name: "d"}}})
	fits(t, &tree{})
	fits(t, (*tree)(nil))
	fits(t, []tree{{}})
	fits(t, pair{})
	fits(t, nested{"a": nil, "b": {"c": {}}})
	fits(t, chain{nil, {{}}})
	fits(t, embedding{Parent: &embedding{base: base{map[int]string{1: "a"}}}})
	_ = embedding{}.secret
}

// SES-4: the schema of a recursive type refuses what does not fit, at any depth.
func TestSchemasOfTypesThatHoldThemselves(t *testing.T) {
	raw, err := schema.OfValue[tree]()
	require.NoError(t, err)
	compiled, err := schema.CompileValue(raw)
	require.NoError(t, err)
	for text, want := range map[string]string{
		`{"name":"a","by":null,"below":[{"name":1,"by":null}]}`:                                          "/below/0/name: type, want string",
		`{"name":"a","by":{"x":{"name":"b","by":{},"more":1}}}`:                                          "/by/x/more: additionalProperties",
		`{"name":"a","by":null,"other":{"Left":{"name":"b"},"Right":{"name":"c","by":{"d":{"by":{}}}}}}`: "required",
	} {
		var decoded any
		require.NoError(t, json.Unmarshal([]byte(text), &decoded))
		_, faults := compiled.Check(decoded)
		assert.Contains(t, schema.FaultsText(faults), want, text)
	}
}

// TOL-1: if a tool's arguments marshal themselves, the schema tells models the form, and accepts it. A null that only
// Go writes is not asked for. For all other types, the library's schema is used.
func TestSchemasOfArguments(t *testing.T) {
	raw, err := schema.Of[struct {
		ID     *id            `json:"id" jsonschema:"whose"`
		Bytes  []byte         `json:"bytes"`
		Either *either        `json:"either" jsonschema:"this or that"`
		Map    map[string]int `json:"map"`
		Counts map[int]int    `json:"counts"`
		Below  *nested        `json:"below" jsonschema:"what is below"`
	}]()
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"object","properties":{
		"id":{"type":["null","string"],"description":"whose"},
		"bytes":{"type":"string","contentEncoding":"base64"},
		"either":{"description":"this or that"},
		"map":{"type":"object","additionalProperties":{"type":"integer"}},
		"counts":{"type":"object","additionalProperties":{"type":"integer"}},
		"below":{"description":"what is below","$ref":"#/$defs/1-or-null"}
	},"required":["id","bytes","either","map","counts","below"],"additionalProperties":false,
	"$defs":{"1":{"type":"object","additionalProperties":{"$ref":"#/$defs/1"}},"1-or-null":{"type":["null","object"],"additionalProperties":{"$ref":"#/$defs/1"}}}}`, string(raw))

	raw, err = schema.Of[tree]()
	require.NoError(t, err)
	_, closed, err := schema.CompileClosed(raw)
	require.NoError(t, err, "%s", raw)
	assert.Contains(t, string(closed), `"type":"object"`)

	type own struct {
		either
		A int `json:"a"`
	}
	raw, err = schema.Of[own]()
	require.NoError(t, err)
	assert.Contains(t, string(raw), `"type":"object"`, "whatever reads it, a tool is called with an object")

	type ordinary struct {
		A []string `json:"a"`
		B struct {
			C map[string][]float64 `json:"c,omitempty"`
			D *int                 `json:"d"`
		} `json:"b" jsonschema:"b's"`
		E any           `json:"e"`
		F time.Duration `json:"f"`
		G *time.Time    `json:"g"`
	}
	raw, err = schema.Of[ordinary]()
	require.NoError(t, err)
	library, err := jsonschema.For[ordinary](nil)
	require.NoError(t, err)
	same, err := json.Marshal(library)
	require.NoError(t, err)
	assert.Equal(t, string(same), string(raw))

	_, err = schema.Of[map[string]chan int]()
	assert.ErrorContains(t, err, "chan")
	_, err = schema.OfValue[map[string]chan int]()
	assert.ErrorContains(t, err, "chan")
}

package roundtrip_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/roundtrip"
)

type row struct {
	Name  string
	Value any
	Next  *row
	Cells map[int]any
}

type withCells struct {
	row
	_ any
}

type level string

// careless panics when it is written as JSON, which must not happen.
type careless struct{}

func (careless) MarshalJSON() ([]byte, error) { panic("no form") }

// reading unmarshals itself, whatever its value is.
type reading struct{ Value any }

func (r *reading) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &r.Value) }

// WLD-2: a value in an interface is given back by JSON, or is named with its path.
func TestFaultOfValue(t *testing.T) {
	const want = ": want a struct with fields of such types"
	for wrong, of := range map[string]any{
		"answer[0] is an any with int64 in it, which JSON gives back as float64":                    []any{int64(2), "a"},
		"answer is an any with int in it, which JSON gives back as float64":                         1,
		"answer[1] is an any with time.Time in it, which JSON gives back as string":                 []any{"a", time.Unix(0, 0)},
		"answer[0][1] is an any with []uint8 in it, which JSON gives back as string":                []any{[]any{nil, []byte("x")}},
		`answer["rows"][0]["n"] is an any with float32 in it, which JSON gives back as float64`:     map[string]any{"a": "b", "rows": []any{map[string]any{"n": float32(1)}}},
		"answer is an any with roundtrip_test.level in it, which JSON gives back as string":         level("x"),
		"answer is an any with []string in it, which JSON gives back as []any":                      []string{"a"},
		"answer is an any with map[string]string in it, which JSON gives back as map[string]any":    map[string]string{},
		"answer is an any with map[int]any in it, which JSON gives back as map[string]any":          map[int]any{1: "x"},
		"answer is an any with roundtrip_test.inner in it, which JSON gives back as map[string]any": inner{"x"},
		"answer is an any with json.Number in it, which JSON gives back as float64":                 json.Number("1"),
		"answer is an any with json.RawMessage in it, which JSON gives back as bool":                json.RawMessage("true"),
		"answer is an any with *string in it, which JSON gives back as nil":                         (*string)(nil),
		"answer[0] is an any with a nil []any in it, which JSON gives back as nil":                  []any{[]any(nil)},
		"answer is an any with a nil map[string]any in it, which JSON gives back as nil":            map[string]any(nil),
		"answer is an any with chan int in it, which JSON does not have":                            make(chan int),
		"answer is an any with roundtrip_test.careless in it, which JSON does not have":             careless{},
	} {
		assert.Equal(t, wrong+want, roundtrip.FaultOfValue(&of), "%T", of)
	}
	for _, of := range []any{nil, "x", true, 0.5, math.NaN(), []any{}, []any{nil, 1.5, map[string]any{"a": []any{"b", false, nil}}}, map[string]any{}} {
		assert.Empty(t, roundtrip.FaultOfValue(&of), "%v", of)
	}
}

// WLD-2: interfaces are looked for everywhere in a type, and only there.
func TestFaultOfValueInATypeOfItsOwn(t *testing.T) {
	rows := []row{{Name: "a", Value: "b"}, {Next: &row{Cells: map[int]any{7: "x", 3: 3, 1: nil}}}}
	assert.Contains(t, roundtrip.FaultOfValue(&rows), "answer[1].Next.Cells[3] is an any with int in it")
	promoted := map[string]withCells{"a": {row: row{Value: uint8(1)}}}
	assert.Contains(t, roundtrip.FaultOfValue(&promoted), `answer["a"].Value is an any with uint8 in it`)
	several := map[string]any{"c": 3, "a": 1, "b": int8(2)}
	for range 8 {
		assert.Contains(t, roundtrip.FaultOfValue(&several), `answer["a"] is an any with int in it`, "always the same one")
	}
	long := map[string]any{strings.Repeat("k", 1000): 1}
	assert.Less(t, len(roundtrip.FaultOfValue(&long)), 200)

	given, itself, cyclic := []map[string]int{{"a": 1}}, reading{1}, &row{}
	cyclic.Next = cyclic
	assert.Empty(t, roundtrip.FaultOfValue(&given))
	assert.Empty(t, roundtrip.FaultOfValue(&itself), "it knows what it reads")
	assert.Empty(t, roundtrip.FaultOfValue(&cyclic), "there is no JSON of it, which is another matter")
	endless := make([]any, 2)
	endless[0], endless[1] = endless, endless
	assert.Empty(t, roundtrip.FaultOfValue(&endless))
}

var errRefused, errBroken = errors.New("refused"), errors.New("broken")

func refuse(string) error { return errRefused }

// WLD-2: an answer that is refused is not returned. An ask that failed keeps its error and its answer.
// A type without interfaces costs nothing.
func TestAnswer(t *testing.T) {
	given, failed := []any{1}, error(nil)
	do := func(context.Context, string) ([]any, error) { return given, failed }
	answer, err := roundtrip.Answer(do, refuse)(t.Context(), "")
	assert.Nil(t, answer)
	assert.Equal(t, errRefused, err)
	failed = errBroken
	answer, err = roundtrip.Answer(do, refuse)(t.Context(), "")
	assert.Equal(t, given, answer)
	assert.Equal(t, errBroken, err)
	given, failed = []any{1.0}, nil
	answer, err = roundtrip.Answer(do, refuse)(t.Context(), "")
	assert.Equal(t, given, answer)
	assert.NoError(t, err)

	plain := func(context.Context, string) ([]node, error) { return nil, nil }
	assert.Equal(t, reflect.ValueOf(plain).Pointer(), reflect.ValueOf(roundtrip.Answer(plain, refuse)).Pointer())
	pieces := func(context.Context, string, func(node) error) error { return nil }
	assert.Equal(t, reflect.ValueOf(pieces).Pointer(), reflect.ValueOf(roundtrip.Pieces(pieces, refuse)).Pointer())
}

// WLD-2: a piece that is refused ends the ask, whatever the asking function does with the error.
func TestPieces(t *testing.T) {
	stubborn := func(ctx context.Context, _ string, hand func(any) error) error {
		assert.NoError(t, hand("a"))
		assert.NoError(t, ctx.Err())
		for _, piece := range []any{1, "b", 2} {
			assert.Equal(t, errRefused, hand(piece))
			assert.Equal(t, errRefused, context.Cause(ctx))
		}
		return errBroken
	}
	var got []any
	hand := func(piece any) error { got = append(got, piece); return nil }
	assert.Equal(t, errRefused, roundtrip.Pieces(stubborn, refuse)(t.Context(), "", hand))
	assert.Equal(t, []any{"a"}, got)

	got = nil
	good := func(_ context.Context, _ string, hand func(any) error) error {
		return errors.Join(hand("a"), hand(nil), errBroken)
	}
	assert.ErrorIs(t, roundtrip.Pieces(good, refuse)(t.Context(), "", hand), errBroken)
	assert.Equal(t, []any{"a", nil}, got)
}

// GAT-1: a value that has the type is returned as it is, and any other value is converted by its JSON.
func TestAs(t *testing.T) {
	type answer struct{ Yes bool }
	same := &answer{true}
	as, err := roundtrip.As[*answer](same)
	assert.NoError(t, err)
	assert.Same(t, same, as)
	read, err := roundtrip.As[answer](map[string]any{"Yes": true})
	assert.NoError(t, err)
	assert.Equal(t, answer{true}, read)
	_, err = roundtrip.As[answer]("yes")
	assert.Error(t, err)
	_, err = roundtrip.As[answer](func() {})
	assert.Error(t, err)
}

package wire_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Two texts are the same JSON in any order of members, if numbers are spelled the same.
func TestSameJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[2]}`, `{"b":[2],"a":1}`, true},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`[1,2]`, `[2,1]`, false},
		{`{`, `{`, true},
		{`{`, `{}`, false},
		{`{} {}`, `{}`, false},
		{``, `null`, false},
		{``, ``, true},
		{`{"a":1,"a":2}`, `{"a":2}`, false}, // which member counts depends on the reader
		{`{"a":1,"a":2}`, `{"a":2,"a":1}`, false},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`, true},
		{`{"\u0061":"\u00e9"}`, `{"a":"é"}`, true},
		{`{"a":{"b":1}}`, `{"b":{"a":1}}`, false},
		{`{"a":["b"],"c":[]}`, `{"a":[],"c":["b"]}`, false},
		{`[["a"],"b"]`, `["a",["b"]]`, false},
		{`["1"]`, `[1]`, false},
		{`[[]]`, `[{}]`, false},
		{`{"a":[{},{}]}`, `{"a":[{}]}`, false},
		{` [ 1 ] `, `[1]`, true},
		{`"\ud800"`, `"\udbff"`, false},
	} {
		assert.Equal(t, c.same, wire.SameJSON(json.RawMessage(c.a), json.RawMessage(c.b)), "%s %s", c.a, c.b)
		assert.Equal(t, c.same, wire.SumOfJSON(json.RawMessage(c.a)) == wire.SumOfJSON(json.RawMessage(c.b)), "the sums of %s %s", c.a, c.b)
	}
}

// A drawn value is the same JSON with its members in another order, with white space and with escapes, and
// different if any of its texts is changed.
func TestSameJSONOfWhatIsDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.StringN(0, 3, -1), rapid.SliceOf(rapid.MapOf(rapid.String(), rapid.Int()))).Draw(t, "value")
		one, err := json.Marshal(value)
		require.NoError(t, err)
		other, err := json.MarshalIndent(value, "", " ")
		require.NoError(t, err)
		assert.Equal(t, wire.SumOfJSON(one), wire.SumOfJSON(other))
		var reordered strings.Builder
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(value))) {
			part, err := json.Marshal(map[string]any{name: value[name]})
			require.NoError(t, err)
			fmt.Fprintf(&reordered, ",%s", part[1:len(part)-1])
		}
		assert.True(t, wire.SameJSON(one, json.RawMessage("{"+strings.TrimPrefix(reordered.String(), ",")+"}")))
		for name := range value {
			value[name+"'"] = value[name]
			delete(value, name)
			changed, err := json.Marshal(value)
			require.NoError(t, err)
			assert.False(t, wire.SameJSON(one, changed), "%s %s", one, changed)
			break
		}
	})
}

// Requests of any length are compared in one pass over each, without an allocation.
func TestComparingAllocatesNothing(t *testing.T) {
	for _, messages := range []int{10, 100, 1000} {
		one, other := longRequest(messages, "4"), longRequest(messages, "5")
		allocs.AtMost(t, 0, 10, func() { wire.SameJSON(one, other) }, fmt.Sprint(messages))
	}
}

// longRequest returns a request with a conversation of this many messages.
func longRequest(messages int, temperature string) json.RawMessage {
	one := `{"role":"user","content":"How is the weather in Oslo, and what do I put on?"},`
	return json.RawMessage(`{"body":{"messages":[` + strings.TrimSuffix(strings.Repeat(one, messages), ",") + `],"temperature":` + temperature + `}}`)
}

// BenchmarkSameJSON measures how long it takes to find that a message of one request differs from that of another.
// The time per message should be the same for requests of any length.
func BenchmarkSameJSON(b *testing.B) {
	for _, messages := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			one, other := longRequest(messages, "4"), longRequest(messages, "5")
			for b.Loop() {
				require.False(b, wire.SameJSON(one, other))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*messages), "ns/message")
		})
	}
}

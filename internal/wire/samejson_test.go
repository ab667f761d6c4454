package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// Two texts are the same JSON in whatever order, and a number in one spelling.
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
	} {
		assert.Equal(t, c.same, wire.SameJSON(json.RawMessage(c.a), json.RawMessage(c.b)), "%s %s", c.a, c.b)
		assert.Equal(t, c.same, wire.SumOfJSON(json.RawMessage(c.a)) == wire.SumOfJSON(json.RawMessage(c.b)), "the sums of %s %s", c.a, c.b)
	}
}

package unheld_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/unheld"
)

// WLD-2: a value is written as one line with the same JSON; what cannot be written is said to be missing.
func TestLine(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		err  error
		want string
	}{
		"white space":           {raw: "{ \"a\" : [1,\n 2.50] }", want: `{"a":[1,2.50]}`},
		"characters as written": {raw: `"<\u00e9>"`, want: `"<\u00e9>"`},
		"no JSON":               {raw: "{", want: `{"$unheld":"it is no JSON"}`},
		"no UTF-8":              {raw: "\"\xff\"", want: `{"$unheld":"it is no JSON"}`},
		"a failure":             {raw: "1", err: errors.New(`a "reason" <1>`), want: `{"$unheld":"a \"reason\" <1>"}`},
	} {
		t.Run(name, func(t *testing.T) {
			line := unheld.Line(json.RawMessage(c.raw), c.err)
			assert.Equal(t, c.want, string(line))
			assert.Equal(t, c.want[:2] == `{"` && c.want[2] == '$', unheld.Is(line))
		})
	}
	assert.Nil(t, unheld.Line(nil, nil))
	assert.False(t, unheld.Is(nil))
}

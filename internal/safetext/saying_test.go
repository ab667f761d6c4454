package safetext_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// If no time passes in a turn, its events are not reported as 0s into the turn.
func TestInto(t *testing.T) {
	for passed, want := range map[time.Duration]string{0: "as the turn began", 20 * time.Millisecond: "20ms into the turn", -time.Second: "-1s into the turn"} {
		assert.Equal(t, want, safetext.Into(passed))
	}
}

// JSON within a value is shown unescaped, and once; a text that is no JSON stays a text.
func TestPlainDataThatIsJSON(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{json.RawMessage(`{"v":1,"x":["milk","a \" b\\"]}`), `{"v":1,"x":["milk","a \" b\\"]}`},
		{map[string]any{"a": json.RawMessage(`"x\\"`), "b": json.RawMessage("[1,\n 9007199254740993]"), "c": "d"}, `{"a":"x\\","b":[1,9007199254740993],"c":"d"}`},
		{[]any{json.RawMessage(`""`), json.RawMessage(`null`)}, `["",null]`},
		{json.RawMessage("{broken"), `{"$json":"{broken"}`},
		{[]any{json.RawMessage("[redacted:name:1]"), 1}, `[{"$json":"[redacted:name:1]"},1]`},
		{json.RawMessage(`{"$json":"1"}`), `{"$json":"1"}`},
		{map[string]any{"$json": "1"}, `{"$map":{"$json":"1"}}`},
		{map[string]map[string]string{"a": {"$json": "1"}}, `{"$map[string]map[string]string":{"a":{"$json":"1"}}}`},
		{[]json.RawMessage{[]byte("{}"), []byte("{")}, `{"$[]json":[{},"{"]}`},
		{`{"$json":"1"}`, `"{\"$json\":\"1\"}"`},
		{`{"$json":"`, `"{\"$json\":\""`},
	} {
		assert.Equal(t, c.want, safetext.PlainData(c.value))
	}
}

package canonical_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// FuzzParseObject parses any text. An object that it accepts is the same after it is written
// canonically and read again.
func FuzzParseObject(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":[1,-0,1e21,1e-7,"\u00e9\ud83d\ude00",null,true,{"b":{}}]}`, `{"a":1,"a":2}`, `[]`, `{"a":"\ud800"}`, `{"\u0000":9007199254740993}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		object, err := canonical.ParseObject(text)
		if err != nil {
			assert.Nil(t, object)
			return
		}
		written, err := canonical.Marshal(object)
		require.NoError(t, err)
		again, err := canonical.ParseObject(written)
		require.NoError(t, err, "%s", written)
		rewritten, err := canonical.Marshal(again)
		require.NoError(t, err)
		assert.Equal(t, string(written), string(rewritten))
		assert.Equal(t, object, again)
	})
}

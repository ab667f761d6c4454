package canonical_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// DET-8: an object has its fields in the order of the calls, with texts and numbers in canonical form, and
// without the fields whose text is empty.
func TestObjectWriter(t *testing.T) {
	o := canonical.Open([]byte("x"))
	o.Text("b", "<é>\n")
	o.SomeText("none", "")
	o.SomeText("a", "some")
	o.Number("n", 1e21)
	o.Flag("on", true)
	o.Moment("at", time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC))
	o.Field("raw")
	o.Out = append(o.Out, "[]"...)
	assert.Equal(t, `x{"b":"<é>\n","a":"some","n":1e+21,"on":true,"at":"2024-01-02T03:04:05.000000006Z","raw":[]}`, string(o.Close()))
	empty := canonical.Open(nil)
	assert.Equal(t, "{}", string(empty.Close()))
}

type word string

func (w word) AppendJSON(dst []byte) []byte { return canonical.AppendString(dst, string(w)) }

// DET-8: a list consists of what its entries append, in order.
func TestAppendList(t *testing.T) {
	for want, list := range map[string][]word{"x[]": nil, `x["a"]`: {"a"}, `x["a","b"]`: {"a", "b"}} {
		assert.Equal(t, want, string(canonical.AppendList([]byte("x"), list)))
	}
}

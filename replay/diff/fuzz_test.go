package diff_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/diff"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// FuzzTraces compares traces of any lines. A trace equals itself, and the difference from a
// fixture is printed with printable characters only.
func FuzzTraces(f *testing.F) {
	tracetest.AddBodies(f)
	other := tracetest.FixtureNamed(f, "tool-round-trip").Trace
	f.Fuzz(func(t *testing.T, lines []byte) {
		read := func() *trace.Trace {
			recorded, _ := trace.Read(bytes.NewReader(tracetest.Resealed(lines)), trace.Options{MaxLine: 1 << 20})
			return recorded
		}
		recorded := read()
		if recorded == nil {
			return
		}
		assert.True(t, diff.Traces(recorded, read()).Same())
		for _, d := range []*diff.Diff{diff.Traces(recorded, other), diff.Traces(other, recorded)} {
			var text bytes.Buffer
			_, err := d.WriteTo(&text)
			require.NoError(t, err)
			tracetest.RequirePrintable(t, text.String())
			_, err = json.Marshal(d)
			require.NoError(t, err)
		}
	})
}

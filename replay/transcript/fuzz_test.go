package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// FuzzAt shows a trace of any lines, and its state after any crossing. A fault is an error of the
// file or of the number, and the output is printable.
func FuzzAt(f *testing.F) {
	for _, name := range []string{"hello", "gate-timeout", "parallel-tools", "sub-agents", "stash", "streamed-reply", "asks-a-model"} {
		f.Add(tracetest.FixtureNamed(f, name).Body(), 20)
	}
	f.Fuzz(func(t *testing.T, lines []byte, at int) {
		file, options := tracetest.Resealed(lines), trace.Options{MaxLine: 1 << 20}
		held := func(err error) {
			if err != nil && !errors.Is(err, transcript.ErrNoCrossing) {
				require.ErrorAs(t, err, new(*trace.FormatError))
			}
		}
		var text bytes.Buffer
		state, err := transcript.At(bytes.NewReader(file), at, options)
		held(err)
		if state != nil {
			_, err = state.WriteTo(&text)
			require.NoError(t, err)
			_, err = json.Marshal(state)
			require.NoError(t, err)
		}
		held(transcript.Write(&text, bytes.NewReader(file), options))
		tracetest.RequirePrintable(t, text.String())
		for x, err := range transcript.Expand(bytes.NewReader(file), options) {
			if err != nil {
				held(err)
				break
			}
			tracetest.RequirePrintable(t, x.Line)
		}
	})
}

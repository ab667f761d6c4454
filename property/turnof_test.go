package property

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay"
)

func translated(t require.TestingT, trace []byte) Turn {
	read, err := replay.ReadTrace(bytes.NewReader(trace))
	require.NoError(t, err)
	turn, err := TurnOf(read)
	require.NoError(t, err)
	return turn
}

// The turn that a trace is translated into makes the same trace again.
func TestTurnOfFixtures(t *testing.T) {
	names, err := fs.Glob(fixtures.Traces, "*.jsonl")
	require.NoError(t, err)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			want, err := fixtures.Traces.ReadFile(name)
			require.NoError(t, err)
			turn := translated(t, want)
			if strings.Contains(string(want), `"kind":"open-media"`) {
				assert.Empty(t, CheckTurn(turn))
				t.Skip("a turn does not open media: what is told of that is not in it")
			}
			got, _, err := turn.Trace()
			require.NoError(t, err)
			if at := differsAt(want, got); at >= 0 {
				assert.Fail(t, "another trace", "line %d:\nwant %s\ngot  %s\n%#v", at+1, line(want, at), line(got, at), turn)
			}
		})
	}
}

// What was handed in is told with the first call: before that there is no turn.
func TestTurnOfNothing(t *testing.T) {
	want, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	read, err := replay.ReadTrace(bytes.NewReader(want))
	require.NoError(t, err)
	read.Lines = read.Lines[:1]
	_, err = TurnOf(read)
	require.NoError(t, err)
	read.Lines = nil
	_, err = TurnOf(read)
	assert.ErrorContains(t, err, "breaks off before the call of its run")
}

// toldWhole tells whether a trace says all that a turn is made of: that a listener
// ended its goroutine is only to be seen from what comes next.
func toldWhole(t Turn) bool {
	return !slices.ContainsFunc(t.Loud, func(l Loud) bool { return l.Goexit })
}

func TestTurnOfGenerated(t *testing.T) { checkTurns(t, inAnyOrder(Turns(Knobs{})), translatedBack) }

// translatedBack holds a turn to the trace of its translation.
func translatedBack(turn Turn) string {
	if !toldWhole(turn) {
		return ""
	}
	want, refused, err := turn.Trace()
	if err != nil || refused != nil {
		return textOf(err)
	}
	read, err := replay.ReadTrace(bytes.NewReader(want))
	if err != nil {
		return err.Error()
	}
	again, err := TurnOf(read)
	if err != nil {
		return err.Error()
	}
	got, _, err := again.Trace()
	if err != nil {
		return err.Error()
	}
	if text := differsFrom(want, got); text != "" {
		return fmt.Sprintf("%s\n%#v", text, again)
	}
	return ""
}

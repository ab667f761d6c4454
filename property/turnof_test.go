package property

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

func TestTurnOfGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turn := Turns(Knobs{}).Filter(toldWhole).Draw(t, "turn")
		want, refused, err := turn.Trace()
		require.NoError(t, err)
		if refused != nil {
			return
		}
		again := translated(t, want)
		got, _, err := again.Trace()
		require.NoError(t, err)
		if at := differsAt(want, got); at >= 0 {
			t.Fatalf("line %d:\nwant %s\ngot  %s\n%#v\n%#v", at+1, line(want, at), line(got, at), turn, again)
		}
	})
}

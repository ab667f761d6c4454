package property

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/adkreplay/adkreplay/replay"
)

// DET-2: a turn that is recorded again from its trace alone comes to its end, in
// whatever order its strands ran, and without strands to the same bytes.
func TestTurnsAreRecordedAgain(t *testing.T) {
	checkTurns(t, inAnyOrder(Turns(Knobs{})), recordedAgain)
}

func recordedAgain(turn Turn) string {
	trace, refused, err := turn.Trace()
	if err != nil || refused != nil {
		return textOf(err)
	}
	var again bytes.Buffer
	_, err = replay.Rerecord(context.Background(), bytes.NewReader(trace), &again, replay.Live{})
	if bytes.Contains(trace, []byte(`"strand":`)) {
		return "" // strands run freely there, and may come to what nobody recorded
	}
	if err != nil {
		return err.Error()
	}
	return differsFrom(trace, again.Bytes())
}

// textOf says what is wrong, if anything is.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// differsFrom says where a trace differs from what it has to be.
func differsFrom(want, got []byte) string {
	at := differsAt(want, got)
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("line %d:\nwant %s\ngot  %s", at+1, line(want, at), line(got, at))
}

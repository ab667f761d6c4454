package gen_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
)

// DET-2: a turn that is recorded again from its trace alone reaches its end with the same bytes, in
// whatever order its strands ran.
func TestTurnsAreRecordedAgain(t *testing.T) {
	turntest.CheckTurns(t, turntest.InAnyOrder(gen.Turns(gen.Knobs{})), recordedAgain)
}

func recordedAgain(one turn.Turn) string {
	trace, refused, err := one.Trace()
	if err != nil || refused != nil {
		return turntest.TextOf(err)
	}
	var again bytes.Buffer
	_, err = replay.Rerecord(context.Background(), bytes.NewReader(trace), &again, replay.Live{})
	if err != nil {
		return err.Error()
	}
	return turntest.DiffersFrom(trace, again.Bytes())
}

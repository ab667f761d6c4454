package gen

import (
	"bytes"
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// TurnUnder returns the turn that a subject becomes when it runs under a schedule: the faults
// become part of its user code, and the order of its strands its own. So a finding of Explore can
// be shrunk as a whole, and written as Go.
func TurnUnder(ctx context.Context, subject turn.Subject, schedule turn.Schedule) (turn.Turn, error) {
	var recorded bytes.Buffer
	record := func(run turn.Run) error {
		recorded.Reset()
		return writeTrace(&recorded, run)
	}
	subject.Check = record // instead of the subject's own check
	if _, err := explore.RunSchedule(ctx, subject, schedule, explore.Options{Workers: 1}); err != nil {
		return turn.Turn{}, err
	}
	read, err := trace.Read(&recorded)
	if err != nil {
		return turn.Turn{}, fmt.Errorf("gen: the run under %s: %w", schedule, err)
	}
	return shrink.TurnOf(read)
}

func writeTrace(w *bytes.Buffer, run turn.Run) error {
	out := trace.NewWriter(w, trace.Header{Info: run.Info})
	for x := range run.Crossings {
		if err := out.Write(x); err != nil {
			return err
		}
	}
	return out.Close()
}

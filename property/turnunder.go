package property

import (
	"bytes"
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/replay"
)

// TurnUnder is the turn that a subject becomes when it runs under a schedule:
// faults are what its user code does, and the order of its strands is its own. So
// a finding of Explore can be shrunk as a whole, and written as Go.
func TurnUnder(ctx context.Context, subject Subject, schedule Schedule) (Turn, error) {
	var trace bytes.Buffer
	record := func(run Run) error {
		trace.Reset()
		return writeTrace(&trace, run)
	}
	if _, err := Reproduce(ctx, subject, schedule, Options{Check: record, Workers: 1}); err != nil {
		return Turn{}, err
	}
	read, err := replay.ReadTrace(&trace)
	if err != nil {
		return Turn{}, fmt.Errorf("property: the run under %s: %w", schedule, err)
	}
	return TurnOf(read)
}

func writeTrace(w *bytes.Buffer, run Run) error {
	out := replay.NewWriter(w, replay.Header{Info: run.Info})
	for x := range run.Crossings {
		if err := out.Write(x); err != nil {
			return err
		}
	}
	return out.Close()
}

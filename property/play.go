package property

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// Run runs the turn once, with a clock, ids and strands that make every run the
// same, and observed by probes. The error is what Run answered, or that the turn
// could not be made.
func (t Turn) Run(probes ...adk.Probe) error { return t.Subject().Run(probes...) }

// Trace runs the turn once and gives its trace, as the recorder writes it. refused
// is what Run answered.
func (t Turn) Trace() (trace []byte, refused, err error) { return t.Subject().Trace() }

// Run runs the subject once, with a clock, ids and strands that make every run
// the same: those that its config brings, where they serve (fakes.Deterministic).
func (s Subject) Run(probes ...adk.Probe) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	config, raw := s.Build(cancel)
	runner, err := adk.NewRunner(fakes.Deterministic(config, probes...))
	if err != nil {
		return err
	}
	return ownGoroutine(func() error { return runner.Run(ctx, raw) })
}

// Trace runs the subject once and gives its trace. refused is what Run answered.
func (s Subject) Trace() (trace []byte, refused, err error) {
	var out bytes.Buffer
	recorder := replay.Record(&out)
	refused = s.Run(recorder)
	if err := recorder.Err(); err != nil {
		return out.Bytes(), refused, fmt.Errorf("property: recording a turn: %w", err)
	}
	return out.Bytes(), refused, nil
}

// InOrder is the usual order of strands, but for the picks.
func InOrder(picks []Decision) fakes.Order {
	return func() func(fakes.Choice) int {
		usual := fakes.RunInOrder()()
		made := 0
		return func(c fakes.Choice) int {
			made++
			for _, p := range picks {
				if at := slices.Index(c.Runnable, p.Strand); p.Choice == made && at >= 0 {
					return at
				}
			}
			return usual(c)
		}
	}
}

// ownGoroutine runs on a goroutine of its own, since a Goexit in user code ends
// it.
func ownGoroutine(run func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = run()
	}()
	<-done
	return err
}

package turn

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
	return s.run(probes...).refused()
}

func (s Subject) run(probes ...adk.Probe) answer {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	i := s.Begin(cancel)
	defer i.Close()
	return ownGoroutine(func() answer { return s.call(ctx, fakes.Deterministic(i.Config, probes...), i.Raw) })
}

// Trace runs the subject once and gives its trace. refused is what Run answered.
func (s Subject) Trace() (trace []byte, refused, err error) {
	trace, got, err := s.recorded()
	return trace, got.refused(), err
}

func (s Subject) recorded() ([]byte, answer, error) {
	var out bytes.Buffer
	recorder := replay.Record(&out)
	got := s.run(recorder)
	if err := recorder.Err(); err != nil {
		return out.Bytes(), got, fmt.Errorf("turn: recording a turn: %w", err)
	}
	return out.Bytes(), got, nil
}

// InOrder is the usual order of strands, but for the picks.
func InOrder(picks []Decision) fakes.Order {
	strands := map[int][]int{} // by choice
	for _, p := range picks {
		strands[p.Choice] = append(strands[p.Choice], p.Strand)
	}
	return func() func(fakes.Choice) int {
		usual := fakes.RunInOrder()()
		made := 0
		return func(c fakes.Choice) int {
			made++
			for _, strand := range strands[made] {
				if at := slices.Index(c.Runnable, strand); at >= 0 {
					return at
				}
			}
			return usual(c)
		}
	}
}

// ownGoroutine runs on a goroutine of its own, since a Goexit in user code ends
// it.
func ownGoroutine[T any](run func() T) (got T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		got = run()
	}()
	<-done
	return got
}

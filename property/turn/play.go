package turn

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
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
	return s.judged(func(Instance) error { return nil }, probes...)
}

// judged is run, and asks about the run before what it opened is closed.
func (s Subject) judged(judge func(Instance) error, probes ...adk.Probe) answer {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	i := s.Begin(cancel)
	defer i.Close()
	got := ownGoroutine(func() answer { return s.call(ctx, fakes.Deterministic(i.Config, probes...), i.Raw) })
	got.wrong = judge(i)
	return got
}

// Trace runs the subject once and gives its trace. refused is what Run answered.
func (s Subject) Trace() (trace []byte, refused, err error) {
	trace, got, err := s.recorded()
	return trace, got.refused(), err
}

func (s Subject) recorded() ([]byte, answer, error) {
	var out bytes.Buffer
	recorder := replay.Record(&out)
	got := s.judged(func(i Instance) error { return s.judgeTrace(i, out.Bytes()) }, recorder)
	if err := recorder.Err(); err != nil {
		return out.Bytes(), got, fmt.Errorf("turn: recording a turn: %w", err)
	}
	return out.Bytes(), got, nil
}

// judgeTrace asks the checks of the subject and of the instance about a run that was
// recorded; of one that cannot be read there is more to say than these could.
func (s Subject) judgeTrace(i Instance, recorded []byte) error {
	if s.Check == nil && i.Check == nil {
		return nil
	}
	read, err := trace.Read(bytes.NewReader(recorded))
	if err != nil {
		return nil
	}
	return s.Judge(i, Run{Config: i.Config, Info: read.Info, Crossings: crossings(read)})
}

// InOrder is the usual order of strands, but for the picks: what code asks for that package shrink
// has written.
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

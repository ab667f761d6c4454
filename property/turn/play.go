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

// Run runs the turn once, observed by the probes, with a clock, ids and strands that make every run
// the same. The error says why the turn could not be made or why the engine refused it. A standalone
// dispatch that runs and is nacked is not refused: Run returns nil.
func (t Turn) Run(probes ...adk.Probe) error { return t.Subject().Run(probes...) }

// Trace runs the turn once and returns its trace, as the recorder writes it. refused is the error
// that Run returns.
func (t Turn) Trace() (trace []byte, refused, err error) { return t.Subject().Trace() }

// Run runs the subject once, with a clock, ids and strands that make every run the same. It keeps
// those of the subject's config that are deterministic (fakes.Deterministic). The error is that of
// Turn.Run.
func (s Subject) Run(probes ...adk.Probe) error {
	return s.run(probes...).refused()
}

func (s Subject) run(probes ...adk.Probe) answer {
	return s.judged(func(Instance) error { return nil }, probes...)
}

// judged is run, but calls judge before it closes the instance.
func (s Subject) judged(judge func(Instance) error, probes ...adk.Probe) answer {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	i := s.Begin(cancel)
	defer i.Close()
	got := ownGoroutine(func() answer { return s.call(ctx, fakes.Deterministic(i.Config, probes...), i.Raw) })
	got.wrong = judge(i)
	return got
}

// Trace runs the subject once and returns its trace. refused is the error that Run returns.
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

// judgeTrace asks the checks of the subject and of the instance about a recorded run. It does not
// ask about a trace that cannot be read, because that is reported in any case.
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

// InOrder returns the usual order of strands, except for the picks. Code that package shrink writes
// calls it.
func InOrder(picks []Decision) fakes.Order {
	strands := map[int][]int{} // by number of the choice
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

// ownGoroutine calls run on a new goroutine, because a Goexit in user code ends that goroutine.
func ownGoroutine[T any](run func() T) (got T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		got = run()
	}()
	<-done
	return got
}

package replay

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"weak"

	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// watchedSource returns the lines of a trace, and counts at the end how many of them are still
// referenced.
type watchedSource struct {
	r    *trace.Reader
	gone []weak.Pointer[trace.Line]
	held int
}

func (s *watchedSource) next() (*trace.Line, error) {
	read, err := s.r.Next()
	if err != nil {
		runtime.GC()
		for _, line := range s.gone {
			if line.Value() != nil {
				s.held++
			}
		}
		return nil, err
	}
	line := new(trace.Line) // allocated alone: a reader allocates its lines together
	*line = *read
	s.gone = append(s.gone, weak.Make(line))
	return line, nil
}

func (*watchedSource) spare(*trace.Line) {}

// HeldLines replays a trace with every seam scripted, and returns how many of its lines are still
// referenced at the end.
func HeldLines(ctx context.Context, recorded []byte) (int, error) {
	r, err := trace.NewReader(bytes.NewReader(recorded))
	if err != nil {
		return 0, err
	}
	known, err := wire.NewSentinels(nil, nil)
	if err != nil {
		return 0, err
	}
	source := &watchedSource{r: r}
	report, err := play(ctx, r.Header(), source, known)
	if err == nil && report.Divergence != nil {
		err = fmt.Errorf("it diverged: %s", report)
	}
	return source.held, err
}

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

// watchedSource gives the lines of a trace, and counts at the end how many of them somebody
// still has.
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
	line := new(trace.Line) // by itself: those of a reader stand together
	*line = *read
	s.gone = append(s.gone, weak.Make(line))
	return line, nil
}

func (*watchedSource) spare(*trace.Line) {}

// HeldLines plays a trace again with every seam scripted, and gives how many of its lines are
// held when it comes to the end.
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

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Verify re-runs the turn that a trace holds on today's engine, with the seams
// in live as user code and every other seam doing what was recorded, and
// compares every crossing. Without live seams the trace is read as the replay
// goes on, and the replay stops at the first difference; with live ones it is
// read first and run to the end.
//
// A trace that cannot be read to its end is a *FormatError; what was replayed
// before that is in the report. Any other error says that nothing was replayed.
func Verify(ctx context.Context, recorded io.Reader, live Live, options ...trace.Options) (*Report, error) {
	r, err := trace.NewReader(recorded, options...)
	if err != nil {
		return nil, err
	}
	known, err := wire.NewSentinels(trace.Optional(options).Sentinels)
	if err != nil {
		return nil, err
	}
	report := newerContract(r.Header(), live)
	switch {
	case report != nil:
		err = r.Skip()
	case live.any():
		report, err = verifyLive(ctx, r, known, live)
	default:
		report, err = verifyScripted(ctx, recorded, r, known)
	}
	if report != nil && report.Divergence != nil {
		report.Divergence.Trace = r.Options().File
		report.Divergence.callFor(live)
	}
	if report != nil {
		report.NotCompared = append(report.NotCompared, trace.RedactedNote(r.Footer())...)
	}
	var format *trace.FormatError
	if errors.As(err, &format) && format.File == "" {
		format.File = r.Options().File
	}
	return report, err
}

// callFor says who called for the replay where nothing else is known of the code in which
// it diverged: what a run is given was made there.
func (d *Divergence) callFor(live Live) {
	const ofVerify = 2
	if d.Place != "" || !live.any() || d.Scripted {
		return
	}
	d.Place = codeplace.Here(ofVerify).User().MadeIn()
}

// verifyScripted is Verify without live seams. What follows from a divergence is
// told where the trace can be read once more.
func verifyScripted(ctx context.Context, recorded io.Reader, r *trace.Reader, known *wire.Sentinels) (*Report, error) {
	report, err := play(ctx, r.Header(), &readerSource{r: r}, known)
	if err != nil || report.Divergence == nil {
		return report, err
	}
	if err := r.Skip(); err != nil {
		return report, err
	}
	if again, ok := recorded.(io.Seeker); ok {
		report.Divergence.After = followed(ctx, recorded, again, r.Options(), known, report.Divergence)
	}
	return report, nil
}

// readerSource gives the lines of a Reader, each in the place of one that is forgotten,
// if there is any: lines are large, and making them is what most of the time went to.
type readerSource struct {
	r      *trace.Reader
	spares []*trace.Line
}

func (s *readerSource) next() (*trace.Line, error) {
	last := len(s.spares) - 1
	if last < 0 {
		return s.r.Next()
	}
	line := s.spares[last]
	s.spares = s.spares[:last]
	return line, s.r.NextInto(line)
}

func (s *readerSource) spare(line *trace.Line) { s.spares = append(s.spares, line) }

// play replays what src gives.
func play(ctx context.Context, header trace.Header, src source, known *wire.Sentinels) (*Report, error) {
	p := newPlayer(src, wire.Comparer{Sentinels: known, Format: header.Version})
	p.outdated = header.Contract < trace.ContractRevision
	runCtx := stub.NewRunContext(ctx)
	p.cancel = runCtx.End
	defer context.AfterFunc(ctx, func() { p.fail(stub.Interrupted(ctx)) })()

	again, err := p.again(header.Info)
	if err != nil {
		return nil, err
	}
	if refused, err := stub.OwnGoroutine(func() error { return again(runCtx) }); err != nil {
		return nil, err
	} else if refused != nil {
		return nil, stub.Impossible(calls.LineOfFirst, fmt.Errorf("it describes a run that cannot be made: %w", refused))
	}
	return p.finish()
}

// fail stops a replay that cannot go on.
func (p *player) fail(err error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.readErr = err
	p.stop()
}

// finish judges the replay when the new run is over.
func (p *player) finish() (*Report, error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if x := p.peek(0); x != nil && !p.Stopped {
		p.missing(x)
	}
	report := &Report{Crossings: p.matched, Divergence: p.found}
	if p.readErr != nil && p.readErr != io.EOF {
		return report, p.readErr
	}
	return report, nil
}

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/adkreplay/adkreplay/adk"
)

// Live says which seams of a replay are the user's own code. The zero Live has
// none: every seam does what the trace says, and no user code runs.
type Live struct {
	// Executor replaces the recorded executor. Its name is the recorded one's.
	Executor func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error
}

// seams names the live seams.
func (l Live) seams() []string {
	if l.Executor != nil {
		return []string{adk.LabelExecutor}
	}
	return nil
}

// Report is what a replay found.
type Report struct {
	// Crossings is how many crossings of the new run agreed with the recorded.
	Crossings int `json:"crossings"`
	// Divergence is the first that did not; nil if all did.
	Divergence *Divergence `json:"divergence,omitempty"`
	// Live are the labels of the seams that were user code; empty when all were
	// scripted.
	Live []string `json:"live,omitempty"`
	// NotCompared says in words what this replay could not hold against the
	// recording.
	NotCompared []string `json:"notCompared,omitempty"`
}

// Verify re-runs the turn that a trace holds on today's engine, with the seams
// in live as user code and every other seam doing what was recorded, and
// compares every crossing. The trace is read as the replay goes on.
//
// A trace that cannot be read to its end is a *FormatError; what was replayed
// before that is in the report. Any other error says that nothing was replayed.
func Verify(ctx context.Context, trace io.Reader, live Live, options ...Options) (*Report, error) {
	r, err := NewReader(trace, options...)
	if err != nil {
		return nil, err
	}
	known, err := newSentinels(optional(options).Sentinels)
	if err != nil {
		return nil, err
	}
	report, err := play(ctx, r.Header(), readerSource{r}, known, live)
	if err != nil || report.Divergence == nil {
		return report, err
	}
	return report, r.readRest()
}

// readRest reads what a replay that stopped at a divergence left unread: where
// the file was cut short or changed, that may be all that differs.
func (r *Reader) readRest() error {
	for {
		if _, err := r.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// readerSource gives the crossings of a Reader.
type readerSource struct{ r *Reader }

func (s readerSource) next() (*adk.Crossing, error) {
	line, err := s.r.Next()
	if err != nil {
		return nil, err
	}
	return &line.Crossing, nil
}

// play replays what src gives.
func play(ctx context.Context, header Header, src source, known *sentinels, live Live) (*Report, error) {
	if header.Info.Alone {
		return nil, errors.New("replay: the trace is of a dispatch called alone, which cannot be replayed yet")
	}
	p := newPlayer(src, known)
	p.outdated = header.Contract < ContractRevision
	runCtx := newRunContext(ctx)
	p.cancel = runCtx.end
	defer context.AfterFunc(ctx, func() { p.interrupt(context.Cause(ctx)) })()

	raw, tools, err := p.opening()
	if err != nil {
		return nil, err
	}
	runner, err := adk.NewRunner(p.config(header.Info, tools, live))
	if err != nil {
		return nil, fmt.Errorf("replay: the trace describes a run that cannot be built: %w", err)
	}
	p.hearLoudly(runner)
	// The run has a goroutine of its own: a recorded Goexit ends it.
	var runErr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runErr = runner.Run(runCtx, raw)
	}()
	<-done
	if runErr != nil {
		return nil, fmt.Errorf("replay: the trace describes a turn that cannot be run: %w", runErr)
	}
	return p.finish(live)
}

// opening reads what the recorded caller of Run handed in: the first crossing.
func (p *player) opening() (adk.RawTurn, []*adk.Tool, error) {
	p.mu.Lock()
	first := p.peek(0)
	err := p.readErr
	p.mu.Unlock()
	if first == nil {
		if err == io.EOF {
			err = errors.New("replay: the trace has no crossings")
		}
		return adk.RawTurn{}, nil, err
	}
	if first.Kind != adk.KindCall || first.Seam.Label != adk.LabelRun {
		return adk.RawTurn{}, nil, fmt.Errorf("replay: the trace begins with %s and not with the call of run", first.Kind)
	}
	p.began = first.At
	var tools []*adk.Tool
	for _, record := range first.Records {
		if tool, ok := record.(*adk.Tool); ok {
			tools = append(tools, p.tool(tool))
		}
	}
	stash, _ := first.Value.(map[string]any)
	raw := adk.RawTurn{SystemPrompt: first.Text, Instructions: first.Texts, Stash: stash}
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gates[e.Gate.ID()] = e.Gate
	}
	return raw, tools, nil
}

// config is the recorded run's config with scripted seams, but for the live
// ones.
func (p *player) config(info adk.RunInfo, tools []*adk.Tool, live Live) adk.Config {
	c := adk.Config{
		Executor: p.executor(info.Executor),
		Storage: adk.Storage{
			Messages:     collection[*adk.Message]{p},
			Memories:     collection[*adk.Memory]{p},
			Retrievables: collection[*adk.Retrievable]{p},
			Thoughts:     collection[*adk.Thought]{p},
			ToolCalls:    collection[*adk.ToolCall]{p},
			Instructions: collection[*adk.Tokenizable]{p},
			Tools:        toolSource{p},
		},
		Tools: tools, Clock: p, IDs: p, Probe: p, WriteBehind: info.WriteBehind,
	}
	if live.Executor != nil {
		c.Executor.Run = live.Executor
	}
	for _, name := range info.TurnInput {
		c.TurnInput = append(c.TurnInput, p.turnMiddleware(name))
	}
	for _, name := range info.TurnOutput {
		c.TurnOutput = append(c.TurnOutput, p.turnMiddleware(name))
	}
	for _, name := range info.DispatchInput {
		c.DispatchInput = append(c.DispatchInput, p.dispatchMiddleware(name))
	}
	for _, name := range info.DispatchOutput {
		c.DispatchOutput = append(c.DispatchOutput, p.dispatchMiddleware(name))
	}
	return c
}

// interrupt stops a replay whose own context ended.
func (p *player) interrupt(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readErr = fmt.Errorf("replay: interrupted: %w", cause)
	p.stop()
}

// finish judges the replay when the new run is over.
func (p *player) finish(live Live) (*Report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.peek(0); x != nil && !p.stopped {
		p.missing(x)
	}
	report := &Report{Crossings: p.matched, Divergence: p.found, Live: live.seams()}
	if p.readErr != nil && p.readErr != io.EOF {
		return report, p.readErr
	}
	return report, nil
}

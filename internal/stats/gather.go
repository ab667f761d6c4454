package stats

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/eachtrace"
	"github.com/adkreplay/adkreplay/internal/modelapi"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Options says how to count.
type Options struct {
	// Prices are the prices of models; if it is nil, costs are not counted.
	Prices *Prices
	// Encoding is the encoding for counting tokens that no answer reports; "" means
	// adk.EncodingO200kBase.
	Encoding adk.Encoding
	eachtrace.Options
}

// Gather counts what is in traces, one after the other. Of a trace that breaks off, it counts what
// can be read. The error is that of ctx; the figures are then those of the traces before.
func Gather(ctx context.Context, sources []corpus.Source, o Options) (*Figures, error) {
	f := NewFigures(o.Prices)
	o.Encoding = cmp.Or(o.Encoding, adk.EncodingO200kBase)
	traces, unreadable, err := eachtrace.Read(ctx, sources, o.Options, func(corpus.Source, trace.Header) eachtrace.Taker { return newCounter(f, o) })
	f.Traces += traces
	f.Unreadable += unreadable
	return f, err
}

// counter counts what is in one trace.
type counter struct {
	*Figures
	prices   *Prices
	encoding adk.Encoding
	fold     *state.Fold
	shown    *state.ShownTokens

	began  map[int]time.Time // the beginnings of turns, by their calls
	asking map[int]*ask      // open asks, by their operations
	tools  map[int]execution // open executions, by their operations
	runs   map[int]*run      // open executor calls
	failed map[int]uint64    // the last failed request of each call
}

// execution is an execution of a tool.
type execution struct {
	tool  string
	began time.Time
}

// run is an executor call.
type run struct {
	seam  string
	shown int             // in tokens
	said  strings.Builder // what it reported
	asks  bool            // the trace shows whom it asks
}

func newCounter(f *Figures, o Options) *counter {
	return &counter{Figures: f, prices: o.Prices, encoding: o.Encoding, fold: state.New(), shown: state.NewShownTokens(o.Encoding),
		began: map[int]time.Time{}, asking: map[int]*ask{}, tools: map[int]execution{}, runs: map[int]*run{}, failed: map[int]uint64{}}
}

// Ended does nothing, since traces that break off are counted, too.
func (c *counter) Ended() {}

// Take counts one crossing. It also counts crossings that no engine would record.
func (c *counter) Take(x *adk.Crossing) {
	_ = c.fold.Apply(x)
	c.Crossings++
	switch {
	case x.Kind == adk.KindCall:
		c.enter(x)
	case x.Kind == adk.KindReturn:
		c.leave(x)
	case wire.IsAsk(x):
		c.ask(x)
	case wire.IsPiece(x):
		if a := c.asking[x.Op]; a != nil {
			a.answer.Take(x.JSON)
		}
	case wire.RunsTool(x), wire.ToolRan(x):
		c.execute(x)
	case wire.ReportsText(x):
		if run := c.runs[x.Call]; run != nil && x.Err == nil {
			run.said.WriteString(x.Text)
		}
	case wire.ReportsToolCall(x):
		if run := c.runs[x.Call]; run != nil && x.Err == nil && x.Result == nil {
			args, _ := canonical.Marshal(x.Args)
			run.said.WriteString(x.Key + string(args))
		}
	case wire.BeginsIteration(x):
		c.Iterations++
	case wire.EndsDispatch(x):
		c.Ends[x.Status]++
	case wire.TellsError(x):
		c.Errors[describe.FailureName(x.Err)]++
	}
}

// enter counts the beginning of a call.
func (c *counter) enter(x *adk.Crossing) {
	if x.Call == 0 {
		c.Turns++
		c.began[x.ID] = x.At
	}
	if view := c.fold.Seen(x.ID); x.Seam.Label == adk.LabelExecutor && view != nil {
		c.runs[x.ID] = &run{seam: x.Seam.Label + "/" + x.Seam.Name, shown: c.shown.Of(view)}
	}
}

// leave counts the return of a call. If an executor asked a model in a way that the trace does not
// show, leave counts the tokens of what the executor was shown and what it reported.
func (c *counter) leave(x *adk.Crossing) {
	if began, ok := c.began[x.ID]; ok {
		c.Turn.Add(x.At.Sub(began))
		delete(c.began, x.ID)
	}
	if run := c.runs[x.ID]; run != nil && !run.asks {
		c.spent(run.seam, x.Outcome != adk.OutcomeOK,
			Tokens{In: run.shown, Out: adk.EstimateTokens(run.said.String(), c.encoding), Counted: 1})
	}
	delete(c.runs, x.ID)
	delete(c.failed, x.ID)
}

// spent counts the tokens and the cost of one answer of a model.
func (c *counter) spent(model string, failed bool, t Tokens) {
	c.Tokens.add(t)
	m := c.Models[model]
	m.Calls.add(failed)
	m.Tokens.add(t)
	c.Models[model] = m
	if c.prices == nil {
		return
	}
	if price, known := c.prices.of(model); known {
		c.Cost.Amount += price.cost(t)
	} else {
		c.Cost.Unpriced++
	}
}

// execute counts an execution of a tool.
func (c *counter) execute(x *adk.Crossing) {
	if tool, ok := x.Record.(*adk.Tool); ok && x.Phase == adk.Begin {
		c.tools[x.Op] = execution{tool.Name(), x.At}
	}
	one, ok := c.tools[x.Op]
	if !ok || x.Phase != adk.Done {
		return
	}
	delete(c.tools, x.Op)
	calls := c.Tools[one.tool]
	calls.add(x.Err != nil)
	c.Tools[one.tool] = calls
	c.Tool.Add(x.At.Sub(one.began))
}

// ask is an open ask.
type ask struct {
	request modelapi.Request
	began   time.Time
	answer  modelapi.Answer
}

// ask counts an ask of the world when it ends.
func (c *counter) ask(x *adk.Crossing) {
	if x.Phase == adk.Begin {
		a := &ask{request: modelapi.ReadRequest(x.Name, x.JSON), began: x.At}
		c.asking[x.Op] = a
		if run := c.executor(x.Call); run != nil && a.request.IsTalk {
			run.asks = true
		}
		return
	}
	a := c.asking[x.Op]
	if a == nil {
		return
	}
	delete(c.asking, x.Op)
	if x.JSON != nil {
		a.answer.Take(x.JSON)
	}
	failed := a.answer.Failed(&a.request, x.Err)
	c.Asks.add(failed)
	c.Ask.Add(x.At.Sub(a.began))
	c.retried(x.Call, a.request.Hash, failed)
	if !a.request.IsTalk {
		return
	}
	if a.answer.Finish != "" {
		c.Stops[a.answer.Finish]++
	}
	c.spent(a.request.Model, failed, c.tokensOf(a, failed))
}

// tokensOf returns the tokens of an ask: those that the answer reports, or counted ones. An ask
// that failed without an answer took none.
func (c *counter) tokensOf(a *ask, failed bool) Tokens {
	if used := a.answer.Usage; used != nil {
		return Tokens{In: used.In, Cached: used.Cached, Out: used.Out}
	}
	if failed && a.answer.Said() == "" {
		return Tokens{}
	}
	return Tokens{In: adk.EstimateTokens(a.request.Words(), c.encoding), Out: adk.EstimateTokens(a.answer.Said(), c.encoding), Counted: 1}
}

// retried counts an ask that repeats the failed one before it, and remembers whether this one
// failed.
func (c *counter) retried(call int, request uint64, failed bool) {
	if before, ok := c.failed[call]; ok && before == request {
		c.Retries++
	}
	delete(c.failed, call)
	if failed {
		c.failed[call] = request
	}
}

// executor returns the innermost open executor call around a call, or nil if there is none.
func (c *counter) executor(call int) *run {
	for at := c.fold.Calls[call]; at != nil; at = at.Parent {
		if run := c.runs[at.ID]; run != nil {
			return run
		}
	}
	return nil
}

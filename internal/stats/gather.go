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

// Options say how to count.
type Options struct {
	// Prices are what models cost; nil counts no cost.
	Prices *Prices
	// Encoding is the one in which tokens are counted that no answer says; empty is
	// adk.EncodingO200kBase.
	Encoding adk.Encoding
	eachtrace.Options
}

// Gather counts what is in traces, one after the other. A trace that breaks off is counted
// as far as it goes. The error is that of ctx: then the figures are of those before.
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

	began  map[int]time.Time // turns, by their call
	asking map[int]*ask      // asks that are under way, by their op
	tools  map[int]execution // executions that are under way, by their op
	runs   map[int]*run      // executor calls that are under way
	failed map[int]uint64    // what the last ask of a call asked, of those that failed
}

// execution is one of a tool.
type execution struct {
	tool  string
	began time.Time
}

// run is an executor call.
type run struct {
	seam  string
	shown int             // tokens
	said  strings.Builder // what it reported
	asks  bool            // the trace shows whom it asks
}

func newCounter(f *Figures, o Options) *counter {
	return &counter{Figures: f, prices: o.Prices, encoding: o.Encoding, fold: state.New(), shown: state.NewShownTokens(o.Encoding),
		began: map[int]time.Time{}, asking: map[int]*ask{}, tools: map[int]execution{}, runs: map[int]*run{}, failed: map[int]uint64{}}
}

// Ended does nothing: a trace that breaks off is counted as far as it goes.
func (c *counter) Ended() {}

// Take counts one crossing. What no engine would tell is counted as what it is.
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

// enter counts a call that begins.
func (c *counter) enter(x *adk.Crossing) {
	if x.Call == 0 {
		c.Turns++
		c.began[x.ID] = x.At
	}
	if view := c.fold.Seen(x.ID); x.Seam.Label == adk.LabelExecutor && view != nil {
		c.runs[x.ID] = &run{seam: x.Seam.Label + "/" + x.Seam.Name, shown: c.shown.Of(view)}
	}
}

// leave counts a call that has returned. Where an executor asked in a way that the trace
// does not show, what it was shown and what it reported are counted in the place of that.
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

// spent counts what one answer of a model took.
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

// ask is one that is under way.
type ask struct {
	request modelapi.Request
	began   time.Time
	answer  modelapi.Answer
}

// ask counts what the world was asked, once it has answered.
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

// tokensOf are the tokens of an ask: those that the answer says, or counted ones. What
// failed without a word on tokens took none.
func (c *counter) tokensOf(a *ask, failed bool) Tokens {
	if used := a.answer.Usage; used != nil {
		return Tokens{In: used.In, Cached: used.Cached, Out: used.Out}
	}
	if failed && a.answer.Said() == "" {
		return Tokens{}
	}
	return Tokens{In: adk.EstimateTokens(a.request.Words(), c.encoding), Out: adk.EstimateTokens(a.answer.Said(), c.encoding), Counted: 1}
}

// retried notes whether an ask is made again, and whether that is what it was.
func (c *counter) retried(call int, request uint64, failed bool) {
	if before, ok := c.failed[call]; ok && before == request {
		c.Retries++
	}
	delete(c.failed, call)
	if failed {
		c.failed[call] = request
	}
}

// executor is the innermost executor call that a call lies in; nil where there is none.
func (c *counter) executor(call int) *run {
	for at := c.fold.Calls[call]; at != nil; at = at.Parent {
		if run := c.runs[at.ID]; run != nil {
			return run
		}
	}
	return nil
}

package livetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// Desk is a small agent of a help desk. Each field is something that can be changed.
type Desk struct {
	Prompt     string
	Schema     string
	StashKey   string
	Input      []string // the middlewares of the dispatch: guard, budget, audit
	Retry      bool     // the tool is called again
	StoreTwice bool
	Impatient  bool // a sibling is cancelled when the first answer has come
	Clockless  bool // ids come from a counter of the agent
	Ids        *int
	Asked      string
}

// NewDesk returns a desk that behaves as recorded.
func NewDesk() Desk {
	return Desk{
		Prompt:   "You are the help desk of a shop. Be brief. " + strings.Repeat("Never promise a refund. ", 20),
		Schema:   `{"type":"object","properties":{"order":{"type":"string"},"detail":{"type":"string","default":"short"}},"required":["order"],"additionalProperties":false}`,
		StashKey: "customer.name",
		Input:    []string{"guard", "budget"},
		Asked:    "A1",
		Ids:      new(int),
	}
}

// Turn returns the raw turn of the desk.
func (d Desk) Turn() adk.RawTurn {
	return adk.RawTurn{SystemPrompt: d.Prompt, Instructions: []string{"Answer in English."}}
}

// Config returns the config of the desk.
func (d Desk) Config() adk.Config {
	asked := time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC)
	question := tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "q1", Role: adk.RoleUser, Content: "Where are my orders A1 and B2?", CreatedAt: asked, UpdatedAt: asked}))
	tool := fakes.NewTool("order_status", "Tells where an order is.", "on its way", "delivered", "lost", "lost")
	tool.Init.InputSchema = json.RawMessage(d.Schema)
	config := adk.Config{
		TurnInput: []adk.TurnMiddleware{{Name: "hydrate", Run: d.hydrate}},
		Executor:  adk.Executor{Name: "model", Run: d.model},
		Tools:     []*adk.Tool{tool.Tool()},
		Storage:   fakes.NewStorage(question).Storage(),
	}
	for _, name := range d.Input {
		config.DispatchInput = append(config.DispatchInput, adk.DispatchMiddleware{Name: name, Run: d.middleware(name)})
	}
	return config
}

func (d Desk) hydrate(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	if err := tc.Stash().Set(d.StashKey, "Ada"); err != nil {
		return err
	}
	next(ctx)
	return nil
}

func (d Desk) middleware(name string) func(context.Context, *adk.DispatchContext, adk.Next) error {
	return func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if err := dc.Stash().Set("seen."+name, dc.Iteration()); err != nil {
			return err
		}
		next(ctx)
		return nil
	}
}

func (d Desk) model(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	if dc.Iteration() > 0 {
		return d.answer(ctx, dc, h)
	}
	siblings, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var strands []*adk.Strand
	for _, order := range []string{d.Asked, "B2"} {
		s, err := dc.Fork(siblings, "ask "+order, func(ctx context.Context, dc *adk.DispatchContext) error {
			err := d.ask(ctx, dc, order)
			if d.Impatient {
				cancel(errors.New("one answer is enough"))
			}
			return err
		})
		if err != nil {
			return err
		}
		strands = append(strands, s)
	}
	var errs []error
	for _, s := range strands {
		errs = append(errs, s.Wait())
	}
	if d.Impatient {
		return nil
	}
	return errors.Join(errs...)
}

// ask asks the tool about one order and stores the answer.
func (d Desk) ask(ctx context.Context, dc *adk.DispatchContext, order string) error {
	if order == "B2" {
		if err := dc.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	tool, _ := dc.Tools().Get("order_status")
	args := map[string]any{"order": order}
	result, err := dc.Execute(ctx, tool, args)
	if d.Retry {
		result, err = dc.Execute(ctx, tool, args)
	}
	if err != nil {
		return err
	}
	now := dc.Now()
	call, err := adk.NewToolCall(adk.ToolCallInit{ID: "ask " + order, Tool: "order_status", Args: args, Results: result, CreatedAt: now, UpdatedAt: now, CompletedAt: now})
	if err != nil {
		return err
	}
	return dc.ToolCalls().Store(ctx, call)
}

func (d Desk) answer(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	id := dc.NewID()
	if d.Clockless {
		*d.Ids++
		id = strings.Repeat("x", *d.Ids)
	}
	if _, err := h.ReportMessage(id, "They are on their way.", true); err != nil {
		return err
	}
	now := dc.Now()
	m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleAssistant, Content: "They are on their way.", CreatedAt: now, UpdatedAt: now})
	if err != nil {
		return err
	}
	if d.StoreTwice {
		if err := dc.Messages().Store(ctx, m); err != nil {
			return err
		}
	}
	if err := dc.Messages().Store(ctx, m); err != nil {
		return err
	}
	return dc.Ack()
}

// Record records a turn of the desk.
func (d Desk) Record(t *testing.T) []byte {
	t.Helper()
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(d.Config(), recorder)))
	require.NoError(t, runner.Run(t.Context(), d.Turn()))
	require.NoError(t, recorder.Err())
	return trace.Bytes()
}

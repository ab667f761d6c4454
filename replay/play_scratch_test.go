package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

type noCol[T adk.Record] struct{ seed []T }

func (n noCol[T]) Fetch(ctx context.Context, s adk.Scope) ([]T, error)     { return n.seed, nil }
func (noCol[T]) Store(ctx context.Context, s adk.Scope, r T) error         { return nil }
func (noCol[T]) Mutate(ctx context.Context, s adk.Scope, r T) error        { return errors.New("disk") }
func (noCol[T]) Delete(ctx context.Context, s adk.Scope, key string) error { return nil }

type noTools struct{}

func (noTools) Fetch(ctx context.Context, s adk.Scope) ([]*adk.Tool, error) { return nil, nil }

func TestScratch(t *testing.T) {
	at := time.Unix(1000, 0)
	msg, err := adk.NewMessage(adk.MessageInit{ID: "u1", Role: adk.RoleUser, Content: "hi", CreatedAt: at, UpdatedAt: at})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := adk.NewTool(adk.ToolInit{Name: "w", Description: "d", InputSchema: []byte(`{"type":"object"}`), Ephemeral: true, Handler: func(ctx context.Context, dc *adk.DispatchContext, a map[string]any) (adk.ToolResult, error) {
		dc.Sleep(ctx, time.Millisecond)
		return adk.Text("cold"), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var cancel context.CancelCauseFunc
	cfg := adk.Config{
		Executor: adk.Executor{"m", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			dc.Tools().Bind()
			h.ReportMessage("m1", "hi", true)
			dc.Stash().Set("a.b", 5)
			for i := range 3 {
				dc.Fork(ctx, fmt.Sprint("s", i), func(ctx context.Context, dc *adk.DispatchContext) error {
					res, err := dc.Execute(ctx, tool, map[string]any{"i": i})
					dc.Helpers().ReportToolCall(fmt.Sprint("c", i), adk.ToolCallReport{Tool: "w", Args: map[string]any{"i": i}, Results: res, Complete: true})
					dc.Helpers().Log(adk.LevelInfo, "k", "m", map[string]any{"x": 1.5})
					if i == 2 {
						panic("x")
					}
					return err
				})
			}
			_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "why", Timeout: time.Millisecond})
			_ = dc.Messages().Mutate(ctx, msg)
			if dc.Iteration() == 0 {
				return nil
			}
			if cancel != nil {
				cancel(errors.New("enough"))
			}
			_ = err
			return dc.Ack()
		}},
		Storage: adk.Storage{noCol[*adk.Message]{[]*adk.Message{msg}}, noCol[*adk.Memory]{}, noCol[*adk.Retrievable]{}, noCol[*adk.Thought]{}, noCol[*adk.ToolCall]{}, noCol[*adk.Tokenizable]{}, noTools{}},
		TurnInput: []adk.TurnMiddleware{{"a", func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			ms, _ := tc.Messages().Fetch(ctx)
			for _, m := range ms {
				tc.Messages().Add(m)
			}
			next(nil)
			next(nil)
			return nil
		}}},
		TurnOutput: []adk.TurnMiddleware{{"a", func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			next(nil)
			return errors.New("boo")
		}}},
		Tools: []*adk.Tool{tool},
	}
	for _, cancelling := range []bool{false, true} {
		var buf bytes.Buffer
		rec := replay.Record(&buf)
		cfg.Probe = rec
		r, err := adk.NewRunner(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.Observe(adk.Observability{Log: func(adk.LogEvent) { panic("listener") }})
		ctx, c := context.WithCancelCause(context.Background())
		if cancelling {
			cancel = c
		}
		if err := r.Run(ctx, adk.RawTurn{SystemPrompt: "x", Stash: map[string]any{"a": map[string]any{"c": 1}}}); err != nil {
			t.Fatal(err)
		}
		if rec.Err() != nil {
			t.Fatal(rec.Err())
		}
		rep, err := replay.Verify(context.Background(), bytes.NewReader(buf.Bytes()), replay.Live{})
		if err != nil || rep.Divergence != nil {
			t.Log("\n" + buf.String())
			t.Fatal(err, rep.Divergence)
		}
		if !cancelling {
			t.Log("\n" + buf.String())
		}
		t.Logf("%+v", rep)
	}
}

package adk

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

type noCol[T Record] struct{}

func (noCol[T]) Fetch(ctx context.Context, s Scope) ([]T, error)       { return nil, nil }
func (noCol[T]) Store(ctx context.Context, s Scope, r T) error         { return nil }
func (noCol[T]) Mutate(ctx context.Context, s Scope, r T) error        { return nil }
func (noCol[T]) Delete(ctx context.Context, s Scope, key string) error { return nil }

type noTools struct{}

func (noTools) Fetch(ctx context.Context, s Scope) ([]*Tool, error) { return nil, nil }

type printer struct{}

func (printer) Observe(RunInfo) Observer { return printer{} }
func (printer) Begin(s Step)             {}
func (printer) Park(int, func() bool)    {}
func (printer) Resume(int)               {}
func (printer) Tell(x *Crossing) {
	fmt.Printf("%3d in=%d s=%d %s %s seam=%s id=%d name=%q text=%q out=%s err=%v status=%s\n", x.Seq, x.Call, x.Strand, x.Kind, x.Phase, x.Seam, x.ID, x.Name, x.Text, x.Outcome, x.Err, x.Status)
}

func TestSmoke(t *testing.T) {
	r, err := NewRunner(Config{
		Executor: Executor{"m", func(ctx context.Context, dc *DispatchContext, h *Helpers) error {
			h.ReportMessage("m1", "hi", true)
			s, _ := dc.Fork(ctx, "a", func(ctx context.Context, dc *DispatchContext) error { panic("x") })
			fmt.Println(s.Wait())
			dc.Messages().Store(ctx, &Message{base{"m1"}})
			return dc.Ack()
		}},
		Storage: Storage{noCol[*Message]{}, noCol[*Memory]{}, noCol[*Retrievable]{}, noCol[*Thought]{}, noCol[*ToolCall]{}, noCol[*Tokenizable]{}, noTools{}},
		TurnInput: []TurnMiddleware{{"a", func(ctx context.Context, tc *TurnContext, next Next) error {
			next(nil)
			return nil
		}}},
		TurnOutput: []TurnMiddleware{{"a", func(ctx context.Context, tc *TurnContext, next Next) error {
			return errors.New("boo")
		}}},
		Probe: printer{},
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(r.Run(context.Background(), RawTurn{SystemPrompt: "x", Stash: map[string]any{"a": 1}}))
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// think makes the executor. Each iteration asks the model, and runs the tools
// that it wants. A reply that wants none ends the dispatch.
func think(model *Model) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
	return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		reply, err := model.Reply(ctx, dc)
		if err != nil {
			return fmt.Errorf("the model did not answer: %w", err)
		}
		if reply.Text != "" {
			if err := say(ctx, dc, h, reply.Text); err != nil {
				return err
			}
		}
		if len(reply.Calls) == 0 {
			return dc.Ack()
		}
		return runTools(ctx, dc, h, reply.Calls)
	}
}

// say tells the user, and keeps what was said.
func say(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, text string) error {
	said, err := h.ReportMessage(dc.NewID(), text, true)
	if err != nil {
		return err
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: said.ID, Role: adk.RoleAssistant, Content: said.Full,
		CreatedAt: said.CreatedAt, UpdatedAt: said.UpdatedAt})
	if err != nil {
		return err
	}
	return dc.Messages().Store(ctx, m)
}

// runTools runs calls in parallel, each in a strand. The strands have the names
// of the tools: what is the same in all of them is then one cause in a report.
func runTools(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, calls []Call) error {
	var strands []*adk.Strand
	for _, call := range calls {
		begun, err := h.ReportToolCall(call.ID, adk.ToolCallReport{Tool: call.Tool, Args: call.Args})
		if err != nil {
			return err
		}
		strand, err := dc.Fork(ctx, call.Tool, func(ctx context.Context, dc *adk.DispatchContext) error {
			return runTool(ctx, dc, call, begun.CreatedAt)
		})
		if err != nil {
			return err
		}
		strands = append(strands, strand)
	}
	var failed []error
	for _, strand := range strands {
		failed = append(failed, strand.Wait())
	}
	return errors.Join(failed...)
}

// runTool runs one call and keeps what it gave. That it failed is for the model
// to know.
func runTool(ctx context.Context, dc *adk.DispatchContext, call Call, began time.Time) error {
	tool, known := dc.Tools().Get(call.Tool)
	if !known {
		return fmt.Errorf("the model wants %q, which is no tool", call.Tool)
	}
	result, failure := execute(ctx, dc, tool, call.Args)
	if failure != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		result = adk.Text(failure.Error())
	}
	done, err := dc.Helpers().ReportToolCall(call.ID, adk.ToolCallReport{Results: result, IsError: failure != nil, Complete: true})
	if err != nil {
		return err
	}
	record, err := adk.NewToolCall(adk.ToolCallInit{ID: call.ID, Tool: call.Tool, Args: call.Args, Results: result,
		IsError: failure != nil, CreatedAt: began, UpdatedAt: done.CompletedAt, CompletedAt: done.CompletedAt})
	if err != nil {
		return err
	}
	return dc.ToolCalls().Store(ctx, record)
}

// A tool that fails is asked once more, after a pause.
const (
	mostAttempts = 2
	pause        = time.Second
)

func execute(ctx context.Context, dc *adk.DispatchContext, tool *adk.Tool, args string) (result adk.ToolResult, err error) {
	for attempt := 1; ; attempt++ {
		result, err = dc.Execute(ctx, tool, args)
		if attempt == mostAttempts || !errors.Is(err, adk.E_TOOL_DOWNSTREAM_ERROR) || errors.Is(err, ErrNoSuchCity) {
			return result, err
		}
		if err := dc.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

package fakes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// ToolUse is the step of a model that calls a tool: it reports the call, executes the tool, reports
// the call complete and stores the record. A record of an artifact tool's result says so. The step
// makes no artifacts itself: a tool that should leave an artifact returns it as its result, because
// a replay does not know a tool's artifact constructor. If the tool fails or refuses its arguments,
// the step does not fail: as with any executor, the model gets the text of the failure as the
// result. Once the turn is aborted, the step returns the failure.
type ToolUse struct {
	tool      string
	args      any
	id        string
	notStored bool
}

// Call calls the tool of that name. args is an object, or JSON text of one; nil means no arguments.
// The id of the call is c and the step's place, as in c0.1 for the second step of the first
// iteration. A name for which the dispatch has no tool is an error of the script.
func Call(tool string, args any) ToolUse {
	if args == nil {
		args = map[string]any{}
	}
	return ToolUse{tool: tool, args: args}
}

// As returns the call with the given id.
func (u ToolUse) As(id string) ToolUse { u.id = id; return u }

// NotStored returns a call that is reported to listeners but leaves no record.
func (u ToolUse) NotStored() ToolUse { u.notStored = true; return u }

func (u ToolUse) play(p player) error {
	c, err := u.begin(p)
	if err != nil {
		return err
	}
	if err = c.execute(p.ctx, p.dc); err != nil {
		return err
	}
	done, err := c.complete(p.h)
	if err != nil || u.notStored {
		return err
	}
	return c.store(p.ctx, p.dc, done.CreatedAt, done.CompletedAt)
}

// Parallel runs calls concurrently, each in a strand named after the call's id; in a Parallel that
// is step 2 of iteration 0 the ids are c0.2.0, c0.2.1 and so on. It first reports all calls. Each
// strand then executes its tool and stores its record, in an order that the scheduler chooses.
// Finally it reports all calls complete, in the order of the script.
func Parallel(calls ...ToolUse) Step {
	return act(func(p player) error {
		begun := make([]*toolCall, len(calls))
		for i, u := range calls {
			place := p
			place.at += "." + strconv.Itoa(i)
			var err error
			if begun[i], err = u.begin(place); err != nil {
				return err
			}
		}
		if err := inStrands(p, begun); err != nil {
			return err
		}
		for _, c := range begun {
			if _, err := c.complete(p.h); err != nil {
				return err
			}
		}
		return nil
	})
}

// inStrands executes and stores each call in its own strand, and waits for all of them.
func inStrands(p player, calls []*toolCall) error {
	var faults []error
	var strands []*adk.Strand
	for _, c := range calls {
		strand, err := p.dc.Fork(p.ctx, c.id, c.run)
		if err != nil {
			faults = append(faults, err)
			break
		}
		strands = append(strands, strand)
	}
	for _, strand := range strands {
		faults = append(faults, strand.Wait())
	}
	return errors.Join(faults...)
}

// toolCall is a call that has begun.
type toolCall struct {
	ToolUse // its args are parsed once, if they can be
	found   *adk.Tool
	begun   adk.ToolCallEvent
	result  adk.ToolResult
	isError bool
	// fromArtifact is true if an artifact tool gave the result.
	fromArtifact bool
}

// begin finds the tool and reports the call as begun.
func (u ToolUse) begin(p player) (*toolCall, error) {
	u.id = cmp.Or(u.id, "c"+p.at)
	tool, ok := p.dc.Tools().Get(u.tool)
	if !ok {
		return nil, fmt.Errorf("fakes: call %s: no tool %q: the dispatch has %s", u.id, u.tool, toolNames(p.dc))
	}
	if args, err := adk.NewArguments(u.args); err == nil {
		u.args = args // the report, the execution and the record share them
	}
	begun, err := p.h.ReportToolCall(u.id, adk.ToolCallReport{Tool: u.tool, Args: u.args})
	return &toolCall{ToolUse: u, found: tool, begun: begun}, err
}

func toolNames(dc *adk.DispatchContext) string {
	var names []string
	for _, tool := range dc.Tools().All() {
		names = append(names, strconv.Quote(tool.Name()))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// run is the body of the call's strand. A strand has no helpers, so it reads the time for its
// record from its own context.
func (c *toolCall) run(ctx context.Context, dc *adk.DispatchContext) error {
	if err := c.execute(ctx, dc); err != nil || c.notStored {
		return err
	}
	return c.store(ctx, dc, c.begun.CreatedAt, dc.Now())
}

// execute runs the tool and keeps the result that the model gets.
func (c *toolCall) execute(ctx context.Context, dc *adk.DispatchContext) error {
	result, err := dc.Execute(ctx, c.found, c.args)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.result, c.isError = adk.Text(strings.ToValidUTF8(err.Error(), "\uFFFD")), true
		return nil
	}
	c.fromArtifact = artifact.IsTool(c.found)
	c.result, err = recordable(c.id, result)
	return err
}

// complete reports the call's result and marks the call complete.
func (c *toolCall) complete(h *adk.Helpers) (adk.ToolCallEvent, error) {
	return h.ReportToolCall(c.id, adk.ToolCallReport{Results: c.result, IsError: c.isError, Complete: true})
}

func (c *toolCall) store(ctx context.Context, dc *adk.DispatchContext, created, completed time.Time) error {
	record, err := adk.NewToolCall(adk.ToolCallInit{ID: c.id, Tool: c.tool, Args: c.args, Results: c.result,
		IsError: c.isError, FromArtifactTool: c.fromArtifact, CreatedAt: created, UpdatedAt: completed, CompletedAt: completed})
	if err != nil {
		return err
	}
	return dc.ToolCalls().Store(ctx, record)
}

// recordable converts a result into one that a tool call record can hold: bytes become a text if
// they are valid UTF-8, and a document otherwise.
func recordable(id string, result adk.ToolResult) (adk.ToolResult, error) {
	raw, ok := result.(adk.Bytes)
	if !ok {
		return result, nil
	}
	if utf8.Valid(raw) {
		return adk.Text(string(raw)), nil
	}
	media, err := adk.NewToolGenerated(adk.MediaInit{ID: id, Kind: adk.MediaDocument, MIMEType: "application/octet-stream",
		Filename: id + ".bin", Reader: adk.MediaBytes(raw)})
	if err != nil {
		return nil, err
	}
	return media, nil
}

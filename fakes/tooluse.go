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

// ToolUse is the step of a model that calls a tool: it reports the call,
// executes the tool, reports it complete and stores the record. The words of an
// artifact tool are recorded as such. It makes no artifacts: a tool that is to leave one
// gives it, since a replay knows a tool without its artifact constructor. A tool that
// fails, or refuses its arguments, does not fail the step: as with any executor
// the model is given the failure's text as the result. Once the turn is aborted
// the failure is returned.
type ToolUse struct {
	tool      string
	args      any
	id        string
	notStored bool
}

// Call is a call of the tool of that name. args is an object, or JSON text of
// one; nil means no arguments. Its id is c and the step's place, as in c0.1 for
// the second step of the first iteration. A name that the dispatch has no tool
// for is an error of the script.
func Call(tool string, args any) ToolUse {
	if args == nil {
		args = map[string]any{}
	}
	return ToolUse{tool: tool, args: args}
}

// As is the call with an id of its own.
func (u ToolUse) As(id string) ToolUse { u.id = id; return u }

// NotStored is the call as listeners hear it, without a record.
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

// Parallel runs calls at the same time, each in a strand named by its call's
// id; in a Parallel that is step 2 of iteration 0 these are c0.2.0, c0.2.1 and
// so on. All calls are reported before the first runs. Each strand executes its
// tool and stores its record, so the order of these is the scheduler's to
// choose; then all are reported complete, in the order of the script.
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

// inStrands executes and stores calls, each in its strand, and waits for all.
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

// toolCall is a call under way.
type toolCall struct {
	ToolUse // whose args were read once, if they can be
	found   *adk.Tool
	begun   adk.ToolCallEvent
	result  adk.ToolResult
	isError bool
	// fromArtifact says that an artifact tool answered.
	fromArtifact bool
}

// begin finds the tool and reports the call.
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

// run is the call as a strand. A strand has no helpers, so it takes the time of
// its record from its own context.
func (c *toolCall) run(ctx context.Context, dc *adk.DispatchContext) error {
	if err := c.execute(ctx, dc); err != nil || c.notStored {
		return err
	}
	return c.store(ctx, dc, c.begun.CreatedAt, dc.Now())
}

// execute runs the tool and keeps what the model is given.
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

// complete reports the call's result and seals it.
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

// recordable gives a result that a tool call can hold: bytes become text where
// they are text, and a document where they are not.
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

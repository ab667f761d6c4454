package zoo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// family is a kind of bug: an agent that has the bug, and a corrected twin.
type family struct {
	name string
	// oracle reports whether explore finds the bug without the author's check.
	oracle bool
	// agent creates the agent for one run: the one with the bug if broken is set, otherwise the
	// twin. Its Check is the one obvious assertion that an author would write.
	agent func(broken bool) turn.Instance
}

// subject returns the agent with the bug or its twin, with its check or without.
func (f family) subject(broken, checked bool) turn.Subject {
	name := f.name + ", mended"
	if broken {
		name = f.name
	}
	return turn.Subject{Name: name, Open: func(context.CancelCauseFunc) turn.Instance {
		i := f.agent(broken)
		if !checked {
			i.Check = nil
		}
		return i
	}}
}

type (
	executes = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error
	handles  = func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error)
)

// agent returns an agent with one executor, whose turns begin by loading the conversation.
func agent(storage *fakes.Storage, run executes, tools ...*adk.Tool) turn.Instance {
	return turn.Instance{
		Config: adk.Config{TurnInput: []adk.TurnMiddleware{{Name: "load", Run: load}}, Executor: adk.Executor{Name: "model", Run: run},
			Storage: storage.Storage(), Tools: tools},
		Raw: adk.RawTurn{SystemPrompt: "You help."},
	}
}

// conversation returns a storage with these earlier texts, by user and assistant in turns, and a new question.
func conversation(texts ...string) *fakes.Storage {
	var all []adk.Record
	for i, text := range append(texts, "What now?") {
		role := adk.RoleUser
		if i%2 == 1 {
			role = adk.RoleAssistant
		}
		all = append(all, must(adk.NewMessage(adk.MessageInit{ID: fmt.Sprintf("u%d", i), Role: role, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})))
	}
	return fakes.NewStorage(all...)
}

// load is a turn input that adds the stored messages to the turn.
func load(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// say reports a message to the user and stores it.
func say(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, id, text string) error {
	if _, err := h.ReportMessage(id, text, true); err != nil {
		return err
	}
	return dc.Messages().Store(ctx, message(dc, id, text))
}

func message(dc *adk.DispatchContext, id, text string) *adk.Message {
	return must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleAssistant, Content: text, CreatedAt: dc.Now(), UpdatedAt: dc.Now()}))
}

func memory(id, text string) *adk.Memory {
	return must(adk.NewMemory(adk.MemoryInit{ID: id, Content: text, Confidence: new(0.9), Importance: new(0.5), CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
}

func call(dc *adk.DispatchContext, id, tool string, args map[string]any, result adk.ToolResult, failed bool) *adk.ToolCall {
	return must(adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: tool, Args: args, Results: result, IsError: failed,
		CreatedAt: dc.Now(), UpdatedAt: dc.Now(), CompletedAt: dc.Now()}))
}

func tool(name string, effect adk.Effect, handler handles) *adk.Tool {
	return must(adk.NewTool(adk.ToolInit{Name: name, Description: "Does " + name + ".", Effect: effect,
		InputSchema: json.RawMessage(`{"type":"object"}`), Handler: handler}))
}

// parallel runs work on n strands at the same time, waits for all of them and joins their errors.
func parallel(ctx context.Context, dc *adk.DispatchContext, n int, work func(ctx context.Context, dc *adk.DispatchContext, n int) error) error {
	var strands []*adk.Strand
	for i := range n {
		s, err := dc.Fork(ctx, "worker", func(ctx context.Context, dc *adk.DispatchContext) error { return work(ctx, dc, i) })
		if err != nil {
			return err
		}
		strands = append(strands, s)
	}
	var all []error
	for _, s := range strands {
		all = append(all, s.Wait())
	}
	return errors.Join(all...)
}

// tally collects notes about what happened in a run. It is safe for concurrent use.
type tally struct {
	mu    sync.Mutex
	notes []string
}

func (t *tally) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *tally) count(prefix string) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, note := range t.notes {
		if strings.HasPrefix(note, prefix) {
			n++
		}
	}
	return n
}

func (t *tally) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.notes) == 0 {
		return ""
	}
	return t.notes[len(t.notes)-1]
}

// acked reports whether the last dispatch of the turn to end was acked.
func acked(r turn.Run) bool {
	status := ""
	for x := range r.Crossings {
		if x.Kind == adk.KindDispatchEnd {
			status = x.Status
		}
	}
	return status == adk.StatusAck
}

// aborted reports whether the turn was aborted.
func aborted(r turn.Run) bool {
	for x := range r.Crossings {
		if x.Kind == adk.KindCancel {
			return true
		}
	}
	return false
}

func kept(s *fakes.Storage, id string) bool {
	return slices.ContainsFunc(s.Messages(), func(m *adk.Message) bool { return m.ID() == id }) ||
		slices.ContainsFunc(s.Memories(), func(m *adk.Memory) bool { return m.ID() == id }) ||
		slices.ContainsFunc(s.ToolCalls(), func(c *adk.ToolCall) bool { return c.ID() == id })
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

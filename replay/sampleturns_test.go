package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// sampleTurns cover what a fold has to know: every collection, every way in
// which a dispatch ends, strands, gates, streams and tools.
var sampleTurns = []sampleTurn{
	{"weather", weatherTurn},
	{"collections", collectionsTurn},
	{"strands", strandsTurn},
	{"nack", nackTurn},
	{"gate", gateTurn},
	{"trouble", troubleTurn},
	{"stash", stashTurn},
	{"tools", toolsTurn},
	{"emits", emitsTurn},
	{"media", mediaTurn},
	{"write-behind", func(t *sampleKit) { collectionsTurn(t); t.config.WriteBehind = true }},
	{"flush refused", func(t *sampleKit) {
		collectionsTurn(t)
		t.config.WriteBehind = true
		t.kept.thoughts.refuse = errors.New("the disk is full")
	}},
	{"flush aborted", func(t *sampleKit) { // the iteration ends, and what it stored stays out of the turn (DEL-3)
		twoIterations(t, (*adk.DispatchContext).Ack)
		t.config.WriteBehind = true
		t.kept.messages.storing = func() { t.cancel(errors.New("the user has left")) }
	}},
	{"storage refuses", func(t *sampleKit) { weatherTurn(t); t.kept.messages.refuse = errors.New("the disk is full") }},
	{"nack in the output", func(t *sampleKit) {
		twoIterations(t, func(dc *adk.DispatchContext) error { return dc.Nack(errors.New("not good enough")) })
	}},
	{"abort in the output", func(t *sampleKit) {
		twoIterations(t, func(dc *adk.DispatchContext) error { return dc.Abort(errors.New("enough")) })
	}},
	{"ack in the output", func(t *sampleKit) { twoIterations(t, (*adk.DispatchContext).Ack) }},
	{"panic in the output", func(t *sampleKit) { twoIterations(t, func(*adk.DispatchContext) error { panic("boom") }) }},
	{"abort after ack", func(t *sampleKit) {
		twoIterations(t, func(dc *adk.DispatchContext) error { return errors.Join(dc.Ack(), dc.Abort(nil)) })
	}},
	{"cancelled from outside", func(t *sampleKit) { t.cancel(errors.New("the user left")) }},
	{"late", lateTurn},
	{"goexit", func(t *sampleKit) {
		t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_ = dc.Messages().Store(ctx, aMessage("m", adk.RoleUser, "lost"))
			runtime.Goexit()
			return nil
		}
	}},
	{"executor aborts", func(t *sampleKit) {
		t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_ = dc.Messages().Store(ctx, aMessage("m", adk.RoleUser, "lost"))
			return adk.Aborted(errors.New("the budget is spent"))
		}
	}},
	{"many deltas", func(t *sampleKit) {
		t.config.Executor.Run = func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for range 200 {
				_ = must(h.ReportMessage("long", "ja ", false))
			}
			_ = must(h.ReportMessage("long", "!", true))
			return dc.Ack()
		}
	}},
}

// weatherTurn is the turn that everybody writes first: two iterations, of which
// the first runs a tool and the second answers.
func weatherTurn(t *sampleKit) {
	t.kept.messages.kept = []*adk.Message{aMessage("msg-7f3a", adk.RoleUser, "What is the weather in Oslo?")}
	t.raw.Instructions = []string{"Answer in one sentence."}
	tool := weatherTool()
	t.config.Tools = []*adk.Tool{tool}
	t.config.TurnInput = []adk.TurnMiddleware{turnStep("hydrate", hydrate)}
	t.config.TurnOutput = []adk.TurnMiddleware{turnStep("notify", func(_ context.Context, tc *adk.TurnContext) error {
		return tc.Stash().Set("answered.at", tc.Now().Unix())
	})}
	t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if dc.Iteration() == 0 {
			return askWeather(ctx, dc, h, tool)
		}
		return answerWeather(ctx, dc, h)
	}
}

func askWeather(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, tool *adk.Tool) error {
	_ = must(h.ReportThought("th-1", "I have to look.", true))
	_ = must(h.ReportToolCall("call_9x", adk.ToolCallReport{Tool: "weather"}))
	_ = must(h.ReportToolCall("call_9x", adk.ToolCallReport{Args: `{"city": "Oslo"}`}))
	result, err := dc.Execute(ctx, tool, `{"city": "Oslo"}`)
	if err != nil {
		return err
	}
	_ = must(h.ReportToolCall("call_9x", adk.ToolCallReport{Results: result, Complete: true}))
	return dc.ToolCalls().Store(ctx, aToolCall("call_9x", "Oslo", "4 °C"))
}

func answerWeather(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	id := dc.NewID()
	_ = must(h.ReportMessage(id, "It is 4 °C ", false))
	_ = dc.Sleep(ctx, 1500*time.Millisecond)
	_ = must(h.ReportMessage(id, "in Oslo.", true))
	h.Log(adk.LevelInfo, "usage", "tokens counted", map[string]any{"in": 42, "out": 7})
	if err := dc.Messages().Store(ctx, aMessage(id, adk.RoleAssistant, "It is 4 °C in Oslo.")); err != nil {
		return err
	}
	return dc.Ack()
}

// collectionsTurn does everything that can be done to a record, on the turn
// and on the dispatch.
func collectionsTurn(t *sampleKit) {
	t.raw.Instructions = []string{"Be brief.", "Be kind."}
	t.kept.messages.kept = []*adk.Message{aMessage("a", adk.RoleUser, "one"), aMessage("b", adk.RoleUser, "two")}
	t.kept.memories.kept = []*adk.Memory{aMemory("a", "likes tea")}
	t.config.TurnInput = []adk.TurnMiddleware{turnStep("hydrate", func(ctx context.Context, tc *adk.TurnContext) error {
		_, _ = tc.Memories().Add(must(tc.Memories().Fetch(ctx))[0])
		_, _ = tc.Retrievables().Add(aRetrievable("a", "Oslo is cold"))
		_, _ = tc.Thoughts().Add(aThought("a", "hm"))
		_, _ = tc.ToolCalls().Add(aToolCall("a", "Oslo", "3 °C"))
		_, _ = tc.Instructions().Remove("Be kind.")
		_, _ = tc.Instructions().Remove("Be rude.")
		_, _ = tc.Instructions().Fetch(ctx)
		_ = tc.Messages().Store(ctx, aMessage("unseen", adk.RoleUser, "kept, and not shown"))
		return hydrate(ctx, tc)
	})}
	t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_ = dc.Messages().Store(ctx, aMessage("c", adk.RoleAssistant, "three"))
		_ = dc.Messages().Mutate(ctx, aMessage("a", adk.RoleUser, "ONE"))
		_ = dc.Messages().Delete(ctx, "b")
		_ = dc.Messages().Delete(ctx, "nobody")
		_ = dc.Memories().Store(ctx, aMemory("b", "likes snow"))
		_ = dc.Retrievables().Delete(ctx, "a")
		_ = dc.Thoughts().Mutate(ctx, aThought("b", "aha"))
		_ = dc.ToolCalls().Store(ctx, aToolCall("b", "Rome", "20 °C"))
		_ = dc.Instructions().Store(ctx, adk.NewTokenizable("Be exact."))
		_, _ = dc.Messages().Add(aMessage("local", adk.RoleUser, "in the dispatch alone"))
		if dc.Iteration() == 0 {
			return nil
		}
		return dc.Ack()
	}
}

// strandsTurn fetches in two strands, whose steps interleave in one order.
func strandsTurn(t *sampleKit) {
	t.kept.messages.kept = []*adk.Message{aMessage("a", adk.RoleUser, "Hello")}
	t.kept.memories.kept = []*adk.Memory{aMemory("b", "likes tea")}
	t.config.TurnInput = []adk.TurnMiddleware{turnStep("hydrate", func(ctx context.Context, tc *adk.TurnContext) error {
		begun, go1, go2 := make(chan bool), make(chan bool), make(chan bool)
		first := must(tc.Fork(ctx, "messages", func(ctx context.Context, tc *adk.TurnContext) error {
			tc.Now()
			begun <- true
			<-go1
			return hydrate(ctx, tc)
		}))
		<-begun
		second := must(tc.Fork(ctx, "memories", func(ctx context.Context, tc *adk.TurnContext) error {
			all := must(tc.Memories().Fetch(ctx))
			begun <- true
			<-go2
			_, err := tc.Memories().Add(all[0])
			return errors.Join(err, errors.New("the index is stale"))
		}))
		<-begun
		go1 <- true
		_ = first.Wait()
		go2 <- true
		_ = second.Wait()
		return nil
	})}
}

// nackTurn stores, fails, and so leaves nothing in the turn.
func nackTurn(t *sampleKit) {
	tool := weatherTool()
	t.config.Tools = []*adk.Tool{tool}
	t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		_ = dc.Messages().Store(ctx, aMessage("a", adk.RoleAssistant, "I will look that up."))
		if _, err := dc.Execute(ctx, tool, map[string]any{"town": 1}); err != nil {
			h.Log(adk.LevelWarn, "", "bad arguments", nil)
		}
		if _, err := dc.Execute(ctx, tool, map[string]any{"city": "Atlantis"}); err != nil {
			return errors.Join(dc.Nack(err), dc.Ack())
		}
		return nil
	}
}

// gateTurn asks a person before it refunds, and a second time too late.
func gateTurn(t *sampleKit) {
	t.raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		if e.Gate.ID() == "approve-1" {
			_, _ = e.Gate.Resolve("bob", "perhaps")
			_, _ = e.Gate.Resolve("alice", true)
		}
	}
	t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "approve-1", Reason: "refund 20 €?", Payload: map[string]any{"order": 17}, Schema: []byte(`{"type":"boolean"}`)})
		if err != nil {
			return err
		}
		if _, err = dc.WaitFor(ctx, adk.Gate{ID: "approve-2", Reason: "refund 200 €?", Timeout: time.Minute}); err != nil {
			h.Log(adk.LevelWarn, "gate", "nobody answered", nil)
		}
		return dc.Ack()
	}
}

// troubleTurn is made of hostile strings and contained failures.
func troubleTurn(t *sampleKit) {
	t.raw.SystemPrompt = "Be nice.\n\x1b[31mred\x1b[0m \u202eevil\u2066"
	t.raw.Functional.Message = func(adk.MessageEvent) { panic("the listener\nfell over \x1b[2J") }
	t.config.Executor.Name = "model \x1b[1m"
	t.config.DispatchInput = []adk.DispatchMiddleware{{Name: "twice", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		next(ctx)
		next(ctx)
		return nil
	}}}
	t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		_ = dc.Stash().Set("key", "\x1b]0;title\x07\u0085")
		_ = must(h.ReportMessage("m", "half a rune \xc3", true))
		_, err := h.ReportMessage("m", "too late", false)
		_, _ = dc.OnAck("bad handler", func(*adk.DispatchContext) { panic(fmt.Errorf("cleanup: %w", err)) })
		_ = dc.Messages().Store(ctx, aMessage("long", adk.RoleAssistant, fmt.Sprintf("%0500d", 7)))
		return dc.Ack()
	}
	t.config.TurnOutput = []adk.TurnMiddleware{{Name: "fails", Run: func(_ context.Context, tc *adk.TurnContext, _ adk.Next) error {
		panic("no next\nfor you")
	}}}
}

func stashTurn(t *sampleKit) {
	t.raw.Stash = map[string]any{"user": map[string]any{"name": "Ann", "age": 30, "gone": nil}, "empty": map[string]any{}}
	t.config.TurnInput = []adk.TurnMiddleware{turnStep("set", func(_ context.Context, tc *adk.TurnContext) error {
		_ = tc.Stash().Set("user.city", "Oslo")
		_ = tc.Stash().Set("user.name.first", "Ann")
		_ = tc.Stash().Set("seen", []any{1, 2.0, time.Unix(0, 0).UTC()})
		_ = tc.Stash().Set("seen.0", 5)
		_ = tc.Stash().Set("a..b", 5)
		_ = tc.Stash().Set("never.there", nil)
		_ = tc.Stash().Set("empty", nil)
		return tc.Stash().Set("tree", map[string]any{"deep": map[string]any{"x": nil, "y": int64(5)}})
	})}
	t.config.Executor.Run = func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if dc.Iteration() > 0 {
			return dc.Ack()
		}
		_ = dc.Stash().Set("user", nil)
		_ = dc.Stash().Set("tree.deep", "a leaf now")
		return dc.Stash().Set("only.here", true)
	}
}

func toolsTurn(t *sampleKit) {
	t.config.Tools = []*adk.Tool{weatherTool()}
	t.kept.tools.all = []*adk.Tool{aTool("map", "Shows a map.", true, weatherless)}
	t.config.TurnInput = []adk.TurnMiddleware{turnStep("fetch", func(ctx context.Context, tc *adk.TurnContext) error {
		for _, tool := range must(tc.Tools().Fetch(ctx)) {
			_ = tc.Tools().Register(tool)
			_ = tc.Tools().Register(tool)
		}
		return nil
	})}
	t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if dc.Iteration() > 0 {
			return dc.Ack()
		}
		_ = dc.Tools().Replace(aTool("weather", "Tells more of the weather.", false, weatherless))
		_ = dc.Tools().Register(aTool("own", "The dispatch's own.", false, weatherless))
		_, _ = dc.Tools().Unregister("own")
		_, _ = dc.Tools().Unregister("own")
		off := must(dc.OnAck("never", func(*adk.DispatchContext) {}))
		off()
		_ = must(dc.Tools().Bind())
		return nil
	}
}

// weatherless is a call of the weather tool that was not answered.
func weatherless(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
	return adk.Bytes{1, 2, 3}, nil
}

// emitsTurn emits on its own, and reports from within a listener.
func emitsTurn(t *sampleKit) {
	var helpers *adk.Helpers
	t.raw.Functional.Message = func(e adk.MessageEvent) {
		if e.Delta == "first " {
			_ = must(helpers.ReportMessage("m", "second ", false))
			_ = must(helpers.ReportThought("m", "another space", true))
			helpers.Log(adk.LevelDebug, "", "from the listener", nil)
		}
	}
	t.config.TurnInput = []adk.TurnMiddleware{turnStep("emits", func(_ context.Context, tc *adk.TurnContext) error {
		_ = tc.EmitMessage(adk.MessageEvent{ID: "own", Delta: "Hello", Full: "something else", Complete: true})
		_ = tc.EmitThought(adk.ThoughtEvent{ID: "own", Delta: "hm"})
		return tc.EmitToolCall(adk.ToolCallEvent{ID: "own", Tool: "weather", Args: map[string]any{"city": "Oslo"}, Checksum: "made up"})
	})}
	t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		helpers = h
		_ = must(h.ReportMessage("m", "first ", false))
		_ = must(h.ReportMessage("m", "third", true))
		_, _ = h.ReportToolCall("c", adk.ToolCallReport{Tool: "weather", Args: "no object"})
		_ = must(h.ReportToolCall("c", adk.ToolCallReport{Tool: "weather", Args: map[string]any{"city": "Oslo", "days": 2.5}, IsError: true}))
		_ = must(h.ReportToolCall("c", adk.ToolCallReport{Results: adk.Bytes("xy"), Complete: true}))
		return dc.Ack()
	}
}

// mediaTurn opens media in every way in which that can end, in one that does
// something of its own meanwhile, and twice at once.
func mediaTurn(t *sampleKit) {
	photo := aMedia("photo", adk.MediaBytes([]byte("a cat\x00\xff")))
	t.kept.messages.kept = []*adk.Message{must(adk.NewMessage(adk.MessageInit{ID: "q", Role: adk.RoleUser,
		Attachments: []*adk.Media{photo, aMedia("unopened", adk.MediaBytes([]byte("nobody looks")))}, CreatedAt: foldStart, UpdatedAt: foldStart}))}
	t.config.TurnInput = []adk.TurnMiddleware{turnStep("look", func(ctx context.Context, tc *adk.TurnContext) error {
		if err := hydrate(ctx, tc); err != nil {
			return err
		}
		_ = must(tc.OpenMedia(ctx, photo))
		_ = must(tc.OpenMedia(ctx, aMedia("empty", adk.MediaBytes(nil))))
		_, _ = tc.OpenMedia(ctx, aMedia("broken", mediaFails(errors.New("404 Not Found"))))
		_, _ = tc.OpenMedia(ctx, aMedia("hostile", adk.MediaFunc(func(context.Context) (io.ReadCloser, error) { panic("the codec\nfell over") })))
		_ = must(tc.OpenMedia(ctx, aMedia("fetched", adk.MediaFunc(func(ctx context.Context) (io.ReadCloser, error) {
			_ = tc.NewID()
			_ = must(tc.Memories().Fetch(ctx))
			return io.NopCloser(strings.NewReader("fetched")), nil
		}))))
		_, _ = tc.OpenMedia(ctx, nil)
		return nil
	})}
	fails := true
	flaky := aMedia("flaky", adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		if fails = !fails; !fails {
			return nil, io.ErrUnexpectedEOF
		}
		return io.NopCloser(strings.NewReader("at last")), nil
	}))
	t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, _ = dc.OpenMedia(ctx, flaky)
		data := must(dc.OpenMedia(ctx, flaky))
		return errors.Join(dc.Stash().Set("seen", string(data)), dc.Ack())
	}
}

func mediaFails(err error) adk.MediaReader {
	return adk.MediaFunc(func(context.Context) (io.ReadCloser, error) { return nil, err })
}

// twoIterations stores in both of two iterations, and ends the second one in
// the output pipeline.
func twoIterations(t *sampleKit, end func(*adk.DispatchContext) error) {
	t.config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		id := fmt.Sprintf("in-%d", dc.Iteration())
		return dc.Messages().Store(ctx, aMessage(id, adk.RoleAssistant, id))
	}
	t.config.DispatchOutput = []adk.DispatchMiddleware{dispatchStep("judge", func(_ context.Context, dc *adk.DispatchContext) error {
		if dc.Iteration() == 0 {
			return nil
		}
		return end(dc)
	})}
}

// lateTurn uses handles that have ended.
func lateTurn(t *sampleKit) {
	var kept *adk.TurnContext
	var off func()
	t.config.TurnInput = []adk.TurnMiddleware{turnStep("keeps", func(_ context.Context, tc *adk.TurnContext) error {
		kept = tc
		return nil
	})}
	t.config.DispatchInput = []adk.DispatchMiddleware{{Name: "forgets", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		off = must(dc.OnAck("forgotten", func(*adk.DispatchContext) {}))
		next(ctx)
		return nil
	}}}
	t.config.TurnOutput = []adk.TurnMiddleware{turnStep("uses", func(_ context.Context, _ *adk.TurnContext) error {
		_ = kept.Stash().Set("a", 1)
		_, _ = kept.OpenMedia(context.Background(), aMedia("late", adk.MediaBytes(nil)))
		off()
		return nil
	})}
}

package tracetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// AllTurns cover what a fold must handle: every collection, every way in which a dispatch ends,
// strands, gates, streams and tools.
var AllTurns = []SampleTurn{
	{"weather", WeatherTurn},
	{"collections", collectionsTurn},
	{"strands", strandsTurn},
	{"nack", nackTurn},
	{"gate", gateTurn},
	{"trouble", troubleTurn},
	{"stash", stashTurn},
	{"tools", toolsTurn},
	{"emits", emitsTurn},
	{"media", mediaTurn},
	{"write-behind", func(t *SampleKit) { collectionsTurn(t); t.Config.WriteBehind = true }},
	{"flush refused", func(t *SampleKit) {
		collectionsTurn(t)
		t.Config.WriteBehind = true
		t.Kept[adk.Thoughts].Refuse = errors.New("the disk is full")
	}},
	{"flush aborted", func(t *SampleKit) { // the iteration ends, and the turn does not get what it stored (DEL-3)
		twoIterations(t, (*adk.DispatchContext).Ack)
		t.Config.WriteBehind = true
		t.Kept[adk.Messages].storing = func() { t.cancel(errors.New("the user has left")) }
	}},
	{"storage refuses", func(t *SampleKit) { WeatherTurn(t); t.Kept[adk.Messages].Refuse = errors.New("the disk is full") }},
	{"nack in the output", func(t *SampleKit) {
		twoIterations(t, func(dc *adk.DispatchContext) error { return dc.Nack(errors.New("not good enough")) })
	}},
	{"abort in the output", func(t *SampleKit) {
		twoIterations(t, func(dc *adk.DispatchContext) error { return dc.Abort(errors.New("enough")) })
	}},
	{"ack in the output", func(t *SampleKit) { twoIterations(t, (*adk.DispatchContext).Ack) }},
	{"panic in the output", func(t *SampleKit) { twoIterations(t, func(*adk.DispatchContext) error { panic("boom") }) }},
	{"abort after ack", func(t *SampleKit) {
		twoIterations(t, func(dc *adk.DispatchContext) error { return errors.Join(dc.Ack(), dc.Abort(nil)) })
	}},
	{"cancelled from outside", func(t *SampleKit) { t.cancel(errors.New("the user left")) }},
	{"late", lateTurn},
	{"asks", AsksTurn},
	{"goexit", func(t *SampleKit) {
		t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_ = dc.Messages().Store(ctx, AMessage("m", adk.RoleUser, "lost"))
			runtime.Goexit()
			return nil
		}
	}},
	{"executor aborts", func(t *SampleKit) {
		t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_ = dc.Messages().Store(ctx, AMessage("m", adk.RoleUser, "lost"))
			return adk.Aborted(errors.New("the budget is spent"))
		}
	}},
	{"many deltas", func(t *SampleKit) {
		t.Config.Executor.Run = func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for range 200 {
				_ = Must(h.ReportMessage("long", "ja ", false))
			}
			_ = Must(h.ReportMessage("long", "!", true))
			return dc.Ack()
		}
	}},
}

// WeatherTurn is the turn that everybody writes first: two iterations, of which the first runs a
// tool and the second answers.
func WeatherTurn(t *SampleKit) {
	t.Kept[adk.Messages].Kept = []adk.Record{AMessage("msg-7f3a", adk.RoleUser, "What is the weather in Oslo?")}
	t.Raw.Instructions = []string{"Answer in one sentence."}
	tool := weatherTool()
	t.Config.Tools = []*adk.Tool{tool}
	t.Config.TurnInput = []adk.TurnMiddleware{TurnStep("hydrate", Hydrate)}
	t.Config.TurnOutput = []adk.TurnMiddleware{TurnStep("notify", func(_ context.Context, tc *adk.TurnContext) error {
		return tc.Stash().Set("answered.at", tc.Now().Unix())
	})}
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if dc.Iteration() == 0 {
			return askWeather(ctx, dc, h, tool)
		}
		return answerWeather(ctx, dc, h)
	}
}

func askWeather(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, tool *adk.Tool) error {
	_ = Must(h.ReportThought("th-1", "I have to look.", true))
	_ = Must(h.ReportToolCall("call_9x", adk.ToolCallReport{Tool: "weather"}))
	_ = Must(h.ReportToolCall("call_9x", adk.ToolCallReport{Args: `{"city": "Oslo"}`}))
	result, err := dc.Execute(ctx, tool, `{"city": "Oslo"}`)
	if err != nil {
		return err
	}
	_ = Must(h.ReportToolCall("call_9x", adk.ToolCallReport{Results: result, Complete: true}))
	return dc.ToolCalls().Store(ctx, AToolCall("call_9x", "Oslo", "4 °C"))
}

func answerWeather(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	id := dc.NewID()
	_ = Must(h.ReportMessage(id, "It is 4 °C ", false))
	_ = dc.Sleep(ctx, 1500*time.Millisecond)
	_ = Must(h.ReportMessage(id, "in Oslo.", true))
	h.Log(adk.LevelInfo, "usage", "tokens counted", map[string]any{"in": 42, "out": 7})
	if err := dc.Messages().Store(ctx, AMessage(id, adk.RoleAssistant, "It is 4 °C in Oslo.")); err != nil {
		return err
	}
	return dc.Ack()
}

// collectionsTurn does everything that can be done with a record, on the turn and on the dispatch.
func collectionsTurn(t *SampleKit) {
	t.Raw.Instructions = []string{"Be brief.", "Be kind."}
	t.Kept[adk.Messages].Kept = []adk.Record{AMessage("a", adk.RoleUser, "one"), AMessage("b", adk.RoleUser, "two")}
	t.Kept[adk.Memories].Kept = []adk.Record{AMemory("a", "likes tea")}
	t.Config.TurnInput = []adk.TurnMiddleware{TurnStep("hydrate", func(ctx context.Context, tc *adk.TurnContext) error {
		_, _ = tc.Memories().Add(Must(tc.Memories().Fetch(ctx))[0])
		_, _ = tc.Retrievables().Add(aRetrievable("a", "Oslo is cold"))
		_, _ = tc.Thoughts().Add(AThought("a", "hm"))
		_, _ = tc.ToolCalls().Add(AToolCall("a", "Oslo", "3 °C"))
		_, _ = tc.Instructions().Remove("Be kind.")
		_, _ = tc.Instructions().Remove("Be rude.")
		_, _ = tc.Instructions().Fetch(ctx)
		_ = tc.Messages().Store(ctx, AMessage("unseen", adk.RoleUser, "kept, and not shown"))
		return Hydrate(ctx, tc)
	})}
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_ = dc.Messages().Store(ctx, AMessage("c", adk.RoleAssistant, "three"))
		_ = dc.Messages().Mutate(ctx, AMessage("a", adk.RoleUser, "ONE"))
		_ = dc.Messages().Delete(ctx, "b")
		_ = dc.Messages().Delete(ctx, "nobody")
		_ = dc.Memories().Store(ctx, AMemory("b", "likes snow"))
		_ = dc.Retrievables().Delete(ctx, "a")
		_ = dc.Thoughts().Mutate(ctx, AThought("b", "aha"))
		_ = dc.ToolCalls().Store(ctx, AToolCall("b", "Rome", "20 °C"))
		_ = dc.Instructions().Store(ctx, adk.NewTokenizable("Be exact."))
		_, _ = dc.Messages().Add(AMessage("local", adk.RoleUser, "in the dispatch alone"))
		if dc.Iteration() == 0 {
			return nil
		}
		return dc.Ack()
	}
}

// toldWaits are channels that are closed one after the other as waits for strands are recorded.
type toldWaits []chan bool

// Observe returns the observer of the run.
func (w *toldWaits) Observe(adk.RunInfo) adk.Observer { return w }

// The run is not scheduled: Begin, Park and Resume do nothing.
func (*toldWaits) Begin(adk.Step)        {}
func (*toldWaits) Park(int, func() bool) {}
func (*toldWaits) Resume(int)            {}

// Tell closes the next channel if a strand is waited for.
func (w *toldWaits) Tell(x *adk.Crossing) {
	if x.Kind == adk.KindWait && x.Phase == adk.Begin && len(*w) > 0 {
		close((*w)[0])
		*w = (*w)[1:]
	}
}

// strandsTurn fetches in two strands, whose steps interleave in a fixed order.
func strandsTurn(t *SampleKit) {
	t.Kept[adk.Messages].Kept = []adk.Record{AMessage("a", adk.RoleUser, "Hello")}
	t.Kept[adk.Memories].Kept = []adk.Record{AMemory("b", "likes tea")}
	// A strand goes on only after the wait for it was recorded, so the order is the same however
	// busy the machine is.
	waited := []chan bool{make(chan bool), make(chan bool)}
	told := toldWaits(waited)
	t.Config.Probe = adk.MultiProbe(t.Config.Probe, &told)
	t.Config.TurnInput = []adk.TurnMiddleware{TurnStep("hydrate", func(ctx context.Context, tc *adk.TurnContext) error {
		begun := make(chan bool)
		first := Must(tc.Fork(ctx, "messages", func(ctx context.Context, tc *adk.TurnContext) error {
			tc.Now()
			begun <- true
			<-waited[0]
			return Hydrate(ctx, tc)
		}))
		<-begun
		second := Must(tc.Fork(ctx, "memories", func(ctx context.Context, tc *adk.TurnContext) error {
			all := Must(tc.Memories().Fetch(ctx))
			begun <- true
			<-waited[1]
			_, err := tc.Memories().Add(all[0])
			return errors.Join(err, errors.New("the index is stale"))
		}))
		<-begun
		_ = first.Wait()
		_ = second.Wait()
		return nil
	})}
}

// nackTurn stores, fails, and therefore leaves nothing in the turn.
func nackTurn(t *SampleKit) {
	tool := weatherTool()
	t.Config.Tools = []*adk.Tool{tool}
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		_ = dc.Messages().Store(ctx, AMessage("a", adk.RoleAssistant, "I will look that up."))
		if _, err := dc.Execute(ctx, tool, map[string]any{"town": 1}); err != nil {
			h.Log(adk.LevelWarn, "", "bad arguments", nil)
		}
		if _, err := dc.Execute(ctx, tool, map[string]any{"city": "Atlantis"}); err != nil {
			return errors.Join(dc.Nack(err), dc.Ack())
		}
		return nil
	}
}

// gateTurn asks a person before it refunds, and asks a second time too late.
func gateTurn(t *SampleKit) {
	t.Raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		if e.Gate.ID() == "approve-1" {
			_, _ = e.Gate.Resolve("bob", "perhaps")
			_, _ = e.Gate.Resolve("alice", true)
		}
	}
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
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

// troubleTurn consists of hostile strings and contained failures.
func troubleTurn(t *SampleKit) {
	t.Raw.SystemPrompt = "Be nice.\n\x1b[31mred\x1b[0m \u202eevil\u2066"
	t.Raw.Functional.Message = func(adk.MessageEvent) { panic("the listener\nfell over \x1b[2J") }
	t.Config.Executor.Name = "model \x1b[1m"
	t.Config.DispatchInput = []adk.DispatchMiddleware{{Name: "twice", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		next(ctx)
		next(ctx)
		return nil
	}}}
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		_ = dc.Stash().Set("key", "\x1b]0;title\x07\u0085")
		_ = Must(h.ReportMessage("m", "half a rune \xc3", true))
		_, err := h.ReportMessage("m", "too late", false)
		_, _ = dc.OnAck("bad handler", func(context.Context, *adk.DispatchContext) { panic(fmt.Errorf("cleanup: %w", err)) })
		_ = dc.Messages().Store(ctx, AMessage("long", adk.RoleAssistant, fmt.Sprintf("%0500d", 7)))
		return dc.Ack()
	}
	t.Config.TurnOutput = []adk.TurnMiddleware{{Name: "fails", Run: func(_ context.Context, tc *adk.TurnContext, _ adk.Next) error {
		panic("no next\nfor you")
	}}}
}

func stashTurn(t *SampleKit) {
	t.Raw.Stash = map[string]any{"user": map[string]any{"name": "Ann", "age": 30, "gone": nil}, "empty": map[string]any{}}
	t.Config.TurnInput = []adk.TurnMiddleware{TurnStep("set", func(_ context.Context, tc *adk.TurnContext) error {
		_ = tc.Stash().Set("user.city", "Oslo")
		_ = tc.Stash().Set("user.name.first", "Ann")
		_ = tc.Stash().Set("seen", []any{1, 2.0, time.Unix(0, 0).UTC()})
		_ = tc.Stash().Set("seen.0", 5)
		_ = tc.Stash().Set("a..b", 5)
		_ = tc.Stash().Set("never.there", nil)
		_ = tc.Stash().Set("empty", nil)
		return tc.Stash().Set("tree", map[string]any{"deep": map[string]any{"x": nil, "y": int64(5)}})
	})}
	t.Config.Executor.Run = func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if dc.Iteration() > 0 {
			return dc.Ack()
		}
		_ = dc.Stash().Set("user", nil)
		_ = dc.Stash().Set("tree.deep", "a leaf now")
		return dc.Stash().Set("only.here", true)
	}
}

func toolsTurn(t *SampleKit) {
	t.Config.Tools = []*adk.Tool{weatherTool()}
	t.Kept[adk.Tools].Kept = []adk.Record{ATool("map", "Shows a map.", true, Weatherless)}
	t.Config.TurnInput = []adk.TurnMiddleware{TurnStep("fetch", func(ctx context.Context, tc *adk.TurnContext) error {
		for _, tool := range Must(tc.Tools().Fetch(ctx)) {
			_ = tc.Tools().Register(tool)
			_ = tc.Tools().Register(tool)
		}
		return nil
	})}
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if dc.Iteration() > 0 {
			return dc.Ack()
		}
		_ = dc.Tools().Replace(ATool("weather", "Tells more of the weather.", false, Weatherless))
		_ = dc.Tools().Register(ATool("own", "The dispatch's own.", false, Weatherless))
		_, _ = dc.Tools().Unregister("own")
		_, _ = dc.Tools().Unregister("own")
		off := Must(dc.OnAck("never", func(context.Context, *adk.DispatchContext) {}))
		off()
		_ = Must(dc.Tools().Bind())
		return nil
	}
}

// Weatherless is the handler of a weather tool without an answer.
func Weatherless(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
	return adk.Bytes{1, 2, 3}, nil
}

// emitsTurn emits events by itself, and reports from within a listener.
func emitsTurn(t *SampleKit) {
	var helpers *adk.Helpers
	t.Raw.Functional.Message = func(e adk.MessageEvent) {
		if e.Delta == "first " {
			_ = Must(helpers.ReportMessage("m", "second ", false))
			_ = Must(helpers.ReportThought("m", "another space", true))
			helpers.Log(adk.LevelDebug, "", "from the listener", nil)
		}
	}
	t.Config.TurnInput = []adk.TurnMiddleware{TurnStep("emits", func(_ context.Context, tc *adk.TurnContext) error {
		_ = tc.EmitMessage(adk.MessageEvent{ID: "own", Delta: "Hello", Full: "something else", Complete: true})
		_ = tc.EmitThought(adk.ThoughtEvent{ID: "own", Delta: "hm"})
		return tc.EmitToolCall(adk.ToolCallEvent{ID: "own", Tool: "weather", Args: map[string]any{"city": "Oslo"}, Checksum: "made up"})
	})}
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		helpers = h
		_ = Must(h.ReportMessage("m", "first ", false))
		_ = Must(h.ReportMessage("m", "third", true))
		_, _ = h.ReportToolCall("c", adk.ToolCallReport{Tool: "weather", Args: "no object"})
		_ = Must(h.ReportToolCall("c", adk.ToolCallReport{Tool: "weather", Args: map[string]any{"city": "Oslo", "days": 2.5}, IsError: true}))
		_ = Must(h.ReportToolCall("c", adk.ToolCallReport{Results: adk.Bytes("xy"), Complete: true}))
		return dc.Ack()
	}
}

// mediaTurn opens media with every possible outcome, one that performs operations meanwhile, and
// two at once.
func mediaTurn(t *SampleKit) {
	photo := aMedia("photo", adk.MediaBytes([]byte("a cat\x00\xff")))
	t.Kept[adk.Messages].Kept = []adk.Record{Must(adk.NewMessage(adk.MessageInit{ID: "q", Role: adk.RoleUser,
		Attachments: []*adk.Media{photo, aMedia("unopened", adk.MediaBytes([]byte("nobody looks")))}, CreatedAt: FoldStart, UpdatedAt: FoldStart}))}
	t.Config.TurnInput = []adk.TurnMiddleware{TurnStep("look", func(ctx context.Context, tc *adk.TurnContext) error {
		if err := Hydrate(ctx, tc); err != nil {
			return err
		}
		_ = Must(tc.OpenMedia(ctx, photo))
		_ = Must(tc.OpenMedia(ctx, aMedia("empty", adk.MediaBytes(nil))))
		_, _ = tc.OpenMedia(ctx, aMedia("broken", mediaFails(errors.New("404 Not Found"))))
		_, _ = tc.OpenMedia(ctx, aMedia("hostile", adk.MediaFunc(func(context.Context) (io.ReadCloser, error) { panic("the codec\nfell over") })))
		_ = Must(tc.OpenMedia(ctx, aMedia("fetched", adk.MediaFunc(func(ctx context.Context) (io.ReadCloser, error) {
			_ = tc.NewID()
			_ = Must(tc.Memories().Fetch(ctx))
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
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, _ = dc.OpenMedia(ctx, flaky)
		data := Must(dc.OpenMedia(ctx, flaky))
		return errors.Join(dc.Stash().Set("seen", string(data)), dc.Ack())
	}
}

func mediaFails(err error) adk.MediaReader {
	return adk.MediaFunc(func(context.Context) (io.ReadCloser, error) { return nil, err })
}

// twoIterations stores in both of two iterations, and ends the second one in the output pipeline.
func twoIterations(t *SampleKit, end func(*adk.DispatchContext) error) {
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		id := fmt.Sprintf("in-%d", dc.Iteration())
		return dc.Messages().Store(ctx, AMessage(id, adk.RoleAssistant, id))
	}
	t.Config.DispatchOutput = []adk.DispatchMiddleware{dispatchStep("judge", func(_ context.Context, dc *adk.DispatchContext) error {
		if dc.Iteration() == 0 {
			return nil
		}
		return end(dc)
	})}
}

// lateTurn uses handles that have ended.
func lateTurn(t *SampleKit) {
	var kept *adk.TurnContext
	var off func()
	t.Config.TurnInput = []adk.TurnMiddleware{TurnStep("keeps", func(_ context.Context, tc *adk.TurnContext) error {
		kept = tc
		return nil
	})}
	t.Config.DispatchInput = []adk.DispatchMiddleware{{Name: "forgets", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		off = Must(dc.OnAck("forgotten", func(context.Context, *adk.DispatchContext) {}))
		next(ctx)
		return nil
	}}}
	t.Config.TurnOutput = []adk.TurnMiddleware{TurnStep("uses", func(_ context.Context, _ *adk.TurnContext) error {
		_ = kept.Stash().Set("a", 1)
		_, _ = kept.OpenMedia(context.Background(), aMedia("late", adk.MediaBytes(nil)))
		off()
		return nil
	})}
}

// SampleTurns runs each of the sample turns and passes its crossings to yield, for tests outside of
// this package.
func SampleTurns(t testing.TB, yield func(name string, info adk.RunInfo, told []*adk.Crossing)) {
	t.Helper()
	for _, turn := range AllTurns {
		probe := turn.observe(t)
		yield(turn.Name, probe.info, probe.told)
	}
}

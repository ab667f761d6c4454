package replay

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// foldStart is when the turns of these tests begin.
var foldStart = time.Date(2025, 1, 1, 9, 0, 0, 0, time.UTC)

// stillClock stands still, but for timers: a timer fires at once and takes the
// clock along.
type stillClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *stillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) AfterFunc(d time.Duration, fire func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(max(d, 0))
	fire()
	return func() bool { return false }
}

// countedIDs are id-1, id-2, …
type countedIDs struct {
	mu sync.Mutex
	n  int
}

func (c *countedIDs) NewID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return fmt.Sprintf("id-%d", c.n)
}

// keptShelf is a collection in memory; refuse makes every write fail, and while
// it stores it calls storing.
type keptShelf[T adk.Record] struct {
	mu     sync.Mutex
	kept   []T
	refuse error

	storing func()
}

func (s *keptShelf[T]) Fetch(context.Context, adk.Scope) ([]T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept), nil
}

func (s *keptShelf[T]) Store(_ context.Context, _ adk.Scope, record T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.storing != nil {
		s.storing()
	}
	if s.refuse == nil {
		s.kept = append(s.kept, record)
	}
	return s.refuse
}

func (s *keptShelf[T]) Mutate(context.Context, adk.Scope, T) error { return s.refuse }

func (s *keptShelf[T]) Delete(context.Context, adk.Scope, string) error { return s.refuse }

type keptTools struct{ all []*adk.Tool }

func (k keptTools) Fetch(context.Context, adk.Scope) ([]*adk.Tool, error) { return k.all, nil }

// keptShelves is a storage whose parts a test can reach.
type keptShelves struct {
	messages     keptShelf[*adk.Message]
	memories     keptShelf[*adk.Memory]
	retrievables keptShelf[*adk.Retrievable]
	thoughts     keptShelf[*adk.Thought]
	toolCalls    keptShelf[*adk.ToolCall]
	instructions keptShelf[*adk.Tokenizable]
	tools        keptTools
}

func (s *keptShelves) storage() adk.Storage {
	return adk.Storage{Messages: &s.messages, Memories: &s.memories, Retrievables: &s.retrievables, Thoughts: &s.thoughts,
		ToolCalls: &s.toolCalls, Instructions: &s.instructions, Tools: s.tools}
}

// copying is a probe that copies what it is told, with all that its owner may
// change.
type copying struct {
	info adk.RunInfo
	told []*adk.Crossing
}

func (c *copying) Observe(info adk.RunInfo) adk.Observer {
	c.info = info
	return c
}
func (c *copying) Begin(adk.Step)        {}
func (c *copying) Park(int, func() bool) {}
func (c *copying) Resume(int)            {}
func (c *copying) Tell(x *adk.Crossing) {
	one := *x
	one.Texts, one.Records = slices.Clone(x.Texts), slices.Clone(x.Records)
	one.Value, one.Args = plain.Copy(x.Value), plain.Copy(x.Args)
	c.told = append(c.told, &one)
}

// sampleTurn is a turn to fold: what is configured, and what is handed to Run.
type sampleTurn struct {
	name    string
	prepare func(t *sampleKit)
}

// sampleKit is what a sampleTurn is prepared with.
type sampleKit struct {
	testing.TB
	config adk.Config
	raw    adk.RawTurn
	kept   keptShelves
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// run runs a turn and gives what crossed.
func (s sampleTurn) run(t testing.TB) []*adk.Crossing {
	t.Helper()
	return s.observe(t).told
}

// observe runs a turn and gives the probe that was told of it.
func (s sampleTurn) observe(t testing.TB) *copying {
	t.Helper()
	probe := &copying{}
	kit := &sampleKit{TB: t, raw: adk.RawTurn{SystemPrompt: "You are a weather assistant."}}
	kit.ctx, kit.cancel = context.WithCancelCause(t.Context())
	kit.config = adk.Config{Clock: &stillClock{now: foldStart}, IDs: &countedIDs{}, Probe: probe,
		Executor: adk.Executor{Name: "model", Run: acks}}
	s.prepare(kit)
	kit.config.Storage = kit.kept.storage()
	runner, err := adk.NewRunner(kit.config)
	require.NoError(t, err)
	returned, ended := error(nil), make(chan bool)
	go func() { // user code may end the goroutine (PIP-11)
		defer close(ended)
		returned = runner.Run(kit.ctx, kit.raw)
	}()
	<-ended
	require.NoError(t, returned)
	return probe
}

func acks(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }

// must gives a value that cannot fail to be made.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// aMessage is a message that says a text.
func aMessage(id string, role adk.Role, text string) *adk.Message {
	return must(adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, CreatedAt: foldStart, UpdatedAt: foldStart}))
}

func aMedia(id string, reader adk.MediaReader) *adk.Media {
	return must(adk.NewUserAttachment(adk.MediaInit{ID: id, Kind: adk.MediaImage, MIMEType: "image/png", Filename: id + ".png", Reader: reader}))
}

// aMemory is a memory of a text.
func aMemory(id, text string) *adk.Memory {
	return must(adk.NewMemory(adk.MemoryInit{ID: id, Content: text, Confidence: new(0.9), Importance: new(0.5), CreatedAt: foldStart, UpdatedAt: foldStart}))
}

func aRetrievable(id, text string) *adk.Retrievable {
	return must(adk.NewRetrievable(adk.RetrievableInit{ID: id, Content: text, TrustTier: adk.TrustThirdPartyPublic, Source: "https://weather.example/oslo",
		Score: new(0.75), CreatedAt: foldStart, UpdatedAt: foldStart}))
}

// aThought is a thought of a text.
func aThought(id, text string) *adk.Thought {
	return must(adk.NewThought(adk.ThoughtInit{ID: id, Content: text, Payload: map[string]any{"signature": "abc"}, ReplayCompatibility: "provider-1",
		CreatedAt: foldStart, UpdatedAt: foldStart}))
}

// aToolCall is a call of a tool that was answered.
func aToolCall(id, city, result string) *adk.ToolCall {
	return must(adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: "weather", Args: map[string]any{"city": city}, Results: adk.Text(result),
		CreatedAt: foldStart, UpdatedAt: foldStart, CompletedAt: foldStart}))
}

// aTool is a tool that says nothing.
func aTool(name, description string, ephemeral bool, handler adk.ToolHandler) *adk.Tool {
	return must(adk.NewTool(adk.ToolInit{Name: name, Description: description, Ephemeral: ephemeral, Handler: handler, InputSchema: []byte(
		`{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","default":"C"}},"required":["city"]}`)}))
}

func weatherTool() *adk.Tool {
	return aTool("weather", "Tells the weather in a city.", false, func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		if args["city"] == "Atlantis" {
			return nil, fmt.Errorf("there is no city %s", args["city"])
		}
		return adk.Text("4 °C"), nil
	})
}

// turnStep is a turn middleware that does something before it calls next.
func turnStep(name string, do func(ctx context.Context, tc *adk.TurnContext) error) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		if err := do(ctx, tc); err != nil {
			return err
		}
		next(ctx)
		return nil
	}}
}

// dispatchStep is turnStep for a dispatch pipeline.
func dispatchStep(name string, do func(ctx context.Context, dc *adk.DispatchContext) error) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if err := do(ctx, dc); err != nil {
			return err
		}
		next(ctx)
		return nil
	}}
}

// hydrate fetches the messages and puts them into the turn's set.
func hydrate(ctx context.Context, tc *adk.TurnContext) error {
	all, err := tc.Messages().Fetch(ctx)
	for _, message := range all {
		if _, err := tc.Messages().Add(message); err != nil {
			return err
		}
	}
	return err
}

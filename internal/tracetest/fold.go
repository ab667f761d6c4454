package tracetest

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
	"github.com/adkreplay/adkreplay/internal/storages"
)

// FoldStart is the time at which the turns of these tests begin.
var FoldStart = time.Date(2025, 1, 1, 9, 0, 0, 0, time.UTC)

// stillClock is a clock that advances only by timers: a timer fires at once, and the clock advances
// by its duration.
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

// countedIDs returns the ids id-1, id-2, …
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

// shelf is a collection in memory. Refuse makes every write fail. It calls storing whenever it
// stores.
type shelf struct {
	mu     sync.Mutex
	Kept   []adk.Record
	Refuse error

	storing func()
}

func (s *shelf) write(verb adk.Kind, record adk.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if verb != adk.KindStore {
		return s.Refuse
	}
	if s.storing != nil {
		s.storing()
	}
	if s.Refuse == nil {
		s.Kept = append(s.Kept, record)
	}
	return s.Refuse
}

// shelves implements a storage whose parts a test can access.
type shelves map[adk.CollectionName]*shelf

func newShelves() shelves {
	all := shelves{}
	for _, of := range adk.Collections() {
		all[of] = &shelf{}
	}
	return all
}

// Fetch returns the records of a shelf.
func (s shelves) Fetch(_ context.Context, _ adk.Scope, of adk.CollectionName) ([]adk.Record, error) {
	s[of].mu.Lock()
	defer s[of].mu.Unlock()
	return slices.Clone(s[of].Kept), nil
}

// Write stores a record; it ignores other operations.
func (s shelves) Write(_ context.Context, _ adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, _ string) error {
	return s[of].write(verb, record)
}

// copying is a probe that copies the crossings that it observes, including everything that their
// owner may change.
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

// SampleTurn is a turn to fold: what is configured, and what is passed to Run.
type SampleTurn struct {
	Name    string
	Prepare func(t *SampleKit)
}

// SampleKit is what a SampleTurn prepares.
type SampleKit struct {
	testing.TB
	Config adk.Config
	Raw    adk.RawTurn
	Kept   shelves
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Run runs a turn and returns its crossings.
func (s SampleTurn) Run(t testing.TB) []*adk.Crossing {
	t.Helper()
	return s.observe(t).told
}

// observe runs a turn and returns the probe that observed it.
func (s SampleTurn) observe(t testing.TB) *copying {
	t.Helper()
	probe := &copying{}
	s.runWith(t, probe)
	return probe
}

// RunUnobserved runs a turn that only its own probe observes.
func (s SampleTurn) RunUnobserved(t testing.TB) { s.runWith(t, nil) }

func (s SampleTurn) runWith(t testing.TB, probe adk.Probe) {
	t.Helper()
	kit := &SampleKit{TB: t, Raw: adk.RawTurn{SystemPrompt: "You are a weather assistant."}, Kept: newShelves()}
	kit.ctx, kit.cancel = context.WithCancelCause(t.Context())
	kit.Config = adk.Config{Clock: &stillClock{now: FoldStart}, IDs: &countedIDs{}, Probe: probe,
		Executor: adk.Executor{Name: "model", Run: acks}}
	s.Prepare(kit)
	kit.Config.Storage = storages.Of(kit.Kept)
	runner, err := adk.NewRunner(kit.Config)
	require.NoError(t, err)
	returned, ended := error(nil), make(chan bool)
	go func() { // user code may end the goroutine (PIP-11)
		defer close(ended)
		returned = runner.Run(kit.ctx, kit.Raw)
	}()
	<-ended
	require.NoError(t, returned)
}

func acks(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }

// AMessage returns a message with a text.
func AMessage(id string, role adk.Role, text string) *adk.Message {
	return Must(adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, CreatedAt: FoldStart, UpdatedAt: FoldStart}))
}

func aMedia(id string, reader adk.MediaReader) *adk.Media {
	return Must(adk.NewUserAttachment(adk.MediaInit{ID: id, Kind: adk.MediaImage, MIMEType: "image/png", Filename: id + ".png", Reader: reader}))
}

// AMemory returns a memory with a text.
func AMemory(id, text string) *adk.Memory {
	return Must(adk.NewMemory(adk.MemoryInit{ID: id, Content: text, Confidence: new(0.9), Importance: new(0.5), CreatedAt: FoldStart, UpdatedAt: FoldStart}))
}

func aRetrievable(id, text string) *adk.Retrievable {
	return Must(adk.NewRetrievable(adk.RetrievableInit{ID: id, Content: text, TrustTier: adk.TrustThirdPartyPublic, Source: "https://weather.example/oslo",
		Score: new(0.75), CreatedAt: FoldStart, UpdatedAt: FoldStart}))
}

// AThought returns a thought with a text.
func AThought(id, text string) *adk.Thought {
	return Must(adk.NewThought(adk.ThoughtInit{ID: id, Content: text, Payload: map[string]any{"signature": "abc"}, ReplayCompatibility: "provider-1",
		CreatedAt: FoldStart, UpdatedAt: FoldStart}))
}

// AToolCall returns a tool call with a result.
func AToolCall(id, city, result string) *adk.ToolCall {
	return Must(adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: "weather", Args: map[string]any{"city": city}, Results: adk.Text(result),
		CreatedAt: FoldStart, UpdatedAt: FoldStart, CompletedAt: FoldStart}))
}

// ATool returns a tool with a handler.
func ATool(name, description string, ephemeral bool, handler adk.ToolHandler) *adk.Tool {
	return Must(adk.NewTool(adk.ToolInit{Name: name, Description: description, Ephemeral: ephemeral, Handler: handler, InputSchema: []byte(
		`{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","default":"C"}},"required":["city"]}`)}))
}

func weatherTool() *adk.Tool {
	return ATool("weather", "Tells the weather in a city.", false, func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		if args["city"] == "Atlantis" {
			return nil, fmt.Errorf("there is no city %s", args["city"])
		}
		return adk.Text("4 °C"), nil
	})
}

// TurnStep returns a turn middleware that calls do before it calls next.
func TurnStep(name string, do func(ctx context.Context, tc *adk.TurnContext) error) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		if err := do(ctx, tc); err != nil {
			return err
		}
		next(ctx)
		return nil
	}}
}

// dispatchStep is TurnStep for a dispatch pipeline.
func dispatchStep(name string, do func(ctx context.Context, dc *adk.DispatchContext) error) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if err := do(ctx, dc); err != nil {
			return err
		}
		next(ctx)
		return nil
	}}
}

// Loading returns the middleware load, which fetches the records of some collections from the
// storage and adds them to the turn's sets.
func Loading(of ...adk.CollectionName) adk.TurnMiddleware {
	return TurnStep("load", func(ctx context.Context, tc *adk.TurnContext) error {
		for _, name := range of {
			if err := hydrate(ctx, storages.SetOf(tc.Handle, name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Hydrate fetches the messages and adds them to the turn's set.
func Hydrate(ctx context.Context, tc *adk.TurnContext) error {
	return hydrate(ctx, storages.SetOf(tc.Handle, adk.Messages))
}

func hydrate(ctx context.Context, set storages.Set) error {
	all, err := set.Fetch(ctx)
	for _, record := range all {
		if _, err := set.Add(record); err != nil {
			return err
		}
	}
	return err
}

// Find returns the first crossing of a kind and phase.
func Find(told []*adk.Crossing, kind adk.Kind, phase adk.Phase) *adk.Crossing {
	for _, x := range told {
		if x.Kind == kind && x.Phase == phase {
			return x
		}
	}
	panic("there is no " + kind.String())
}

package fakes

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// This file holds all code of the package that names each collection.

// Storage implements the storage obligations in memory. Each collection keeps its records in the
// order in which their keys were first stored. Storage also logs all calls, in the order in which
// they came, and fails on demand (Fail). As with a database, an obligation whose context has ended
// does nothing and returns the context's Err. To keep something after an abort, use
// context.WithoutCancel, or IgnoreContexts, which makes the storage ignore that a context has
// ended. It is safe for concurrent use.
type Storage struct {
	mu           sync.Mutex
	messages     shelf[*adk.Message]
	memories     shelf[*adk.Memory]
	retrievables shelf[*adk.Retrievable]
	thoughts     shelf[*adk.Thought]
	toolCalls    shelf[*adk.ToolCall]
	instructions shelf[*adk.Tokenizable]
	tools        shelf[*adk.Tool]
	calls        []StorageCall
	faults       []*countedFault
	heedless     bool // work although the context of a call has ended
}

// NewStorage makes a storage that holds the given records, each in the collection of its type. It
// panics on a media, which no collection holds, and on a record that no constructor made.
func NewStorage(seed ...adk.Record) *Storage {
	s := &Storage{}
	for i, record := range seed {
		if record == nil {
			panic(fmt.Sprintf("fakes: NewStorage: record %d is nil", i))
		}
		if _, err := record.MarshalJSON(); err != nil {
			panic(fmt.Sprintf("fakes: NewStorage: record %d: %s", i, err))
		}
		switch r := record.(type) {
		case *adk.Message:
			s.messages.put(r)
		case *adk.Memory:
			s.memories.put(r)
		case *adk.Retrievable:
			s.retrievables.put(r)
		case *adk.Thought:
			s.thoughts.put(r)
		case *adk.ToolCall:
			s.toolCalls.put(r)
		case *adk.Tokenizable:
			s.instructions.put(r)
		case *adk.Tool:
			s.tools.put(r)
		default:
			panic(fmt.Sprintf("fakes: NewStorage: no collection holds a %T", record))
		}
	}
	return s
}

// Storage returns the obligations in the form in which a config takes them.
func (s *Storage) Storage() adk.Storage {
	all := struct { // a single allocation, because an explorer makes a storage for every run
		messages     collection[*adk.Message]
		memories     collection[*adk.Memory]
		retrievables collection[*adk.Retrievable]
		thoughts     collection[*adk.Thought]
		toolCalls    collection[*adk.ToolCall]
		instructions collection[*adk.Tokenizable]
		tools        collection[*adk.Tool]
	}{
		messages:     collection[*adk.Message]{s, adk.Messages, &s.messages},
		memories:     collection[*adk.Memory]{s, adk.Memories, &s.memories},
		retrievables: collection[*adk.Retrievable]{s, adk.Retrievables, &s.retrievables},
		thoughts:     collection[*adk.Thought]{s, adk.Thoughts, &s.thoughts},
		toolCalls:    collection[*adk.ToolCall]{s, adk.ToolCalls, &s.toolCalls},
		instructions: collection[*adk.Tokenizable]{s, adk.Instructions, &s.instructions},
		tools:        collection[*adk.Tool]{s, adk.Tools, &s.tools},
	}
	return adk.Storage{Messages: &all.messages, Memories: &all.memories, Retrievables: &all.retrievables, Thoughts: &all.thoughts,
		ToolCalls: &all.toolCalls, Instructions: &all.instructions, Tools: &all.tools}
}

// Messages returns the stored messages, in order.
func (s *Storage) Messages() []*adk.Message { return contents(s, &s.messages) }

// Memories returns the stored memories, in order.
func (s *Storage) Memories() []*adk.Memory { return contents(s, &s.memories) }

// Retrievables returns the stored retrievables, in order.
func (s *Storage) Retrievables() []*adk.Retrievable { return contents(s, &s.retrievables) }

// Thoughts returns the stored thoughts, in order.
func (s *Storage) Thoughts() []*adk.Thought { return contents(s, &s.thoughts) }

// ToolCalls returns the stored tool calls, in order.
func (s *Storage) ToolCalls() []*adk.ToolCall { return contents(s, &s.toolCalls) }

// Instructions returns the stored standing instructions, in order.
func (s *Storage) Instructions() []*adk.Tokenizable { return contents(s, &s.instructions) }

// Tools returns the stored tools, in order.
func (s *Storage) Tools() []*adk.Tool { return contents(s, &s.tools) }

// NoOpStorage returns a storage that keeps nothing and fetches nothing. A config that wants no
// storage must say so with it (RUN-2).
func NoOpStorage() adk.Storage { return storages.NoOp() }

// checkCollections checks all collections that can be written to.
func (s *storageSuite) checkCollections() {
	checkCollection(s, shelfOf[*adk.Message]{adk.Messages, func(of adk.Storage) adk.Collection[*adk.Message] { return of.Messages }, sampleMessage, edgyMessages})
	checkCollection(s, shelfOf[*adk.Memory]{adk.Memories, func(of adk.Storage) adk.Collection[*adk.Memory] { return of.Memories }, sampleMemory, edgyMemories})
	checkCollection(s, shelfOf[*adk.Retrievable]{adk.Retrievables, func(of adk.Storage) adk.Collection[*adk.Retrievable] { return of.Retrievables }, sampleRetrievable, edgyRetrievables})
	checkCollection(s, shelfOf[*adk.Thought]{adk.Thoughts, func(of adk.Storage) adk.Collection[*adk.Thought] { return of.Thoughts }, sampleThought, edgyThoughts})
	checkCollection(s, shelfOf[*adk.ToolCall]{adk.ToolCalls, func(of adk.Storage) adk.Collection[*adk.ToolCall] { return of.ToolCalls }, sampleToolCall, edgyToolCalls})
	checkCollection(s, shelfOf[*adk.Tokenizable]{adk.Instructions, func(of adk.Storage) adk.Collection[*adk.Tokenizable] { return of.Instructions }, sampleInstruction, edgyInstructions})
}

func sampleMessage(key, text string) (*adk.Message, error) {
	return adk.NewMessage(adk.MessageInit{ID: key, Role: adk.RoleUser, Content: text, CreatedAt: Epoch, UpdatedAt: Epoch})
}

func sampleMemory(key, text string) (*adk.Memory, error) {
	return adk.NewMemory(adk.MemoryInit{ID: key, Content: text, Confidence: new(0.5), Importance: new(0.5), CreatedAt: Epoch, UpdatedAt: Epoch})
}

func sampleRetrievable(key, text string) (*adk.Retrievable, error) {
	return adk.NewRetrievable(adk.RetrievableInit{ID: key, Content: text, TrustTier: adk.TrustFirstParty, CreatedAt: Epoch, UpdatedAt: Epoch})
}

func sampleThought(key, text string) (*adk.Thought, error) {
	return adk.NewThought(adk.ThoughtInit{ID: key, Content: text, CreatedAt: Epoch, UpdatedAt: Epoch})
}

func sampleToolCall(key, text string) (*adk.ToolCall, error) {
	return adk.NewToolCall(adk.ToolCallInit{ID: key, Tool: "sample", Args: map[string]any{}, Results: adk.Text(text),
		CreatedAt: Epoch, UpdatedAt: Epoch, CompletedAt: Epoch})
}

func sampleInstruction(key, _ string) (*adk.Tokenizable, error) { return adk.NewTokenizable(key), nil }

// The edgy records are hard to store without loss. They are made of the values in
// suite_storage_edges.go.

func edgyMessages() ([]*adk.Message, error) {
	medias, err := edgyMedias()
	if err != nil {
		return nil, err
	}
	speaker, err := adk.NewIdentity(int64(1)<<53+1, edgyText)
	if err != nil {
		return nil, err
	}
	return makeAll(adk.NewMessage,
		adk.MessageInit{ID: "text", Role: adk.RoleUser, Content: edgyText, Identity: speaker, CreatedAt: edgyTime, UpdatedAt: edgyTime.Add(1)},
		adk.MessageInit{ID: "media", Role: adk.RoleAssistant, Attachments: medias, CreatedAt: time.Unix(-1, 1), UpdatedAt: edgyTime},
		adk.MessageInit{ID: "long", Role: adk.RoleUser, Content: strings.Repeat("\x00🎉", 13_000), CreatedAt: Epoch, UpdatedAt: Epoch})
}

func edgyMemories() ([]*adk.Memory, error) {
	return makeAll(adk.NewMemory,
		adk.MemoryInit{ID: "small", Content: edgyText, Confidence: new(math.SmallestNonzeroFloat64), Importance: new(1.0), CreatedAt: edgyTime, UpdatedAt: edgyTime},
		adk.MemoryInit{ID: "odd", Content: " ", Confidence: new(0.1 + 0.2), Importance: new(0.0), CreatedAt: edgyTime, UpdatedAt: edgyTime})
}

func edgyRetrievables() ([]*adk.Retrievable, error) {
	return makeAll(adk.NewRetrievable,
		adk.RetrievableInit{ID: "all", Content: edgyText, TrustTier: adk.TrustThirdPartyPrivate, Source: edgyText, Kind: edgyText, Score: new(0.1 + 0.2), CreatedAt: edgyTime, UpdatedAt: edgyTime},
		adk.RetrievableInit{ID: "bare", Content: "x", TrustTier: adk.TrustFirstParty, CreatedAt: edgyTime, UpdatedAt: edgyTime})
}

func edgyThoughts() ([]*adk.Thought, error) {
	return makeAll(adk.NewThought,
		adk.ThoughtInit{ID: "payload", Payload: edgyPlain, ReplayCompatibility: "edge/1", CreatedAt: edgyTime, UpdatedAt: edgyTime},
		adk.ThoughtInit{ID: "list", Content: edgyText, Payload: []any{edgyPlain, nil}, ReplayCompatibility: edgyText, CreatedAt: edgyTime, UpdatedAt: edgyTime})
}

func edgyToolCalls() ([]*adk.ToolCall, error) {
	medias, err := edgyMedias()
	if err != nil {
		return nil, err
	}
	call := func(id string, results adk.ToolResult, args string) adk.ToolCallInit {
		return adk.ToolCallInit{ID: id, Tool: "sample", Args: args, Results: results, CreatedAt: edgyTime, UpdatedAt: edgyTime, CompletedAt: edgyTime.Add(-time.Hour)}
	}
	failed := call("failed", adk.Text(edgyText), `{"z":9007199254740993,"a":1.50,"m":1e300,"":null,"n":{"b":[],"a":{}}}`)
	failed.IsError, failed.Inline, failed.FromArtifactTool = true, new(false), true
	return makeAll(adk.NewToolCall, failed, call("media", medias[0], `{}`), call("medias", medias, `{"n":-0.0}`), call("nothing", adk.Text(""), `{}`))
}

func edgyInstructions() ([]*adk.Tokenizable, error) {
	return []*adk.Tokenizable{adk.NewTokenizable(edgyText), adk.NewTokenizable(" "), adk.NewTokenizable("null")}, nil
}

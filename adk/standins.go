package adk

import (
	"context"
	"encoding/json"
	"fmt"
)

type base struct {
	id   string
	data []byte
}

func (b base) Key() string                  { return b.id }
func (b base) Digest() Digest               { return DigestOf(b.data) }
func (b base) MarshalJSON() ([]byte, error) { return b.data, nil }
func (b base) isRecord()                    {}

type Message struct{ base }
type Memory struct{ base }
type Retrievable struct{ base }
type Thought struct{ base }
type ToolCall struct{ base }

func (*Message) RecordKind() RecordKind     { return RecordMessage }
func (*Memory) RecordKind() RecordKind      { return RecordMemory }
func (*Retrievable) RecordKind() RecordKind { return RecordRetrievable }
func (*Thought) RecordKind() RecordKind     { return RecordThought }
func (*ToolCall) RecordKind() RecordKind    { return RecordToolCall }
func (*ToolCall) Checksum() string          { return "" }

type ToolResult interface{ isToolResult() }
type Media struct{ base }
type MediaList []*Media
type Bytes []byte

func (*Media) RecordKind() RecordKind { return RecordMedia }
func (*Media) isToolResult()          {}
func (MediaList) isToolResult()       {}
func (Bytes) isToolResult()           {}

func (*Message) PlainTag() string { return "message" }

func ParseRecord(kind RecordKind, data []byte) (Record, error) {
	b := base{data: append([]byte(nil), data...)}
	if kind == RecordInstruction {
		var text string
		err := json.Unmarshal(data, &text)
		return NewTokenizable(text), err
	}
	var id struct{ ID, Name string }
	if err := json.Unmarshal(data, &id); err != nil {
		return nil, err
	}
	b.id = id.ID + id.Name
	switch kind {
	case RecordMessage:
		return &Message{b}, nil
	case RecordMemory:
		return &Memory{b}, nil
	case RecordThought:
		return &Thought{b}, nil
	case RecordToolCall:
		return &ToolCall{b}, nil
	case RecordRetrievable:
		return &Retrievable{b}, nil
	case RecordTool:
		return &Tool{base: b}, nil
	case RecordMedia:
		return &Media{b}, nil
	}
	return nil, fmt.Errorf("no record kind %q", kind)
}
type Tool struct {
	base
	handler ToolHandler
}

func (*Tool) RecordKind() RecordKind { return RecordTool }
func (t *Tool) Name() string         { return t.id }
func (t *Tool) Validate(a map[string]any) (map[string]any, error) {
	return a, nil
}

type ToolHandler func(ctx context.Context, dc *DispatchContext, args map[string]any) (ToolResult, error)
type Registry struct{}

func NewRegistry(t ...*Tool) (*Registry, error) { return &Registry{}, nil }
func (*Registry) Register(t *Tool) error        { return nil }
func (*Registry) Replace(t *Tool)               {}
func (*Registry) Unregister(n string) bool      { return false }
func (*Registry) Get(n string) (*Tool, bool)    { return nil, false }
func (*Registry) Has(n string) bool             { return false }
func (*Registry) All() []*Tool                  { return nil }
func (*Registry) PruneEphemeral() []string      { return nil }
func (r *Registry) clone() *Registry            { return r }
func emptyResult(r ToolResult) bool             { return r == nil }

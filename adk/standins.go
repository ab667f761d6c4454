package adk

import (
	"context"
	"encoding/json"
)

type base struct{ id string }

func (b base) Key() string                  { return b.id }
func (b base) Digest() Digest               { return DigestOf([]byte(b.id)) }
func (b base) MarshalJSON() ([]byte, error) { return nil, nil }
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

type schema struct{}
type fault struct{}

func (fault) String() string                             { return "" }
func compileSchema(raw json.RawMessage) (*schema, error) { return nil, nil }
func (*schema) check(v any) (any, []fault)               { return v, nil }

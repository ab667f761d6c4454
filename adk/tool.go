package adk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/adkreplay/adkreplay/adk/internal/toolform"
	"github.com/adkreplay/adkreplay/internal/callers"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/schema"
	"github.com/adkreplay/adkreplay/internal/stash"
)

// ToolHandler does a tool's work. It gets the validated arguments with defaults applied, in a map
// of its own, and returns a result or an error. The error reaches the caller as
// E_TOOL_DOWNSTREAM_ERROR (TOL-3).
type ToolHandler func(ctx context.Context, dc *DispatchContext, args map[string]any) (ToolResult, error)

// Collision says what happens when registries are merged and a tool meets another of its name
// (TOL-7).
type Collision string

// The collisions. CollisionThrow, the zero value, leaves the decision to the merge; as the merge's
// own option it makes the merge fail.
const (
	CollisionThrow   Collision = ""
	CollisionReplace Collision = "replace"
	CollisionKeep    Collision = "keep"
)

// ToolInit is what a tool is made of (TOL-1).
type ToolInit struct {
	// Name is the name by which the model calls the tool. Required.
	Name string
	// Description is what the model reads to choose the tool. Required.
	Description string
	// InputSchema is a self-contained JSON Schema of type object. Required by NewTool. An object
	// that lists properties refuses other keys unless the schema says otherwise; see Tool.Describe.
	InputSchema json.RawMessage
	// Handler does the work. Required by NewTool.
	Handler ToolHandler
	// Meta is for the application's own code; the engine does not read it. It must be representable
	// in JSON.
	Meta map[string]any
	// Ephemeral makes a bound registry prune the tool when the dispatch is acked (TOL-8).
	Ephemeral bool
	// Trusted says that the tool's results are the first party's own words.
	Trusted bool
	// OnCollision is the tool's policy when registries are merged (TOL-7).
	OnCollision Collision
	// Effect says whether running the tool writes.
	Effect Effect
	// ArtifactConstructor makes what the tool call holds from what the handler returned. The engine
	// does not call it; the code that makes the tool call does. If it is nil, that code decides
	// how.
	ArtifactConstructor ArtifactConstructor
	code                uintptr // of the function behind Handler, if that is a wrapper; otherwise 0
	made                uintptr // where the tool was created, if that is not the call of NewTool; otherwise 0
}

// ArtifactConstructor makes from a tool's result, often Bytes or a long text, the result that
// represents it in a tool call. It is not a seam: the engine only hands it on and never calls it,
// and a trace does not show it.
type ArtifactConstructor func(ctx context.Context, result ToolResult) (ToolResult, error)

// Tool is something that a model can ask for: a name, a description, a schema for its arguments,
// and a handler that only the engine can call (TOL-1, TOL-3). It is immutable and safe for
// concurrent use. As a Record it is the tool as described, without the handler.
type Tool struct {
	spec    *toolSpec
	handler ToolHandler
}

// toolSpec is everything of a tool except its handler. Copies of a tool share it.
type toolSpec struct {
	init   ToolInit
	schema *schema.Schema
	json   []byte
	digest Digest
	code   uintptr
	made   uintptr
}

// ToolDescription is a tool as it is described to a model.
type ToolDescription struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// NewTool makes a tool, or fails with E_INVALID_INITIAL_TOOL_VALUE, which names every field that is
// missing or invalid (TOL-1). It keeps nothing of init that the caller could change later.
func NewTool(init ToolInit) (*Tool, error) {
	var wrong fieldCheck
	wrong.Want(init.Name != "", "Name", "want a text")
	wrong.Want(init.Description != "", "Description", "want a text")
	compiled, effective, err := schema.CompileClosed(init.InputSchema)
	wrong.Failed("InputSchema", "%s", err)
	wrong.Want(init.Handler != nil, "Handler", "want a function")
	meta, err := schema.CopyObject(init.Meta)
	wrong.Failed("Meta", "%s", err)
	wrong.Want(slices.Contains([]Collision{CollisionThrow, CollisionReplace, CollisionKeep}, init.OnCollision), "OnCollision", `want "", "replace" or "keep"`)
	wrong.Want(slices.Contains([]Effect{EffectUnknown, EffectReads, EffectWrites}, init.Effect), "Effect", `want "", "reads" or "writes"`)
	if err := wrong.err(E_INVALID_INITIAL_TOOL_VALUE); err != nil {
		return nil, err
	}
	t := &Tool{handler: init.Handler, spec: &toolSpec{schema: compiled, code: cmp.Or(init.code, reflect.ValueOf(init.Handler).Pointer()),
		made: cmp.Or(init.made, callers.Line(1))}}
	init.InputSchema, init.Meta, init.Handler = effective, meta, nil
	t.spec.init = init
	data, err := toolform.Tool{ // described once, for all later uses
		Name: init.Name, Description: init.Description, InputSchema: init.InputSchema,
		Ephemeral: init.Ephemeral, Trusted: init.Trusted, OnCollision: string(init.OnCollision), Effect: string(init.Effect), Meta: init.Meta,
	}.JSON()
	if err != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_TOOL_VALUE, Message: "the tool has no JSON form", Cause: err}
	}
	t.spec.json, t.spec.digest = data, DigestOf(data)
	return t, nil
}

// NewTypedTool makes a tool whose handler gets its validated arguments as an In, a struct with JSON
// tags (TOL-1, TOL-2). Without an InputSchema the schema is derived from In: fields without
// omitempty or omitzero are required, and a jsonschema tag describes a field. init.Handler must be
// nil. NewTypedTool fails as NewTool does.
func NewTypedTool[In any](init ToolInit, fn func(ctx context.Context, dc *DispatchContext, in In) (ToolResult, error)) (*Tool, error) {
	if init.Handler != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_TOOL_VALUE, Message: "Handler: want none beside a typed function"}
	}
	if len(init.InputSchema) == 0 {
		derived, err := schema.Of[In]()
		if err != nil {
			return nil, &Error{Code: E_INVALID_INITIAL_TOOL_VALUE, Message: "InputSchema cannot be derived", Cause: err}
		}
		init.InputSchema = derived
	}
	if fn != nil {
		init.Handler = func(ctx context.Context, dc *DispatchContext, args map[string]any) (ToolResult, error) {
			var in In
			if err := schema.Decode(args, &in); err != nil {
				return nil, err
			}
			return fn(ctx, dc, in)
		}
		init.code = reflect.ValueOf(fn).Pointer()
	}
	init.made = callers.Line(1)
	return NewTool(init)
}

// Name is the name by which the model calls the tool.
func (t *Tool) Name() string { return t.spec.init.Name }

// Description is what a model reads to choose the tool.
func (t *Tool) Description() string { return t.spec.init.Description }

// InputSchema is a copy of the effective schema, as Describe shows it (TOL-2).
func (t *Tool) InputSchema() json.RawMessage { return bytes.Clone(t.spec.init.InputSchema) }

// Meta returns a deep copy of the tool's metadata, or nil if it has none.
func (t *Tool) Meta() map[string]any {
	meta, _ := schema.CopyObject(t.spec.init.Meta) // checked when the tool was made
	return meta
}

// MetaAt returns a copy of the metadata at a dot-path, as in a stash, and whether there is any. A
// key that itself contains a dot can be reached through Meta only.
func (t *Tool) MetaAt(path string) (value any, found bool) {
	value, found = stash.Find(t.spec.init.Meta, path)
	return plain.Copy(value), found
}

// Ephemeral reports whether the tool is pruned on ack (TOL-8).
func (t *Tool) Ephemeral() bool { return t.spec.init.Ephemeral }

// Trusted reports whether the tool's results are the first party's own words.
func (t *Tool) Trusted() bool { return t.spec.init.Trusted }

// OnCollision is the tool's policy when registries are merged (TOL-7).
func (t *Tool) OnCollision() Collision { return t.spec.init.OnCollision }

// Code is the entry address of the function that does the tool's work, as runtime.FuncForPC takes
// it, for reports. It is the function with which the tool was made, even if WithHandler or Around
// has replaced the handler.
func (t *Tool) Code() uintptr { return t.spec.code }

// Made is where NewTool or NewTypedTool was called for the tool, as a program counter of
// runtime.Callers.
func (t *Tool) Made() uintptr { return t.spec.made }

// Effect says whether running the tool writes.
func (t *Tool) Effect() Effect { return t.spec.init.Effect }

// ArtifactConstructor makes what the tool's calls hold from its results, or is nil if the tool does
// not define that (TOL-1).
func (t *Tool) ArtifactConstructor() ArtifactConstructor { return t.spec.init.ArtifactConstructor }

// WithHandler returns the same tool with another handler, for fakes and replays. The description,
// and so the digest, stay the same. With a nil handler the tool fails when it is run.
func (t *Tool) WithHandler(h ToolHandler) *Tool {
	if h == nil {
		h = describedOnly(t.Name())
	}
	return &Tool{spec: t.spec, handler: h}
}

// Around returns the same tool with code around its handler, to observe tools or to inject faults
// into them. The description, and so the digest, stay the same. around is called instead of the
// handler; it gets the handler as inner and may call it or not.
func (t *Tool) Around(around func(ctx context.Context, dc *DispatchContext, args map[string]any, inner ToolHandler) (ToolResult, error)) *Tool {
	inner := t.handler
	return &Tool{spec: t.spec, handler: func(ctx context.Context, dc *DispatchContext, args map[string]any) (ToolResult, error) {
		return around(ctx, dc, args, inner)
	}}
}

// WithHandlerOf returns the same tool with the handler and the artifact constructor of another one,
// without exposing the handler (TOL-3). A replay uses it to run today's code under the recorded
// description. With a nil other, the tool fails when it is run.
func (t *Tool) WithHandlerOf(other *Tool) *Tool {
	if !made(other) {
		return t.WithHandler(nil)
	}
	spec := *t.spec
	spec.init.ArtifactConstructor = other.spec.init.ArtifactConstructor
	return &Tool{spec: &spec, handler: other.handler}
}

// Describe returns the tool as it is described to a model. The schema is the one that validates
// (TOL-2), with its keys sorted. NewTool has closed it: an object that lists properties and says
// nothing of other keys has additionalProperties false, or unevaluatedProperties false if allOf,
// $ref or the like describe the same object. Objects inside $defs, allOf and the like stay as
// written, because what they describe is combined with more.
func (t *Tool) Describe() ToolDescription {
	return ToolDescription{Name: t.Name(), Description: t.Description(), InputSchema: t.InputSchema()}
}

// Validate returns a copy of the arguments, with the schema's defaults filled in for properties
// that are absent and not required. If the arguments do not fit the schema, the error is
// E_INVALID_TOOL_ARGS, which names every offending path, sorted, with the keyword that failed and
// never the value (TOL-2). Nothing is converted: "1" is not a number. Nil arguments count as an
// empty object.
func (t *Tool) Validate(args map[string]any) (map[string]any, error) {
	checked, faults := t.spec.schema.Check(args)
	if len(faults) > 0 {
		return nil, &Error{Code: E_INVALID_TOOL_ARGS, Message: schema.FaultsText(faults), Faults: schemaFaults(faults)}
	}
	return checked.(map[string]any), nil
}

// RecordKind is RecordTool.
func (t *Tool) RecordKind() RecordKind { return RecordTool }

// Key is the tool's name.
func (t *Tool) Key() string { return t.Name() }

// Digest is the digest of the tool as described (DET-8).
func (t *Tool) Digest() Digest { return t.spec.digest }

// MarshalJSON returns the tool as described, without its handler. Members with a zero value are
// left out.
func (t *Tool) MarshalJSON() ([]byte, error) { return recordJSONOf(t) }

// AppendJSON appends what MarshalJSON returns.
func (t *Tool) AppendJSON(dst []byte) []byte { return append(dst, t.spec.json...) }

// PlainTag is the tag that marks a tool inside plain data.
func (t *Tool) PlainTag() string { return string(RecordTool) }

func (t *Tool) isRecord() {}

// parseTool parses what MarshalJSON wrote, as a tool that cannot be run.
func parseTool(data []byte) (Record, error) {
	read, err := toolform.Read(data)
	if err != nil {
		return nil, err
	}
	return asRecord(NewTool(ToolInit{
		Name: read.Name, Description: read.Description, InputSchema: read.InputSchema, Handler: describedOnly(read.Name),
		Ephemeral: read.Ephemeral, Trusted: read.Trusted, OnCollision: Collision(read.OnCollision), Effect: Effect(read.Effect), Meta: read.Meta,
	}))
}

// describedOnly is the handler of a tool that was read from a description.
func describedOnly(name string) ToolHandler {
	return func(context.Context, *DispatchContext, map[string]any) (ToolResult, error) {
		return nil, fmt.Errorf("tool %q was read from a description and has no handler", schema.Clip(name))
	}
}

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

// ToolHandler does a tool's work. It is given the validated arguments with
// their defaults, as a map of its own, and gives a result or an error; the
// error reaches the caller as E_TOOL_DOWNSTREAM_ERROR (TOL-3).
type ToolHandler func(ctx context.Context, dc *DispatchContext, args map[string]any) (ToolResult, error)

// Collision says what happens when a tool meets another of its name while
// registries are merged (TOL-7).
type Collision string

// The collisions. CollisionThrow, the zero value, leaves the decision to the
// merge, and as the merge's own option it is a failure.
const (
	CollisionThrow   Collision = ""
	CollisionReplace Collision = "replace"
	CollisionKeep    Collision = "keep"
)

// ToolInit is what a tool is made of (TOL-1).
type ToolInit struct {
	// Name is what the model calls the tool by. Required.
	Name string
	// Description is what the model reads to choose it. Required.
	Description string
	// InputSchema is a self-contained JSON Schema of type object. Required by
	// NewTool. An object that lists properties refuses other keys unless it says
	// otherwise; Tool.Describe tells how.
	InputSchema json.RawMessage
	// Handler does the work. Required by NewTool.
	Handler ToolHandler
	// Meta is for the user's own code; the engine reads nothing from it. It must
	// have a form in JSON.
	Meta map[string]any
	// Ephemeral tools are pruned when a bound dispatch acks (TOL-8).
	Ephemeral bool
	// Trusted says that the tool's results are the first party's own words.
	Trusted bool
	// OnCollision is the tool's policy when registries are merged (TOL-7).
	OnCollision Collision
	// Effect says whether running the tool writes.
	Effect Effect
	// ArtifactConstructor makes of what the handler returned what the tool call
	// is to hold. The engine does not call it: whoever makes the tool call does; nil
	// leaves to them how.
	ArtifactConstructor ArtifactConstructor
	code                uintptr // of the function behind Handler, where that is another
	made                uintptr // where, if NewTool is not called there
}

// ArtifactConstructor makes of a tool's result, often Bytes or a long text, the
// one that stands for it in a tool call. It is no seam: the engine hands it over
// and never calls it, and a trace knows nothing of it.
type ArtifactConstructor func(ctx context.Context, result ToolResult) (ToolResult, error)

// Tool is something a model can ask for: a name, a description, a schema for
// its arguments, and a handler that only the engine can reach (TOL-1, TOL-3).
// It is immutable and safe for concurrent use; as a Record it is the tool as
// described, without the handler.
type Tool struct {
	spec    *toolSpec
	handler ToolHandler
}

// toolSpec is all of a tool but its handler, shared by its copies.
type toolSpec struct {
	init   ToolInit
	schema *schema.Schema
	json   []byte
	digest Digest
	code   uintptr
	made   uintptr
}

// ToolDescription is a tool as a model is told of it.
type ToolDescription struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// NewTool makes a tool, or fails with E_INVALID_INITIAL_TOOL_VALUE naming every
// field that is missing or invalid (TOL-1). It keeps nothing of init that the
// caller could change later.
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
	data, err := toolform.Tool{ // it is described once, for every use to come
		Name: init.Name, Description: init.Description, InputSchema: init.InputSchema,
		Ephemeral: init.Ephemeral, Trusted: init.Trusted, OnCollision: string(init.OnCollision), Effect: string(init.Effect), Meta: init.Meta,
	}.JSON()
	if err != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_TOOL_VALUE, Message: "the tool has no JSON form", Cause: err}
	}
	t.spec.json, t.spec.digest = data, DigestOf(data)
	return t, nil
}

// NewTypedTool makes a tool whose handler gets its validated arguments as an In,
// a struct with JSON tags (TOL-1, TOL-2). Without an InputSchema the schema is
// derived from In: fields without omitempty or omitzero are required, and a
// jsonschema tag describes a field. init.Handler must be nil; it fails as
// NewTool does.
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

// Name is what the tool is called by.
func (t *Tool) Name() string { return t.spec.init.Name }

// Description is what a model reads of it.
func (t *Tool) Description() string { return t.spec.init.Description }

// InputSchema is a copy of the effective schema, as Describe shows it (TOL-2).
func (t *Tool) InputSchema() json.RawMessage { return bytes.Clone(t.spec.init.InputSchema) }

// Meta is a deep copy of the tool's metadata; nil if it has none.
func (t *Tool) Meta() map[string]any {
	meta, _ := schema.CopyObject(t.spec.init.Meta) // checked when the tool was made
	return meta
}

// MetaAt is a copy of the metadata at a dot-path, as the stash has them, and
// whether there is any. A key that has a dot itself is in Meta alone.
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

// Code is where the function begins that does the tool's work, as runtime.FuncForPC takes
// it: reports say it. It is the one that the tool was made with, whatever handler stands
// in for that.
func (t *Tool) Code() uintptr { return t.spec.code }

// Made is where NewTool or NewTypedTool was called for the tool, as runtime.Callers has it.
func (t *Tool) Made() uintptr { return t.spec.made }

// Effect reports whether running the tool writes.
func (t *Tool) Effect() Effect { return t.spec.init.Effect }

// ArtifactConstructor makes of the tool's results what its calls hold; nil if the
// tool does not say (TOL-1).
func (t *Tool) ArtifactConstructor() ArtifactConstructor { return t.spec.init.ArtifactConstructor }

// WithHandler gives the same tool with another handler, as fakes and replays
// need it; the description, and so the digest, stay. A nil handler gives a tool
// that fails when it is run.
func (t *Tool) WithHandler(h ToolHandler) *Tool {
	if h == nil {
		h = describedOnly(t.Name())
	}
	return &Tool{spec: t.spec, handler: h}
}

// Around gives the same tool with code around its handler, for those who watch
// tools or break them; the description, and so the digest, stay. around is
// called in the place of the handler, and calls inner, which is the handler, if
// and when it likes.
func (t *Tool) Around(around func(ctx context.Context, dc *DispatchContext, args map[string]any, inner ToolHandler) (ToolResult, error)) *Tool {
	inner := t.handler
	return &Tool{spec: t.spec, handler: func(ctx context.Context, dc *DispatchContext, args map[string]any) (ToolResult, error) {
		return around(ctx, dc, args, inner)
	}}
}

// WithHandlerOf gives the same tool with the code of another, its handler and its
// artifact constructor; the handler stays out of reach (TOL-3). A replay that runs
// today's code under the recorded description needs it. With a nil other it is a tool
// that fails when it is run.
func (t *Tool) WithHandlerOf(other *Tool) *Tool {
	if !made(other) {
		return t.WithHandler(nil)
	}
	spec := *t.spec
	spec.init.ArtifactConstructor = other.spec.init.ArtifactConstructor
	return &Tool{spec: &spec, handler: other.handler}
}

// Describe gives the tool as a model is told of it. The schema is the very one
// that validates (TOL-2): keys sorted, and closed where NewTool has closed it:
// an object that lists properties and says nothing of other keys shows
// additionalProperties false, or unevaluatedProperties false where allOf, $ref
// and their like describe the same object. Objects inside $defs, allOf and
// their like stay as written, since what they describe is combined with more.
func (t *Tool) Describe() ToolDescription {
	return ToolDescription{Name: t.Name(), Description: t.Description(), InputSchema: t.InputSchema()}
}

// Validate gives a copy of the arguments with the schema's defaults filled in
// where a property is absent and not required, or E_INVALID_TOOL_ARGS naming every
// offending path, sorted, with the keyword that failed and never the value (TOL-2). Nothing
// is converted: "1" is no number. Nil arguments are an empty object.
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

// MarshalJSON is the tool as described, without its handler; what has its zero
// value is left out.
func (t *Tool) MarshalJSON() ([]byte, error) { return recordJSONOf(t) }

// AppendJSON appends what MarshalJSON gives.
func (t *Tool) AppendJSON(dst []byte) []byte { return append(dst, t.spec.json...) }

// PlainTag names the type in a trace's plain data.
func (t *Tool) PlainTag() string { return string(RecordTool) }

func (t *Tool) isRecord() {}

// parseTool reads back what MarshalJSON wrote, as a tool that cannot be run.
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

// describedOnly is the handler of a tool that is known by its description.
func describedOnly(name string) ToolHandler {
	return func(context.Context, *DispatchContext, map[string]any) (ToolResult, error) {
		return nil, fmt.Errorf("tool %q was read from a description and has no handler", schema.Clip(name))
	}
}

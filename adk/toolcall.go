package adk

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// ToolCallInit is what a tool call is made from. It has no checksum: the constructor computes that.
type ToolCallInit struct {
	// ID is the id under which the model asked for the call; required.
	ID string
	// Tool is the name of the tool; required.
	Tool string
	// Args are the arguments: a map[string]any, the JSON text of an object as string, []byte or
	// json.RawMessage, or *Arguments. They are required; use an empty object for none.
	Args any
	// Results is what the call returned: *Tokenizable, *Media or a non-empty MediaList; required.
	Results ToolResult
	// Inline says whether the results go into the prompt as they are; nil means true.
	Inline *bool
	// IsError says that the results describe a failure.
	IsError bool
	// FromArtifactTool says that the tool works on an artifact of another call.
	FromArtifactTool bool
	// CreatedAt is when the call came to be; required.
	CreatedAt time.Time
	// UpdatedAt is when it last changed; required, not before CreatedAt.
	UpdatedAt time.Time
	// CompletedAt is when the call was done; required, because a record is made only of a call that
	// is done.
	CompletedAt time.Time
}

// ToolCall is one completed call of a tool (PRM-7). It is immutable.
type ToolCall struct {
	init     ToolCallInit   // with its own list of results, normalized times, and without the arguments
	args     map[string]any // pure JSON data, as canonical.Normalize gives it
	checksum string
	inline   bool
	digestOnce
}

// NewToolCall makes a tool call and computes its checksum (TOL-4).
// E_INVALID_INITIAL_TOOL_CALL_VALUE names every field that is wrong.
func NewToolCall(init ToolCallInit) (*ToolCall, error) {
	var c fieldCheck
	c.Required("id", init.ID, "the id under which the model asked for the call")
	c.Required("tool", init.Tool, "the name of the tool")
	args := c.args("args", init.Args)
	init.Results = c.results("results", init.Results)
	init.CreatedAt, init.UpdatedAt = c.Moments(init.CreatedAt, init.UpdatedAt)
	init.CompletedAt = c.Moment("completedAt", init.CompletedAt)
	if err := c.err(E_INVALID_INITIAL_TOOL_CALL_VALUE); err != nil {
		return nil, err
	}
	checksum, err := toolChecksum(init.Tool, init.Args, args)
	if err != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_TOOL_CALL_VALUE, Message: "args: want data that JSON can hold", Cause: err}
	}
	inline := init.Inline == nil || *init.Inline
	init.Args, init.Inline = nil, nil
	return &ToolCall{init: init, args: args, checksum: checksum, inline: inline}, nil
}

// args checks arguments and returns them as JSON data that the tool call owns.
func (c *fieldCheck) args(field string, args any) map[string]any {
	read, ok := args.(*Arguments)
	switch {
	case !ok:
		return c.Object(field, args)
	case read != nil && read.data != nil:
		return read.data
	}
	c.Fault(field, "is a nil or zero *Arguments, want what NewArguments gives")
	return nil
}

// ID is the id under which the model asked for the call.
func (t *ToolCall) ID() string { return t.init.ID }

// Tool is the name of the tool.
func (t *ToolCall) Tool() string { return t.init.Tool }

// Args returns a deep copy of the arguments, as JSON data: nil, bool, string, float64, []any and
// map[string]any.
func (t *ToolCall) Args() map[string]any { return plain.Copy(t.args).(map[string]any) }

// Checksum is the lowercase hexadecimal SHA-256 of the canonical JSON of tool
// and arguments (TOL-4): equal calls have equal checksums.
func (t *ToolCall) Checksum() string { return t.checksum }

// Results returns what the call returned: *Tokenizable, *Media or MediaList. The caller may change
// the list.
func (t *ToolCall) Results() ToolResult {
	if list, ok := t.init.Results.(MediaList); ok {
		return slices.Clone(list)
	}
	return t.init.Results
}

// Inline reports whether the results go into the prompt as they are.
func (t *ToolCall) Inline() bool { return t.inline }

// IsError reports whether the results describe a failure.
func (t *ToolCall) IsError() bool { return t.init.IsError }

// FromArtifactTool reports whether the tool works on an artifact of another call.
func (t *ToolCall) FromArtifactTool() bool { return t.init.FromArtifactTool }

// CreatedAt is when the call came to be, in UTC.
func (t *ToolCall) CreatedAt() time.Time { return t.init.CreatedAt }

// UpdatedAt is when it last changed, in UTC.
func (t *ToolCall) UpdatedAt() time.Time { return t.init.UpdatedAt }

// CompletedAt is when the call was done, in UTC.
func (t *ToolCall) CompletedAt() time.Time { return t.init.CompletedAt }

// Init returns what a tool call like this one is made from. Change what should differ and pass it
// to NewToolCall.
func (t *ToolCall) Init() ToolCallInit {
	init := t.init
	init.Args, init.Results, init.Inline = t.Args(), t.Results(), new(t.inline)
	return init
}

// RecordKind is RecordToolCall.
func (t *ToolCall) RecordKind() RecordKind { return RecordToolCall }

// PlainTag is the tag that marks a tool call inside plain data.
func (t *ToolCall) PlainTag() string { return string(RecordToolCall) }

// Key is the id.
func (t *ToolCall) Key() string { return t.init.ID }

// Digest is the digest of the tool call's JSON, computed once.
func (t *ToolCall) Digest() Digest { return t.of(t) }

// MarshalJSON returns the tool call in the form that ParseRecord reads. It leaves out the checksum,
// which follows from tool and arguments.
func (t *ToolCall) MarshalJSON() ([]byte, error) { return recordJSONOf(t) }

// AppendJSON appends what MarshalJSON returns.
func (t *ToolCall) AppendJSON(dst []byte) []byte {
	j := openRecord(dst)
	j.Text("id", t.init.ID)
	j.Text("tool", t.init.Tool)
	j.Field("args")
	args, err := canonical.Append(j.Out, t.args)
	if err != nil {
		// The constructor wrote these very arguments to compute the checksum.
		panic("adk: a tool call's arguments can no longer be written: " + err.Error())
	}
	j.Out = args
	j.Field("results")
	j.Out = appendResults(j.Out, t.init.Results)
	j.Flag("inline", t.inline)
	if t.init.IsError {
		j.Flag("isError", true)
	}
	if t.init.FromArtifactTool {
		j.Flag("fromArtifactTool", true)
	}
	j.Moment("createdAt", t.init.CreatedAt)
	j.Moment("updatedAt", t.init.UpdatedAt)
	j.Moment("completedAt", t.init.CompletedAt)
	return j.Close()
}

// appendResults writes an object with one field, whose name says which type the results have.
func appendResults(dst []byte, r ToolResult) []byte {
	j := openRecord(dst)
	switch r := r.(type) {
	case *Tokenizable:
		j.Text("text", r.String())
	case *Media:
		j.Field("media")
		j.Out = r.AppendJSON(j.Out)
	case MediaList:
		j.medias("mediaList", r)
	default:
		panic("adk: a tool call cannot hold this result")
	}
	return j.Close()
}

func (p RecordParser) toolCall(data []byte) (*ToolCall, error) {
	var shape struct {
		ToolCallInit
		Args    json.RawMessage
		Results parsedResults
	}
	if err := decodeRecord(E_INVALID_INITIAL_TOOL_CALL_VALUE, data, &shape); err != nil {
		return nil, err
	}
	results, err := shape.Results.result(p)
	if err != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_TOOL_CALL_VALUE, Message: "results", Cause: err}
	}
	shape.ToolCallInit.Args, shape.ToolCallInit.Results = shape.Args, results
	return NewToolCall(shape.ToolCallInit)
}

// parsedResults decodes what appendResults wrote: one of the fields is present.
type parsedResults struct {
	Text      *string
	Media     json.RawMessage
	MediaList []json.RawMessage
}

func (r parsedResults) result(p RecordParser) (ToolResult, error) {
	switch {
	case r.Text != nil:
		return NewTokenizable(*r.Text), nil
	case r.Media != nil:
		return p.media(r.Media)
	default:
		list, err := p.medias(r.MediaList)
		return MediaList(list), err
	}
}

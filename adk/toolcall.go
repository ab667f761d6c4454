package adk

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// ToolCallInit is what a tool call is made from. There is no checksum: the
// constructor computes it.
type ToolCallInit struct {
	// ID is the id under which the model asked for the call; required.
	ID string
	// Tool is the name of the tool; required.
	Tool string
	// Args are the arguments: a map[string]any, the JSON text of an object as
	// string, []byte or json.RawMessage, or *Arguments; required, an empty object
	// for none.
	Args any
	// Results is what the call gave: *Tokenizable, *Media or a MediaList that
	// is not empty; required.
	Results ToolResult
	// Inline reports whether the results go into the prompt as they are; nil
	// means true.
	Inline *bool
	// IsError tells that the results say what failed.
	IsError bool
	// FromArtifactTool tells that the tool works on an artifact of another call.
	FromArtifactTool bool
	// CreatedAt is when the call came to be; required.
	CreatedAt time.Time
	// UpdatedAt is when it last changed; required, not before CreatedAt.
	UpdatedAt time.Time
	// CompletedAt is when it was done; required, because a record is only made
	// of a call that is.
	CompletedAt time.Time
}

// ToolCall is one call of a tool that is done (PRM-7). It is immutable.
type ToolCall struct {
	init     ToolCallInit   // with results and times of its own, and without arguments
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

// args checks arguments and gives them as pure JSON data of their own.
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

// Args is a deep copy of the arguments, as JSON data: nil, bool, string,
// float64, []any and map[string]any.
func (t *ToolCall) Args() map[string]any { return plain.Copy(t.args).(map[string]any) }

// Checksum is the lowercase hexadecimal SHA-256 of the canonical JSON of tool
// and arguments (TOL-4): equal calls have equal checksums.
func (t *ToolCall) Checksum() string { return t.checksum }

// Results is what the call gave: *Tokenizable, *Media or MediaList, the list
// being the caller's.
func (t *ToolCall) Results() ToolResult {
	if list, ok := t.init.Results.(MediaList); ok {
		return slices.Clone(list)
	}
	return t.init.Results
}

// Inline reports whether the results go into the prompt as they are.
func (t *ToolCall) Inline() bool { return t.inline }

// IsError tells that the results say what failed.
func (t *ToolCall) IsError() bool { return t.init.IsError }

// FromArtifactTool tells that the tool works on an artifact of another call.
func (t *ToolCall) FromArtifactTool() bool { return t.init.FromArtifactTool }

// CreatedAt is when the call came to be, in UTC.
func (t *ToolCall) CreatedAt() time.Time { return t.init.CreatedAt }

// UpdatedAt is when it last changed, in UTC.
func (t *ToolCall) UpdatedAt() time.Time { return t.init.UpdatedAt }

// CompletedAt is when it was done, in UTC.
func (t *ToolCall) CompletedAt() time.Time { return t.init.CompletedAt }

// Init is what a tool call like this one is made from; change what should
// differ and give it to NewToolCall.
func (t *ToolCall) Init() ToolCallInit {
	init := t.init
	init.Args, init.Results, init.Inline = t.Args(), t.Results(), new(t.inline)
	return init
}

// RecordKind is RecordToolCall.
func (t *ToolCall) RecordKind() RecordKind { return RecordToolCall }

// PlainTag marks a tool call inside plain data.
func (t *ToolCall) PlainTag() string { return string(RecordToolCall) }

// Key is the id.
func (t *ToolCall) Key() string { return t.init.ID }

// Digest is the digest of the tool call's JSON, computed once.
func (t *ToolCall) Digest() Digest { return t.of(t) }

// MarshalJSON is the tool call as ParseRecord reads it back. The checksum is
// left out: it follows from tool and arguments.
func (t *ToolCall) MarshalJSON() ([]byte, error) { return recordJSONOf(t) }

// AppendJSON appends what MarshalJSON gives.
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

// appendResults writes an object whose one field says what the results are.
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

// parsedResults is what appendResults wrote: one of the fields is there.
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

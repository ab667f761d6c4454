// Package spec makes tools from what a battery provides: a name, a description, arguments, and a
// function from arguments to text. It contains the rules for all of them: errors of the work are
// answers (BAT-2), and answers are bounded (BAT-4).
package spec

import (
	"context"
	"errors"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

// The limits of arguments and answers (BAT-4).
const (
	maxText   = 1_000_000 // code points of a text
	MaxList   = 100_000   // items of a list
	MaxDepth  = 100       // nesting of JSON
	maxAnswer = 1 << 20   // bytes
	maxError  = 4 << 10   // bytes of an error as an answer
)

// Tool describes a tool of a battery.
type Tool struct {
	Name, Description string
	Args              []Arg
	// Writes says that the tool changes the storage.
	Writes bool
	// JSON says that answers are JSON, so that executors make JSON artifacts of them (BAT-7).
	JSON bool
	// Answer does the work. Its error becomes an answer too. If the turn was aborted or ctx is
	// done, however, the error is returned unchanged (BAT-2).
	Answer func(ctx context.Context, c Call) (string, error)
}

// Call is one call of a tool.
type Call struct {
	// DC is the dispatch in which the tool runs.
	DC   *adk.DispatchContext
	args map[string]any
}

// Make makes the tool (BAT-1). It panics if the description of the tool is invalid, which the
// tool's first test shows.
func (t Tool) Make() *adk.Tool {
	init := adk.ToolInit{
		Name: t.Name, Description: t.Description, InputSchema: schemaOf(t.Args), Effect: adk.EffectReads, Handler: t.handle,
	}
	if t.Writes {
		init.Effect = adk.EffectWrites
	}
	if t.JSON {
		init.ArtifactConstructor = artifact.JSON
	}
	tool, err := adk.NewTool(init)
	if err != nil {
		panic("adk/tools: " + t.Name + ": " + err.Error())
	}
	return tool
}

func (t Tool) handle(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
	answer, err := t.Answer(ctx, Call{DC: dc, args: args})
	switch {
	case err == nil && len(answer) > maxAnswer && t.Writes:
		answer = "Error: result too long: more than 1 MiB, but what was asked for is done"
	case err == nil && len(answer) > maxAnswer:
		answer = "Error: result too long: more than 1 MiB, ask for less"
	case err == nil:
	case errors.Is(err, adk.E_TURN_ABORTED) || ctx.Err() != nil:
		return nil, err
	default:
		answer = errorText(err)
	}
	return adk.Text(strings.ToValidUTF8(answer, "\uFFFD")), nil
}

// Indented writes a value of package jsontree as an answer, with indent blanks a level. It stops as
// soon as the text is too long for an answer, since indenting deeply nested values could make it
// hundreds of times as long as the argument.
func Indented(value any, indent int) string {
	return string(jsontree.AppendIndentUpTo(nil, value, indent, maxAnswer))
}

// errorText returns an error as an answer, a text that begins with "Error".
func errorText(err error) string {
	text := err.Error()
	if len(text) > maxError { // it may quote a whole argument
		text = strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	if strings.HasPrefix(text, "Error") {
		return text
	}
	return "Error: " + text
}

// Has reports whether an argument was given or has a default.
func (c Call) Has(name string) bool { _, has := c.args[name]; return has }

// Any returns an argument unchanged; nil if it was not given.
func (c Call) Any(name string) any { return c.args[name] }

// Text returns a text argument; empty if it was not given.
func (c Call) Text(name string) string { return TextOf(c.args[name]) }

// Number returns a number argument; 0 if it was not given.
func (c Call) Number(name string) float64 { n, _ := NumberOf(c.args[name]); return n }

// Int returns an integer argument; 0 if it was not given.
func (c Call) Int(name string) int { return int(c.Number(name)) }

// Bool returns a boolean argument; false if it was not given.
func (c Call) Bool(name string) bool { b, _ := c.args[name].(bool); return b }

// Items returns the texts of a list argument.
func (c Call) Items(name string) []string {
	list, _ := c.args[name].([]any)
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = TextOf(item)
	}
	return items
}

// Steps returns the operations of a chain.
func (c Call) Steps(name string) []map[string]any {
	list, _ := c.args[name].([]any)
	steps := make([]map[string]any, len(list))
	for i, item := range list {
		steps[i], _ = item.(map[string]any)
	}
	return steps
}

// TextOf returns a value that is text; empty for any other value.
func TextOf(v any) string { s, _ := v.(string); return s }

// CSVField writes a text as a field of CSV, in quotes if necessary.
func CSVField(text string) string {
	if !strings.ContainsAny(text, ",\"\r\n") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

// NumberOf returns the number in a value, and whether it is one.
func NumberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}

// Package spec makes tools of what a battery knows of them: a name, a description,
// arguments, and a function from arguments to words. It holds what is true of all of
// them: errors of the work are answers (BAT-2), and answers have a bound (BAT-4).
package spec

import (
	"context"
	"errors"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

// The bounds of arguments and answers (BAT-4).
const (
	maxText   = 1_000_000 // code points of a text
	MaxList   = 100_000   // items of a list
	MaxDepth  = 100       // nesting of JSON
	maxAnswer = 1 << 20   // bytes
	maxError  = 4 << 10   // bytes of an error as an answer
)

// Tool is a tool of a battery.
type Tool struct {
	Name, Description string
	Args              []Arg
	// Writes says that the tool changes what a storage holds.
	Writes bool
	// JSON says that answers are JSON, for executors that make artifacts of them (BAT-7).
	JSON bool
	// Answer does the work. Its error is an answer too, unless the turn was aborted or
	// the context has ended: then it is returned as it is (BAT-2).
	Answer func(ctx context.Context, c Call) (string, error)
}

// Call is one call of a tool.
type Call struct {
	// DC is the dispatch in which it runs.
	DC   *adk.DispatchContext
	args map[string]any
}

// Make makes the tool (BAT-1). It panics where the tool is not well described, which
// its first test shows.
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

// Indented is a value of package jsontree as an answer, with so many blanks a level. One that
// is too long for an answer is not written to its end: what nests deeply would be hundreds of
// times its argument.
func Indented(value any, indent int) string {
	return string(jsontree.AppendIndentUpTo(nil, value, indent, maxAnswer))
}

// errorText is an error as an answer: a text that begins with "Error".
func errorText(err error) string {
	text := err.Error()
	if len(text) > maxError { // it has an argument in it
		text = strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	if strings.HasPrefix(text, "Error") {
		return text
	}
	return "Error: " + text
}

// Has reports whether an argument was given, or has a default.
func (c Call) Has(name string) bool { _, has := c.args[name]; return has }

// Any is an argument as it is; nil if it was not given.
func (c Call) Any(name string) any { return c.args[name] }

// Text is a text argument, empty if it was not given.
func (c Call) Text(name string) string { return TextOf(c.args[name]) }

// Number is a number argument, 0 if it was not given.
func (c Call) Number(name string) float64 { n, _ := NumberOf(c.args[name]); return n }

// Int is an integer argument, 0 if it was not given.
func (c Call) Int(name string) int { return int(c.Number(name)) }

// Bool is a truth argument, false if it was not given.
func (c Call) Bool(name string) bool { b, _ := c.args[name].(bool); return b }

// Items are the texts of a list argument.
func (c Call) Items(name string) []string {
	list, _ := c.args[name].([]any)
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = TextOf(item)
	}
	return items
}

// Steps are the operations of a chain: objects.
func (c Call) Steps(name string) []map[string]any {
	list, _ := c.args[name].([]any)
	steps := make([]map[string]any, len(list))
	for i, item := range list {
		steps[i], _ = item.(map[string]any)
	}
	return steps
}

// TextOf is a value as text, empty for what is none.
func TextOf(v any) string { s, _ := v.(string); return s }

// CSVField is a text as a field of CSV, in quotes where it needs them.
func CSVField(text string) string {
	if !strings.ContainsAny(text, ",\"\r\n") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

// NumberOf is the number that plain data holds, and whether v is one.
func NumberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}

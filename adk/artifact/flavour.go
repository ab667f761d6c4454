package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/pattern"
)

// The names of the bundled flavours, as in marks.
const (
	FlavourText     = "text"
	FlavourJSON     = "json"
	FlavourMarkdown = "markdown"
)

// The formats of a JSON artifact (ART-15).
const (
	FormatJSON   = "json"
	FormatJSON5  = "json5"
	FormatJSONL  = "jsonl"
	FormatNDJSON = "ndjson"
)

// Flavour says what a body is, and which questions it answers in addition to those that every body
// answers (ART-20).
type Flavour struct {
	// Name is its name in marks, unique in a config. Required.
	Name string
	// Title is its name in prompts, such as "JSON artifact". Required.
	Title string
	// MIMEType is the type of its bodies. Required.
	MIMEType string
	// Ext is the extension of its files, without a dot. Required.
	Ext string
	// Methods are its questions, in the order in which tools are forged for them.
	Methods []Method
}

// Method is one question to an artifact (ART-20).
type Method struct {
	// Tool is the name of the tool for it, without the prefix and the underscore that follows:
	// json_get. Unique in a config. Required.
	Tool string
	// Description is the description for the model. Required.
	Description string
	// Args is the JSON Schema of its arguments, an object without callId; empty for a question
	// without arguments.
	Args json.RawMessage
	// Run returns the answer as plain data; FRG-5 says how it is shown. Required.
	Run func(ctx context.Context, a *Artifact, args map[string]any) (any, error)
}

// The bundled flavours (ART-20). They must not be changed; make a new value for a flavour of your
// own.
var (
	// TextFlavour is text, with only the questions that every body answers.
	TextFlavour = Flavour{Name: FlavourText, Title: "Text artifact", MIMEType: "text/plain; charset=utf-8", Ext: "txt"}
	// JSONFlavour is JSON, JSON5 or lines of JSON.
	JSONFlavour = Flavour{Name: FlavourJSON, Title: "JSON artifact", MIMEType: "application/json; charset=utf-8", Ext: "json", Methods: jsonMethods()}
	// MarkdownFlavour is Markdown with what GitHub adds.
	MarkdownFlavour = Flavour{Name: FlavourMarkdown, Title: "Markdown artifact", MIMEType: "text/markdown; charset=utf-8", Ext: "md", Methods: markdownMethods()}
)

const (
	noArgs     = `{"type":"object"}`
	countArgs  = `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"default":10,"description":"how many lines"}}}`
	rangeArgs  = `{"type":"object","properties":{"start":{"type":"integer","minimum":0,"description":"the first, counted from 0"},"end":{"type":"integer","minimum":0,"description":"the one behind the last"}}}`
	linesArgs  = `{"type":"object","properties":{"startLine":{"type":"integer","minimum":0,"description":"the first line, counted from 0"},"endLine":{"type":"integer","minimum":0,"description":"the line behind the last"}}}`
	pathArgs   = `{"type":"object","required":["path"],"properties":{"path":{"type":"string","description":"a JSON path of RFC 9535, such as $.items[?@.price < 10].name"}}}`
	depthLimit = `{"type":"object","properties":{"depth":{"type":"integer","minimum":1,"maximum":6,"description":"of these headings alone"}}}`
	grepArgs   = `{"type":"object","required":["pattern"],"properties":{"pattern":{"type":"string","description":"a regular expression in the syntax of RE2"},` +
		`"flags":{"type":"string","pattern":"^[imsu]*$","description":"i for any case, m and s as in RE2; u changes nothing"}}}`
	tokenArgs = `{"type":"object","required":["encoding"],"properties":{"encoding":{"type":"string","enum":["gpt2","r50k_base","p50k_base","p50k_edit","cl100k_base","o200k_base","claude"],"description":"how tokens are counted"}}}`
	langArgs  = `{"type":"object","properties":{"lang":{"type":"string","description":"of this language alone; empty for those without one"}}}`
)

// baseMethods returns the questions that every body answers (FRG-4).
func baseMethods() []Method {
	return []Method{
		{"head", "Returns the first n lines.", json.RawMessage(countArgs), func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			return a.Head(ctx, intOr(args, "n", 10))
		}},
		{"tail", "Returns the last n lines.", json.RawMessage(countArgs), func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			return a.Tail(ctx, intOr(args, "n", 10))
		}},
		{"grep", "Returns the lines that a regular expression matches, in order. The syntax is RE2: no look-around, no back references.", json.RawMessage(grepArgs), forgedGrep},
		{"cat", "Returns the lines from start up to, and without, end; all without them.", json.RawMessage(rangeArgs), func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			return a.Cat(ctx, intAt(args, "start"), intAt(args, "end"))
		}},
		{"byte_length", "Returns the length in bytes.", nil, func(_ context.Context, a *Artifact, _ map[string]any) (any, error) { return a.ByteLength(), nil }},
		{"line_count", "Returns the number of lines.", nil, func(_ context.Context, a *Artifact, _ map[string]any) (any, error) { return a.LineCount(), nil }},
		{"estimate_tokens", "Returns how many tokens the whole would take.", json.RawMessage(tokenArgs), func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			return a.EstimateTokens(ctx, adk.Encoding(textAt(args, "encoding")))
		}},
	}
}

// forgedGrep compiles the pattern with its flags, and calls Grep (FRG-7).
func forgedGrep(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
	expr := textAt(args, "pattern")
	if flags := strings.ReplaceAll(textAt(args, "flags"), "u", ""); flags != "" {
		expr = "(?" + flags + ")" + expr
	}
	compiled, _, err := pattern.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not one of RE2, which has no look-around and no back references: %w", err)
	}
	return a.Grep(ctx, compiled)
}

func jsonMethods() []Method {
	path := func(ask func(q JSONQuestions, ctx context.Context, path string) (any, error)) func(context.Context, *Artifact, map[string]any) (any, error) {
		return func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			return ask(a.JSON(), ctx, textAt(args, "path"))
		}
	}
	return []Method{
		{"json_type", "Returns the format: json, json5 or jsonl.", nil, func(ctx context.Context, a *Artifact, _ map[string]any) (any, error) { return a.JSON().Type(ctx) }},
		{"json_keys", "Returns the keys of the root object, or of all records.", nil, func(ctx context.Context, a *Artifact, _ map[string]any) (any, error) { return a.JSON().keys(ctx) }},
		{"json_length", "Returns the number of records, which are the lines of jsonl. One document counts 1, also where it is an array.",
			nil, func(ctx context.Context, a *Artifact, _ map[string]any) (any, error) { return a.JSON().Length(ctx) }},
		{"json_get", "Returns what a JSON path selects, as a list.", json.RawMessage(pathArgs),
			path(func(q JSONQuestions, ctx context.Context, path string) (any, error) { return q.get(ctx, "get", path) })},
		{"json_filter", "Returns the records in which a JSON path selects anything. One document is one record and given whole, " +
			"also where it is an array: get its elements by a JSON path such as $[?@.price < 10].", json.RawMessage(pathArgs), path(JSONQuestions.filter)},
		{"json_slice", "Returns the records from start up to, and without, end." +
			" One document is given whole whatever is asked, also where it is an array: get a part of that by a JSON path such as $[0:5].", json.RawMessage(rangeArgs), func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			return a.JSON().slice(ctx, intAt(args, "start"), intAt(args, "end"))
		}},
		{"json_pluck", "Returns what a JSON path selects in all records, as one list.", json.RawMessage(pathArgs), path(func(q JSONQuestions, ctx context.Context, path string) (any, error) { return q.get(ctx, "pluck", path) })},
	}
}

func markdownMethods() []Method {
	lines := func(ask func(q MarkdownQuestions, ctx context.Context, from, to *int) (any, error)) func(context.Context, *Artifact, map[string]any) (any, error) {
		return func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			return ask(a.Markdown(), ctx, intAt(args, "startLine"), intAt(args, "endLine"))
		}
	}
	return []Method{
		{"md_frontmatter", "Returns the frontmatter as an object.", nil, func(ctx context.Context, a *Artifact, _ map[string]any) (any, error) {
			return a.Markdown().frontmatter(ctx)
		}},
		{"md_headings", "Returns the headings with their depth, text and lines (counted from 0, the end included).", json.RawMessage(depthLimit), func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			return a.Markdown().headings(ctx, intOr(args, "depth", 0))
		}},
		{"md_code_blocks", "Returns the fenced code blocks with their language and lines.", json.RawMessage(langArgs), func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			var lang *string
			if text, given := args["lang"].(string); given {
				lang = &text
			}
			return a.Markdown().codeBlocks(ctx, lang)
		}},
		{"md_sections", "Returns the sections with their heading and the lines of their bodies, without text.", json.RawMessage(depthLimit), func(ctx context.Context, a *Artifact, args map[string]any) (any, error) {
			return a.Markdown().sections(ctx, intOr(args, "depth", 0))
		}},
		{"md_links", "Returns the links of a range of lines.", json.RawMessage(linesArgs), lines(MarkdownQuestions.links)},
		{"md_images", "Returns the images of a range of lines.", json.RawMessage(linesArgs), lines(MarkdownQuestions.images)},
		{"md_text", "Returns the text of a range of lines without markup.", json.RawMessage(linesArgs), lines(MarkdownQuestions.plainText)},
		{"md_ast", "Returns a range of lines as an mdast tree.", json.RawMessage(linesArgs), lines(MarkdownQuestions.tree)},
	}
}

func textAt(args map[string]any, name string) string { text, _ := args[name].(string); return text }

// intAt returns a whole number argument; nil if it was not given.
func intAt(args map[string]any, name string) *int {
	switch n := args[name].(type) {
	case float64:
		return new(int(min(n, math.MaxInt>>1)))
	case int:
		return &n
	}
	return nil
}

func intOr(args map[string]any, name string, usual int) int {
	if n := intAt(args, name); n != nil {
		return *n
	}
	return usual
}

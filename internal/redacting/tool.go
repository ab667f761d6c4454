package redacting

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsonpointer"
	"github.com/adkreplay/adkreplay/internal/state"
)

// This file keeps the verdict on arguments that were redacted: what a tool's
// schema said of them as they were is what it must say of the placeholders.

// anyArguments is the schema that every object fits.
const anyArguments = `{"type":"object"}`

// verdict is what a tool's schema says of arguments: nothing, or the faults.
// Arguments that are no object never get as far.
func verdict(tool *adk.Tool, args any) (faults string, judged bool) {
	object, err := canonical.Object(args)
	if tool == nil || err != nil {
		return "", false
	}
	if _, err := tool.Validate(object); err != nil {
		faults = strings.TrimPrefix(err.Error(), string(adk.E_INVALID_TOOL_ARGS)+": ")
	}
	return faults, true
}

// asJudged is the tool, or where its schema says something else of the redacted
// arguments than it said of the arguments as they were, a variant of the tool
// that says the same. unvalidated tells that it is a variant.
func asJudged(tool *adk.Tool, args any, want string) (_ *adk.Tool, unvalidated bool) {
	got, judged := verdict(tool, args)
	if !judged || got == want {
		return tool, false
	}
	if edited := editedSchema(tool.InputSchema(), got, want); edited != nil {
		if variant := withSchema(tool, edited); variant != nil {
			if got, _ := verdict(variant, args); got == want {
				return variant, true
			}
		}
	}
	if want == "" {
		if variant := withSchema(tool, []byte(anyArguments)); variant != nil {
			return variant, true
		}
	}
	return tool, true
}

// withSchema is a tool as described, with another schema; nil if it is none.
func withSchema(tool *adk.Tool, schema []byte) *adk.Tool {
	described, err := tool.MarshalJSON()
	if err != nil {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(described, &members) != nil {
		return nil
	}
	members["inputSchema"] = schema
	if described, err = json.Marshal(members); err != nil {
		return nil
	}
	variant, err := adk.ParseRecord(adk.RecordTool, described)
	if err != nil {
		return nil
	}
	return variant.(*adk.Tool)
}

func isToolSchema(schema []byte) bool {
	return withSchema(state.AnyTool, schema) != nil
}

// unmeetable is a keyword of a schema with a value that no placeholder meets.
var unmeetable = map[string]any{
	"enum": []any{nil}, "const": []any{}, "pattern": `[^\s\S]`,
	"minLength": 1 << 30, "maxLength": 0,
	"minimum": 1e300, "maximum": -1e300, "exclusiveMinimum": 1e300, "exclusiveMaximum": -1e300,
}

// editedSchema takes out of a schema what it should not find any more, and makes
// it find what it should: got and want are faults as messages have them. It is
// nil where the edits have no place.
func editedSchema(schema []byte, got, want string) []byte {
	var root any
	read := json.NewDecoder(bytes.NewReader(schema))
	read.UseNumber()
	if read.Decode(&root) != nil {
		return nil
	}
	lost, found := faultSet(want), faultSet(got)
	for fault := range found {
		if node, keyword := schemaAt(root, fault); node != nil && !lost[fault] {
			delete(node, keyword)
		}
	}
	for fault := range lost {
		node, keyword := schemaAt(root, fault)
		if value, known := unmeetable[keyword]; known && node != nil && !found[fault] {
			node[keyword] = value
		}
	}
	edited, err := json.Marshal(root)
	if err != nil {
		return nil
	}
	return edited
}

// faultSet is the faults of a message.
func faultSet(faults string) map[string]bool {
	set := map[string]bool{}
	for _, fault := range strings.Split(faults, "; ") {
		set[fault] = true
	}
	return set
}

// schemaAt is the node of a schema that a fault is about, "/a/0: minLength", and
// the keyword. It follows properties and items only.
func schemaAt(root any, fault string) (node map[string]any, keyword string) {
	path, keyword, _ := strings.Cut(fault, ": ")
	keyword, _, _ = strings.Cut(keyword, ", ")
	node, _ = root.(map[string]any)
	if path == "" || path == "(root)" {
		return node, keyword
	}
	for _, key := range jsonpointer.Names(path) {
		properties, _ := node["properties"].(map[string]any)
		next, ok := properties[key].(map[string]any)
		if at, err := strconv.Atoi(key); !ok && err == nil {
			next, ok = itemAt(node, at)
		}
		if !ok {
			return nil, keyword
		}
		node = next
	}
	return node, keyword
}

// itemAt is the schema of one item of a list, which gets one of its own.
func itemAt(list map[string]any, at int) (map[string]any, bool) {
	const most = 1000
	own, _ := list["prefixItems"].([]any)
	for all, _ := json.Marshal(list["items"]); len(own) <= at && at < most; {
		var item any
		if json.Unmarshal(all, &item) != nil {
			return nil, false
		}
		own = append(own, item)
	}
	if at >= len(own) {
		return nil, false
	}
	list["prefixItems"] = own
	item, ok := own[at].(map[string]any)
	return item, ok
}

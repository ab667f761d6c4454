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

// This file preserves the verdict on redacted arguments: a tool's schema must say of the
// placeholders what it said of the original arguments.

// anyArguments is the schema that every object satisfies.
const anyArguments = `{"type":"object"}`

// verdict returns the faults that a tool's schema finds in arguments, or "". Arguments that are not
// an object are not judged.
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

// asJudged returns the tool, if its schema gives the verdict want on the redacted arguments, too.
// Otherwise it returns a variant of the tool with a schema that does. unvalidated says that the
// verdict differed.
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

// withSchema returns the tool with another schema, or nil if that is not a valid tool.
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

// unmeetable holds, for each keyword of a schema, a value that no placeholder satisfies.
var unmeetable = map[string]any{
	"enum": []any{nil}, "const": []any{}, "pattern": `[^\s\S]`,
	"minLength": 1 << 30, "maxLength": 0,
	"minimum": 1e300, "maximum": -1e300, "exclusiveMinimum": 1e300, "exclusiveMaximum": -1e300,
}

// editedSchema edits a schema so that it finds the faults want instead of the faults got, both as
// in messages. It returns nil if the schema cannot be edited.
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

// faultSet returns the faults of a message.
func faultSet(faults string) map[string]bool {
	set := map[string]bool{}
	for _, fault := range strings.Split(faults, "; ") {
		set[fault] = true
	}
	return set
}

// schemaAt returns the node of a schema that a fault such as "/a/0: minLength" is about, and the
// keyword. It follows only properties and items.
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

// itemAt returns the schema of one item of a list, after giving the item a separate schema.
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

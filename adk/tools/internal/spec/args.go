package spec

import (
	"encoding/json"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

// Arg is an argument of a tool, with its part of the schema.
type Arg struct {
	name     string
	required bool
	schema   *jsontree.Object
}

func arg(name, kind, about string) Arg {
	a := Arg{name: name, schema: jsontree.NewObject(jsontree.Member{Name: "description", Value: about})}
	if kind != "" {
		a.schema.Set("type", kind)
	}
	return a
}

// Text is a string argument.
func Text(name, about string) Arg { return arg(name, "string", about).with("maxLength", maxText) }

// Word is a string argument with a closed list of values.
func Word(name, about string, words ...string) Arg {
	return arg(name, "string", about).with("enum", words)
}

// Number is a number argument.
func Number(name, about string) Arg { return arg(name, "number", about) }

// Int is a whole number from least to most.
func Int(name, about string, least, most int) Arg {
	return arg(name, "integer", about).with("minimum", least).with("maximum", most)
}

// Bool is a boolean argument.
func Bool(name, about string) Arg { return arg(name, "boolean", about) }

// Anything is an argument with any JSON value.
func Anything(name, about string) Arg { return arg(name, "", about) }

// TextList is an argument with a list of strings.
func TextList(name, about string) Arg {
	return arg(name, "array", about).with("maxItems", MaxList).
		with("items", map[string]any{"type": "string", "maxLength": maxText})
}

// maxSteps is the greatest number of operations of a chain.
const maxSteps = 100

// Chain is a list of operations: objects with the operation's name under op, and its arguments next
// to that.
func Chain(name, about string) Arg {
	return arg(name, "array", about).with("maxItems", maxSteps).with("items", map[string]any{
		"type": "object", "required": []string{"op"}, "additionalProperties": true,
		"properties": map[string]any{"op": map[string]any{"type": "string"}},
	})
}

// Required makes the argument required.
func (a Arg) Required() Arg { a.required = true; return a }

// Default sets the value of the argument if it is not given.
func (a Arg) Default(value any) Arg { return a.with("default", value) }

// Within bounds a number, including both ends.
func (a Arg) Within(least, most float64) Arg { return a.with("minimum", least).with("maximum", most) }

// NotEmpty requires a text of at least one character.
func (a Arg) NotEmpty() Arg { return a.with("minLength", 1) }

func (a Arg) with(keyword string, value any) Arg {
	plain, ok := jsontree.Plain(value)
	if !ok {
		panic("adk/tools: a keyword that is no JSON: " + keyword)
	}
	a.schema.Set(keyword, plain)
	return a
}

// schemaOf returns the schema of an object with the arguments.
func schemaOf(args []Arg) json.RawMessage {
	properties, required := &jsontree.Object{}, []any{}
	for _, a := range args {
		properties.Set(a.name, a.schema)
		if a.required {
			required = append(required, a.name)
		}
	}
	schema := jsontree.NewObject(jsontree.Member{Name: "type", Value: "object"}, jsontree.Member{Name: "properties", Value: properties})
	if len(required) > 0 {
		schema.Set("required", required)
	}
	return jsontree.Append(nil, schema)
}

package redacting

import (
	"slices"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// schemaWords are the keywords of JSON Schema, and those that APIs of models add, sorted.
var schemaWords = []string{
	"$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "$vocabulary",
	"additionalItems", "additionalProperties", "allOf", "anyOf", "const", "contains", "contentEncoding", "contentMediaType", "contentSchema",
	"default", "definitions", "dependencies", "dependentRequired", "dependentSchemas", "deprecated", "description", "discriminator", "else",
	"enum", "example", "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems", "maxLength",
	"maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "nullable", "oneOf",
	"pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "readOnly", "required", "strict", "then", "title", "type",
	"unevaluatedItems", "unevaluatedProperties", "uniqueItems", "writeOnly",
}

// describesArguments reports whether an object in a request is the JSON Schema of a tool's
// arguments: its type is object, and it has properties that are schemas themselves. Data that only
// has members of these names differs, because it also has members with names of its own.
func describesArguments(members []wire.ScannedMember) bool {
	isObject, properties := false, []byte(nil)
	for _, m := range members {
		switch string(m.Name) {
		case "type":
			isObject = string(m.Value) == `"object"`
		case "properties":
			properties = m.Value
		}
	}
	if !isObject || len(properties) == 0 || properties[0] != '{' || !areSchemaWords(members) {
		return false
	}
	each, err := wire.ScanMembers(nil, properties)
	return err == nil && len(each) > 0 && !slices.ContainsFunc(each, func(m wire.ScannedMember) bool {
		within, err := wire.ScanMembers(nil, m.Value)
		return err != nil || !areSchemaWords(within)
	})
}

func areSchemaWords(members []wire.ScannedMember) bool {
	return !slices.ContainsFunc(members, func(m wire.ScannedMember) bool {
		_, ok := slices.BinarySearch(schemaWords, string(m.Name))
		return !ok
	})
}

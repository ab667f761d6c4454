// Package data has tools for structured data: chains of operations over JSON, sets, tables, known
// formats, and numbers and lists in the form for people. Each function makes one tool, [All] makes
// all of them.
//
// JSON keeps the order of its keys, and is written as ECMAScript does. See package adk/tools for
// what all batteries have in common.
package data

import "github.com/adkreplay/adkreplay/adk"

// All returns the tools of this package.
func All() []*adk.Tool {
	return []*adk.Tool{
		JSONTransform(), SetOperations(), FormatTable(), JSONFormat(), ValidateFormat(), FormatNumber(), FormatList(),
	}
}

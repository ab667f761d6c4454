// Package data are tools over structured data: chains of operations over JSON, sets,
// tables, known formats, and numbers and lists as people write them. Each function
// makes one tool, [All] makes all of them.
//
// JSON that is read keeps the order of its keys, and is written as ECMAScript does.
// See package adk/tools for what all batteries have in common.
package data

import "github.com/adkreplay/adkreplay/adk"

// All are the tools of this package.
func All() []*adk.Tool {
	return []*adk.Tool{
		JSONTransform(), SetOperations(), FormatTable(), JSONFormat(), ValidateFormat(), FormatNumber(), FormatList(),
	}
}

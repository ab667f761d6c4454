// Package tools has the batteries: 56 tools that agents need and should not have to write. [All]
// makes all of them; each package below has a function for each tool.
//
//	numbers  expressions, LaTeX, statistics, units
//	data     chains over JSON, sets, tables, forms, numbers and lists for people
//	texts    changing, searching, comparing, encoding and parsing text
//	times    dates, periods, business days, zones
//	misc     colors, comparisons, places on the earth
//	native   memories, retrievables and standing instructions of the turn
//
// What they have in common: equal calls make tools of equal digest, untrusted and not ephemeral;
// tools that write say so (adk.EffectWrites). Arguments that do not match the schema are
// E_INVALID_TOOL_ARGS. An error of the work is an answer that begins with "Error", so that the
// model can react. Texts, lists, nesting and answers are bounded, and the descriptions mention the
// narrow bounds. Time comes from the turn's clock and ids from its source, so that equal arguments,
// clock and ids give equal bytes everywhere.
//
// The file TOOLS.md in this directory lists every tool with its arguments and an answer.
package tools

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/data"
	"github.com/adkreplay/adkreplay/adk/tools/misc"
	"github.com/adkreplay/adkreplay/adk/tools/native"
	"github.com/adkreplay/adkreplay/adk/tools/numbers"
	"github.com/adkreplay/adkreplay/adk/tools/texts"
	"github.com/adkreplay/adkreplay/adk/tools/times"
)

// Options configure the batteries.
type Options struct {
	// Times are the options of package times.
	Times times.Options
}

// All returns the tools of all batteries: 56 in a fixed order, with unique names.
func All(o Options) []*adk.Tool {
	return slices.Concat(numbers.All(), data.All(), texts.All(), times.All(o.Times), misc.All(), native.All())
}

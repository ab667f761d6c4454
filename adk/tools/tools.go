// Package tools are batteries: 56 tools that an agent needs and should not have to
// write. [All] makes all of them; each package below has a function for each.
//
//	numbers  expressions, LaTeX, statistics, units
//	data     chains over JSON, sets, tables, forms, numbers and lists for people
//	texts    changing, searching, comparing, encoding and reading text
//	times    dates, periods, business days, zones
//	misc     colours, comparisons, places on the earth
//	native   memories, retrievables and standing instructions of the turn
//
// What they have in common: equal calls make tools of equal digest, untrusted and not
// ephemeral; those that write say so (adk.EffectWrites). Arguments that break a schema
// are E_INVALID_TOOL_ARGS; what goes wrong in the work is an answer that begins with
// "Error", for the model to react to. Texts, lists, nesting and answers have bounds,
// and the descriptions say the narrow ones. Time comes from the turn's clock and ids
// from its source, so that equal arguments, clock and ids give equal bytes everywhere.
//
// TOOLS.md beside this file lists every tool with its arguments and an answer.
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

// Options are what batteries need of the world.
type Options struct {
	// Times are the options of package times.
	Times times.Options
}

// All are the tools of all batteries, 56 in a fixed order, whose names are unique.
func All(o Options) []*adk.Tool {
	return slices.Concat(numbers.All(), data.All(), texts.All(), times.All(o.Times), misc.All(), native.All())
}

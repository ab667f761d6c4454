// Package numbers has tools that calculate: expressions, formulas in LaTeX, statistics of lists,
// and units. Each function makes one tool, [All] makes all of them, and equal calls give tools of
// equal digest.
//
// They read only their arguments. An error of the work is an answer that begins with "Error", so
// that the model can react. See package adk/tools for what all batteries have in common.
package numbers

import "github.com/adkreplay/adkreplay/adk"

// All returns the tools of this package.
func All() []*adk.Tool {
	return []*adk.Tool{
		Calculate(), EvaluateKatex(), StatsDescribe(), StatsCorrelate(), StatsTransform(), StatsHistogram(), ConvertUnit(),
	}
}

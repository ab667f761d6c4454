// Package misc has tools for colors, comparisons and places on the earth. Each function makes one
// tool, [All] makes all of them. See package adk/tools for what all batteries have in common.
package misc

import "github.com/adkreplay/adkreplay/adk"

// All returns the tools of this package.
func All() []*adk.Tool {
	return []*adk.Tool{
		ColorContrast(), ColorScheme(), ColorAdjust(), CompareValues(), CompareRecords(), GeoDistance(), GeoWithinRadius(), GeoBBoxContains(),
	}
}

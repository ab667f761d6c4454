// Package texts has tools for text: changing, searching, comparing, encoding and parsing it. Each
// function makes one tool, [All] makes all of them.
//
// Characters are code points, regular expressions are RE2. See package adk/tools for what all
// batteries have in common.
package texts

import "github.com/adkreplay/adkreplay/adk"

// All returns the tools of this package.
func All() []*adk.Tool {
	return []*adk.Tool{
		StringTransform(), StringExtract(), TextAnalyze(), TextLines(), TextDiff(), StringSimilarity(), EncodeText(), TextEscape(),
		UnicodeNormalize(), ParseCSV(), ParseYAML(), ParseKV(), DetectDelimiter(),
	}
}

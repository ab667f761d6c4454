package adk

import "github.com/adkreplay/adkreplay/adk/internal/tokens"

// Encoding names a way of counting tokens. It is a plain string, so that a
// name which comes from a configuration needs no conversion and no check: a
// name that is not among these is counted by a heuristic (PRM-1).
type Encoding = string

// The encodings that PRM-1 names. All but EncodingClaude are counted exactly.
const (
	// EncodingGPT2 has the same ranks and the same split as EncodingR50kBase.
	EncodingGPT2     Encoding = tokens.GPT2
	EncodingR50kBase Encoding = tokens.R50kBase
	EncodingP50kBase Encoding = tokens.P50kBase
	// EncodingP50kEdit differs from EncodingP50kBase in its special tokens
	// alone, and those are ordinary text here.
	EncodingP50kEdit   Encoding = tokens.P50kEdit
	EncodingCL100kBase Encoding = tokens.CL100kBase
	EncodingO200kBase  Encoding = tokens.O200kBase
	// EncodingClaude is counted by a heuristic, for its ranks are not public.
	EncodingClaude Encoding = tokens.Claude
)

// EstimateTokens is how many tokens text is worth in an encoding (PRM-1):
//
//   - exactly, for gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base and
//     o200k_base, where the literal of a special token is ordinary text and a
//     byte that is not UTF-8 counts as U+FFFD;
//   - ceil(chars/3.5) for claude and ceil(chars/4) for every other name, chars
//     being UTF-16 code units.
//
// It never fails: should the ranks of an exact encoding be unreadable, the
// count is the ceil(chars/4) of an unknown one. The exact count takes time in
// n log n for the longest unbroken run of n bytes, whatever the text is, counts a run
// of more than 256 KiB in pieces of that, and needs no network. Safe for concurrent use.
func EstimateTokens(text string, encoding Encoding) int { return tokens.Estimate(text, encoding) }

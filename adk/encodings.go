package adk

import "github.com/adkreplay/adkreplay/adk/internal/tokens"

// Encoding names a way of counting tokens. It is a plain string, so that a name from a
// configuration needs no conversion and no check: tokens of an unknown encoding are counted by a
// heuristic (PRM-1).
type Encoding = string

// The encodings that PRM-1 names. All but EncodingClaude are counted exactly.
const (
	// EncodingGPT2 has the same ranks and the same split as EncodingR50kBase.
	EncodingGPT2     Encoding = tokens.GPT2
	EncodingR50kBase Encoding = tokens.R50kBase
	EncodingP50kBase Encoding = tokens.P50kBase
	// EncodingP50kEdit differs from EncodingP50kBase only in its special tokens, and those count as
	// ordinary text here.
	EncodingP50kEdit   Encoding = tokens.P50kEdit
	EncodingCL100kBase Encoding = tokens.CL100kBase
	EncodingO200kBase  Encoding = tokens.O200kBase
	// EncodingClaude is counted by a heuristic, because its ranks are not public.
	EncodingClaude Encoding = tokens.Claude
)

// EstimateTokens returns the number of tokens of text in an encoding (PRM-1):
//
//   - the exact number for gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base and
//     o200k_base. The literal of a special token counts as ordinary text, and a byte
//     that is not UTF-8 counts as U+FFFD;
//   - ceil(chars/3.5) for claude and ceil(chars/4) for every other name, where chars
//     is the number of UTF-16 code units.
//
// It never fails: if the ranks of an exact encoding cannot be read, it returns ceil(chars/4) as for
// an unknown encoding. It needs no network. The exact count takes O(n log n) time for the longest
// unbroken run of n bytes, whatever the text is; a run of more than 256 KiB is counted in pieces of
// that size. EstimateTokens is safe for concurrent use.
func EstimateTokens(text string, encoding Encoding) int { return tokens.Estimate(text, encoding) }

package tokens

import (
	"sync"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

// The encodings. All but Claude are counted exactly.
const (
	// GPT2 has the same ranks and the same split as R50kBase.
	GPT2     = "gpt2"
	R50kBase = "r50k_base"
	P50kBase = "p50k_base"
	// P50kEdit differs from P50kBase only in its special tokens, and those count as ordinary text
	// here.
	P50kEdit   = "p50k_edit"
	CL100kBase = "cl100k_base"
	O200kBase  = "o200k_base"
	// Claude is counted by a heuristic, because its ranks are not public.
	Claude = "claude"
)

// bytePairs is one exact encoding: how it splits a text and how it ranks the merges inside a piece.
// It is read-only after it was loaded.
type bytePairs struct {
	split splitter
	ranks map[string]int
}

// exactEncodings loads each exact encoding once, on first use, and keeps it. A program that never
// counts pays nothing.
var exactEncodings = map[string]func() *bytePairs{
	R50kBase:   sync.OnceValue(func() *bytePairs { return loadBytePairs("r50k_base.tiktoken", splitGPT2) }),
	P50kBase:   sync.OnceValue(func() *bytePairs { return loadBytePairs("p50k_base.tiktoken", splitGPT2) }),
	CL100kBase: sync.OnceValue(func() *bytePairs { return loadBytePairs("cl100k_base.tiktoken", splitCL100k) }),
	O200kBase:  sync.OnceValue(func() *bytePairs { return loadBytePairs("o200k_base.tiktoken", splitO200k) }),
}

// loadBytePairs reads the ranks from the files that the loader embeds. It uses no network and
// changes no process-wide setting. It returns nil if the ranks cannot be read.
func loadBytePairs(file string, split splitter) *bytePairs {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(file)
	if err != nil {
		return nil
	}
	return &bytePairs{split: split, ranks: ranks}
}

// countedAs returns the name under which an encoding is counted and cached: its own, that of the
// encoding with the same ranks, or "" for an unknown name.
func countedAs(encoding string) string {
	switch encoding {
	case GPT2:
		return R50kBase
	case P50kEdit:
		return P50kBase
	case R50kBase, P50kBase, CL100kBase, O200kBase, Claude:
		return encoding
	}
	return ""
}

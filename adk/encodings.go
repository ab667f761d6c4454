package adk

import (
	"sync"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

// Encoding names a way of counting tokens. It is a plain string, so that a
// name which comes from a configuration needs no conversion and no check: a
// name that is not among these is counted by a heuristic (PRM-1).
type Encoding = string

// The encodings that PRM-1 names. All but EncodingClaude are counted exactly.
const (
	// EncodingGPT2 has the same ranks and the same split as EncodingR50kBase.
	EncodingGPT2     Encoding = "gpt2"
	EncodingR50kBase Encoding = "r50k_base"
	EncodingP50kBase Encoding = "p50k_base"
	// EncodingP50kEdit differs from EncodingP50kBase in its special tokens
	// alone, and those are ordinary text here.
	EncodingP50kEdit   Encoding = "p50k_edit"
	EncodingCL100kBase Encoding = "cl100k_base"
	EncodingO200kBase  Encoding = "o200k_base"
	// EncodingClaude is counted by a heuristic, for its ranks are not public.
	EncodingClaude Encoding = "claude"
)

// bytePairs is one exact encoding: how it splits a text and how it ranks the
// merges inside a piece. It is read-only once loaded.
type bytePairs struct {
	split splitter
	ranks map[string]int
}

// exactEncodings loads each exact encoding when it is first asked for, once,
// and keeps it: a program that never counts pays nothing.
var exactEncodings = map[Encoding]func() *bytePairs{
	EncodingR50kBase:   sync.OnceValue(func() *bytePairs { return loadBytePairs("r50k_base.tiktoken", splitGPT2) }),
	EncodingP50kBase:   sync.OnceValue(func() *bytePairs { return loadBytePairs("p50k_base.tiktoken", splitGPT2) }),
	EncodingCL100kBase: sync.OnceValue(func() *bytePairs { return loadBytePairs("cl100k_base.tiktoken", splitCL100k) }),
	EncodingO200kBase:  sync.OnceValue(func() *bytePairs { return loadBytePairs("o200k_base.tiktoken", splitO200k) }),
}

// loadBytePairs reads the ranks from the files that the loader embeds; no
// network and no process-wide setting is touched. It gives nil if they cannot
// be read.
func loadBytePairs(file string, split splitter) *bytePairs {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(file)
	if err != nil {
		return nil
	}
	return &bytePairs{split: split, ranks: ranks}
}

// countedAs is the one name under which equal countings are done and cached:
// the encoding itself, its twin with the same ranks, or "" for every name that
// is not known.
func countedAs(encoding Encoding) Encoding {
	switch encoding {
	case EncodingGPT2:
		return EncodingR50kBase
	case EncodingP50kEdit:
		return EncodingP50kBase
	case EncodingR50kBase, EncodingP50kBase, EncodingCL100kBase, EncodingO200kBase, EncodingClaude:
		return encoding
	}
	return ""
}

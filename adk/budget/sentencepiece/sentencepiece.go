// Package sentencepiece counts tokens exactly for models whose vocabulary is a file of
// SentencePiece: a budget.Counter of a file that the user has.
//
// The project has no such vocabulary, as they are under licences of their own; without one
// budget.EncodingGemini is counted by the length of a text. This package is a module of
// its own, so that nobody else carries what it needs.
//
//	counter, err := sentencepiece.Load(file, budget.EncodingGemini)
//	limits := budget.Limits{Encoding: budget.EncodingGemini, Window: 1_000_000, Counter: counter}
package sentencepiece

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/eliben/go-sentencepiece"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/budget"
)

// Load reads a vocabulary, the .model file that comes with a model, and gives a counter that
// knows these encodings and no others. The vocabulary has to be one of byte pairs whose
// normalisation adds and removes no blanks, as those of Gemma are; any other is an error,
// and so is a file that is none. The counter is safe for concurrent use.
func Load(vocabulary io.Reader, encodings ...adk.Encoding) (budget.Counter, error) {
	if len(encodings) == 0 {
		return nil, errors.New("sentencepiece: for no encoding: name those that the vocabulary is of")
	}
	processor, err := load(vocabulary)
	if err != nil {
		return nil, fmt.Errorf("sentencepiece: the vocabulary cannot be used: %w", err)
	}
	return func(text string, encoding adk.Encoding) (n int, exact, known bool) {
		if !slices.Contains(encodings, encoding) {
			return 0, false, false
		}
		return count(processor, text)
	}, nil
}

// load is NewProcessor, where what it panics at is an error: it takes some fields of the
// file for granted.
func load(vocabulary io.Reader) (processor *sentencepiece.Processor, err error) {
	defer func() {
		if value := recover(); value != nil {
			processor, err = nil, fmt.Errorf("a part of the file is missing: %v", value)
		}
	}()
	return sentencepiece.NewProcessor(io.MultiReader(vocabulary, bytes.NewReader(room())))
}

// room is one more piece of a vocabulary, which no text leads to. The library puts two
// pieces side by side into a buffer of the longest piece's length, and panics where they
// are longer together (v0.6.0): this piece is longer than any two.
func room() []byte {
	const longest, text, pieces = 4096, 1<<3 | 2, 1<<3 | 2
	const kind, unused = 3 << 3, 5
	piece := append(binary.AppendUvarint([]byte{text}, longest), make([]byte, longest)...)
	piece = append(piece, kind, unused)
	return append(binary.AppendUvarint([]byte{pieces}, uint64(len(piece))), piece...)
}

// count is how many tokens a text has; a text at which the library panics is counted by
// whoever comes next.
func count(processor *sentencepiece.Processor, text string) (n int, exact, known bool) {
	defer func() {
		if recover() != nil {
			n, exact, known = 0, false, false
		}
	}()
	return len(processor.Encode(text)), true, true
}

// Package sentencepiece counts tokens exactly for models whose vocabulary is a SentencePiece file:
// it makes a budget.Counter from a file that the user has.
//
// The project contains no such vocabulary, because they have licences of their own; without one,
// budget.EncodingGemini is estimated by the length of a text. This package is a module of its own,
// so that other users do not carry its dependencies.
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

// Load reads a vocabulary, the .model file that comes with a model, and returns a counter that
// knows the given encodings and no others. The vocabulary must consist of byte pairs, and its
// normalisation must neither add nor remove blanks, as with those of Gemma. Any other file is an
// error. The counter is safe for concurrent use.
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

// load calls NewProcessor and turns its panics into errors. It panics if some fields of the file
// are missing.
func load(vocabulary io.Reader) (processor *sentencepiece.Processor, err error) {
	defer func() {
		if value := recover(); value != nil {
			processor, err = nil, fmt.Errorf("a part of the file is missing: %v", value)
		}
	}()
	return sentencepiece.NewProcessor(io.MultiReader(vocabulary, bytes.NewReader(room())))
}

// room returns one more piece for a vocabulary, which no text matches. The library joins two pieces
// in a buffer with the length of the longest piece, and panics if the two together are longer
// (v0.6.0). The piece of room is longer than any two others.
func room() []byte {
	const longest, text, pieces = 4096, 1<<3 | 2, 1<<3 | 2
	const kind, unused = 3 << 3, 5
	piece := append(binary.AppendUvarint([]byte{text}, longest), make([]byte, longest)...)
	piece = append(piece, kind, unused)
	return append(binary.AppendUvarint([]byte{pieces}, uint64(len(piece))), piece...)
}

// count returns how many tokens a text has. For a text at which the library panics, known is false,
// so that the caller counts it in another way.
func count(processor *sentencepiece.Processor, text string) (n int, exact, known bool) {
	defer func() {
		if recover() != nil {
			n, exact, known = 0, false, false
		}
	}()
	return len(processor.Encode(text)), true, true
}

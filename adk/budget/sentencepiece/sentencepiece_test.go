package sentencepiece_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/budget/sentencepiece"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// field encodes a field of the vocabulary file, which is a protocol buffer, written here by hand.

func field(number int, content []byte) []byte {
	out := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return append(binary.AppendUvarint(out, uint64(len(content))), content...)
}

func number(field int, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3), value)
}

// The types of pieces.
const (
	normal  = 1
	unknown = 2
	single  = 6 // a byte
)

func piece(text string, score float32, kind uint64) []byte {
	content := field(1, []byte(text))
	content = binary.LittleEndian.AppendUint32(append(content, 2<<3|5), math.Float32bits(score))
	return field(1, append(content, number(3, kind)...))
}

// vocabulary is a file that knows "tea", "te", its letters, and all bytes.
func vocabulary(addPrefix uint64) []byte {
	out := piece("<unk>", 0, unknown)
	for i := range 256 {
		out = append(out, piece(fmt.Sprintf("<0x%02X>", i), 0, single)...)
	}
	for i, text := range []string{"te", "tea", "t", "e", "a"} {
		out = append(out, piece(text, -float32(i), normal)...)
	}
	out = append(out, field(2, append(number(3, 2), number(35, 1)...))...) // byte pairs, with bytes as the fallback
	return append(out, field(3, append(number(3, addPrefix), append(number(4, 0), number(5, 1)...)...))...)
}

// TOK-2, TOK-3: a text is counted exactly with the vocabulary, and only in the encodings that it
// was loaded for.
func TestLoad(t *testing.T) {
	counter, err := sentencepiece.Load(bytes.NewReader(vocabulary(0)), budget.EncodingGemini)
	require.NoError(t, err)
	for text, want := range map[string]int{"": 0, "tea": 1, "te": 1, "teatea": 2, "at": 2, "é": 2} {
		n, exact, known := counter(text, budget.EncodingGemini)
		assert.Equal(t, []any{want, true, true}, []any{n, exact, known}, "%q", text)
	}
	_, _, known := counter("tea", adk.EncodingO200kBase)
	assert.False(t, known)
	usage := budget.Measure(prompt.View{SystemPrompt: "teatea"}, nil, budget.EncodingGemini, counter)
	assert.Equal(t, []any{2, true}, []any{usage.SystemPrompt, usage.Exact})
}

// A file that is not a vocabulary, or is one of another kind, gives an error and no panic.
func TestLoadRefuses(t *testing.T) {
	for name, file := range map[string][]byte{
		"nothing":         nil,
		"no such file":    []byte("not a vocabulary"),
		"half of one":     vocabulary(0)[:100],
		"adds a blank":    vocabulary(1),
		"no unknown":      field(2, number(3, 2)),
		"no normaliser":   append(piece("<unk>", 0, unknown), field(2, number(3, 2))...),
		"unigrams, a lot": append(vocabulary(0), field(2, number(3, 1))...),
	} {
		_, err := sentencepiece.Load(bytes.NewReader(file), budget.EncodingGemini)
		assert.ErrorContains(t, err, "sentencepiece: the vocabulary cannot be used", name)
	}
	_, err := sentencepiece.Load(bytes.NewReader(vocabulary(0)))
	assert.Error(t, err)
}

// A user has a vocabulary in a file; here a small one stands in for it.
func Example() {
	file := bytes.NewReader(vocabulary(0)) // os.Open("tokenizer.model")
	counter, err := sentencepiece.Load(file, budget.EncodingGemini)
	if err != nil {
		panic(err)
	}
	n, exact, _ := counter("teatea", budget.EncodingGemini)
	fmt.Println(n, "tokens, exact:", exact)
	// Output: 2 tokens, exact: true
}

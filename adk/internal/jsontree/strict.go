package jsontree

import (
	"math"
	"unsafe"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// Strict converts a text of JSON5 (json5.org) to strict JSON, without the white space between
// values. The numbers that JSON lacks keep their words: NaN, Infinity and -Infinity. The error is
// that of Parse.
func Strict(text string, maxDepth int) (string, error) {
	w := &rewrite{}
	for range 2 { // first to count, then to write into a slice of that length
		w.out, w.size = make([]byte, 0, w.size), 0
		if _, err := (&reader{text: text, maxDepth: maxDepth, loose: true, blind: true, strict: w}).whole(); err != nil {
			return "", err
		}
	}
	return AsText(w.out), nil
}

// AsText returns bytes as a string without copying them; they must not be changed any more.
func AsText(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// rewrite collects what Strict writes. A nil rewrite ignores everything.
type rewrite struct {
	out     []byte
	size    int    // of everything, including what did not fit into out
	scratch []byte // for one scalar
}

func (w *rewrite) put(piece []byte) {
	if w.size += len(piece); w.size <= cap(w.out) {
		w.out = append(w.out, piece...)
	}
}

func (w *rewrite) sign(c byte) {
	if w != nil {
		w.put([]byte{c})
	}
}

func (w *rewrite) text(text string) {
	if w != nil {
		w.scratch = canonical.AppendString(w.scratch[:0], text)
		w.put(w.scratch)
	}
}

// value writes a scalar that is not a string, and returns it.
func (w *rewrite) value(v any) any {
	if w == nil {
		return v
	}
	w.scratch = Append(w.scratch[:0], v)
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		w.scratch = append(w.scratch[:0], wordOf(f)...)
	}
	w.put(w.scratch)
	return v
}

func wordOf(f float64) string {
	switch {
	case f > 0:
		return "Infinity"
	case f < 0:
		return "-Infinity"
	}
	return "NaN"
}

// Scalar returns the value of a text that is a scalar in strict JSON, including the words of
// Strict. The text must be valid.
func Scalar(text string) any {
	switch text[0] {
	case '"':
		return Unquote(text)
	case 'n':
		return nil
	case 't', 'f':
		return text == "true"
	}
	switch text {
	case "NaN":
		return math.NaN()
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	return NumberOf(text)
}

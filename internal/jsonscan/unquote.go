package jsonscan

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the text of a valid JSON string. Without escapes, the result is a part of quoted.
func Unquote(quoted []byte) ([]byte, error) {
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text, nil
	}
	return AppendUnquoted(make([]byte, 0, len(text)), quoted)
}

// AppendUnquoted appends the text of a valid JSON string.
func AppendUnquoted(dst, quoted []byte) ([]byte, error) {
	text := quoted[1 : len(quoted)-1]
	for next := bytes.IndexByte(text, '\\'); next >= 0; next = bytes.IndexByte(text, '\\') {
		dst = append(dst, text[:next]...)
		r, n := escaped(text[next:])
		if n == 0 {
			return nil, errors.New("a string has half of a surrogate pair")
		}
		dst = utf8.AppendRune(dst, r)
		text = text[next+n:]
	}
	return append(dst, text...), nil
}

// escaped decodes the escape at the beginning of text, including the second one of a surrogate
// pair. It returns 0 bytes for half a surrogate pair.
func escaped(text []byte) (rune, int) {
	switch c := text[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return unicodeEscape(text)
	default:
		return rune(c), 2
	}
}

func unicodeEscape(text []byte) (rune, int) {
	r, _ := hex4(text[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(text) < 12 || text[6] != '\\' || text[7] != 'u' {
		return 0, 0
	}
	low, ok := hex4(text[8:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

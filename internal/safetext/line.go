package safetext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns a text on a single line: whatever is not printable in it, including line breaks, is
// written as Go escapes. All names of files are printed with it, because a name that begins a new
// line could be a command to a CI system.
func Line(text string) string { return escaped(text, func(rune) bool { return false }) }

// Lines is like Line, but keeps line breaks. No line of the result is a command to a CI system
// (isWorkflow).
func Lines(text string) string {
	text = escaped(text, func(r rune) bool { return r == '\n' })
	if !strings.Contains(text, "::") && !strings.Contains(text, "##[") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if indent := len(line) - len(strings.TrimLeft(line, " ")); isWorkflow(line) {
			lines[i] = fmt.Sprintf(`%s\x%x%s`, line[:indent], line[indent], line[indent+1:])
		}
	}
	return strings.Join(lines, "\n")
}

// isWorkflow reports whether a CI system that reads the output of a job (GitHub Actions) takes a
// line with this beginning for a command. Then the text of a trace could forge the result of a
// check.
func isWorkflow(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "::") || strings.HasPrefix(line, "##[")
}

// OfFile says why a file could not be used. The result begins with the name of the file, and the
// line if the error names one. Joined errors have one line each.
func OfFile(name string, err error) string {
	name = Line(name)
	text := strings.ReplaceAll(WithoutPackage(err).Error(), "\nreplay: ", "\n")
	if strings.HasPrefix(text, name+":") {
		return text
	}
	return name + ": " + text
}

// WithoutPackage returns an error without the name of its package, for callers that put another
// name before it.
func WithoutPackage(err error) error { return bare{err} }

type bare struct{ error }

func (b bare) Unwrap() error { return b.error }

func (b bare) Error() string {
	text := b.error.Error()
	for _, name := range []string{"sessions: ", "replay: ", "cassette: "} { // the text may have the first prefix and then the second
		text = strings.TrimPrefix(text, name)
	}
	return text
}

func escaped(text string, keeps func(rune) bool) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) && !keeps(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case keeps(r) || strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}

// WriteJSON writes a document and a newline. People read it too, so nothing in it controls a
// terminal.
func WriteJSON(w io.Writer, document any, indent string) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := w.Write(JSON(b.Bytes()))
	return err
}

// Inset indents a text by four columns, to be printed below a line.
func Inset(text string) string { return "    " + Below(strings.TrimSuffix(text, "\n")) }

// Below indents all lines of a text by four columns, except for the first.
func Below(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

// JSON returns an equivalent JSON document in which nothing controls a terminal: whatever is not
// printable in its strings is written as JSON escapes.
func JSON(document []byte) []byte {
	safe := make([]byte, 0, len(document))
	for len(document) > 0 {
		r, size := utf8.DecodeRune(document)
		switch {
		case r == utf8.RuneError: // invalid UTF-8, which JSON readers take for this
			safe = append(safe, string(utf8.RuneError)...)
		case r < ' ' || strconv.IsPrint(r): // no string contains a control character
			safe = append(safe, document[:size]...)
		case utf16.RuneLen(r) == 2:
			high, low := utf16.EncodeRune(r)
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, high, low)
		default:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		}
		document = document[size:]
	}
	return safe
}

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

// Line is a text that stays on its line, whatever it is: what is not printable in it is
// Go's escapes, ends of lines too. It is how the names of files are said, everywhere: a
// name that begins a line of its own could be an order to a CI system.
func Line(text string) string { return escaped(text, func(rune) bool { return false }) }

// Lines is a text whose lines stay lines: each is as Line has it, and none is an order to a CI
// system (isWorkflow).
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

// isWorkflow reports whether a line that begins so is taken for a command by what runs a job in
// CI and reads its output (GitHub Actions): then the text of a trace would say what was found.
func isWorkflow(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "::") || strings.HasPrefix(line, "##[")
}

// OfFile says why a file could not be used, beginning with where: its name, and the line where
// the error names one. Errors that are joined have a line each.
func OfFile(name string, err error) string {
	name = Line(name)
	text := strings.ReplaceAll(WithoutPackage(err).Error(), "\nreplay: ", "\n")
	if strings.HasPrefix(text, name+":") {
		return text
	}
	return name + ": " + text
}

// WithoutPackage is an error without the name of the package that it is of, for who says it behind a name
// of their own.
func WithoutPackage(err error) error { return bare{err} }

type bare struct{ error }

func (b bare) Unwrap() error { return b.error }

func (b bare) Error() string {
	text := b.error.Error()
	for _, name := range []string{"sessions: ", "replay: ", "cassette: "} { // the first may say what the second said
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

// WriteJSON writes a document and the end of its line. People read it too, and nothing in
// it acts upon their terminal.
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

// Inset is a text that stands below a line, four columns to the right.
func Inset(text string) string { return "    " + Below(strings.TrimSuffix(text, "\n")) }

// Below is a text whose lines stand four columns to the right, but for the first.
func Below(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

// JSON is a JSON document that says the same, and in which nothing acts upon a terminal:
// what is not printable in its strings is JSON's escapes.
func JSON(document []byte) []byte {
	safe := make([]byte, 0, len(document))
	for len(document) > 0 {
		r, size := utf8.DecodeRune(document)
		switch {
		case r == utf8.RuneError: // no UTF-8, which means that
			safe = append(safe, string(utf8.RuneError)...)
		case r < ' ' || strconv.IsPrint(r): // no string has one of the former
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

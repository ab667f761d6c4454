package safetext

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inQuotes returns a text in quotes. If the text has double quotes itself, as JSON does, it uses
// back quotes, which need no escapes.
func inQuotes(text string) string {
	if !strings.Contains(text, `"`) || strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	switch strange := strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }); {
	case !strange:
		return "`" + text + "`"
	case strings.Contains(text, `\`): // escaped characters could be confused with backslashes in the text
		return strconv.Quote(text)
	}
	return "`" + escapedOnly(text) + "`"
}

// leadIn is how many characters of a common beginning are shown before a difference.
const leadIn = 24

// Excerpts returns the parts of two texts where they differ, in quotes and of at most width
// characters each: a little before the difference, and what follows. They begin and end at a word
// if there is one nearby. An ellipsis outside the quotes marks omitted text.
func Excerpts(want, got string, width int) (string, string) {
	head, _ := shared(want, got)
	from := head
	for range leadIn {
		_, size := utf8.DecodeLastRuneInString(want[:from])
		from -= size
	}
	if from > 0 {
		if space := strings.IndexFunc(want[from:head], unicode.IsSpace); space >= 0 {
			from += space + 1
		}
	}
	if utf8.RuneCountInString(inQuotes(want)) <= width && utf8.RuneCountInString(inQuotes(got)) <= width {
		from = 0
	}
	return excerpt(want, from, width), excerpt(got, from, width)
}

// excerpt returns a text from a position on.
func excerpt(text string, from, width int) string {
	before := ""
	if from > 0 {
		before = "…"
	}
	rest := text[from:]
	if quoted := before + inQuotes(rest); utf8.RuneCountInString(quoted) <= width {
		return quoted
	}
	room, end := width-utf8.RuneCountInString(before)-len(`""…`), 0
	for end < len(rest) {
		_, size := utf8.DecodeRuneInString(rest[end:])
		room -= utf8.RuneCountInString(strconv.Quote(rest[end:end+size])) - len(`""`)
		if room < 0 {
			break
		}
		end += size
	}
	return before + inQuotes(rest[:wordEnd(rest, end)]) + "…"
}

// wordEnd returns the end of the last whole word of a text before a position, or the position
// itself if the word is long.
func wordEnd(text string, at int) int {
	if at == len(text) {
		return at
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	if next, _ := utf8.DecodeRuneInString(text[at:]); unicode.IsSpace(next) {
		return at
	}
	if space := strings.LastIndexFunc(text[:at], unicode.IsSpace); space > at/2 {
		return space
	}
	mark := strings.LastIndexFunc(text[:at], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if mark > at/2 { // JSON and paths have no spaces
		_, size := utf8.DecodeRuneInString(text[mark:])
		return mark + size
	}
	return at
}

// Shortened returns a text of at most width characters. It cuts a longer text after a word and adds
// an ellipsis.
func Shortened(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	kept := strings.TrimRightFunc(text[:wordEnd(text, runesIn(text, max(width-1, 0)))], unicode.IsSpace)
	return strings.TrimRightFunc(strings.TrimSuffix(kept, "…"), unicode.IsSpace) + "…" // one ellipsis is enough
}

// Wrapped breaks a text at spaces into lines of at most width characters. All lines except the
// first begin with indent. A longer word has a line of its own.
func Wrapped(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// cutLength matches the end of a text that Quoted or Bare cut, which says how long it was.
var cutLength = regexp.MustCompile(`^\([0-9]+ bytes\)$`)

// Beside returns two different lines, which must be safe to print, in at most width characters
// each: long ones with their first word and the part where they differ. If they differ in a part
// that was cut out before, only their beginnings are returned.
func Beside(want, got string, width int) (string, string) {
	if utf8.RuneCountInString(want) <= width && utf8.RuneCountInString(got) <= width {
		return want, got
	}
	head, _ := shared(want, got)
	first, _, _ := strings.Cut(want, " ")
	from := head - leadIn
	if want == "" || got == "" || from <= len(first)+leadIn || cutLength.MatchString(want[strings.LastIndexByte(want[:head], ' ')+1:]) {
		return Shortened(want, width), Shortened(got, width)
	}
	for !utf8.RuneStart(want[from]) {
		from--
	}
	if space := strings.IndexByte(want[from:head], ' '); space >= 0 {
		from += space + 1
	}
	first += " … "
	room := width - utf8.RuneCountInString(first)
	return first + Shortened(want[from:], room), first + Shortened(got[from:], room)
}

// Differing returns two lines, which must be safe to print. If they are longer than width, it cuts
// what they share: before the difference to the beginning and the end of that part, and after the
// difference to its beginning. It does not cut the difference itself. Equal lines are simply
// shortened.
func Differing(a, b string, width int) (string, string) {
	if utf8.RuneCountInString(a) <= width && utf8.RuneCountInString(b) <= width {
		return a, b
	}
	if a == b {
		return Shortened(a, width), Shortened(b, width)
	}
	head, tail := shared(a, b)
	before, behind := a[:head], Shortened(a[len(a)-tail:], width/3)
	if utf8.RuneCountInString(before) > width/3+leadIn {
		from := head - leadIn
		for !utf8.RuneStart(before[from]) {
			from--
		}
		if space := strings.IndexByte(before[from:], ' '); space >= 0 {
			from += space + 1
		}
		before = Shortened(before[:from], width/3) + " " + before[from:]
	}
	return before + a[head:len(a)-tail] + behind, before + b[head:len(b)-tail] + behind
}

package safetext

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inQuotes is a text in quotes: in such that need no escapes where the text has quotes
// itself, as JSON does.
func inQuotes(text string) string {
	if !strings.Contains(text, `"`) || strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	switch strange := strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }); {
	case !strange:
		return "`" + text + "`"
	case strings.Contains(text, `\`): // what is escaped could not be told from what is not
		return strconv.Quote(text)
	}
	return "`" + escapedOnly(text) + "`"
}

// leadIn is how much of what two texts share stands before the place where they differ,
// in characters.
const leadIn = 24

// Excerpts are two texts where they differ, in quotes and at most width characters each:
// what leads to the place, and what follows there. They begin and end at a word where
// there is one nearby. Signs outside of the quotes tell that more stands there.
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

// excerpt is a text from a place on.
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

// wordEnd is the end of the last whole word of a text before a place; the place itself
// where the word is long.
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
	if mark > at/2 { // of JSON and paths, which have no blanks
		_, size := utf8.DecodeRuneInString(text[mark:])
		return mark + size
	}
	return at
}

// Shortened is a text of at most width characters: of a longer one the whole words that
// fit, and a sign that more follows.
func Shortened(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	kept := strings.TrimRightFunc(text[:wordEnd(text, runesIn(text, max(width-1, 0)))], unicode.IsSpace)
	return strings.TrimRightFunc(strings.TrimSuffix(kept, "…"), unicode.IsSpace) + "…" // one sign is enough
}

// Wrapped is a text in lines of at most width characters, broken at blanks; those behind
// the first begin with indent. A word that is longer stands alone on its line.
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

// cutLength is the end of a text that was cut, as Quoted and Bare say how long it was.
var cutLength = regexp.MustCompile(`^\([0-9]+ bytes\)$`)

// Beside are two lines that are safe to print and differ, at most width characters each:
// of long ones how they begin, and the place where they differ. Where they differ in what was
// cut out of them, they have no such place.
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

// Differing are two lines that are safe to print, of which what they share is cut where they are
// longer than width characters: before the place where they differ to how it begins and ends, and
// behind it to how it goes on. What they differ in is there as it is; lines that are the same are
// cut as one is.
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

package safetext

import (
	"bytes"
	"io"
	"strings"
	"unicode"
)

// hanging is how much further a folded line is indented where it continues.
const hanging = "    "

// Gutter ends the prefix of the lines of one strand, which begins with the strand's name.
const Gutter = "│ "

// Folded folds the lines of a text that are longer than columns, if they have a place to fold: a
// space, the comma of a list without spaces, the mark of an omission in a quote, or any place in a
// script that writes no spaces. The rest of a line continues below it, to the right of the line's
// indentation, diff sign and gutter. Commands are not folded, so that they can be copied, and
// neither are the lines that backslashes join into a command. With columns 0, nothing is folded.
func Folded(text string, columns int) string {
	if columns == 0 {
		return text
	}
	lines, goesOn := strings.Split(text, "\n"), false
	for i, line := range lines {
		whole := goesOn
		if goesOn = strings.HasSuffix(line, " \\"); !whole && !goesOn {
			lines[i] = foldedLine(line, columns)
		}
	}
	return strings.Join(lines, "\n")
}

// NewFolder returns a writer that folds each complete line as Folded does, and passes it to w.
func NewFolder(w io.Writer, columns int) io.Writer {
	if columns == 0 {
		return w
	}
	return &folder{w: w, columns: columns}
}

type folder struct {
	w       io.Writer
	columns int
	begun   []byte // a line that has not ended
}

func (f *folder) Write(text []byte) (int, error) {
	end := bytes.LastIndexByte(text, '\n') + 1
	if end > 0 {
		whole := string(append(f.begun, text[:end]...))
		f.begun = f.begun[:0]
		if _, err := io.WriteString(f.w, Folded(whole, f.columns)); err != nil {
			return 0, err
		}
	}
	f.begun = append(f.begun, text[end:]...)
	return len(text), nil
}

func foldedLine(line string, columns int) string {
	indent := indentOf(line)
	below := columns - columnsOf(indent+hanging)
	if columnsOf(line) <= columns || IsCommand(line[len(indent):]) || below < columns/3 {
		return line
	}
	var b strings.Builder
	rest, words, room := line, len(indent), columns
	for {
		at := foldAt(rest, words, room)
		if at == 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(strings.TrimRight(rest[:at], " ") + "\n" + indent + hanging)
		rest, words, room = strings.TrimLeft(rest[at:], " "), 0, below
	}
}

// signs begin the lines of a diff that only one side has, or that changed.
const signs = "-+~"

// indentOf returns the prefix of a line before its words: spaces, the gutter of a strand, and the
// sign of a diff, which each of the folded lines needs.
func indentOf(line string) string {
	if len(line) > 3 && strings.IndexByte(signs, line[0]) >= 0 && line[1:3] == "  " {
		return line[:1] + indentOf(line[1:])
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if name, text, ok := strings.Cut(line[indent:], Gutter); ok && !strings.Contains(name, " ") {
		indent = len(line) - len(strings.TrimLeft(text, " "))
	}
	return line[:indent]
}

// IsCommand reports whether a line is a command to be copied.
func IsCommand(line string) bool {
	return strings.HasPrefix(line, "next: ") || strings.HasPrefix(line, "explore.") || strings.HasPrefix(line, "adkreplay ") || strings.HasPrefix(line, "go ")
}

// Head returns the beginning of a line that fits into the given number of columns.
func Head(line string, columns int) string {
	for i, r := range line {
		if columns -= widthOf(r); columns < 0 {
			return line[:i]
		}
	}
	return line
}

// columnsOf returns how many columns of a terminal a text takes.
func columnsOf(text string) (n int) {
	for _, r := range text {
		n += widthOf(r)
	}
	return n
}

// widthOf returns how many columns of a terminal a character takes: two for East Asian characters
// and pictographs, and none for a mark that combines with the character before.
func widthOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// wide are the characters that take two columns: the blocks of East Asian characters and
// pictographs, after Unicode (UAX #11). A few narrow characters in these blocks count as wide,
// which folds a line slightly early.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, // Hangul, in letters
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1}, // radicals and punctuation
		{Lo: 0x3041, Hi: 0xa4cf, Stride: 1}, // Kana, Han, Yi
		{Lo: 0xa960, Hi: 0xa97c, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, // Hangul, in syllables
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff01, Hi: 0xff60, Stride: 1}, // wide forms of ASCII
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1f300, Hi: 0x1f64f, Stride: 1}, // pictures
		{Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1},
		{Lo: 0x1f900, Hi: 0x1faff, Stride: 1},
		{Lo: 0x20000, Hi: 0x3fffd, Stride: 1}, // Han
	},
}

// mayPart reports whether a line may be folded between two characters without a space: in a script
// that writes no spaces, except after an opening and before a closing mark, and before the mark of
// an omission in a quote.
func mayPart(a, b rune) bool {
	return a == '"' && b == '…' || unicode.Is(wide, a) && unicode.Is(wide, b) &&
		!unicode.In(a, unicode.Ps, unicode.Pi) && !unicode.In(b, unicode.Po, unicode.Pe, unicode.Pf, unicode.Lm)
}

// foldAt returns where to fold a line so that its first part fits into room. That is after the
// first words characters, at the last space that fits, or at the last other place if folding at the
// space would leave half of the room empty. If no place fits, it is the first place. A line is
// never folded before text that must not begin a line (isWorkflow). foldAt returns 0 if the line
// fits or cannot be folded.
func foldAt(line string, words, room int) int {
	if columnsOf(line) <= room {
		return 0
	}
	used, space, other, filled := 0, 0, 0, 0
	before, stays := rune(0), false
	for i, r := range line {
		if r != ' ' || before != ' ' {
			stays = isWorkflow(line[i:])
		}
		if i > words && !stays && mayPart(before, r) && (used <= room || space+other == 0) {
			other = i
		}
		if used > room && space+other > 0 {
			break
		}
		switch {
		case i <= words || stays:
		case r == ' ':
			space, filled = i, used
		case r == ',' && i+1 < len(line) && !isWorkflow(line[i+1:]) && (used < room || space+other == 0):
			other = i + 1
		}
		used += widthOf(r)
		before = r
	}
	if other > space && filled < room/2 {
		return other
	}
	return space
}

package safetext

import (
	"bytes"
	"io"
	"strings"
	"unicode"
)

// A line that is folded goes on below itself, this much to the right.
const hanging = "    "

// Gutter ends what stands at the left of the lines of one strand, its name before it.
const Gutter = "│ "

// Folded is a text with no line that is longer than it may be, where it has a place to be
// folded at: a space, or the comma of a list without spaces, the sign of what is left out of a
// quote, and anywhere in a script that writes no spaces. The rest of a line stands below it, to
// the right of where it begins and of the sign and the gutter that it has.
// Commands stay whole, so that they can be copied, and so do the lines that backslashes make
// one command of. columns 0 folds nothing.
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

// NewFolder is a writer whose lines reach w folded, as Folded folds them, when they end.
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

// signs are what the lines of a diff begin with that one side alone has, or that changed.
const signs = "-+~"

// indentOf is what stands before the words of a line: spaces, the gutter of a strand, and the
// sign of a line in a diff, which each line of it needs.
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

// Head is the beginning of a line that fits into so many columns.
func Head(line string, columns int) string {
	for i, r := range line {
		if columns -= widthOf(r); columns < 0 {
			return line[:i]
		}
	}
	return line
}

// columnsOf is how many columns of a terminal a text takes.
func columnsOf(text string) (n int) {
	for _, r := range text {
		n += widthOf(r)
	}
	return n
}

// widthOf is how many columns of a terminal a character takes: two of those of East Asia and of
// pictures, and none of a mark on the one before.
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

// wide are the characters that take two columns: the blocks of East Asia and of pictures, as
// Unicode has their width (UAX #11). A few within them that are narrow are taken for wide, which
// folds a line a little early.
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

// mayPart reports whether a line may be folded between two characters without a space: in a
// script that writes none, but for what ends or begins there, and before the sign of what is
// left out of a quote.
func mayPart(a, b rune) bool {
	return a == '"' && b == '…' || unicode.Is(wide, a) && unicode.Is(wide, b) &&
		!unicode.In(a, unicode.Ps, unicode.Pi) && !unicode.In(b, unicode.Po, unicode.Pe, unicode.Pf, unicode.Lm)
}

// foldAt is where a line is folded to have room for what stands before, behind the words
// that it begins with: at its last space that fits, or at its last other place where that
// space leaves half of the room empty; at its first where none fits; and nowhere before what
// must not begin a line (isWorkflow). 0 is a line that fits, or cannot be folded.
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

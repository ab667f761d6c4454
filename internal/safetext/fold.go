package safetext

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// A line that is folded goes on below itself, this much to the right.
const hanging = "    "

// Gutter ends what stands at the left of the lines of one strand, its name before it.
const Gutter = "│ "

// Folded is a text with no line that is longer than it may be, where it has a place to be
// folded at: a space, or the comma of a list without spaces. The rest of a line stands
// below it, to the right of where it begins and of the sign and the gutter that it has.
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
	below := columns - utf8.RuneCountInString(indent+hanging)
	if utf8.RuneCountInString(line) <= columns || IsCommand(line[len(indent):]) || below < columns/3 {
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
	if name, text, is := strings.Cut(line[indent:], Gutter); is && !strings.Contains(name, " ") {
		indent = len(line) - len(strings.TrimLeft(text, " "))
	}
	return line[:indent]
}

// IsCommand reports whether a line is a command to be copied.
func IsCommand(line string) bool {
	return strings.HasPrefix(line, "next: ") || strings.HasPrefix(line, "explore.") || strings.HasPrefix(line, "adkreplay ") || strings.HasPrefix(line, "go ")
}

// foldAt is where a line is folded to have room for what stands before, behind the words
// that it begins with: at its last space that fits, or behind its last comma where that
// space leaves half of the room empty; at its first where none fits. 0 is a line that
// fits, or cannot be folded.
func foldAt(line string, words, room int) int {
	if utf8.RuneCountInString(line) <= room {
		return 0
	}
	runes, space, comma, filled := 0, 0, 0, 0
	for i, r := range line {
		if runes > room && space+comma > 0 {
			break
		}
		switch {
		case i <= words:
		case r == ' ':
			space, filled = i, runes
		case r == ',' && i+1 < len(line) && (runes < room || space+comma == 0):
			comma = i + 1
		}
		runes++
	}
	if comma > space && filled < room/2 {
		return comma
	}
	return space
}

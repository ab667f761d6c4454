package safetext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A line that is folded goes on below itself, this much to the right.
const hanging = "    "

// Folded is a text with no line that is longer than it may be, where it has a place to be
// folded at: a space. The rest of a line stands below it, to the right of where it begins.
// Commands stay whole, so that they can be copied. columns 0 folds nothing.
func Folded(text string, columns int) string {
	if columns == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = foldedLine(line, columns)
	}
	return strings.Join(lines, "\n")
}

func foldedLine(line string, columns int) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if utf8.RuneCountInString(line) <= columns || IsCommand(line[len(indent):]) || len(indent)+len(hanging) >= columns/2 {
		return line
	}
	var b strings.Builder
	for rest, room := line, columns; ; room = columns - len(indent) - len(hanging) {
		at := foldAt(rest, room)
		if at == 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(strings.TrimRight(rest[:at], " ") + "\n" + indent + hanging)
		rest = strings.TrimLeft(rest[at:], " ")
	}
}

// IsCommand reports whether a line is a command to be copied.
func IsCommand(line string) bool {
	return strings.HasPrefix(line, "next: ") || strings.HasPrefix(line, "explore.") || strings.HasPrefix(line, "adkreplay ") || strings.HasPrefix(line, "go ")
}

// foldAt is where a line is folded to have room for what stands before: at its last space
// that fits, else at its first; 0 where it fits, or cannot be folded.
func foldAt(line string, room int) (at int) {
	if utf8.RuneCountInString(line) <= room {
		return 0
	}
	runes, begun := 0, false
	for i, r := range line {
		if r == ' ' && begun && (runes <= room || at == 0) {
			at = i
		}
		begun = begun || !unicode.IsSpace(r)
		if runes++; runes > room && at > 0 {
			break
		}
	}
	return at
}

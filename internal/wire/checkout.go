package wire

import "bytes"

// This file is about what git makes of a recording that it takes for a text.

// conflictMarkers are how the lines begin that git writes into a file where two sides changed it.
var conflictMarkers = [][]byte{[]byte("<<<<<<<"), []byte("|||||||"), []byte("======="), []byte(">>>>>>>")}

// Conflict is why a line cannot be read in which git has left one of its conflict markers, and how to
// go on; empty of any other line.
func Conflict(line []byte) string {
	for _, marker := range conflictMarkers {
		if bytes.HasPrefix(line, marker) {
			return "these are git's conflict markers, and no recording is merged line by line: take one side whole " +
				"(git checkout --ours FILE, or --theirs), and run the test with -update, which needs a reason (ADKREPLAY_REASON)"
		}
	}
	return ""
}

// ConflictAt is the number, counted from 1, of the first line of a text in which git has left one of
// its conflict markers; 0 if there is none.
func ConflictAt(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		if n++; Conflict(line) != "" {
			return n
		}
	}
	return 0
}

// CheckedOut says of a recording that was changed, whose last line ends so, that a checkout did it;
// otherwise it says what else it may have been.
func CheckedOut(last []byte, otherwise string) string {
	if bytes.HasSuffix(bytes.TrimSuffix(last, []byte("\n")), []byte("\r")) {
		return "its lines end in CRLF: a checkout with core.autocrlf changed them; put `*.jsonl -text -merge` into .gitattributes and check the file out again"
	}
	return otherwise
}

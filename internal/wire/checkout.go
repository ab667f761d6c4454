package wire

import "bytes"

// This file recognises what git does to a recording that it treats as text.

// conflictMarkers are the beginnings of the lines that git inserts where two sides changed a file.
var conflictMarkers = [][]byte{[]byte("<<<<<<<"), []byte("|||||||"), []byte("======="), []byte(">>>>>>>")}

// Conflict returns why the line cannot be read, and what to do about it, if the line is one of
// git's conflict markers. It returns "" for any other line.
func Conflict(line []byte) string {
	for _, marker := range conflictMarkers {
		if bytes.HasPrefix(line, marker) {
			return "these are git's conflict markers, and no recording is merged line by line: take one side whole " +
				"(git checkout --ours FILE, or --theirs), and run the test with -update, which needs a reason (ADKREPLAY_REASON)"
		}
	}
	return ""
}

// ConflictAt returns the number, counted from 1, of the first line of a text that is one of git's
// conflict markers, or 0 if there is none.
func ConflictAt(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		if n++; Conflict(line) != "" {
			return n
		}
	}
	return 0
}

// CheckedOut explains why a recording was changed. If last, the recording's last line, ends in
// CRLF, the explanation is a checkout that converted line endings; otherwise CheckedOut returns the
// argument otherwise.
func CheckedOut(last []byte, otherwise string) string {
	if bytes.HasSuffix(bytes.TrimSuffix(last, []byte("\n")), []byte("\r")) {
		return "its lines end in CRLF: a checkout with core.autocrlf changed them; put `*.jsonl -text -merge` into .gitattributes and check the file out again"
	}
	return otherwise
}

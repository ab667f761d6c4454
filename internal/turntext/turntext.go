// Package turntext has the texts of turns that are data, and of their schedules. The code that runs
// a turn, the code that writes it as Go, and its model must agree on them.
package turntext

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Read is the log message about something that was read, by the key and the name of the operation.
func Read(key, name string) string { return strings.TrimSuffix(key+" "+name, " ") }

// Signal is the log message about whether a dispatch was signalled.
func Signal(signalled, acked, nacked bool) string {
	return fmt.Sprintf("signalled=%t acked=%t nacked=%t", signalled, acked, nacked)
}

// StoragePath returns the path of the seam of an obligation, such as storage/messages.store.
func StoragePath(of adk.CollectionName, verb string) string {
	return adk.Seam{Label: adk.LabelStorage, Name: fmt.Sprintf("%s.%s", of, verb)}.String()
}

// IsMember reports whether a path can be written as the member of a fault.
func IsMember(path string) bool { return path != "" && !strings.ContainsAny(path, ",=@* \n") }

// FirstDifference returns the number of the first line, from 1, in which two traces differ, and
// that line in each, which is empty after the end. It returns 0 if the traces are equal.
func FirstDifference(a, b []byte) (number int, inA, inB string) {
	if bytes.Equal(a, b) {
		return 0, "", ""
	}
	left, right := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	at := 0
	for at < len(left) && at < len(right) && left[at] == right[at] {
		at++
	}
	return at + 1, lineOf(left, at), lineOf(right, at)
}

func lineOf(lines []string, at int) string {
	if at < len(lines) {
		return lines[at]
	}
	return ""
}

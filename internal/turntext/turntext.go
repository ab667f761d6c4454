// Package turntext holds texts about turns as data and their schedules. The code that runs such a
// turn, the code that writes it as Go and the model of the engine must all use the same texts.
package turntext

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Read returns the text of the log for a read, given the key and the name of the operation.
func Read(key, name string) string { return strings.TrimSuffix(key+" "+name, " ") }

// Signal returns the logged answer to the question whether a dispatch was signalled.
func Signal(signalled, acked, nacked bool) string {
	return fmt.Sprintf("signalled=%t acked=%t nacked=%t", signalled, acked, nacked)
}

// StoragePath returns the path of an obligation's seam, for example storage/messages.store.
func StoragePath(of adk.CollectionName, verb string) string {
	return adk.Seam{Label: adk.LabelStorage, Name: fmt.Sprintf("%s.%s", of, verb)}.String()
}

// IsMember reports whether a path can be written as the member of a fault.
func IsMember(path string) bool { return path != "" && !strings.ContainsAny(path, ",=@* \n") }

// FirstDifference returns the number, from 1, of the first line in which two traces differ, and
// that line in each trace, which is empty after the trace's last line. number is 0 if the traces
// are equal.
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

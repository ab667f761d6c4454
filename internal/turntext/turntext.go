// Package turntext has the words of a turn that is data, and of its schedules, that who
// runs one, who writes it as code and its model have to say alike.
package turntext

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Read is how it is logged what was read, by the key of the operation and its name.
func Read(key, name string) string { return strings.TrimSuffix(key+" "+name, " ") }

// Signal is how it is logged whether a dispatch was signalled.
func Signal(signalled, acked, nacked bool) string {
	return fmt.Sprintf("signalled=%t acked=%t nacked=%t", signalled, acked, nacked)
}

// StoragePath is the path of the seam of an obligation, storage/messages.store say.
func StoragePath(of adk.CollectionName, verb string) string {
	return adk.Seam{Label: adk.LabelStorage, Name: fmt.Sprintf("%s.%s", of, verb)}.String()
}

// IsMember reports whether a path can be written as the member of a fault.
func IsMember(path string) bool { return path != "" && !strings.ContainsAny(path, ",=@* \n") }

// FirstDifference is the number of the first line, from 1, in which two traces differ, and the
// line in each, which is empty behind the last; 0 where they are the same.
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

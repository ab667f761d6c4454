// Package seampath writes and reads the paths of seams: label, name and iteration, as in
// dispatch-input/cap#2.
package seampath

import (
	"fmt"
	"strconv"
	"strings"
)

// Form is what stands behind a label.
type Form uint8

// The forms. A label of which nobody knows has none.
const (
	Unknown  Form = iota
	Bare          // nothing
	Named         // a name
	Numbered      // a name and an iteration
)

// Of is the path of a seam. The name is left out where it is empty.
func Of(label, name string, iteration int, form Form) string {
	var slash, mark, number string // put together at once, which allocates once
	if name != "" {
		slash = "/"
	}
	if form == Numbered {
		mark, number = "#", strconv.Itoa(iteration)
	}
	return label + slash + name + mark + number
}

// Parse reads a path that Of wrote. form says of a label what stands behind it.
func Parse(path string, form func(label string) Form) (label, name string, iteration int, err error) {
	label, name, _ = strings.Cut(path, "/")
	switch form(label) {
	case Bare:
		return label, name, 0, nil
	case Named:
		if name == "" {
			return "", "", 0, fmt.Errorf("seam path %q has no name", path)
		}
		return label, name, 0, nil
	case Numbered:
		at := strings.LastIndexByte(name, '#')
		if at <= 0 {
			return "", "", 0, fmt.Errorf("seam path %q has no name#iteration", path)
		}
		n, err := strconv.Atoi(name[at+1:])
		if err != nil || n < 0 || strconv.Itoa(n) != name[at+1:] {
			return "", "", 0, fmt.Errorf("seam path %q has no iteration number after #", path)
		}
		return label, name[:at], n, nil
	}
	return "", "", 0, fmt.Errorf("seam path %q begins with no known label", path)
}

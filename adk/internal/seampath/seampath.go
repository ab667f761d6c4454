// Package seampath formats and parses the paths of seams: label, name and iteration, as in
// dispatch-input/cap#2.
package seampath

import (
	"fmt"
	"strconv"
	"strings"
)

// Form says what follows a label in a path.
type Form uint8

// The forms. Unknown is the form of a label that is not known.
const (
	Unknown  Form = iota
	Bare          // nothing
	Named         // a name
	Numbered      // a name and an iteration
)

// Of returns the path of a seam. An empty name is left out.
func Of(label, name string, iteration int, form Form) string {
	var slash, mark, number string // put together in one expression, which allocates once
	if name != "" {
		slash = "/"
	}
	if form == Numbered {
		mark, number = "#", strconv.Itoa(iteration)
	}
	return label + slash + name + mark + number
}

// Parse parses a path that Of made. form returns what follows a label.
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

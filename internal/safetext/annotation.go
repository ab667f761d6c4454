package safetext

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Annotation returns the workflow command with which GitHub Actions annotates a file, as a line. The
// level is error or warning. An empty file and a line of 0 are left out. No text in the command can
// start a command of its own, or control a terminal that shows the log.
func Annotation(level, file string, line int, title, text string) string {
	var at string
	if file != "" {
		at = "file=" + property(filepath.ToSlash(file)) + ","
	}
	if line > 0 {
		at += "line=" + strconv.Itoa(line) + ","
	}
	return "::" + level + " " + at + "title=" + property(title) + "::" + escapeMessage.Replace(Lines(text)) + "\n"
}

// The escapes of workflow commands, as @actions/core has them.
var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// property escapes the value of a property, which ends at a comma or colon.
func property(text string) string { return escapeProperty.Replace(Line(text)) }

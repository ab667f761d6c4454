// Package jsonpointer writes and reads the names in a JSON pointer (RFC 6901).
package jsonpointer

import "strings"

var (
	escapes = strings.NewReplacer("~", "~0", "/", "~1")
	meant   = strings.NewReplacer("~0", "~", "~1", "/")
)

// Escape returns a name as it is written in a pointer. Different names are written differently.
func Escape(name string) string { return escapes.Replace(name) }

// Names returns the names in a pointer: "a/b" and "0" for "/a~1b/0". The empty pointer, which
// refers to the whole document, has none.
func Names(pointer string) []string {
	if pointer == "" {
		return nil
	}
	names := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, name := range names {
		names[i] = meant.Replace(name)
	}
	return names
}

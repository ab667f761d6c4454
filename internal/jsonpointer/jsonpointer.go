// Package jsonpointer writes and reads the names in a JSON pointer (RFC 6901).
package jsonpointer

import "strings"

var (
	escapes = strings.NewReplacer("~", "~0", "/", "~1")
	meant   = strings.NewReplacer("~0", "~", "~1", "/")
)

// Escape is a name as it stands in a pointer, where no two names are written the same.
func Escape(name string) string { return escapes.Replace(name) }

// Names are the names that a pointer leads through, "/a~1b/0" through "a/b" and "0". The
// empty pointer, which leads to the whole, has none.
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

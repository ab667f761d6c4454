// Package shell writes words as a shell takes them, for the commands that
// reports and tests print for a person to copy.
package shell

import "strings"

// Quote is a word as a POSIX shell takes it for one: as it is where that is
// plain, and in single quotes otherwise. A word with control characters stays
// one word, and is not made printable.
func Quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plain are the characters that no shell reads anything into, wherever they
// stand.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+@%:,"

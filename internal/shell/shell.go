// Package shell writes commands as a shell takes them where the reader is, for those that
// reports and tests print for a person to copy.
package shell

import (
	"strings"
	"unicode/utf8"
)

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

// Broken is a command in lines of at most width characters where that can be, broken
// between words where a shell reads on: not between a flag and its value.
func Broken(command string, width int) string {
	if utf8.RuneCountInString(command) <= width {
		return command
	}
	var lines []string
	line := ""
	for _, word := range parts(command) {
		if line != "" && utf8.RuneCountInString(line+" "+word+` \`) > width {
			lines = append(lines, line+` \`)
			line = "   "
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// parts are the words of a command, a flag with its value being one.
func parts(command string) (all []string) {
	flag := false
	for _, word := range words(command) {
		isFlag := strings.HasPrefix(word, "-")
		if flag && !isFlag {
			all[len(all)-1] += " " + word
		} else {
			all = append(all, word)
		}
		flag = isFlag
	}
	return all
}

// words are those of a command as Quote wrote them: what stands in quotes is not taken
// apart.
func words(command string) (all []string) {
	begin, quoted := 0, false
	for i, c := range command {
		switch {
		case c == '\'':
			quoted = !quoted
		case c == ' ' && !quoted:
			all = append(all, command[begin:i])
			begin = i + 1
		}
	}
	return append(all, command[begin:])
}

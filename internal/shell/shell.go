// Package shell writes commands as a shell takes them where the reader is, for those that
// reports and tests print for a person to copy.
package shell

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quote is a word as a POSIX shell takes it for one: as it is where that is
// plain, and in single quotes otherwise. Of one with what is not printable the shell makes
// the word, but for ends of lines at its end: a command that is printed is one line, and
// orders nothing of a terminal or a CI system.
func Quote(word string) string {
	switch {
	case word != "" && strings.Trim(word, plain) == "":
		return word
	case utf8.ValidString(word) && strings.IndexFunc(word, func(r rune) bool { return !strconv.IsPrint(r) }) < 0:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var format strings.Builder
	for len(word) > 0 {
		r, size := utf8.DecodeRuneInString(word)
		if strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) && !strings.ContainsRune(`\%'"`, r) {
			format.WriteString(word[:size])
		} else {
			for _, b := range []byte(word[:size]) {
				fmt.Fprintf(&format, `\%03o`, b)
			}
		}
		word = word[size:]
	}
	return `"$(printf '` + format.String() + `')"`
}

// TestPattern matches a test and nothing else; -run of go test matches each level of subtests
// with a pattern of its own.
func TestPattern(test string) string {
	levels := strings.Split(test, "/")
	for i, level := range levels {
		levels[i] = "^" + regexp.QuoteMeta(level) + "$"
	}
	return strings.Join(levels, "/")
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
	begin, quote := 0, rune(0)
	for i, c := range command {
		switch {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == ' ' && quote == 0:
			all = append(all, command[begin:i])
			begin = i + 1
		}
	}
	return append(all, command[begin:])
}

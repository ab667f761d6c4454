// Package shell writes commands in the syntax of a shell. Reports and tests print them for people
// to copy.
package shell

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quote quotes a word for a POSIX shell. A plain word is unchanged, and others are in single
// quotes. A word with unprintable characters becomes a printf that produces it, except for newlines
// at its end. A printed command therefore is a single line, and cannot control a terminal or a CI
// system.
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

// TestPattern returns a pattern for -run of go test that matches only one test. go test matches
// each level of subtests with its own pattern.
func TestPattern(test string) string {
	levels := strings.Split(test, "/")
	for i, level := range levels {
		levels[i] = "^" + regexp.QuoteMeta(level) + "$"
	}
	return strings.Join(levels, "/")
}

// plain are the characters that have no meaning for a shell in any position.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+@%:,"

// Broken breaks a command into lines of at most width characters, if possible. It breaks between
// words, but not between a flag and its value.
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

// parts returns the words of a command, where a flag and its value count as one.
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

// words returns the words of a command that Quote wrote. It does not split quoted text.
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

package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
)

// ErrorWords returns the text of an error, even if its Error method panics.
func ErrorWords(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T, whose text panics", err)
		}
	}()
	return err.Error()
}

// ToolName returns the name of a recorded tool, or "no tool" if there is none.
func ToolName(record adk.Record) string {
	if record == nil {
		return "no tool"
	}
	return PlainName(record.Key())
}

// List formats all elements of a list, with commas.
func List[T any](all []T, word func(T) string) string { return strings.Join(Each(all, word), ", ") }

// Names formats a list of names, of which it shows at most most.
func Names(all []string, most int) string {
	if more := len(all) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), more)
	}
	return strings.Join(all, ", ")
}

// Short formats a list. Of a long list it shows the beginning and the last element.
func Short[T any](all []T, word func(T) string) string {
	return ShortAt(len(all), func(i int) string { return word(all[i]) })
}

// ShortAt is like Short, for a list of n elements that word formats by their indexes.
func ShortAt(n int, word func(int) string) string {
	const most = 12
	first := n
	if n > most {
		first = most - 2
	}
	words := make([]string, first, most+1)
	for i := range words {
		words[i] = word(i)
	}
	if first < n {
		words = append(words, "…", word(n-1))
	}
	return strings.Join(words, " ")
}

// Each returns the results of f for all elements of a list.
func Each[T, U any](all []T, f func(T) U) []U {
	made := make([]U, len(all))
	for i, one := range all {
		made[i] = f(one)
	}
	return made
}

// Counted formats a number of things.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// CamelCase turns a text into a part of a Go name: its words begin with an upper-case letter, and
// characters that a name cannot contain are removed.
func CamelCase(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, word := range words {
		first, size := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToUpper(first)) + word[size:]
	}
	return strings.Join(words, "")
}

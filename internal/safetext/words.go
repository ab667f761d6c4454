package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
)

// ErrorWords is the text of an error, even of one whose own method panics.
func ErrorWords(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T, whose text panics", err)
		}
	}()
	return err.Error()
}

// ToolName is the name of a recorded tool; empty where there is none.
func ToolName(record adk.Record) string {
	if record == nil {
		return "no tool"
	}
	return PlainName(record.Key())
}

// List is all of a list, one after the other.
func List[T any](all []T, word func(T) string) string { return strings.Join(Each(all, word), ", ") }

// Names is a list of names, of which so many are said at most.
func Names(all []string, most int) string {
	if more := len(all) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), more)
	}
	return strings.Join(all, ", ")
}

// Short is a list of names, of which a long one keeps its head and its end.
func Short[T any](all []T, word func(T) string) string {
	return ShortAt(len(all), func(i int) string { return word(all[i]) })
}

// ShortAt is Short of a list of so many that says them by their places.
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

// Each is what f makes of each of a list.
func Each[T, U any](all []T, f func(T) U) []U {
	made := make([]U, len(all))
	for i, one := range all {
		made[i] = f(one)
	}
	return made
}

// Counted is a number of things, in words.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// CamelCase is a text as a part of a name in Go: its words without what no name can hold, each
// with a large letter at its beginning.
func CamelCase(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, word := range words {
		first, size := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToUpper(first)) + word[size:]
	}
	return strings.Join(words, "")
}

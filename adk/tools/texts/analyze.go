package texts

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// TextAnalyze returns the tool that counts what a text has.
func TextAnalyze() *adk.Tool {
	return spec.Tool{
		Name:        "text_analyze",
		Description: "Counts the characters, words, sentences, paragraphs and lines of a text, estimates its tokens, and says of which characters it is made, as a JSON object.",
		Args:        []spec.Arg{spec.Text("text", "the text").Required()},
		JSON:        true,
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			return jsontree.Indented(analyze(c.Text("text"))), nil
		},
	}.Make()
}

var (
	sentenceEnd   = regexp.MustCompile(`[.!?]+(?:\s|\z)`)
	paragraphGap  = regexp.MustCompile(`\n[^\S\n]*\n\s*`)
	notWordLetter = regexp.MustCompile(`[^a-z0-9]+`)
)

func analyze(text string) *jsontree.Object {
	words, characters := strings.Fields(text), utf8.RuneCountInString(text)
	unique, letters := map[string]bool{}, 0
	for _, word := range words {
		letters += utf8.RuneCountInString(word)
		if plain := notWordLetter.ReplaceAllString(strings.ToLower(word), ""); plain != "" {
			unique[plain] = true
		}
	}
	average := 0.0
	if len(words) > 0 {
		average = spec.Round(float64(letters)/float64(len(words)), 2)
	}
	ascii := !strings.ContainsFunc(text, func(c rune) bool { return c > unicode.MaxASCII })
	o := &jsontree.Object{}
	count := func(name string, n int) { o.Set(name, float64(n)) }
	count("char_count", characters)
	count("char_count_no_spaces", letters)
	count("word_count", len(words))
	count("unique_word_count", len(unique))
	count("sentence_count", sentences(text))
	count("paragraph_count", paragraphs(text))
	count("line_count", strings.Count(text, "\n")+1)
	o.Set("avg_word_length", average)
	count("token_estimate", (characters+3)/4)
	o.Set("is_all_alpha", allOf(text, isAlpha))
	o.Set("is_all_numeric", allOf(text, isNumeric))
	o.Set("is_all_alphanumeric", allOf(text, func(c rune) bool { return isAlpha(c) || isNumeric(c) }))
	o.Set("is_all_ascii", ascii)
	o.Set("is_all_lowercase", text == strings.ToLower(text) && text != strings.ToUpper(text))
	o.Set("is_all_uppercase", text == strings.ToUpper(text) && text != strings.ToLower(text))
	o.Set("has_unicode", !ascii)
	return o
}

func allOf(text string, is func(rune) bool) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return !is(c) })
}

func isAlpha(c rune) bool   { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isNumeric(c rune) bool { return c >= '0' && c <= '9' }

func sentences(text string) int {
	n := len(sentenceEnd.FindAllStringIndex(text, -1))
	if n == 0 && strings.TrimSpace(text) != "" {
		return 1
	}
	return n
}

func paragraphs(text string) int {
	if text = strings.TrimSpace(text); text == "" {
		return 0
	}
	return len(paragraphGap.FindAllStringIndex(text, -1)) + 1
}

// TextLines returns the tool that does one operation on the lines of a text.
func TextLines() *adk.Tool {
	return spec.Tool{
		Name:        "text_lines",
		Description: "Does one thing with the lines of a text: sort, sort_desc, reverse, deduplicate (the first stays), filter_empty, trim_each, number or count.",
		Args: []spec.Arg{
			spec.Text("text", "the text").Required(),
			spec.Word("operation", "what to do", "sort", "sort_desc", "reverse", "deduplicate", "filter_empty", "trim_each", "number", "count").Required(),
			spec.Bool("case_insensitive", "of sort and deduplicate: letters are alike, large or small"),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			lines := strings.Split(c.Text("text"), "\n")
			if c.Text("operation") == "count" {
				full := len(filled(slices.Clone(lines)))
				return fmt.Sprintf("%d lines (%d non-empty, %d empty)", len(lines), full, len(lines)-full), nil
			}
			return strings.Join(changedLines(lines, c.Text("operation"), c.Bool("case_insensitive")), "\n"), nil
		},
	}.Make()
}

func filled(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
}

func changedLines(lines []string, operation string, alike bool) []string {
	key := func(line string) string { return line }
	if alike {
		key = strings.ToLower
	}
	switch operation {
	case "sort", "sort_desc":
		slices.SortStableFunc(lines, func(a, b string) int {
			if operation == "sort_desc" {
				a, b = b, a
			}
			return strings.Compare(key(a), key(b))
		})
	case "reverse":
		slices.Reverse(lines)
	case "deduplicate":
		seen := map[string]bool{}
		return slices.DeleteFunc(lines, func(line string) bool {
			known := seen[key(line)]
			seen[key(line)] = true
			return known
		})
	case "filter_empty":
		return filled(lines)
	default:
		for i, line := range lines {
			if operation == "number" {
				lines[i] = fmt.Sprintf("%d. %s", i+1, line)
			} else {
				lines[i] = strings.TrimSpace(line)
			}
		}
	}
	return lines
}

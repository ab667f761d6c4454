package texts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// maxWork is the greatest length of a text in bytes between two operations (BAT-4).
const maxWork = 4 << 20

var errTooLong = errors.New("result too long")

// StringTransform returns the tool string_transform, which runs a chain of operations over a text.
func StringTransform() *adk.Tool {
	return spec.Tool{
		Name: "string_transform",
		Description: "Runs a chain of operations over a text: uppercase lowercase titlecase sentence_case capitalize camel_case pascal_case snake_case kebab_case train_case constant_case " +
			"trim trim_start trim_end normalize_whitespace reverse slug strip_html count_words count_chars count_lines repeat(count, 0 to 100) pad_start pad_end (length, 10000 at most, char) slice(start, end) " +
			"truncate(length, suffix) replace replace_all (from, to) regex_replace(pattern, replacement, flags) split(delimiter) indent(size, char) dedent. " +
			"A count or a split has to be the last. A number beyond its bounds is taken as the nearest of these. Patterns are RE2.",
		Args: []spec.Arg{
			spec.Text("text", "the text").Required(),
			spec.Chain("operations", `the operations, such as [{"op":"trim"},{"op":"truncate","length":80}]`).Required(),
		},
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			var value any = c.Text("text")
			for i, args := range c.Steps("operations") {
				if ctx.Err() != nil {
					return "", context.Cause(ctx)
				}
				name := spec.TextOf(args["op"])
				text, ok := value.(string)
				if !ok {
					return "", fmt.Errorf("Error: Operation %d (%q) needs a text, and the one before gave none", i+1, name)
				}
				changed, err := transform(text, name, args)
				if err != nil {
					return "", fmt.Errorf("Error in operation %d (%q): %w", i+1, name, err)
				}
				value = changed
			}
			return jsontree.Bare(value), nil
		},
	}.Make()
}

func transform(text, name string, args map[string]any) (any, error) {
	if f, plain := plainOperations[name]; plain {
		return f(text), nil
	}
	if f, counts := countOperations[name]; counts {
		return float64(f(text)), nil
	}
	f, known := argumentOperations[name]
	if !known {
		return nil, errors.New("unknown operation")
	}
	value, err := f(text, options{args})
	if changed, ok := value.(string); ok && len(changed) > maxWork {
		return nil, errTooLong
	}
	return value, err
}

var plainOperations = map[string]func(string) string{
	"uppercase": upper, "lowercase": lower, "capitalize": capitalize,
	"sentence_case": func(s string) string { return capitalize(lower(s)) },
	"titlecase":     titlecase,
	"camel_case":    func(s string) string { return cased(s, "", lower, titled) },
	"pascal_case":   func(s string) string { return cased(s, "", titled, titled) },
	"snake_case":    func(s string) string { return cased(s, "_", lower, lower) },
	"kebab_case":    func(s string) string { return cased(s, "-", lower, lower) },
	"train_case":    func(s string) string { return cased(s, "-", titled, titled) },
	"constant_case": func(s string) string { return cased(s, "_", upper, upper) },
	"trim":          strings.TrimSpace,
	"trim_start":    func(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) },
	"trim_end":      func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) },
	"normalize_whitespace": func(s string) string {
		return strings.Join(strings.Fields(s), " ")
	},
	"reverse":    reversed,
	"slug":       slug,
	"strip_html": func(s string) string { return tag.ReplaceAllString(s, "") },
	"dedent":     dedent,
}

var countOperations = map[string]func(string) int{
	"count_words": func(s string) int { return len(strings.Fields(s)) },
	"count_chars": utf8.RuneCountInString,
	"count_lines": func(s string) int { return strings.Count(s, "\n") + 1 },
}

// argumentOperations are the operations with arguments. They return a text or a list.
var argumentOperations = map[string]func(text string, o options) (any, error){
	"repeat":        repeat,
	"pad_start":     func(s string, o options) (any, error) { pad, err := o.padding(s); return pad + s, err },
	"pad_end":       func(s string, o options) (any, error) { pad, err := o.padding(s); return s + pad, err },
	"slice":         sliced,
	"truncate":      truncate,
	"replace":       func(s string, o options) (any, error) { return replace(s, o, 1) },
	"replace_all":   func(s string, o options) (any, error) { return replace(s, o, -1) },
	"regex_replace": regexReplace,
	"split":         split,
	"indent":        indent,
}

// options are the arguments of one operation.
type options struct{ args map[string]any }

func (o options) text(name, usual string) (string, error) {
	given, has := o.args[name]
	if !has {
		return usual, nil
	}
	text, ok := given.(string)
	if !ok {
		return "", fmt.Errorf("%s: want a text", name)
	}
	return text, nil
}

// required returns a text argument that has to be given.
func (o options) required(name string) (string, error) {
	if _, has := o.args[name]; !has {
		return "", fmt.Errorf("%s is missing, want a text", name)
	}
	return o.text(name, "")
}

// whole returns a whole number argument. usual is the default; nil makes the argument required.
func (o options) whole(name string, usual *int) (int, error) {
	given, has := o.args[name]
	if !has && usual != nil {
		return *usual, nil
	}
	n, ok := spec.NumberOf(given)
	if !ok || n != math.Trunc(n) || math.Abs(n) > 1e9 {
		return 0, fmt.Errorf("%s: want a whole number", name)
	}
	return int(n), nil
}

// upper and lower use the full mappings of Unicode, for no specific language: ß becomes SS, and a
// sigma at the end of a word has its own form.
func upper(s string) string { return cases.Upper(language.Und).String(s) }
func lower(s string) string { return cases.Lower(language.Und).String(s) }

func capitalize(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return upper(s[:size]) + s[size:]
}

// titled returns a word with its first letter in uppercase and the others in lowercase.
func titled(s string) string { return capitalize(lower(s)) }

func titlecase(s string) string {
	var out strings.Builder
	start := true
	for _, c := range s {
		if start {
			out.WriteRune(unicode.ToTitle(c))
		} else {
			out.WriteRune(unicode.ToLower(c))
		}
		start = unicode.IsSpace(c)
	}
	return out.String()
}

// cased joins the words of a text; first and others convert the first word and the other words.
func cased(s, between string, first, others func(string) string) string {
	words := wordsOf(s)
	for i, word := range words {
		if i == 0 {
			words[i] = first(word)
		} else {
			words[i] = others(word)
		}
	}
	return strings.Join(words, between)
}

// wordsOf returns the words of a text or of a name in mixed case, such as helloWorld or HTMLParser.
func wordsOf(s string) (words []string) {
	runes := []rune(s)
	start := -1
	for i, c := range runes {
		inWord := unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.Is(unicode.Mn, c)
		if start >= 0 && (!inWord || beginsWord(runes, i)) {
			words = append(words, string(runes[start:i]))
			start = -1
		}
		if inWord && start < 0 {
			start = i
		}
	}
	if start >= 0 {
		words = append(words, string(runes[start:]))
	}
	return words
}

// beginsWord reports whether a word begins at an uppercase letter: after a letter or digit that is
// not uppercase, or before a lowercase letter.
func beginsWord(runes []rune, i int) bool {
	if i == 0 || !unicode.IsUpper(runes[i]) {
		return false
	}
	if before := runes[i-1]; !unicode.IsUpper(before) {
		return true
	}
	return i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

func reversed(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

var (
	tag     = regexp.MustCompile(`<[^<>]*>`)
	notSlug = regexp.MustCompile(`[^a-z0-9]+`)
)

func slug(s string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(withoutAccents(s)), "-"), "-")
}

// dedent removes the white space with which all lines that are not blank begin.
func dedent(s string) string {
	lines := strings.Split(s, "\n")
	common, known := "", false
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		space := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if !known {
			common, known = space, true
		}
		for !strings.HasPrefix(space, common) {
			common = common[:len(common)-1]
		}
	}
	for i, line := range lines {
		if trimmed, had := strings.CutPrefix(line, common); had {
			lines[i] = trimmed
		} else {
			lines[i] = strings.TrimLeft(line, " \t") // a blank line with less white space
		}
	}
	return strings.Join(lines, "\n")
}

func repeat(s string, o options) (any, error) {
	count, err := o.whole("count", nil)
	if err != nil {
		return nil, err
	}
	count = max(0, min(100, count))
	if int64(len(s))*int64(count) > maxWork {
		return nil, errTooLong
	}
	return strings.Repeat(s, count), nil
}

// padding returns what is missing to a length.
func (o options) padding(s string) (string, error) {
	length, err := o.whole("length", nil)
	if err != nil {
		return "", err
	}
	char, err := o.text("char", " ")
	if err != nil {
		return "", err
	}
	missing := min(length, 10_000) - utf8.RuneCountInString(s)
	if missing <= 0 || char == "" {
		return "", nil
	}
	runes := []rune(char)
	pad := make([]rune, missing)
	for i := range pad {
		pad[i] = runes[i%len(runes)]
	}
	return string(pad), nil
}

func sliced(s string, o options) (any, error) {
	runes := []rune(s)
	start, err := o.whole("start", new(0))
	if err != nil {
		return nil, err
	}
	end, err := o.whole("end", new(len(runes)))
	if err != nil {
		return nil, err
	}
	bound := func(i int) int {
		if i < 0 {
			i += len(runes)
		}
		return max(0, min(len(runes), i))
	}
	start, end = bound(start), bound(end)
	return string(runes[start:max(start, end)]), nil
}

// truncate cuts a text to the length, including the suffix that shows the cut.
func truncate(s string, o options) (any, error) {
	length, err := o.whole("length", nil)
	if err != nil {
		return nil, err
	}
	suffix, err := o.text("suffix", "…")
	if err != nil {
		return nil, err
	}
	runes := []rune(s)
	if len(runes) <= length {
		return s, nil
	}
	kept := max(0, length-utf8.RuneCountInString(suffix))
	return string(runes[:kept]) + suffix, nil
}

func replace(s string, o options, most int) (any, error) {
	from, err := o.required("from")
	if err != nil {
		return nil, err
	}
	to, err := o.required("to")
	if err != nil {
		return nil, err
	}
	if n := strings.Count(s, from); most < 0 && int64(n)*int64(len(to)) > maxWork {
		return nil, errTooLong
	}
	return strings.Replace(s, from, to, most), nil
}

func split(s string, o options) (any, error) {
	delimiter, err := o.required("delimiter")
	if err != nil {
		return nil, err
	}
	pieces := []any{}
	for piece := range strings.SplitSeq(s, delimiter) {
		if len(pieces) == spec.MaxList {
			return nil, errTooLong
		}
		pieces = append(pieces, piece)
	}
	return pieces, nil
}

func indent(s string, o options) (any, error) {
	size, err := o.whole("size", new(2))
	if err != nil {
		return nil, err
	}
	char, err := o.text("char", " ")
	if err != nil {
		return nil, err
	}
	size = max(0, min(100, size))
	if len(char) > maxWork/101 || int64(strings.Count(s, "\n")+1)*int64(size*len(char)) > maxWork {
		return nil, errTooLong
	}
	begin := strings.Repeat(char, size)
	return begin + strings.ReplaceAll(s, "\n", "\n"+begin), nil
}

package texts

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// delimiters are the known delimiters; of equally good ones the first wins.
var delimiters = []struct {
	char  byte
	name  string
	shown string
}{{',', "comma", ","}, {'\t', "tab", `\t`}, {';', "semicolon", ";"}, {'|', "pipe", "|"}, {':', "colon", ":"}}

// DetectDelimiter returns the tool detect_delimiter, which guesses what separates the fields of a
// text.
func DetectDelimiter() *adk.Tool {
	return spec.Tool{
		Name:        "detect_delimiter",
		Description: "Guesses the delimiter of a text with fields: comma, tab, semicolon, pipe or colon, from its first 20 lines.",
		Args:        []spec.Arg{spec.Text("text", "the text").Required()},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			if strings.TrimSpace(c.Text("text")) == "" {
				return "", errors.New("No lines to analyze")
			}
			at, fields := detected(c.Text("text"))
			return fmt.Sprintf(`Detected delimiter: %s ("%s") — ~%d fields per row`, delimiters[at].name, delimiters[at].shown, fields), nil
		},
	}.Make()
}

// detected returns the index of the best delimiter, and the number of fields. The best one is
// frequent, and its count varies least from line to line. If none occurs, fields is 0.
func detected(text string) (at, fields int) {
	lines := []string{}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			if lines = append(lines, line[:min(len(line), 5000)]); len(lines) == 20 {
				break
			}
		}
	}
	best := 0.0
	for i, d := range delimiters {
		mean, variance := spread(lines, d.char)
		if score := mean / (1 + variance); score > best {
			best, at, fields = score, i, int(math.Round(mean))+1
		}
	}
	return at, fields
}

// spread returns the mean and the variance of how often a delimiter is on a line, outside of
// quotes.
func spread(lines []string, char byte) (mean, variance float64) {
	counts := make([]float64, len(lines))
	for i, line := range lines {
		quoted := false
		for j := range len(line) {
			switch {
			case line[j] == '"':
				quoted = !quoted
			case line[j] == char && !quoted:
				counts[i]++
			}
		}
		mean += counts[i] / float64(len(lines))
	}
	for _, n := range counts {
		variance += float64((n - mean) * (n - mean) / float64(len(lines)))
	}
	return mean, variance
}

// ParseCSV returns the tool parse_csv, which parses CSV or TSV.
func ParseCSV() *adk.Tool {
	return spec.Tool{
		Name: "parse_csv",
		Description: "Reads CSV, TSV and their like as JSON rows: objects by the header, or lists without one. Numbers and true and false are typed, dates stay texts; " +
			"the delimiter is found if it is not given. At most limit rows (1 to 10000).",
		Args: []spec.Arg{
			spec.Text("text", "the text").Required(), spec.Bool("has_header", "the first row names the columns").Default(true),
			spec.Text("delimiter", "one character; found if empty").Default(""), spec.Number("limit", "rows at most, 1 to 10000; taken as the nearest of these").Default(1000),
		},
		JSON: true,
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			table, err := readCSV(c.Text("text"), c.Text("delimiter"))
			if err != nil {
				return "", err
			}
			return table.answer(c.Bool("has_header"), int(max(1, min(10_000, c.Number("limit"))))), nil
		},
	}.Make()
}

// csvTable has the parsed rows, and the first warnings.
type csvTable struct {
	rows     [][]string
	warnings []string
}

// maxWarnings is the greatest number of warnings in an answer; there could be one for each field.
const maxWarnings = 3

func (t *csvTable) warn(format string, args ...any) {
	if len(t.warnings) < maxWarnings {
		t.warnings = append(t.warnings, fmt.Sprintf(format, args...))
	}
}

func readCSV(text, delimiter string) (csvTable, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.TrimSpace(text) == "" {
		return csvTable{}, errors.New("Nothing to parse")
	}
	comma, size := utf8.DecodeRuneInString(delimiter)
	switch {
	case len(delimiter) > size || delimiter != "" && strings.ContainsAny(delimiter, "\"\r\n\uFFFD\x00"):
		return csvTable{}, errors.New("delimiter: want one character that is no quote and no line break")
	case delimiter == "":
		at, _ := detected(text)
		comma = rune(delimiters[at].char)
	}
	table, err := readRows(text, comma, false)
	if err != nil {
		var lazyErr error
		if table, lazyErr = readRows(text, comma, true); lazyErr != nil {
			return csvTable{}, fmt.Errorf("Nothing to parse: %w", lazyErr)
		}
		table.warn("%s", err)
	}
	if len(table.rows) == 0 {
		return csvTable{}, errors.New("Nothing to parse")
	}
	return table, nil
}

// readRows parses all rows that are not empty.
func readRows(text string, comma rune, lazy bool) (table csvTable, err error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comma, reader.LazyQuotes, reader.FieldsPerRecord = comma, lazy, -1
	for {
		row, err := reader.Read()
		if err == io.EOF {
			return table, nil
		}
		if err != nil {
			return table, err
		}
		if strings.TrimSpace(strings.Join(row, "")) == "" && len(row) <= 1 {
			continue
		}
		switch table.rows = append(table.rows, row); {
		case len(table.rows) > spec.MaxList:
			return table, fmt.Errorf("more than %d rows", spec.MaxList)
		case len(row) > spec.MaxList:
			return table, fmt.Errorf("row %d has %d fields, want at most %d", len(table.rows), len(row), spec.MaxList)
		}
	}
}

// columns returns the names in the first row. A repeated name gets a number, so that no field
// replaces another.
func (t *csvTable) columns() []string {
	names, taken, next := slices.Clone(t.rows[0]), map[string]bool{}, map[string]int{}
	for _, name := range names {
		taken[name] = true
	}
	for i, name := range names {
		if next[name]++; next[name] == 1 {
			continue // the first with this name
		}
		for ; taken[names[i]]; next[name]++ {
			names[i] = fmt.Sprintf("%s_%d", name, next[name]-1)
		}
		next[name]--
		taken[names[i]] = true
		t.warn("column %d is a further %.40q, and named %.60q", i+1, name, names[i])
	}
	return names
}

func (t csvTable) answer(header bool, limit int) string {
	rows, names := t.rows, []string(nil)
	if header {
		names, rows = t.columns(), rows[1:]
	}
	shown := []any{}
	for i, row := range rows {
		if header && len(row) != len(names) {
			t.warn("row %d has %d fields, want %d", i+1, len(row), len(names))
		}
		if i < limit {
			shown = append(shown, rowOf(row, names))
			rows[i] = nil // frees the row's texts
		}
	}
	answer := spec.Indented(shown, 2)
	if len(t.warnings) > 0 {
		answer = "Parse warnings: " + strings.Join(t.warnings, "; ") + "\n\n" + answer
	}
	if len(rows) > limit {
		answer += fmt.Sprintf("\n\n(Showing %d of %d rows)", limit, len(rows))
	}
	return answer
}

// rowOf returns a row as an object with the names of its columns, or as a list without names.
// Fields beyond the names are in a list of their own.
func rowOf(row, names []string) any {
	list := make([]any, len(row))
	for i, field := range row {
		list[i] = typed(field)
	}
	if names == nil {
		return list
	}
	o := &jsontree.Object{}
	for i, name := range names {
		if i < len(row) {
			o.Set(name, list[i])
		}
	}
	if len(row) > len(names) {
		o.Set("__parsed_extra", list[len(names):])
	}
	return o
}

// typed returns a field as a boolean, a number or text. Digits that begin with a zero, such as a
// postcode, stay text.
func typed(field string) any {
	switch trimmed := strings.TrimSpace(field); trimmed {
	case "true", "TRUE":
		return true
	case "false", "FALSE":
		return false
	default:
		if number, ok := jsontree.ReadNumber(trimmed); ok {
			return number
		}
	}
	return field
}

// ParseKV returns the tool parse_kv, which parses pairs of keys and values.
func ParseKV() *adk.Tool {
	return spec.Tool{
		Name:        "parse_kv",
		Description: "Reads pairs such as those of an env file or a query as a JSON object of texts. Quotes around values are taken off, what has no delimiter is skipped, a later pair wins.",
		Args: []spec.Arg{
			spec.Text("text", "the text").Required(), spec.Word("kv_delimiter", "between key and value; auto takes = before :", "=", ":", "auto").Default("auto"),
			spec.Word("pair_delimiter", "between pairs", "newline", "comma", "semicolon", "ampersand").Default("newline"),
			spec.Bool("skip_comments", "skip what begins with # or //").Default(true),
		},
		JSON: true,
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			between := map[string]string{"newline": "\n", "comma": ",", "semicolon": ";", "ampersand": "&"}[c.Text("pair_delimiter")]
			o := &jsontree.Object{}
			for pair := range strings.SplitSeq(c.Text("text"), between) {
				pair = strings.TrimSpace(pair)
				if c.Bool("skip_comments") && (strings.HasPrefix(pair, "#") || strings.HasPrefix(pair, "//")) {
					continue
				}
				if key, value, found := cutPair(pair, c.Text("kv_delimiter")); found {
					o.Set(key, value)
				}
			}
			return spec.Indented(o, 2), nil
		},
	}.Make()
}

func cutPair(pair, delimiter string) (key, value string, found bool) {
	if delimiter == "auto" {
		delimiter = "="
		if !strings.Contains(pair, "=") {
			delimiter = ":"
		}
	}
	key, value, found = strings.Cut(pair, delimiter)
	key, value = unquoted(strings.TrimSpace(key)), unquoted(strings.TrimSpace(value))
	return key, value, found && key != ""
}

func unquoted(s string) string {
	if n := len(s); n >= 2 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') {
		return s[1 : n-1]
	}
	return s
}

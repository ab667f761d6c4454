package misc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// CompareValues returns the tool compare_values, which says which of two values is greater.
func CompareValues() *adk.Tool {
	return spec.Tool{
		Name: "compare_values",
		Description: "Says which of two values is greater: equal, greater_than (a is), less_than, or not_comparable. Texts that look like numbers compare as numbers, null is less than anything; " +
			"objects and lists are equal or not comparable. type_hint says to take both as numbers, texts or dates (ISO 8601).",
		Args: []spec.Arg{
			spec.Anything("a", "a value").Required(), spec.Anything("b", "another value").Required(),
			spec.Word("type_hint", "what both are", "auto", "number", "string", "date").Default("auto"), spec.Bool("case_insensitive", "of texts: letters are alike, large or small"),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			a, first := jsontree.Plain(c.Any("a"))
			b, second := jsontree.Plain(c.Any("b"))
			if !first || !second {
				return "", errors.New("a and b: want JSON values")
			}
			switch c.Text("type_hint") {
			case "number":
				return compareAsNumbers(a, b)
			case "string":
				return compareTexts(jsontree.Bare(a), jsontree.Bare(b), c.Bool("case_insensitive")), nil
			case "date":
				return compareDates(jsontree.Bare(a), jsontree.Bare(b))
			}
			return compareAny(a, b, c.Bool("case_insensitive")), nil
		},
	}.Make()
}

const notComparable = "not_comparable"

// said returns an order as a word.
func said(order int) string { return []string{"less_than", "equal", "greater_than"}[order+1] }

// numberIn returns the number that a value is, or that its text looks like.
func numberIn(v any) (any, bool) {
	text, ok := v.(string)
	if !ok {
		_, number := jsontree.Number(v)
		return v, number
	}
	text = strings.TrimSpace(text)
	if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) || math.IsNaN(f) || strings.ContainsAny(text, "xXpP_") {
		return nil, false
	}
	return jsontree.NumberOf(text), true
}

func compareAsNumbers(a, b any) (string, error) {
	x, ok := numberIn(a)
	if !ok {
		return "", fmt.Errorf("a is not a number: %.60q", jsontree.Bare(a))
	}
	y, ok := numberIn(b)
	if !ok {
		return "", fmt.Errorf("b is not a number: %.60q", jsontree.Bare(b))
	}
	return said(jsontree.CompareNumbers(x, y)), nil
}

func compareTexts(a, b string, alike bool) string {
	if alike {
		a, b = strings.ToLower(a), strings.ToLower(b)
	}
	return said(strings.Compare(a, b))
}

func compareAny(a, b any, alike bool) string {
	switch {
	case a == nil || b == nil:
		return said(rank(a) - rank(b))
	case jsontree.Equal(a, b):
		return said(0)
	}
	x, number := numberIn(a)
	y, other := numberIn(b)
	if number && other {
		return said(jsontree.CompareNumbers(x, y))
	}
	s, text := a.(string)
	t, texts := b.(string)
	if text && texts {
		return compareTexts(s, t, alike)
	}
	p, truth := a.(bool)
	_, truths := b.(bool)
	if truth && truths { // they are not equal here
		if p {
			return said(1)
		}
		return said(-1)
	}
	return notComparable
}

// rank is 0 for null and 1 for anything else.
func rank(v any) int {
	if v == nil {
		return 0
	}
	return 1
}

// dateForms are the forms of dates that compare_values accepts.
var dateForms = []string{"2006", "2006-01", time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339Nano}

func dateIn(argument, text string) (time.Time, error) {
	for _, form := range dateForms {
		if t, err := time.Parse(form, strings.TrimSpace(text)); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is not a date: %.60q; want ISO 8601 such as 2026-03-15", argument, text)
}

func compareDates(a, b string) (string, error) {
	x, err := dateIn("a", a)
	if err != nil {
		return "", err
	}
	y, err := dateIn("b", b)
	if err != nil {
		return "", err
	}
	const instant = "2006-01-02T15:04:05.000Z07:00"
	return fmt.Sprintf("%s\na = %s\nb = %s", said(x.Compare(y)), x.Format(instant), y.Format(instant)), nil
}

// CompareRecords returns the tool compare_records, which compares two objects key by key.
func CompareRecords() *adk.Tool {
	return spec.Tool{
		Name:        "compare_records",
		Description: "Compares two JSON objects key by key: the keys of one alone, those with the same value, and those with another. Without deep, values are compared as written, order of keys included.",
		Args: []spec.Arg{
			spec.Text("record_a", "the text of a JSON object, A").Required(), spec.Text("record_b", "the text of a JSON object, B").Required(),
			spec.Bool("deep", "values are compared by their content").Default(true),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			a, err := spec.Object(c.Text("record_a"))
			if err != nil {
				return "", fmt.Errorf("record_a: %w", err)
			}
			b, err := spec.Object(c.Text("record_b"))
			if err != nil {
				return "", fmt.Errorf("record_b: %w", err)
			}
			same := jsontree.Equal
			if !c.Bool("deep") {
				same = func(a, b any) bool { return jsontree.Text(a) == jsontree.Text(b) }
			}
			return recordReport(a, b, same), nil
		},
	}.Make()
}

func recordReport(a, b *jsontree.Object, same func(a, b any) bool) string {
	var onlyA, onlyB, equal, different []string
	for key, value := range a.All() {
		other, found := b.Get(key)
		switch {
		case !found:
			onlyA = append(onlyA, key)
		case same(value, other):
			equal = append(equal, key)
		default:
			different = append(different, fmt.Sprintf("  %s: A=%s, B=%s", key, jsontree.Text(value), jsontree.Text(other)))
		}
	}
	for key := range b.All() {
		if _, found := a.Get(key); !found {
			onlyB = append(onlyB, key)
		}
	}
	var lines []string
	for _, group := range []struct {
		name string
		keys []string
	}{{"Only in A", onlyA}, {"Only in B", onlyB}, {"Same value", equal}} {
		if len(group.keys) > 0 {
			lines = append(lines, fmt.Sprintf("%s (%d): %s", group.name, len(group.keys), strings.Join(group.keys, ", ")))
		}
	}
	if len(different) > 0 {
		lines = append(append(lines, fmt.Sprintf("Different value (%d):", len(different))), different...)
	}
	if len(lines) == 0 {
		return "Records are identical."
	}
	return strings.Join(lines, "\n")
}

package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// JSONTransform returns the tool json_transform, which runs a chain of operations over JSON.
func JSONTransform() *adk.Tool {
	return spec.Tool{
		Name: "json_transform",
		Description: "Runs a chain of operations over JSON, each on what the one before gave. Operations: filter(key, operator of eq ne gt gte lt lte contains starts_with ends_with exists, value), " +
			"sort(key, direction asc or desc), select_keys(keys), pluck(key), slice(start, end), unique, unique_by(key), group_by(key), flatten(depth), reverse, count, " +
			"sum avg median min max (key), first last (n), chunk(size), frequency_count(key), top_n(n, key, direction), map_template(template with {{path}}). " +
			"Keys are paths with dots; where an item has none, it sorts last.",
		Args: []spec.Arg{
			spec.Text("data", "the text of the JSON").Required(),
			spec.Chain("operations", `the operations, such as [{"op":"filter","key":"price","operator":"gt","value":1},{"op":"sum","key":"price"}]`).Required(),
		},
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			value, err := spec.JSON(c.Text("data"))
			if err != nil {
				return "", err
			}
			for i, args := range c.Steps("operations") {
				if err := ctx.Err(); err != nil {
					return "", context.Cause(ctx)
				}
				s := step{args}
				if value, err = s.run(value); err != nil {
					return "", fmt.Errorf("Error in operation %d (%q): %w", i+1, s.text("op"), err)
				}
			}
			if text, ok := value.(string); ok {
				return text, nil
			}
			return spec.Indented(value, 2), nil
		},
	}.Make()
}

// step is one operation of a chain.
type step struct{ args map[string]any }

// operations has the operations on lists by name.
var operations = map[string]func(s step, list []any) (any, error){
	"filter": step.filter, "sort": step.sort, "select_keys": step.selectKeys, "pluck": step.pluck, "slice": step.slice, "unique": step.unique, "unique_by": step.uniqueBy,
	"group_by": step.groupBy, "flatten": step.flatten, "reverse": step.reverse, "sum": step.sum, "avg": step.average, "median": step.median, "min": step.least, "max": step.most,
	"first": step.first, "last": step.last, "chunk": step.chunk, "frequency_count": step.frequencies, "top_n": step.top, "map_template": step.template,
}

func (s step) run(value any) (any, error) {
	name := s.text("op")
	list, isList := value.([]any)
	if name == "count" {
		if o, ok := value.(*jsontree.Object); ok {
			return float64(o.Len()), nil
		}
		if isList {
			return float64(len(list)), nil
		}
		return nil, errors.New("want a list or an object")
	}
	operation, known := operations[name]
	switch {
	case !known:
		return nil, errors.New("unknown operation")
	case !isList:
		return nil, errors.New("want a list")
	case len(list) > spec.MaxList:
		return nil, fmt.Errorf("a list of more than %d items", spec.MaxList)
	}
	return operation(s, list)
}

func (s step) text(name string) string { return spec.TextOf(s.args[name]) }

// key returns the argument key, which is required.
func (s step) key() (string, error) {
	if key := s.text("key"); key != "" {
		return key, nil
	}
	return "", errors.New("key is missing, want the path of a key")
}

// whole returns an argument that is a whole number, at least least. usual is the default; a
// negative usual makes the argument required.
func (s step) whole(name string, least, usual int) (int, error) {
	given, has := s.args[name]
	if !has && usual >= 0 {
		return usual, nil
	}
	n, ok := spec.NumberOf(given)
	if !ok || n != math.Trunc(n) || n < float64(least) || math.Abs(n) > 1e9 {
		return 0, fmt.Errorf("%s: want a whole number from %d on", name, least)
	}
	return int(n), nil
}

// at returns the value of an item at a path of keys separated by dots, and whether it is there and
// not null. An empty path is the item itself.
func at(item any, path string) (any, bool) {
	if path == "" {
		return item, item != nil
	}
	if o, ok := item.(*jsontree.Object); ok { // a key may contain dots
		if value, found := o.Get(path); found {
			return value, value != nil
		}
	}
	for name := range strings.SplitSeq(path, ".") {
		switch container := item.(type) {
		case *jsontree.Object:
			item, _ = container.Get(name)
		case []any:
			i, err := indexOf(name, len(container))
			if err != nil {
				return nil, false
			}
			item = container[i]
		default:
			return nil, false
		}
	}
	return item, item != nil
}

func indexOf(name string, n int) (int, error) {
	i := 0
	for _, c := range name {
		if c < '0' || c > '9' || i >= n {
			return 0, errors.New("no index")
		}
		i = 10*i + int(c-'0')
	}
	if name == "" || i >= n {
		return 0, errors.New("no index")
	}
	return i, nil
}

func (s step) filter(list []any) (any, error) {
	want, ok := jsontree.Plain(s.args["value"])
	if !ok {
		return nil, errors.New("value is no JSON")
	}
	test, known := filters[s.text("operator")]
	if !known {
		return nil, errors.New("operator: want eq, ne, gt, gte, lt, lte, contains, starts_with, ends_with or exists")
	}
	kept := []any{}
	for _, item := range list {
		value, found := at(item, s.text("key"))
		if test(value, found, want) {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

var filters = map[string]func(value any, found bool, want any) bool{
	"eq":          func(v any, _ bool, want any) bool { return jsontree.Equal(v, want) },
	"ne":          func(v any, _ bool, want any) bool { return !jsontree.Equal(v, want) },
	"gt":          func(v any, _ bool, want any) bool { order, ok := compare(v, want); return ok && order > 0 },
	"gte":         func(v any, _ bool, want any) bool { order, ok := compare(v, want); return ok && order >= 0 },
	"lt":          func(v any, _ bool, want any) bool { order, ok := compare(v, want); return ok && order < 0 },
	"lte":         func(v any, _ bool, want any) bool { order, ok := compare(v, want); return ok && order <= 0 },
	"contains":    contains,
	"starts_with": func(v any, _ bool, want any) bool { return bothTexts(v, want, strings.HasPrefix) },
	"ends_with":   func(v any, _ bool, want any) bool { return bothTexts(v, want, strings.HasSuffix) },
	"exists":      func(_ any, found bool, _ any) bool { return found },
}

func bothTexts(a, b any, test func(a, b string) bool) bool {
	x, first := a.(string)
	y, second := b.(string)
	return first && second && test(x, y)
}

func contains(v any, _ bool, want any) bool {
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, func(item any) bool { return jsontree.Equal(item, want) })
	}
	return bothTexts(v, want, strings.Contains)
}

// compare orders two numbers or two texts. ok is false for anything else.
func compare(a, b any) (order int, ok bool) {
	if bothTexts(a, b, func(a, b string) bool { order = strings.Compare(a, b); return true }) {
		return order, true
	}
	_, first := jsontree.Number(a)
	_, second := jsontree.Number(b)
	if !first || !second {
		return 0, false
	}
	return jsontree.CompareNumbers(a, b), true
}

// rank orders values of different kinds: numbers, texts, booleans, other values, null.
func rank(v any) int {
	switch v.(type) {
	case nil:
		return 4
	case float64, jsontree.Digits:
		return 0
	case string:
		return 1
	case bool:
		return 2
	}
	return 3
}

// order orders the values by which a list is sorted. A missing value comes last in both directions.
func order(a, b any, descending bool) int {
	if a == nil || b == nil {
		return rank(a)/4 - rank(b)/4
	}
	result := cmp.Compare(rank(a), rank(b))
	if result == 0 {
		result, _ = compare(a, b)
	}
	if result == 0 && a == true && b == false {
		result = 1
	} else if result == 0 && a == false && b == true {
		result = -1
	}
	if descending {
		return -result
	}
	return result
}

func (s step) sort(list []any) (any, error) { return s.sorted(list, s.text("direction") == "desc") }

func (s step) sorted(list []any, descending bool) ([]any, error) {
	if d := s.text("direction"); d != "" && d != "asc" && d != "desc" {
		return nil, errors.New("direction: want asc or desc")
	}
	type keyed struct{ key, item any }
	all := make([]keyed, len(list))
	for i, item := range list {
		key, _ := at(item, s.text("key"))
		all[i] = keyed{key, item}
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return order(a.key, b.key, descending) })
	sorted := make([]any, len(list))
	for i, k := range all {
		sorted[i] = k.item
	}
	return sorted, nil
}

func (s step) top(list []any) (any, error) {
	n, err := s.whole("n", 0, -1)
	if err != nil {
		return nil, err
	}
	sorted, err := s.sorted(list, s.text("direction") != "asc")
	if err != nil {
		return nil, err
	}
	return sorted[:min(n, len(sorted))], nil
}

func (s step) selectKeys(list []any) (any, error) {
	keys, ok := s.args["keys"].([]any)
	if !ok {
		return nil, errors.New("keys: want a list of keys")
	}
	if err := affordable(len(list), len(keys), "keys"); err != nil {
		return nil, err
	}
	selected := make([]any, len(list))
	for i, item := range list {
		o := &jsontree.Object{}
		for _, key := range keys {
			path := spec.TextOf(key)
			value, found := at(item, path)
			if object, isObject := item.(*jsontree.Object); isObject && !found {
				value, found = object.Get(path) // keep a null
			}
			if found {
				o.Set(path, value)
			}
		}
		selected[i] = o
	}
	return selected, nil
}

// maxLooked is the greatest number of lookups of an operation: keys times items.
const maxLooked = 2_000_000

func affordable(items, each int, what string) error {
	if items*each > maxLooked {
		return fmt.Errorf("%d %s in each of %d items: want at most %d together", each, what, items, maxLooked)
	}
	return nil
}

func (s step) pluck(list []any) (any, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	plucked := make([]any, len(list))
	for i, item := range list {
		plucked[i], _ = at(item, key)
	}
	return plucked, nil
}

func (s step) slice(list []any) (any, error) {
	bound := func(name string, usual int) (int, error) {
		given, has := s.args[name]
		if !has {
			return usual, nil
		}
		n, ok := spec.NumberOf(given)
		if !ok || n != math.Trunc(n) {
			return 0, fmt.Errorf("%s: want a whole number", name)
		}
		if n < 0 {
			n += float64(len(list))
		}
		return int(max(0, min(float64(len(list)), n))), nil
	}
	start, err := bound("start", 0)
	if err != nil {
		return nil, err
	}
	end, err := bound("end", len(list))
	if err != nil {
		return nil, err
	}
	return list[start:max(start, end)], nil
}

func (s step) unique(list []any) (any, error) { return uniqueBy(list, ""), nil }

func (s step) uniqueBy(list []any) (any, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	return uniqueBy(list, key), nil
}

func uniqueBy(list []any, key string) []any {
	seen, kept := map[string]bool{}, []any{}
	for _, item := range list {
		value, _ := at(item, key)
		if k := jsontree.Key(value); !seen[k] {
			seen[k] = true
			kept = append(kept, item)
		}
	}
	return kept
}

func (s step) groupBy(list []any) (any, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	groups := &jsontree.Object{}
	for _, item := range list {
		value, _ := at(item, key)
		group, _ := groups.Get(jsontree.Bare(value))
		members, _ := group.([]any)
		groups.Set(jsontree.Bare(value), append(members, item))
	}
	return groups, nil
}

func (s step) frequencies(list []any) (any, error) {
	counts := &jsontree.Object{}
	for _, item := range list {
		value, _ := at(item, s.text("key"))
		n, _ := counts.Get(jsontree.Bare(value))
		count, _ := n.(float64)
		counts.Set(jsontree.Bare(value), count+1)
	}
	names := counts.Keys()
	slices.SortStableFunc(names, func(a, b string) int {
		x, _ := counts.Get(a)
		y, _ := counts.Get(b)
		return cmp.Compare(y.(float64), x.(float64))
	})
	sorted := &jsontree.Object{}
	for _, name := range names {
		n, _ := counts.Get(name)
		sorted.Set(name, n)
	}
	return sorted, nil
}

func (s step) flatten(list []any) (any, error) {
	depth, err := s.whole("depth", 0, 1)
	if err != nil {
		return nil, err
	}
	return flattened(nil, list, depth), nil
}

func flattened(out, list []any, depth int) []any {
	if out == nil {
		out = []any{}
	}
	for _, item := range list {
		if inner, ok := item.([]any); ok && depth > 0 {
			out = flattened(out, inner, depth-1)
		} else {
			out = append(out, item)
		}
	}
	return out
}

func (s step) reverse(list []any) (any, error) {
	reversed := slices.Clone(list)
	slices.Reverse(reversed)
	return reversed, nil
}

func (s step) first(list []any) (any, error) {
	n, err := s.whole("n", 0, 1)
	return list[:min(n, len(list))], err
}

func (s step) last(list []any) (any, error) {
	n, err := s.whole("n", 0, 1)
	return list[len(list)-min(n, len(list)):], err
}

func (s step) chunk(list []any) (any, error) {
	size, err := s.whole("size", 1, -1)
	if err != nil {
		return nil, err
	}
	chunks := []any{}
	for piece := range slices.Chunk(list, size) {
		chunks = append(chunks, any(piece))
	}
	return chunks, nil
}

// numbers returns the numbers that items have at the key, and ignores other values.
func (s step) numbers(list []any) (numbers []any) {
	for _, item := range list {
		value, _ := at(item, s.text("key"))
		if _, ok := jsontree.Number(value); ok {
			numbers = append(numbers, value)
		}
	}
	return numbers
}

// floats returns the same numbers as the nearest float64s.
func (s step) floats(list []any) (floats []float64) {
	for _, number := range s.numbers(list) {
		n, _ := jsontree.Number(number)
		floats = append(floats, n)
	}
	return floats
}

// sum is exact if all numbers are whole.
func (s step) sum(list []any) (any, error) {
	if total, whole := wholeSum(s.numbers(list)); whole {
		return total, nil
	}
	total := 0.0
	for _, n := range s.floats(list) {
		total += n
	}
	return total, nil
}

// mostWhole is the greatest length of a whole number that is added exactly.
const mostWhole = 1000

// wholeSum returns the sum of whole numbers that are written with digits only.
func wholeSum(numbers []any) (total any, whole bool) {
	var sum, one big.Int
	for _, number := range numbers {
		text := jsontree.Text(number)
		if _, ok := one.SetString(text, 10); len(text) > mostWhole || !ok {
			return nil, false
		}
		sum.Add(&sum, &one)
	}
	return jsontree.NumberOf(sum.String()), true
}

// of returns a number made from the numbers; null if there are none.
func (s step) of(list []any, made func(numbers []float64) float64) (any, error) {
	numbers := s.floats(list)
	if len(numbers) == 0 {
		return nil, nil
	}
	return made(numbers), nil
}

func (s step) average(list []any) (any, error) {
	return s.of(list, func(numbers []float64) float64 {
		total := 0.0
		for _, n := range numbers {
			total += n
		}
		return total / float64(len(numbers))
	})
}

func (s step) median(list []any) (any, error) {
	return s.of(list, func(numbers []float64) float64 {
		slices.Sort(numbers)
		return (numbers[(len(numbers)-1)/2] + numbers[len(numbers)/2]) / 2
	})
}

func (s step) least(list []any) (any, error) { return s.extreme(list, slices.MinFunc[[]any]) }
func (s step) most(list []any) (any, error)  { return s.extreme(list, slices.MaxFunc[[]any]) }

// extreme returns the number that a function finds; null if there are none.
func (s step) extreme(list []any, of func(numbers []any, compare func(a, b any) int) any) (any, error) {
	numbers := s.numbers(list)
	if len(numbers) == 0 {
		return nil, nil
	}
	return of(numbers, jsontree.CompareNumbers), nil
}

var placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// maxTemplated is the greatest length of the texts of a template together.
const maxTemplated = 1 << 20

func (s step) template(list []any) (any, error) {
	template, ok := s.args["template"].(string)
	if !ok {
		return nil, errors.New("template: want a text with {{path}}")
	}
	marks := placeholder.FindAllStringSubmatchIndex(template, -1)
	if err := affordable(len(list), len(marks), "marks"); err != nil {
		return nil, err
	}
	texts, left := make([]any, len(list)), maxTemplated
	for i, item := range list {
		var text strings.Builder
		end := 0
		for _, mark := range marks {
			text.WriteString(template[end:mark[0]])
			end = mark[1]
			if value, found := at(item, template[mark[2]:mark[3]]); found {
				text.WriteString(jsontree.Bare(value))
			}
			if text.Len() > left {
				break
			}
		}
		text.WriteString(template[end:])
		if left -= text.Len(); left < 0 {
			return nil, errors.New("result too long")
		}
		texts[i] = text.String()
	}
	return texts, nil
}

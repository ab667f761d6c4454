package data

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// SetOperations returns the tool for operations on sets of JSON values.
func SetOperations() *adk.Tool {
	return spec.Tool{
		Name: "set_operations",
		Description: "Sets of JSON values: intersection, union, difference, symmetric difference, membership, subset and superset. " +
			"Values are equal by their content, or with compare_key by what they have under that key. Repeated values count once.",
		Args: []spec.Arg{
			spec.Text("data_a", "the text of a JSON list, A").Required(), spec.Text("data_b", "the text of a JSON list, B; not for is_member"),
			spec.Word("operation", "the operation", "intersection", "union", "difference", "symmetric_difference", "is_member", "is_subset", "is_superset").Required(),
			spec.Anything("item", "of is_member: the value looked for in A"), spec.Text("compare_key", "the path of the key to compare by"),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			a, err := spec.List(c.Text("data_a"))
			if err != nil {
				return "", fmt.Errorf("data_a: %w", err)
			}
			first := newSet(a, c.Text("compare_key"))
			if c.Text("operation") == "is_member" {
				return first.member(c)
			}
			if !c.Has("data_b") {
				return "", fmt.Errorf("data_b is missing: %s needs it", c.Text("operation"))
			}
			b, err := spec.List(c.Text("data_b"))
			if err != nil {
				return "", fmt.Errorf("data_b: %w", err)
			}
			return first.with(newSet(b, c.Text("compare_key")), c.Text("operation")), nil
		},
	}.Make()
}

// set is a list without duplicates.
type set struct {
	items []any
	keys  []string
	has   map[string]bool
	by    string
}

func newSet(list []any, by string) set {
	s := set{has: map[string]bool{}, by: by}
	for _, item := range list {
		if key := s.key(item); !s.has[key] {
			s.has[key] = true
			s.items, s.keys = append(s.items, item), append(s.keys, key)
		}
	}
	return s
}

func (s set) key(item any) string {
	value, _ := at(item, s.by)
	return jsontree.Key(value)
}

// within returns the items that another set has, or, if has is false, those that it does not have.
func (s set) within(other set, has bool) []any {
	items := []any{}
	for i, key := range s.keys {
		if other.has[key] == has {
			items = append(items, s.items[i])
		}
	}
	return items
}

func (s set) member(c spec.Call) (string, error) {
	item, ok := jsontree.Plain(c.Any("item"))
	if !c.Has("item") || !ok {
		return "", fmt.Errorf("item is missing: is_member needs it")
	}
	key := jsontree.Key(item)
	if s.by != "" { // an object to compare by its key, or the key's value itself
		if _, is := item.(*jsontree.Object); is {
			key = s.key(item)
		}
	}
	if s.has[key] {
		return "Found: " + jsontree.Text(item) + " is in A.", nil
	}
	return "Not found: " + jsontree.Text(item) + " is not in A.", nil
}

func (s set) with(other set, operation string) string {
	switch operation {
	case "intersection":
		return jsontree.Text(s.within(other, true))
	case "union":
		return jsontree.Text(append(append([]any{}, s.items...), other.within(s, false)...))
	case "difference":
		return jsontree.Text(s.within(other, false))
	case "symmetric_difference":
		return jsontree.Text(append(s.within(other, false), other.within(s, false)...))
	case "is_subset":
		return subset(s, other, "A", "B")
	}
	return subset(other, s, "B", "A")
}

func subset(small, large set, name, of string) string {
	missing := len(small.within(large, false))
	if missing == 0 {
		return fmt.Sprintf("Yes: all %d elements of %s are in %s.", len(small.items), name, of)
	}
	return fmt.Sprintf("No: %d of %d elements of %s are not in %s.", missing, len(small.items), name, of)
}

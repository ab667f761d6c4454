package chat

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// check returns what is wrong with a value, which is JSON data. It converts nothing.
type check func(path string, v any) []adk.Fault

// fault returns one fault at a path.
func fault(path, format string, args ...any) []adk.Fault {
	return []adk.Fault{{Path: path, Message: fmt.Sprintf(format, args...)}}
}

func isText(path string, v any) []adk.Fault {
	if _, ok := v.(string); !ok {
		return fault(path, "is %s, want a string", canonical.KindOf(v))
	}
	return nil
}

func isSomeText(path string, v any) []adk.Fault {
	if v == "" {
		return fault(path, "is empty, want a string")
	}
	return isText(path, v)
}

func isFlag(path string, v any) []adk.Fault {
	if _, ok := v.(bool); !ok {
		return fault(path, "is %s, want true or false", canonical.KindOf(v))
	}
	return nil
}

// isObject accepts any object, for example a schema.
func isObject(path string, v any) []adk.Fault {
	if _, ok := v.(map[string]any); !ok {
		return fault(path, "is %s, want an object", canonical.KindOf(v))
	}
	return nil
}

func isNumber(low, high float64) check {
	return func(path string, v any) []adk.Fault {
		switch n, ok := v.(float64); {
		case v == "NaN" || v == "+Inf" || v == "-Inf":
			return fault(path, "is %v, want a number", v)
		case !ok:
			return fault(path, "is %s, want a number", canonical.KindOf(v))
		case n < low || n > high:
			return fault(path, "is out of bounds, want %s", bounds(low, high))
		}
		return nil
	}
}

func isWhole(low, high float64) check {
	return func(path string, v any) []adk.Fault {
		if n, ok := v.(float64); ok && n != math.Trunc(n) {
			return fault(path, "is a fraction, want a whole number")
		}
		return isNumber(low, high)(path, v)
	}
}

// unbounded is the limit of a number that needs none; largest is the limit of a number that the
// program calculates with.
const (
	unbounded = math.MaxFloat64
	largest   = 1 << 53
)

func bounds(low, high float64) string {
	if high >= largest {
		return fmt.Sprintf("at least %v", low)
	}
	return fmt.Sprintf("%v to %v", low, high)
}

func isOneOf(words ...string) check {
	return func(path string, v any) []adk.Fault {
		text, ok := v.(string)
		if !ok {
			return fault(path, "is %s, want %s", canonical.KindOf(v), anyOf(words))
		}
		if !slices.Contains(words, text) {
			return fault(path, "is %.40q, want %s", text, anyOf(words))
		}
		return nil
	}
}

func anyOf(words []string) string { return strings.Join(words, " or ") }

func isListOf(one check) check {
	return func(path string, v any) (faults []adk.Fault) {
		list, ok := v.([]any)
		if !ok {
			return fault(path, "is %s, want an array", canonical.KindOf(v))
		}
		for i, item := range list {
			faults = append(faults, one(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
		return faults
	}
}

func isMapOf(one check) check {
	return func(path string, v any) (faults []adk.Fault) {
		object, ok := v.(map[string]any)
		if !ok {
			return fault(path, "is %s, want an object", canonical.KindOf(v))
		}
		for _, key := range sortedKeys(object) {
			faults = append(faults, one(path+"."+key, object[key])...)
		}
		return faults
	}
}

// member is a member that an object may have; with need, it must have it.
type member struct {
	name  string
	check check
	need  bool
}

// isShape accepts an object with these members and no others.
func isShape(members ...member) check {
	return func(path string, v any) (faults []adk.Fault) {
		object, ok := v.(map[string]any)
		if !ok {
			return fault(path, "is %s, want an object", canonical.KindOf(v))
		}
		known := map[string]bool{}
		for _, m := range members {
			known[m.name] = true
			if value, found := object[m.name]; found {
				faults = append(faults, m.check(path+"."+m.name, value)...)
			} else if m.need {
				faults = append(faults, fault(path+"."+m.name, "is missing")...)
			}
		}
		for _, name := range sortedKeys(object) {
			if !known[name] {
				faults = append(faults, fault(path+"."+name, "is unknown")...)
			}
		}
		return faults
	}
}

// isTyped accepts an object whose member type names one of the shapes.
func isTyped(shapes map[string][]member) check {
	return func(path string, v any) []adk.Fault {
		object, ok := v.(map[string]any)
		if !ok {
			return fault(path, "is %s, want an object", canonical.KindOf(v))
		}
		kind, _ := object["type"].(string)
		members, known := shapes[kind]
		if !known {
			return fault(path+".type", "is none that is known, want %s", anyOf(sortedKeys(shapes)))
		}
		return isShape(append([]member{{"type", isText, true}}, members...)...)(path, v)
	}
}

// isTextOr checks strings by one check and everything else by the other.
func isTextOr(text, other check) check {
	return func(path string, v any) []adk.Fault {
		if _, ok := v.(string); ok {
			return text(path, v)
		}
		return other(path, v)
	}
}

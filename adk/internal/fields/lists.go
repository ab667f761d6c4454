package fields

import "fmt"

// FaultAt is Fault for an entry of a list. It formats the name of the entry only if there is a
// fault.
func (c *Check) FaultAt(field string, i int, format string, args ...any) {
	c.Fault(fmt.Sprintf("%s[%d]", field, i), format, args...)
}

// EachOnce checks the entries of a list, no two of which may have the same key. look returns the
// key of an entry, or what is wrong with it. again is the message for a repeated key: a format of
// the key, the field and the index of the first entry with that key.
func EachOnce[T any](c *Check, field string, list []T, look func(T) (key, fault string), again string) {
	first := map[string]int{}
	for i, one := range list {
		key, fault := look(one)
		at, known := first[key]
		switch {
		case fault != "":
			c.FaultAt(field, i, "%s", fault)
		case known:
			c.FaultAt(field, i, again, key, field, at)
		default:
			first[key] = i
		}
	}
}

// Steps checks the entries of a pipeline: each needs a unique name and a function. look returns the
// name, and whether the function is missing.
func Steps[T any](c *Check, field string, list []T, look func(T) (name string, missing bool)) {
	seen := map[string]int{}
	for i, one := range list {
		name, missing := look(one)
		if missing {
			c.Fault(fmt.Sprintf("%s[%d].Run", field, i), "is missing")
		}
		if name == "" {
			c.Fault(fmt.Sprintf("%s[%d].Name", field, i), "is empty: every middleware has a name")
			continue
		}
		if first, dup := seen[name]; dup {
			c.Fault(fmt.Sprintf("%s[%d].Name", field, i), "%q is the name of %s[%d] too: names are unique in a pipeline", name, field, first)
			continue
		}
		seen[name] = i
	}
}

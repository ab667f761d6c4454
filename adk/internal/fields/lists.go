package fields

import "fmt"

// FaultAt is Fault for an entry of a list; it spells the entry only for a fault.
func (c *Check) FaultAt(field string, i int, format string, args ...any) {
	c.Fault(fmt.Sprintf("%s[%d]", field, i), format, args...)
}

// EachOnce checks the entries of a list, of which no two may have one key. look gives
// the key of an entry, or what is wrong with it. again is the message of the second one:
// a format of the key, the field and the place of the first.
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

// Steps checks the entries of a pipeline: each has a name of its own, and something to
// run. look gives the name, and reports whether there is nothing to run.
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

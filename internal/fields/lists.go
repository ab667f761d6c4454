package fields

import (
	"fmt"
	"reflect"
)

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

// TypedNil refuses a non-nil interface that holds a nil pointer; a nil interface means
// the default.
func (c *Check) TypedNil(field string, value any) {
	if value != nil && IsNil(reflect.ValueOf(value)) {
		c.Fault(field, "is a nil %T", value)
	}
}

// NoneNil checks that each field of a struct holds something.
func (c *Check) NoneNil(field string, value any, want string) {
	v := reflect.ValueOf(value)
	for i := range v.NumField() {
		if IsNil(v.Field(i)) {
			c.Fault(field+"."+v.Type().Field(i).Name, "is missing: %s", want)
		}
	}
}

// IsNil reports whether a value is a nil interface, or holds a nil pointer, func, map,
// slice or channel.
func IsNil(v reflect.Value) bool {
	for v.Kind() == reflect.Interface {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	}
	return false
}

package fields

import "reflect"

// TypedNil refuses a non-nil interface that holds a nil pointer. A nil interface is accepted; it
// means the default.
func (c *Check) TypedNil(field string, value any) {
	if value != nil && IsNil(reflect.ValueOf(value)) {
		c.Fault(field, "is a nil %T", value)
	}
}

// NoneNil checks that no field of a struct is nil.
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

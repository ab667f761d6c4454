package ordered

import "iter"

// Derived is what is worked out of each value of a list, such as its digest. It is for
// lists that are asked for it again and again while they grow: of a value that stands
// where it stood it is not worked out once more. The zero Derived is of an empty list,
// and ready to use; it is not safe for concurrent use.
type Derived[V comparable, D any] struct {
	values []V
	given  []D
}

// Of is what work makes of the values, in their order. It is good until the next call,
// and must not be changed. The work must make the same of a value at every call.
func (d *Derived[V, D]) Of(values iter.Seq[V], work func(V) D) []D {
	n := 0
	for value := range values {
		switch {
		case n == len(d.values):
			d.values, d.given = append(d.values, value), append(d.given, work(value))
		case d.values[n] != value:
			d.values[n], d.given[n] = value, work(value)
		}
		n++
	}
	clear(d.values[n:])
	d.values, d.given = d.values[:n], d.given[:n]
	return d.given[:n:n]
}

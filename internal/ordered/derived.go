package ordered

// Derived is what is worked out of each value of a set, such as its digest. It is for
// sets that are asked for it again and again while they grow: of a value that stands
// where it stood it is not worked out once more, nor is it looked at. It is of one set.
// The zero Derived is of an empty one, and ready to use; it is not safe for concurrent use.
type Derived[K, V comparable, D any] struct {
	values []V
	given  []D
	asked  Moment
}

// Of is what work makes of the values, in their order. It is good until the next call,
// and must not be changed. The work must make the same of a value at every call.
func (d *Derived[K, V, D]) Of(set *Set[K, V], work func(V) D) []D {
	now, same := set.Since(d.asked)
	for i := min(same, len(d.values)); i < set.Len(); i++ {
		value := set.At(i)
		switch {
		case i == len(d.values):
			d.values, d.given = append(d.values, value), append(d.given, work(value))
		case d.values[i] != value:
			d.values[i], d.given[i] = value, work(value)
		}
	}
	d.asked = now
	n := set.Len()
	clear(d.values[n:])
	d.values, d.given = d.values[:n], d.given[:n]
	return d.given[:n:n]
}

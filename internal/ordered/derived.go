package ordered

// Derived holds a value derived from each member of a set, such as its digest. It is for sets whose
// derived values are needed again and again while they grow: it neither recomputes nor even looks
// at a member that has not moved. A Derived belongs to one set. The zero Derived belongs to an
// empty set and is ready to use. It is not safe for concurrent use.
type Derived[K, V comparable, D any] struct {
	values []V
	given  []D
	asked  Moment
}

// Of returns the results of work for all members, in order. The result is valid until the next call
// and must not be changed. work must always return the same for the same member.
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

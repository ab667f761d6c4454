// Package compare says in which fields two crossings, two views or two headers differ,
// down to the path in a record or in plain data.
package compare

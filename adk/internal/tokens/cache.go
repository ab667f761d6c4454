package tokens

import "sync/atomic"

// Cache keeps the number of tokens of one text, counted once for each encoding. The zero Cache is
// empty. It is safe for concurrent use.
type Cache struct{ counts atomic.Pointer[cached] }

// cached is one count in a list. A list suffices: it has at most as many entries as countedAs has
// names.
type cached struct {
	name   string
	tokens int
	next   *cached
}

// Estimate is the function Estimate for the text, which must be the same in every call.
func (c *Cache) Estimate(text, encoding string) int {
	name := countedAs(encoding)
	if count := c.find(name); count != nil {
		return count.tokens
	}
	count := Estimate(text, name)
	// If two goroutines count the same, the second one finds the first one's entry and adds none,
	// so the list stays short.
	for c.find(name) == nil {
		head := c.counts.Load()
		if head.find(name) == nil {
			c.counts.CompareAndSwap(head, &cached{name: name, tokens: count, next: head})
		}
	}
	return count
}

func (c *Cache) find(name string) *cached { return c.counts.Load().find(name) }

func (c *cached) find(name string) *cached {
	for ; c != nil && c.name != name; c = c.next {
	}
	return c
}

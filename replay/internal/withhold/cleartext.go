package withhold

import (
	"index/suffixarray"
	"strings"
)

// clearText is what a recording says. It is asked once for each secret.
type clearText struct {
	texts strings.Builder
	asked int
	index *suffixarray.Index // from when it pays
}

// askedMuch is from how many questions on an index costs less than to look through all texts.
const askedMuch = 500

// add takes in a text, before the first question.
func (c *clearText) add(text string) {
	c.texts.WriteString(text)
	c.texts.WriteByte(0)
}

// has reports whether a text of it holds one.
func (c *clearText) has(text string) bool {
	if c.asked++; c.asked < askedMuch {
		return strings.Contains(c.texts.String(), text)
	}
	if c.index == nil {
		c.index = suffixarray.New([]byte(c.texts.String()))
	}
	return len(c.index.Lookup([]byte(text), 1)) > 0
}

package withhold

import (
	"index/suffixarray"
	"strings"
)

// clearText is the text of a recording. It is searched once for each secret.
type clearText struct {
	texts strings.Builder
	asked int
	index *suffixarray.Index // made when it pays
}

// askedMuch is the number of searches from which an index costs less than searching all texts.
const askedMuch = 500

// add appends a text. All texts must be added before the first search.
func (c *clearText) add(text string) {
	c.texts.WriteString(text)
	c.texts.WriteByte(0)
}

// has reports whether one of the texts contains a text.
func (c *clearText) has(text string) bool {
	if c.asked++; c.asked < askedMuch {
		return strings.Contains(c.texts.String(), text)
	}
	if c.index == nil {
		c.index = suffixarray.New([]byte(c.texts.String()))
	}
	return len(c.index.Lookup([]byte(text), 1)) > 0
}

package adk

import (
	"strings"

	"github.com/adkreplay/adkreplay/internal/fields"
)

// fieldCheck gathers what is wrong with the fields a record is made from.
type fieldCheck struct{ fields.Check }

// err is the error for all faults, or nil where there are none.
func (c *fieldCheck) err(code Code) error {
	found := c.Faults()
	if len(found) == 0 {
		return nil
	}
	faults, texts := make([]Fault, len(found)), make([]string, len(found))
	for i, f := range found {
		faults[i], texts[i] = Fault{Path: f.Path, Message: f.Message}, f.Path+": "+f.Message
	}
	return &Error{Code: code, Message: strings.Join(texts, "; "), Faults: faults}
}

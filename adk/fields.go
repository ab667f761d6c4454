package adk

import (
	"strings"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
)

// fieldCheck collects what is wrong with the fields of a record, a config or an input.
type fieldCheck struct{ fields.Check }

// err returns the error for all faults of the values that a record is made from, or nil if there
// are none.
func (c fieldCheck) err(code Code) error { return c.errJoined(code, ": ") }

// inputErr is err for a config or an input. Its messages continue after the name of the field
// without a colon; a fault of no single field has an empty name.
func (c fieldCheck) inputErr(code Code) error { return c.errJoined(code, " ") }

func (c fieldCheck) errJoined(code Code, between string) error {
	found := c.Faults()
	if len(found) == 0 {
		return nil
	}
	faults, texts := make([]Fault, len(found)), make([]string, len(found))
	for i, f := range found {
		faults[i], texts[i] = Fault{Path: f.Path, Message: f.Message}, strings.TrimPrefix(f.Path+between+f.Message, between)
	}
	return &Error{Code: code, Message: strings.Join(texts, "; "), Faults: faults}
}

package adk

import (
	"strings"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
)

// fieldCheck gathers what is wrong with the fields of a record, a config or an input.
type fieldCheck struct{ fields.Check }

// err is the error for all faults of what a record is made from, or nil where there are
// none.
func (c fieldCheck) err(code Code) error { return c.errJoined(code, ": ") }

// inputErr is err for a config or an input, whose messages go on where the name of the
// field ends; an empty field is none.
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

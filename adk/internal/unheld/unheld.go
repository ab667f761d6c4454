// Package unheld puts JSON into the form in which a line holds it, and has the object
// that stands in the place of what no line can hold or is to.
package unheld

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsonscan"
)

// member is the one member of the object.
const member = "$unheld"

// Because is the object that stands for what is not held, and says why.
func Because(why string) json.RawMessage {
	o := canonical.Open(nil)
	o.Text(member, why)
	return o.Close()
}

// Is reports whether raw is what Because makes.
func Is(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte(`{"`+member+`":`)) }

// ErrIsLine is no fault: with it in the place of one raw is what Line would give, as who
// made it has seen to, and nobody reads it once more.
var ErrIsLine = errors.New("unheld: it is a line")

// Line is JSON without the white space that carries nothing, or what says why there is
// none: because of err, or as raw is no JSON. nil stays nil. What is given may be raw
// itself.
func Line(raw json.RawMessage, err error) json.RawMessage {
	switch {
	case err == ErrIsLine, err == nil && raw == nil:
		return raw
	case err != nil:
		return Because(err.Error())
	}
	if line, _ := jsonscan.Compact(raw); line != nil {
		return line
	}
	return Because("it is no JSON")
}

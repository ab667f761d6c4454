// Package unheld puts JSON into the form in which a trace holds it, and makes the object that
// stands for data that a trace cannot or must not hold.
package unheld

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsonscan"
)

// member is the name of the object's only member.
const member = "$unheld"

// Because makes the object that stands for what is not held; it says why.
func Because(why string) json.RawMessage {
	o := canonical.Open(nil)
	o.Text(member, why)
	return o.Close()
}

// Is reports whether raw was made by Because.
func Is(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte(`{"`+member+`":`)) }

// ErrIsLine is not a failure. Passed to Line as its error, it says that raw is already what Line
// would return, as its maker guarantees, so that Line need not read it again.
var ErrIsLine = errors.New("unheld: it is a line")

// Line returns JSON without insignificant white space. If err is not nil or raw is not JSON, it
// returns the object that says why there is none. A nil raw stays nil. The result may be raw
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

// Package unescaped writes JSON with the characters <, > and & as they are: what is kept
// stays readable, and bodies stay verbatim.
package unescaped

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal but for what it leaves alone.
func Marshal(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

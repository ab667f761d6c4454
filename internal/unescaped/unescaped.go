// Package unescaped writes JSON without escaping the characters <, > and &, so that stored data
// stays readable, and bodies unchanged.
package unescaped

import (
	"bytes"
	"encoding/json"
)

// Marshal is like json.Marshal, without those escapes.
func Marshal(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

package adk

import (
	"bytes"
	"encoding/json"
)

// DispatchContext stands in for the engine's.
type DispatchContext struct{}

// ToolResult stands in for the engine's.
type ToolResult interface{ isToolResult() }

// canonicalJSON stands in for the canonical encoder.
func canonicalJSON(value any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

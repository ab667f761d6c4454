// Package toolform marshals and unmarshals tools as described, without their handlers.
package toolform

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/adkreplay/adkreplay/internal/jsonfault"
	"github.com/adkreplay/adkreplay/internal/schema"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// Tool is the description of a tool. Its fields are in the order in which they are written; zero
// values are left out.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Ephemeral   bool            `json:"ephemeral,omitempty"`
	Trusted     bool            `json:"trusted,omitempty"`
	OnCollision string          `json:"onCollision,omitempty"`
	Effect      string          `json:"effect,omitempty"`
	Meta        map[string]any  `json:"meta,omitempty"`
}

// JSON marshals a tool.
func (t Tool) JSON() ([]byte, error) { return unescaped.Marshal(t) }

// Read unmarshals what JSON wrote. Numbers in the metadata keep all their digits.
func Read(data []byte) (t Tool, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&t); err != nil {
		return Tool{}, fmt.Errorf("not a tool: %w", jsonfault.Of(err))
	}
	if t.Meta != nil {
		t.Meta = schema.Numbers(t.Meta).(map[string]any)
	}
	return t, nil
}

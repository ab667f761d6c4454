// Package toolform is the JSON of a tool as described, without its handler.
package toolform

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/adkreplay/adkreplay/internal/jsonfault"
	"github.com/adkreplay/adkreplay/internal/schema"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// Tool is what is said of a tool; its fields are in the order they are written, and what has
// its zero value is left out.
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

// JSON writes a tool.
func (t Tool) JSON() ([]byte, error) { return unescaped.Marshal(t) }

// Read reads back what JSON wrote, with the numbers of the metadata as they are there.
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

package toolform_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/internal/toolform"
)

// DET-8: a tool has one JSON form, from which it is restored unchanged.
func TestToolsComeBack(t *testing.T) {
	tool := toolform.Tool{Name: "find", Description: "Finds <it>.", InputSchema: json.RawMessage(`{"type":"object"}`), Effect: "reads",
		Meta: map[string]any{"n": 1.5}}
	data, err := tool.JSON()
	require.NoError(t, err)
	assert.Equal(t, `{"name":"find","description":"Finds <it>.","inputSchema":{"type":"object"},"effect":"reads","meta":{"n":1.5}}`, string(data))
	again, err := toolform.Read(data)
	require.NoError(t, err)
	assert.Equal(t, tool.Name, again.Name)
	text, err := again.JSON()
	require.NoError(t, err)
	assert.Equal(t, string(data), string(text))
	_, err = toolform.Read([]byte(`[]`))
	assert.ErrorContains(t, err, "not a tool: ")
}

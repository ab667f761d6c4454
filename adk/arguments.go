package adk

import (
	"encoding/json"
	"fmt"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// toolArguments is a tool's arguments as one shape: JSON data in a map of its
// own. They come as an object or as JSON text of one.
func toolArguments(raw any) (map[string]any, error) {
	switch args := raw.(type) {
	case nil:
		return nil, fmt.Errorf("there are none: an object is needed, {} for a tool without arguments")
	case string:
		return canonical.ParseObject([]byte(args))
	case []byte:
		return canonical.ParseObject(args)
	case json.RawMessage:
		return canonical.ParseObject(args)
	}
	data, err := canonical.Normalize(raw)
	if err != nil {
		return nil, err
	}
	object, ok := data.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%T is no object", raw)
	}
	return object, nil
}

// toolChecksum is the call id of a tool with its arguments (TOL-4).
func toolChecksum(tool string, args map[string]any) (string, error) {
	return canonical.Checksum(tool, args)
}

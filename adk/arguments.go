package adk

import (
	"fmt"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// Arguments are the arguments of one tool call, read once. Whoever reports a
// call, executes it and makes its record gives the same Arguments to all three,
// which then take them as they are and share one checksum (TOL-4). They are
// immutable and safe for concurrent use.
type Arguments struct {
	given any            // the JSON text that they were read from, or data
	data  map[string]any // JSON data that nobody changes

	mu             sync.Mutex
	tool, checksum string // what was computed last
}

// NewArguments reads arguments: an object, or JSON text of one as string, []byte
// or json.RawMessage. Where that fails, the error is what Execute makes
// E_INVALID_TOOL_ARGS of.
func NewArguments(raw any) (*Arguments, error) {
	data, err := toolArguments(raw)
	if err != nil {
		return nil, err
	}
	if args, read := raw.(*Arguments); read {
		return args, nil
	}
	a := &Arguments{given: data, data: data}
	if text, ok := canonical.TextOf(raw); ok {
		a.given = text
	}
	return a, nil
}

// Map is a deep copy of the arguments, as JSON data.
func (a *Arguments) Map() map[string]any { return plain.Copy(a.data).(map[string]any) }

// Checksum is the id of a call of the tool with these arguments (TOL-4). It is
// kept until another tool's is asked for.
func (a *Arguments) Checksum(tool string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.checksum == "" || a.tool != tool {
		checksum, err := canonical.Checksum(tool, a.data)
		if err != nil {
			return "", err
		}
		a.tool, a.checksum = tool, checksum
	}
	return a.checksum, nil
}

// toolArguments is a tool's arguments as one shape: JSON data in a map. They
// come as an object, as JSON text of one, or as Arguments, and then the map is
// shared and must not be changed.
func toolArguments(raw any) (map[string]any, error) {
	args, read := raw.(*Arguments)
	switch {
	case raw == nil || read && (args == nil || args.data == nil):
		return nil, errNoArguments
	case read:
		return args.data, nil
	}
	if gone, ok := raw.(plain.Opaque); ok && !strings.HasPrefix(gone.Type, "func(") && !strings.HasPrefix(gone.Type, "chan ") {
		return nil, fmt.Errorf("%s is no object", gone.Type) // as what it stands for was told
	}
	return canonical.Object(raw)
}

var errNoArguments = fmt.Errorf("there are none: an object is needed, {} for a tool without arguments")

// ownArguments is toolArguments in a map that may be handed out.
func ownArguments(raw any) (map[string]any, error) {
	data, err := toolArguments(raw)
	if _, shared := raw.(*Arguments); shared && err == nil {
		data = plain.Copy(data).(map[string]any)
	}
	return data, err
}

// toolChecksum is the id of a call of the tool (TOL-4). data is what raw was
// read as; Arguments know their checksum.
func toolChecksum(tool string, raw any, data map[string]any) (string, error) {
	if args, ok := raw.(*Arguments); ok && args != nil {
		return args.Checksum(tool)
	}
	return canonical.Checksum(tool, data)
}

// givenArguments is what is told of arguments: what user code had.
func givenArguments(raw any) any {
	if args, ok := raw.(*Arguments); ok && args != nil {
		return args.given
	}
	return raw
}

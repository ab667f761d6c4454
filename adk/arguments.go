package adk

import (
	"fmt"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// Arguments are the arguments of one tool call, parsed once. The same Arguments can be given to the
// report, the execution and the record of a call. These then use them as they are and share one
// checksum (TOL-4). Arguments are immutable and safe for concurrent use.
type Arguments struct {
	given any            // the JSON text from which they were parsed, or data
	data  map[string]any // JSON data that is never changed

	mu             sync.Mutex
	tool, checksum string // the last checksum that was computed, and for which tool
}

// NewArguments parses arguments: an object, or JSON text of one as string, []byte or
// json.RawMessage. Execute reports the same failures as E_INVALID_TOOL_ARGS.
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

// Map returns a deep copy of the arguments, as JSON data.
func (a *Arguments) Map() map[string]any { return plain.Copy(a.data).(map[string]any) }

// Checksum returns the id of a call of the tool with these arguments (TOL-4). It is cached until
// the checksum for another tool is asked for.
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

// toolArguments returns a tool's arguments as JSON data in a map. They are given as an object, as
// JSON text of one, or as Arguments; in the last case the map is shared and must not be changed.
func toolArguments(raw any) (map[string]any, error) {
	args, read := raw.(*Arguments)
	switch {
	case raw == nil || read && (args == nil || args.data == nil):
		return nil, errNoArguments
	case read:
		return args.data, nil
	}
	if gone, ok := raw.(plain.Opaque); ok && !strings.HasPrefix(gone.Type, "func(") && !strings.HasPrefix(gone.Type, "chan ") {
		return nil, fmt.Errorf("%s is no object", gone.Type) // the error that was reported for the value that it stands for
	}
	return canonical.Object(raw)
}

var errNoArguments = fmt.Errorf("there are none: an object is needed, {} for a tool without arguments")

// ownArguments is toolArguments, but the caller may hand out the map.
func ownArguments(raw any) (map[string]any, error) {
	data, err := toolArguments(raw)
	if _, shared := raw.(*Arguments); shared && err == nil {
		data = plain.Copy(data).(map[string]any)
	}
	return data, err
}

// toolChecksum returns the id of a call of the tool (TOL-4). data is what raw was parsed as;
// Arguments cache their checksum.
func toolChecksum(tool string, raw any, data map[string]any) (string, error) {
	if args, ok := raw.(*Arguments); ok && args != nil {
		return args.Checksum(tool)
	}
	return canonical.Checksum(tool, data)
}

// givenArguments returns what is reported of arguments: what user code had.
func givenArguments(raw any) any {
	if args, ok := raw.(*Arguments); ok && args != nil {
		return args.given
	}
	return raw
}

package property

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// refusedTool: a run has, or registers, a tool that cannot be offered to models, because providers
// refuse its name or a keyword at the top of its schema. It gives one hint for each tool, and none
// about what only some providers refuse: keywords deeper in the schema.
type refusedTool struct {
	said   map[string]bool    // by the tool's name
	looked map[*adk.Tool]bool // tools already looked at
}

// takenName matches the names that all providers accept for a tool.
var takenName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// notAtTheTop lists the keywords that must not be at the top of the schema of a tool's arguments.
var notAtTheTop = []string{"allOf", "anyOf", "enum", "not", "oneOf"}

func (w *refusedTool) see(s *history, x *adk.Crossing) {
	at := s.at
	if x.Kind == adk.KindCall {
		at = s.called
	}
	if tool, ok := x.Record.(*adk.Tool); ok && x.Kind == adk.KindRegister {
		w.look(s, at, tool)
	}
	for _, record := range x.Records {
		if tool, ok := record.(*adk.Tool); ok {
			w.look(s, at, tool)
		}
	}
}

func (w *refusedTool) look(s *history, at *seamCall, tool *adk.Tool) {
	if w.said[tool.Name()] || w.looked[tool] {
		return
	}
	put(&w.looked, tool, true)
	var schema map[string]json.RawMessage
	_ = json.Unmarshal(tool.InputSchema(), &schema) // a tool's schema is an object
	bad := slices.IndexFunc(notAtTheTop, func(keyword string) bool { return schema[keyword] != nil })
	switch {
	case !takenName.MatchString(tool.Name()):
		s.hint(s.n, at, nil, "the tool %.80q has a name that providers refuse: a letter first, then letters, digits, _ and -, 64 at most", tool.Name())
	case bad >= 0:
		s.hint(s.n, at, nil, "the tool %q has a schema that providers refuse: %q at its top", tool.Name(), notAtTheTop[bad])
	default:
		return
	}
	put(&w.said, tool.Name(), true)
}

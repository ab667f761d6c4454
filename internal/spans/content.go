package spans

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// jsonText returns a value that was decoded from JSON as JSON.
func jsonText(v any) string {
	text, err := unescaped.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// argumentsText returns arguments as JSON, or unchanged if they are a text.
func argumentsText(args any) string {
	if text, ok := args.(string); ok {
		return text
	}
	text, err := canonical.Marshal(args)
	if err != nil {
		return ""
	}
	return string(text)
}

// resultText returns the result of a tool: its text, or the JSON of media, which does not include
// their bytes.
func resultText(result adk.ToolResult) string {
	switch r := result.(type) {
	case *adk.Tokenizable:
		return r.String()
	case *adk.Media, adk.MediaList:
		return jsonText(r)
	case adk.Bytes:
		return string(r)
	}
	return ""
}

package spans

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// jsonText is a value that was read from JSON.
func jsonText(v any) string {
	text, err := unescaped.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// argumentsText are arguments as JSON, or as the text that is none.
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

// resultText is what a tool gave: its text, or the JSON of media, which holds no bytes.
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

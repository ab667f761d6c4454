package texts

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/yamltree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// ParseYAML returns the tool parse_yaml, which parses YAML.
func ParseYAML() *adk.Tool {
	return spec.Tool{
		Name:        "parse_yaml",
		Description: "Reads one document of YAML as JSON, with its keys in order. Dates stay texts, keys that are no texts become theirs.",
		Args:        []spec.Arg{spec.Text("text", "the text").Required()},
		JSON:        true,
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			value, err := yamltree.Read(c.Text("text"), spec.MaxDepth)
			if err != nil {
				return "", fmt.Errorf("Invalid YAML: %w", err)
			}
			return spec.Indented(value, 2), nil
		},
	}.Make()
}

package written_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	library "github.com/adkreplay/adkreplay/adk/chat"
	rendering "github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/replay/internal/written"
)

func named(t *testing.T, name string) *adk.Tool {
	t.Helper()
	tool, err := adk.NewTool(adk.ToolInit{Name: name, Description: "Looks.", InputSchema: []byte(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) { return nil, nil }})
	require.NoError(t, err)
	return tool
}

// A renamed tool is located where its name is written as a whole, or else where the tool is made.
func TestOfARenamedTool(t *testing.T) {
	config := adk.Config{Tools: []*adk.Tool{named(t, "lodgings_of_this_test"), named(t, "rooms_"+t.Name())}}
	gone := compare.FieldDiff{Field: "tool", Want: `{"description":"Looks.","name":"beds"}`, Input: true}
	said, made := gone, gone
	said.Want, said.Got = "", `{"description":"Looks.","name":"lodgings_of_this_test"}`
	made.Want, made.Got = "", `{"description":"Looks.","name":"rooms_TestOfARenamedTool"}`
	assert.Regexp(t, `^replay/internal/written/option_test\.go:28 `, written.Of([]compare.FieldDiff{gone, said}, config))
	assert.Regexp(t, `^made in replay/internal/written/option_test\.go:20 `, written.Of([]compare.FieldDiff{gone, made}, config))
}

// A request of a library's executor is located at the executor's options, except for text that the agent's
// own functions put together. A changed artifact is located where its tool names the artifact's constructor.
func TestOptionOfALibrary(t *testing.T) {
	options := library.Options{
		BaseURL: "http://localhost/v1", Model: "small", Seed: new(7),
	}
	options.Helpers.Memories = func(context.Context, []rendering.Item[*adk.Memory]) (string, error) { return "", nil }
	model, err := library.New(options)
	require.NoError(t, err)
	tool, err := adk.NewTool(adk.ToolInit{
		Name:                "papers_of_this_test",
		Description:         "Looks.",
		InputSchema:         []byte(`{"type":"object"}`),
		ArtifactConstructor: artifact.JSON,
		Handler:             func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) { return nil, nil },
	})
	require.NoError(t, err)
	config := adk.Config{Executor: model.Executor("model"), Tools: []*adk.Tool{tool, named(t, "plain_tool_of_this_test")}}
	seam := adk.Seam{Label: adk.LabelExecutor, Name: "model"}
	option := func(f compare.FieldDiff, tool string) string {
		f.Input = true
		return written.Option([]compare.FieldDiff{f}, config, seam, tool, "where it begins")
	}
	seed := compare.FieldDiff{Field: "request.body.seed", Want: "7", Got: "8"}
	text := compare.FieldDiff{Field: "request.body.messages[0].content", Want: `"- tea"`, Got: `"* tea"`}
	made := compare.FieldDiff{Field: "results.media.media.filename", Of: adk.FieldResult, Want: `"a.json"`, Got: `"a.md"`}
	assert.Regexp(t, `^replay/internal/written/option_test\.go:41 \(.*\), option Seed$`, option(seed, ""))
	assert.Empty(t, option(text, ""))
	assert.Regexp(t, `^replay/internal/written/option_test\.go:50 \(`, option(made, "papers_of_this_test"))
	assert.Empty(t, option(made, "plain_tool_of_this_test"))
	assert.Empty(t, option(made, ""))
	seam.Label = adk.LabelTool
	assert.Equal(t, "where it begins", option(text, ""))
	seam.Label, config.Executor = adk.LabelExecutor, adk.Executor{Run: func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }}
	assert.Equal(t, "where it begins", option(text, ""), "its own code says it")
}

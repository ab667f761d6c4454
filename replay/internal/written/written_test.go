package written_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/replay/internal/written"
)

// A changed description of a tool is located where the tool is made, whatever dots the tool's name has.
// The first difference is located. For another tool, and for a value that is no text, there is no place.
func TestOf(t *testing.T) {
	tool, err := adk.NewTool(adk.ToolInit{
		Name:        "db.query",
		Description: "Asks the database that this test alone has.",
		InputSchema: []byte(`{"type":"object"}`),
		Handler:     func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) { return nil, nil },
	})
	require.NoError(t, err)
	config := adk.Config{Tools: []*adk.Tool{tool}}
	described := compare.FieldDiff{Field: "tool db.query.description", Want: `"Asks."`, Got: `"Asks the database that this test alone has."`, Input: true}
	const here = `^replay/internal/written/written_test\.go:22 \(written_test\.TestOf\)$`
	assert.Regexp(t, here, written.Of([]compare.FieldDiff{described}, config))
	other, result := described, compare.FieldDiff{Field: "days", Want: "1", Got: "2", Input: true}
	other.Field = "tool db.description"
	assert.Empty(t, written.Of([]compare.FieldDiff{other}, config))
	assert.Empty(t, written.Of([]compare.FieldDiff{result, described}, config))
	assert.Empty(t, written.Of(nil, config))
}

// An error that cancels a context is located where the context is cancelled.
func TestOfACancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("nobody in this test waits any more"))
	ends := compare.FieldDiff{Field: "err", Of: adk.FieldErr, Got: compare.QuotedJSON(context.Cause(ctx).Error())}
	config := adk.Config{Executor: adk.Executor{Run: func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }}}
	assert.Regexp(t, `^cancelled at replay/internal/written/written_test\.go:41 `, written.Of([]compare.FieldDiff{ends}, config))
	ends.Of = adk.FieldResult
	assert.Regexp(t, `^replay/internal/written/written_test\.go:41 `, written.Of([]compare.FieldDiff{ends}, config), "a result is said, and cancels nothing")
}

// A renamed member is located where its name is written.
func TestOfAnotherName(t *testing.T) {
	type args struct {
		Nights int `json:"nights"`
		Beds   int `json:"beds"`
	}
	tool, err := adk.NewTypedTool(adk.ToolInit{Name: "book", Description: "Books."}, func(context.Context, *adk.DispatchContext, args) (adk.ToolResult, error) { return nil, nil })
	require.NoError(t, err)
	config := adk.Config{Tools: []*adk.Tool{tool}}
	const of = "tool book.inputSchema.properties."
	gone := compare.FieldDiff{Field: of + "days", Want: `{"type":"integer"}`, Input: true}
	other := compare.FieldDiff{Field: of + "rooms", Want: `{"type":"integer"}`, Input: true}
	nights := compare.FieldDiff{Field: of + "nights", Got: `{"type":"integer"}`, Input: true}
	beds := compare.FieldDiff{Field: of + "beds", Got: `{"type":"integer"}`, Input: true}
	elsewhere := compare.FieldDiff{Field: "tool book.description", Got: `"Books rooms."`, Input: true}
	assert.Regexp(t, `^replay/internal/written/written_test\.go:52 `, written.Of([]compare.FieldDiff{gone, elsewhere, nights}, config))
	assert.Empty(t, written.Of([]compare.FieldDiff{gone, nights, beds}, config), "one of two")
	assert.Empty(t, written.Of([]compare.FieldDiff{gone, other, nights}, config), "of one of two")
	assert.Empty(t, written.Of([]compare.FieldDiff{gone, elsewhere}, config))
}

// If a text has moved to another member, the line that says the text beside it has not changed,
// and is not named. If the text is gone altogether, it was taken out of that line, which is named.
func TestOfWhatHasMoved(t *testing.T) {
	const head, rules = "You are a clerk of whom this test alone knows.", "<rules>\nSay the unit of every number.\n</rules>"
	config := adk.Config{Executor: adk.Executor{Run: func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }}}
	gone := compare.FieldDiff{Field: "request.body.messages[0].content", Want: compare.QuotedJSON(head + "\n\n" + rules), Got: compare.QuotedJSON(head), Input: true}
	came := compare.FieldDiff{Field: "request.body.messages[2]", Got: `{"content":` + compare.QuotedJSON(rules) + `,"role":"system"}`, Input: true}
	assert.Empty(t, written.Of([]compare.FieldDiff{gone, came}, config))
	assert.NotEmpty(t, written.Of([]compare.FieldDiff{gone}, config))
	was := came
	was.Want = was.Got
	assert.NotEmpty(t, written.Of([]compare.FieldDiff{gone, was}, config), "it stood there before")
}

// An object that a library makes is located in the list of the agent; what the agent's own code
// does is not located there.
func TestMade(t *testing.T) {
	config := adk.Config{
		TurnInput: []adk.TurnMiddleware{
			{Name: "history", Run: func(context.Context, *adk.TurnContext, adk.Next) error { return nil }},
			budget.Shed(budget.ShedOptions{Limits: budget.Limits{Encoding: "o200k_base", Window: 1000}}),
		},
		Executor: adk.Executor{Run: func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }},
	}
	assert.Regexp(t, `^made in replay/internal/written/written_test\.go:90 \(written_test\.TestMade\)$`,
		written.Made(config, adk.Seam{Label: adk.LabelTurnInput, Name: config.TurnInput[1].Name}))
	assert.Empty(t, written.Made(config, adk.Seam{Label: adk.LabelTurnOutput, Name: config.TurnInput[1].Name}))
	assert.Empty(t, written.Made(config, adk.Seam{Label: adk.LabelTool, Name: "history"}))
}

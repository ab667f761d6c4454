package native

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// Instructions returns the tools for standing instructions: list, add and remove.
func Instructions() []*adk.Tool {
	return []*adk.Tool{listInstructions(), addInstruction(), removeInstruction()}
}

func listInstructions() *adk.Tool {
	return listing("list_standing_instructions", "Lists the rules in force, as texts. To change one, remove it and add another.", adk.Handle.Instructions,
		func(text *adk.Tokenizable) any { return text.String() })
}

func addInstruction() *adk.Tool {
	return spec.Tool{
		Name:        "add_standing_instruction",
		Description: "Adds a rule, by its exact text. Adding it again is fine.",
		Args:        []spec.Arg{spec.Text("content", "the rule").NotEmpty().Required()},
		Writes:      true, JSON: true,
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			if err := c.DC.Instructions().Store(ctx, adk.NewTokenizable(c.Text("content"))); err != nil {
				return "", err
			}
			return done("content", c.Text("content")), nil
		},
	}.Make()
}

func removeInstruction() *adk.Tool {
	return deleting("remove_standing_instruction", "Removes a rule, by its exact text. One that is not in force is fine.", "content", spec.Text("content", "the rule").NotEmpty(), adk.Handle.Instructions)
}

package numbers

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// maxExpression is the greatest length of an expression. The tool's answer says so, because a
// schema cannot (BAT-4).
const maxExpression = 1000

// Calculate returns the tool that evaluates an expression.
func Calculate() *adk.Tool {
	return spec.Tool{
		Name: "calculate",
		Description: "Evaluates one math expression, of at most 1000 characters: + - * / % ^ !, comparison, parentheses, " +
			"implicit products (2 pi), the constants pi e tau phi, matrices such as [1,2;3,4] with transpose, det and inv, and the functions " +
			"sqrt cbrt nthRoot abs sign floor ceil round fix exp ln log(x, base) log2 log10, sin cos tan and their inverse and hyperbolic forms, " +
			"min max sum prod mean median std gcd lcm mod factorial combinations permutations hypot. log(x) is the natural logarithm, angles are radians.",
		Args: []spec.Arg{spec.Text("expression", "the expression, such as 2 + 3 * sqrt(16)").Required()},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			value, tree, err := evaluate(c.Text("expression"))
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Result: %s\nKaTeX: $%s = %s$", value, tree.tex(), value), nil
		},
	}.Make()
}

// EvaluateKatex returns the tool that evaluates a formula in LaTeX.
func EvaluateKatex() *adk.Tool {
	return spec.Tool{
		Name: "evaluate_katex",
		Description: "Evaluates a formula in LaTeX (KaTeX): fractions, roots, powers, \\cdot \\times \\div, brackets with \\left and \\right, " +
			"functions such as \\sin, constants such as \\pi, matrices. Text and subscripts are left out; sums and integrals are not known.",
		Args: []spec.Arg{spec.Text("katex", `the formula, such as \frac{1}{2} + \sqrt{9}`).Required()},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			katex := c.Text("katex")
			if utf8.RuneCountInString(katex) > maxKatex {
				return "", errTooLong
			}
			expression, err := fromKatex(katex)
			if err != nil {
				return "", err
			}
			value, _, err := evaluate(expression)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Converted: %s\nResult: %s", expression, value), nil
		},
	}.Make()
}

// maxKatex is the greatest length of a formula before its conversion; LaTeX is longer.
const maxKatex = 10 * maxExpression

var errTooLong = fmt.Errorf("Expression too long (max %d characters).", maxExpression)

// evaluate returns the value of an expression, and its tree.
func evaluate(expression string) (value, node, error) {
	if utf8.RuneCountInString(expression) > maxExpression {
		return nil, nil, errTooLong
	}
	tree, err := parseExpression(expression)
	if err != nil {
		return nil, nil, err
	}
	result, err := tree.eval()
	return result, tree, err
}

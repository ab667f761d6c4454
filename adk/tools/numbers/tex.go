package numbers

import "strings"

// texOperators has the operators that LaTeX writes differently.
var texOperators = map[string]string{
	"*": `\cdot`, "%": `\bmod`, "==": "=", "!=": `\neq`, "<=": `\leq`, ">=": `\geq`,
}

// texNames has the functions for which LaTeX has a command.
var texNames = map[string]string{
	"sin": `\sin`, "cos": `\cos`, "tan": `\tan`, "asin": `\arcsin`, "acos": `\arccos`, "atan": `\arctan`,
	"sinh": `\sinh`, "cosh": `\cosh`, "tanh": `\tanh`, "ln": `\ln`, "exp": `\exp`, "min": `\min`, "max": `\max`,
	"gcd": `\gcd`, "det": `\det`, "log2": `\log_{2}`, "log10": `\log_{10}`,
}

func (c constant) tex() string {
	if c.name == "e" {
		return "e"
	}
	return `\` + c.name
}

func (n number) tex() string {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(n.text), "e")
	if !scientific {
		return n.text
	}
	return mantissa + ` \cdot 10^{` + strings.TrimPrefix(exponent, "+") + "}"
}

func (u unary) tex() string     { return "-" + u.of.tex() }
func (f factorial) tex() string { return f.of.tex() + "!" }
func (b bracket) tex() string   { return `\left(` + b.of.tex() + `\right)` }

func (b binary) tex() string {
	switch b.operator {
	case "/":
		return `\frac{` + bare(b.left).tex() + "}{" + bare(b.right).tex() + "}"
	case "^":
		return "{" + b.left.tex() + "}^{" + bare(b.right).tex() + "}"
	case " ":
		return b.left.tex() + "~" + b.right.tex()
	}
	operator := b.operator
	if written, other := texOperators[operator]; other {
		operator = written
	}
	return b.left.tex() + " " + operator + " " + b.right.tex()
}

// bare returns a node without brackets, which a fraction or an exponent makes unnecessary.
func bare(n node) node {
	if inner, ok := n.(bracket); ok {
		return inner.of
	}
	return n
}

func (f function) tex() string {
	first := bare(f.args[0]).tex()
	switch f.name {
	case "sqrt":
		return `\sqrt{` + first + "}"
	case "cbrt":
		return `\sqrt[3]{` + first + "}"
	case "abs":
		return `\left|` + first + `\right|`
	case "floor":
		return `\left\lfloor ` + first + ` \right\rfloor`
	case "ceil":
		return `\left\lceil ` + first + ` \right\rceil`
	case "transpose":
		return f.args[0].tex() + "^{T}"
	case "inv":
		return f.args[0].tex() + "^{-1}"
	case "log":
		if len(f.args) == 2 {
			return `\log_{` + bare(f.args[1]).tex() + `}\left(` + first + `\right)`
		}
		return `\ln\left(` + first + `\right)`
	case "nthRoot":
		if len(f.args) == 2 {
			return `\sqrt[` + bare(f.args[1]).tex() + "]{" + first + "}"
		}
		return `\sqrt{` + first + "}"
	}
	name, known := texNames[f.name]
	if !known {
		name = `\operatorname{` + f.name + "}"
	}
	args := make([]string, len(f.args))
	for i, a := range f.args {
		args[i] = a.tex()
	}
	return name + `\left(` + strings.Join(args, ", ") + `\right)`
}

func (g grid) tex() string {
	rows := make([]string, 0, len(g.rows))
	for _, row := range g.rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			if inner, nested := cell.(grid); nested && len(g.rows) == 1 {
				rows = append(rows, strings.TrimSuffix(strings.TrimPrefix(inner.tex(), texGrid), texGridEnd))
				continue
			}
			cells = append(cells, cell.tex())
		}
		if len(cells) > 0 {
			rows = append(rows, strings.Join(cells, " & "))
		}
	}
	return texGrid + strings.Join(rows, ` \\ `) + texGridEnd
}

const texGrid, texGridEnd = `\begin{bmatrix}`, `\end{bmatrix}`

package numbers

import (
	"strings"
	"unicode/utf8"
)

// fromKatex converts a formula of LaTeX into an expression for calculate. It parses the formula so
// that brackets match; calculate interprets the expression.
func fromKatex(katex string) (expression string, err error) {
	p := &katexParser{scanner: scanner{text: katex}}
	defer catch(&err)
	p.until("")
	return tidy(p.out.String()), nil
}

// tidy reduces several blanks to one, and removes blanks next to brackets.
func tidy(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("( ", "(", " )", ")", " ,", ",").Replace(text)
}

type katexParser struct {
	scanner
	out strings.Builder
}

// until parses up to and including end; "" means the end of the text.
func (p *katexParser) until(end string) {
	defer p.nest()()
	for {
		switch {
		case end != "" && strings.HasPrefix(p.rest(), end):
			p.at += len(end)
			return
		case p.at == len(p.text) && end == "":
			return
		case p.at == len(p.text):
			p.fail("the formula ends, want %q", end)
		}
		p.one()
	}
}

// group returns what is in braces, or else the next character or command.
func (p *katexParser) group() string {
	p.space()
	outer := p.out
	p.out = strings.Builder{}
	switch {
	case p.at == len(p.text):
		p.fail("the formula ends, want {")
	case strings.HasPrefix(p.rest(), "{"):
		p.at++
		p.until("}")
	default:
		p.one()
	}
	inner := tidy(p.out.String())
	p.out = outer
	return inner
}

// one parses a character or a command.
func (p *katexParser) one() {
	c, size := utf8.DecodeRuneInString(p.rest())
	switch {
	case c == '\\':
		p.command()
	case c == '{':
		p.write("(" + p.group() + ")")
	case c == '}':
		p.fail("found '}' without '{'")
	case c == '^':
		p.at++
		p.write("^(" + p.group() + ")")
	case c == '_':
		p.at++
		_ = p.group() // subscripts are part of names only
	case c == '~', c == '&', c == '$':
		p.at++
		p.write(" ")
	default:
		p.at += size
		p.write(string(c))
	}
}

func (p *katexParser) write(text string) { p.out.WriteString(text) }

// katexWords are commands that stand for a few characters.
var katexWords = map[string]string{
	"cdot": " * ", "times": " * ", "ast": " * ", "div": " / ", "bmod": " % ", "%": " % ", "pi": " pi ", "tau": " tau ", "phi": " phi ", "varphi": " phi ",
	"left": "", "right": "", "big": "", "Big": "", "bigl": "", "bigr": "", "displaystyle": "", ",": " ", ";": " ", ":": " ", "!": "", " ": " ", "quad": " ", "qquad": " ",
	"lt": " < ", "gt": " > ", "le": " <= ", "leq": " <= ", "ge": " >= ", "geq": " >= ", "ne": " != ", "neq": " != ",
	"lparen": "(", "rparen": ")", "lbrack": "[", "rbrack": "]", "{": "(", "}": ")",
}

// katexFunctions are the commands with an argument, with their names in expressions.
var katexFunctions = map[string]string{
	"sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
	"ln": "ln", "log": "log", "exp": "exp", "min": "min", "max": "max", "gcd": "gcd", "det": "det",
}

func (p *katexParser) command() {
	p.at++
	name := p.commandName()
	if word, known := katexWords[name]; known {
		p.write(word)
		return
	}
	if function, known := katexFunctions[name]; known {
		p.function(function)
		return
	}
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac":
		above, below := p.group(), p.group()
		p.write("((" + above + ")/(" + below + "))")
	case "sqrt":
		p.root()
	case "binom":
		n, k := p.group(), p.group()
		p.write("combinations(" + n + ", " + k + ")")
	case "text", "textrm", "textbf", "textit", "label", "tag":
		p.words()
	case "mathrm", "mathbf", "mathit", "operatorname":
		p.write(" " + p.words())
	case "begin":
		p.matrix()
	default:
		p.write(" " + name + " ") // calculate knows the name, or reports it as unknown
	}
}

func (p *katexParser) commandName() string {
	start := p.at
	for p.at < len(p.text) && isASCIILetter(p.text[p.at]) {
		p.at++
	}
	if p.at == start && p.at < len(p.text) {
		_, size := utf8.DecodeRuneInString(p.rest())
		p.at += size
	}
	return p.text[start:p.at]
}

func isASCIILetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// words returns the text in braces unchanged.
func (p *katexParser) words() string {
	p.space()
	if !strings.HasPrefix(p.rest(), "{") {
		p.fail("want {")
	}
	start, depth := p.at+1, 0
	for ; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				p.at++
				return p.text[start : p.at-1]
			}
		}
	}
	p.fail("the formula ends, want }")
	return ""
}

// root parses \sqrt[n]{x}.
func (p *katexParser) root() {
	p.space()
	if !strings.HasPrefix(p.rest(), "[") {
		p.write("sqrt(" + p.group() + ")")
		return
	}
	outer := p.out
	p.out = strings.Builder{}
	p.at++
	p.until("]")
	degree := tidy(p.out.String())
	p.out = outer
	p.write("nthRoot(" + p.group() + ", " + degree + ")")
}

// function parses the argument of a function: \sin(x), \sin{x}, \sin x, \sin^2 x. The base of a
// logarithm is its subscript.
func (p *katexParser) function(name string) {
	power, base := "", ""
	for {
		p.space()
		if strings.HasPrefix(p.rest(), "^") {
			p.at++
			power = p.group()
		} else if strings.HasPrefix(p.rest(), "_") {
			p.at++
			base = p.group()
		} else {
			break
		}
	}
	argument := p.argument()
	if base != "" && name == "log" {
		argument += ", " + base
	}
	call := name + "(" + argument + ")"
	if power != "" {
		call = "(" + call + ")^(" + power + ")"
	}
	p.write(" " + call)
}

// argument returns the argument of a function, without its brackets.
func (p *katexParser) argument() string {
	for _, open := range []string{`\left(`, "("} {
		if !strings.HasPrefix(p.rest(), open) {
			continue
		}
		p.at += len(open)
		end := strings.Replace(strings.Replace(open, "left", "right", 1), "(", ")", 1)
		outer := p.out
		p.out = strings.Builder{}
		p.until(end)
		inner := tidy(p.out.String())
		p.out = outer
		return inner
	}
	start := p.at
	if number := digitsOf(p.rest()); number != "" {
		p.at += len(number)
		return p.text[start:p.at]
	}
	return p.group()
}

func digitsOf(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789."))]
}

// matrix parses \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}.
func (p *katexParser) matrix() {
	name := p.words()
	if !strings.HasSuffix(name, "matrix") {
		p.fail("the environment %.20q is not known, want one of matrices", name)
	}
	outer := p.out
	var out strings.Builder
	out.WriteString("[")
	for done := false; !done; {
		p.out = strings.Builder{}
		mark := p.cell()
		out.WriteString(tidy(p.out.String()) + map[string]string{"&": ",", `\\`: "; ", `\end`: "]"}[mark])
		if done = mark == `\end`; done && p.words() != name {
			p.fail("another environment ends than began")
		}
	}
	p.out = outer
	p.write(strings.Replace(out.String(), "; ]", "]", 1))
}

// cell parses a cell and returns the mark that ends it.
func (p *katexParser) cell() (mark string) {
	for p.at < len(p.text) {
		for _, mark := range []string{"&", `\\`, `\end`} {
			if strings.HasPrefix(p.rest(), mark) {
				p.at += len(mark)
				return mark
			}
		}
		p.one()
	}
	p.fail(`the formula ends, want \end`)
	return ""
}

package numbers

import (
	"fmt"
	"math"
	"strings"

	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// value is the value of an expression: a scalar, a boolean or a matrix.
type value interface{ fmt.Stringer }

type (
	scalar float64
	truth  bool
	// matrix has rows of equal length. A vector is a matrix with one row that prints as a list.
	matrix struct {
		rows   [][]float64
		vector bool
	}
)

func (s scalar) String() string { return spec.Digits(float64(s)) }
func (t truth) String() string  { return fmt.Sprint(bool(t)) }

func (m matrix) String() string {
	rows := make([]string, len(m.rows))
	for i, row := range m.rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = spec.Digits(cell)
		}
		rows[i] = "[" + strings.Join(cells, ", ") + "]"
	}
	if m.vector {
		return rows[0]
	}
	return "[" + strings.Join(rows, ", ") + "]"
}

func (c constant) eval() (value, error) { return c.worth, nil }
func (n number) eval() (value, error)   { return n.worth, nil }
func (b bracket) eval() (value, error)  { return b.of.eval() }

func (u unary) eval() (value, error) {
	of, err := u.of.eval()
	if err != nil {
		return nil, err
	}
	switch v := of.(type) {
	case scalar:
		return -v, nil
	case matrix:
		return v.scaled(-1), nil
	}
	return nil, fmt.Errorf("a minus before %s, want a number", of)
}

func (f factorial) eval() (value, error) {
	n, err := evalScalar(f.of)
	if err != nil {
		return nil, err
	}
	return scalarOr(factorialOf(n))
}

func scalarOr(f float64, err error) (value, error) {
	if err != nil {
		return nil, err
	}
	return scalar(f), nil
}

func evalScalar(n node) (float64, error) {
	v, err := n.eval()
	if err != nil {
		return 0, err
	}
	s, ok := v.(scalar)
	if !ok {
		return 0, fmt.Errorf("%s where a number is wanted", kindOf(v))
	}
	return float64(s), nil
}

func kindOf(v value) string {
	switch v.(type) {
	case matrix:
		return "a matrix"
	case truth:
		return "true or false"
	}
	return "a number"
}

func (b binary) eval() (value, error) {
	left, err := b.left.eval()
	if err != nil {
		return nil, err
	}
	right, err := b.right.eval()
	if err != nil {
		return nil, err
	}
	x, isNumber := left.(scalar)
	y, areNumbers := right.(scalar)
	if isNumber && areNumbers {
		return b.scalars(float64(x), float64(y))
	}
	return b.matrices(left, right)
}

func (b binary) scalars(x, y float64) (value, error) {
	switch b.operator {
	case "+":
		return scalar(x + y), nil
	case "-":
		return scalar(x - y), nil
	case "*", " ":
		return scalar(x * y), nil
	case "/":
		return scalar(x / y), nil
	case "%":
		return scalar(modulo(x, y)), nil
	case "^":
		return scalarOr(realOf("^", math.Pow(x, y), x, y))
	}
	return truth(map[string]bool{"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[b.operator]), nil
}

// modulo has the sign of y, and returns x if y is 0.
func modulo(x, y float64) float64 {
	if y == 0 {
		return x
	}
	rest := math.Mod(x, y)
	if rest != 0 && (rest < 0) != (y < 0) {
		rest += y
	}
	return rest
}

// realOf returns a result. If the result is NaN although its operands are not, there is no real
// result, and that is an error.
func realOf(name string, result float64, of ...float64) (float64, error) {
	for _, x := range of {
		if math.IsNaN(x) {
			return result, nil
		}
	}
	if math.IsNaN(result) {
		return 0, fmt.Errorf("%s has no real result here", name)
	}
	return result, nil
}

func (b binary) matrices(left, right value) (value, error) {
	m, leftMatrix := left.(matrix)
	n, rightMatrix := right.(matrix)
	x, leftScalar := left.(scalar)
	y, rightScalar := right.(scalar)
	multiplies := b.operator == "*" || b.operator == " "
	switch {
	case leftMatrix && rightMatrix && b.operator == "+":
		return m.plus(n, 1)
	case leftMatrix && rightMatrix && b.operator == "-":
		return m.plus(n, -1)
	case leftMatrix && rightMatrix && multiplies:
		return m.times(n)
	case leftMatrix && rightMatrix && (b.operator == "==" || b.operator == "!="):
		return truth(m.equal(n) == (b.operator == "==")), nil
	case leftMatrix && rightScalar && multiplies:
		return m.scaled(float64(y)), nil
	case leftMatrix && rightScalar && b.operator == "/":
		return m.scaled(1 / float64(y)), nil
	case leftScalar && rightMatrix && multiplies:
		return n.scaled(float64(x)), nil
	case leftMatrix && rightScalar && b.operator == "^":
		return m.power(float64(y))
	}
	return nil, fmt.Errorf("%s %s %s is not defined", kindOf(left), strings.TrimSpace(b.operator), kindOf(right))
}

func (f function) eval() (value, error) {
	args := make([]value, len(f.args))
	for i, a := range f.args {
		v, err := a.eval()
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	known := functions[f.name]
	if known.matrix != nil {
		m, ok := args[0].(matrix)
		if !ok {
			return nil, fmt.Errorf("%s of %s, want a matrix", f.name, kindOf(args[0]))
		}
		return known.matrix(m)
	}
	var xs []float64
	for _, a := range args {
		switch v := a.(type) {
		case scalar:
			xs = append(xs, float64(v))
		case matrix:
			if !known.lists {
				return nil, fmt.Errorf("%s of a matrix, want a number", f.name)
			}
			for _, row := range v.rows {
				xs = append(xs, row...)
			}
		default:
			return nil, fmt.Errorf("%s of %s, want a number", f.name, kindOf(a))
		}
	}
	result, err := known.real(xs)
	if err != nil {
		return nil, err
	}
	return scalarOr(realOf(f.name, result, xs...))
}

// maxMatrix is the greatest number of rows and of columns of a matrix.
const maxMatrix = 100

func (g grid) eval() (value, error) {
	var m matrix
	for _, row := range g.rows {
		cells, err := evalRow(row)
		if err != nil {
			return nil, err
		}
		m.rows = append(m.rows, cells...)
		if len(g.rows) == 1 && len(cells) == 1 {
			_, m.vector = row[0].(grid)
			m.vector = !m.vector
		}
	}
	for _, row := range m.rows {
		if len(row) != len(m.rows[0]) {
			return nil, fmt.Errorf("rows of %d and %d in one matrix", len(m.rows[0]), len(row))
		}
	}
	if len(m.rows) > maxMatrix || len(m.rows[0]) > maxMatrix {
		return nil, fmt.Errorf("a matrix of %d × %d, want at most %d × %[3]d", len(m.rows), len(m.rows[0]), maxMatrix)
	}
	return m, nil
}

// evalRow returns the row that a list of numbers forms, or the rows that a list of vectors forms.
func evalRow(row []node) (rows [][]float64, err error) {
	var cells []float64
	for _, n := range row {
		v, err := n.eval()
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case scalar:
			cells = append(cells, float64(v))
		case matrix:
			if len(v.rows) != 1 {
				return nil, fmt.Errorf("a matrix inside a matrix, want numbers")
			}
			rows = append(rows, v.rows[0])
		default:
			return nil, fmt.Errorf("%s inside a matrix, want numbers", kindOf(v))
		}
	}
	if rows != nil && cells != nil {
		return nil, fmt.Errorf("numbers beside lists in one matrix")
	}
	if rows == nil {
		rows = [][]float64{cells}
	}
	return rows, nil
}

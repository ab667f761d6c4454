package numbers

import (
	"fmt"
	"math"
	"slices"

	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// constants are the names of numbers.
var constants = map[string]scalar{"pi": math.Pi, "e": math.E, "tau": 2 * math.Pi, "phi": math.Phi}

// known is a function that an expression can name.
type known struct {
	least, most int
	real        func(xs []float64) (float64, error)
	lists       bool                        // it accepts matrices, as the list of their cells
	matrix      func(matrix) (value, error) // used instead of real
}

func (f known) counts() string {
	switch {
	case f.most == maxArguments:
		return "1 argument or more"
	case f.least != f.most:
		return fmt.Sprintf("%d to %d arguments", f.least, f.most)
	case f.least == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", f.least)
}

const maxArguments = 1000

// of makes a function of one number.
func of(f func(float64) float64) known {
	return known{least: 1, most: 1, real: func(xs []float64) (float64, error) { return f(xs[0]), nil }}
}

// over makes a function of a list of numbers.
func over(f func(xs []float64) (float64, error)) known {
	return known{least: 1, most: maxArguments, lists: true, real: f}
}

func withMost(least, most int, f func(xs []float64) (float64, error)) known {
	return known{least: least, most: most, real: f}
}

var functions = map[string]known{
	"sqrt": of(math.Sqrt), "cbrt": of(math.Cbrt), "abs": of(math.Abs), "sign": of(sign), "floor": of(math.Floor),
	"ceil": of(math.Ceil), "fix": of(math.Trunc), "exp": of(math.Exp), "ln": of(math.Log), "log2": of(math.Log2), "log10": of(math.Log10),
	"sin": of(math.Sin), "cos": of(math.Cos), "tan": of(math.Tan), "asin": of(math.Asin), "acos": of(math.Acos), "atan": of(math.Atan),
	"sinh": of(math.Sinh), "cosh": of(math.Cosh), "tanh": of(math.Tanh), "asinh": of(math.Asinh), "acosh": of(math.Acosh), "atanh": of(math.Atanh),
	"atan2":        withMost(2, 2, func(xs []float64) (float64, error) { return math.Atan2(xs[0], xs[1]), nil }),
	"mod":          withMost(2, 2, func(xs []float64) (float64, error) { return modulo(xs[0], xs[1]), nil }),
	"log":          withMost(1, 2, logarithm),
	"nthRoot":      withMost(1, 2, nthRoot),
	"round":        withMost(1, 2, roundTo),
	"factorial":    withMost(1, 1, func(xs []float64) (float64, error) { return factorialOf(xs[0]) }),
	"combinations": withMost(2, 2, combinations),
	"permutations": withMost(1, 2, permutations),
	"min":          over(func(xs []float64) (float64, error) { return slices.Min(xs), nil }),
	"max":          over(func(xs []float64) (float64, error) { return slices.Max(xs), nil }),
	"sum":          over(func(xs []float64) (float64, error) { return sumOf(xs), nil }),
	"prod": over(func(xs []float64) (float64, error) {
		return fold(xs, 1, func(a, b float64) float64 { return a * b }), nil
	}),
	"mean":      over(func(xs []float64) (float64, error) { return sumOf(xs) / float64(len(xs)), nil }),
	"median":    over(func(xs []float64) (float64, error) { return medianOf(xs), nil }),
	"std":       over(sampleDeviation),
	"hypot":     over(func(xs []float64) (float64, error) { return fold(xs, 0, math.Hypot), nil }),
	"gcd":       over(func(xs []float64) (float64, error) { return wholes("gcd", xs, gcd) }),
	"lcm":       over(func(xs []float64) (float64, error) { return wholes("lcm", xs, lcm) }),
	"transpose": {least: 1, most: 1, matrix: func(m matrix) (value, error) { return m.transposed(), nil }},
	"det":       {least: 1, most: 1, matrix: determinantOf},
	"inv":       {least: 1, most: 1, matrix: inverseOf},
}

func fold(xs []float64, start float64, with func(a, b float64) float64) float64 {
	for _, x := range xs {
		start = with(start, x)
	}
	return start
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// logarithm is exact for powers of the bases 2 and 10.
func logarithm(xs []float64) (float64, error) {
	switch {
	case len(xs) == 1:
		return math.Log(xs[0]), nil
	case xs[1] == 10:
		return math.Log10(xs[0]), nil
	case xs[1] == 2:
		return math.Log2(xs[0]), nil
	}
	return math.Log(xs[0]) / math.Log(xs[1]), nil
}

// nthRoot returns a negative result for an odd root of a negative number.
func nthRoot(xs []float64) (float64, error) {
	x, n := xs[0], 2.0
	if len(xs) == 2 {
		n = xs[1]
	}
	switch {
	case n == 0:
		return 0, fmt.Errorf("nthRoot with a root of 0")
	case n == 2:
		return math.Sqrt(x), nil
	case n == 3:
		return math.Cbrt(x), nil
	case x < 0 && math.Abs(math.Mod(n, 2)) == 1:
		return -exactRoot(-x, n), nil
	}
	return exactRoot(x, n), nil
}

// exactRoot returns a root; if the nearest whole number is the exact root, it returns that.
func exactRoot(x, n float64) float64 {
	root := math.Pow(x, 1/n)
	if whole := math.Round(root); math.Pow(whole, n) == x {
		return whole
	}
	return root
}

func roundTo(xs []float64) (float64, error) {
	decimals := 0.0
	if len(xs) == 2 {
		decimals = xs[1]
	}
	if decimals != math.Trunc(decimals) || decimals < 0 || decimals > 15 {
		return 0, fmt.Errorf("round to a number of decimals that is not whole, or not within 0 and 15")
	}
	return spec.Round(xs[0], int(decimals)), nil
}

func factorialOf(n float64) (float64, error) {
	if n != math.Trunc(n) || n < 0 || n > 170 {
		return 0, fmt.Errorf("factorial of a number that is not whole, or not within 0 and 170")
	}
	product := 1.0
	for i := 2.0; i <= n; i++ {
		product *= i
	}
	return product, nil
}

// choice checks the arguments of choosing k out of n.
func choice(name string, n, k float64) error {
	if n != math.Trunc(n) || k != math.Trunc(k) || n < 0 || k < 0 || k > n || n > 1e6 {
		return fmt.Errorf("%s: want whole numbers with 0 ≤ k ≤ n ≤ 1000000", name)
	}
	return nil
}

func combinations(xs []float64) (float64, error) {
	n, k := xs[0], xs[1]
	if err := choice("combinations", n, k); err != nil {
		return 0, err
	}
	k = math.Min(k, n-k)
	product := 1.0
	for i := 1.0; i <= k && !math.IsInf(product, 0); i++ {
		product = product * (n - k + i) / i
	}
	if product < 1<<53 {
		product = math.Round(product)
	}
	return product, nil
}

func permutations(xs []float64) (float64, error) {
	n, k := xs[0], xs[0]
	if len(xs) == 2 {
		k = xs[1]
	}
	if err := choice("permutations", n, k); err != nil {
		return 0, err
	}
	product := 1.0
	for i := n - k + 1; i <= n && !math.IsInf(product, 0); i++ {
		product *= i
	}
	return product, nil
}

// sampleDeviation divides by n-1, as calculators do; for one number it returns 0.
func sampleDeviation(xs []float64) (float64, error) {
	if len(xs) == 1 {
		return 0, nil
	}
	n := float64(len(xs))
	return math.Sqrt(variance(xs) * n / (n - 1)), nil
}

func wholes(name string, xs []float64, with func(a, b float64) float64) (float64, error) {
	for _, x := range xs {
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return 0, fmt.Errorf("%s of a number that is not whole", name)
		}
	}
	return math.Abs(fold(xs[1:], xs[0], with)), nil
}

func gcd(a, b float64) float64 {
	for b != 0 {
		a, b = b, math.Mod(a, b)
	}
	return a
}

func lcm(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return a / gcd(a, b) * b
}

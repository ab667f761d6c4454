package numbers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

const numbersArg = "the numbers, as the text of a JSON list such as [1, 2.5, 3]"

// StatsDescribe returns the tool stats_describe, which describes one set of numbers.
func StatsDescribe() *adk.Tool {
	return spec.Tool{
		Name: "stats_describe",
		Description: "Describes one set of numbers: count, sum, min, max, range, mean, median, mode, population variance and standard deviation, " +
			"quartiles, interquartile range, and the percentiles 10, 90, 95 and 99, as a JSON object. What is no finite number is left out.",
		Args: []spec.Arg{spec.Text("numbers", numbersArg).Required()},
		JSON: true,
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			xs, err := finiteNumbers(c.Text("numbers"))
			if err != nil {
				return "", err
			}
			return jsontree.Indented(describe(xs)), nil
		},
	}.Make()
}

func describe(xs []float64) *jsontree.Object {
	sorted := slices.Sorted(slices.Values(xs))
	sum, spread := sumOf(xs), variance(xs)
	least, most := sorted[0], sorted[len(sorted)-1]
	q1, q3 := quantile(sorted, 0.25), quantile(sorted, 0.75)
	o := &jsontree.Object{}
	for _, m := range []jsontree.Member{
		{Name: "count", Value: float64(len(xs))}, {Name: "sum", Value: spec.Round(sum, 12)}, {Name: "min", Value: least}, {Name: "max", Value: most},
		{Name: "range", Value: most - least}, {Name: "mean", Value: spec.Round(meanOf(xs), 10)}, {Name: "median", Value: medianOf(xs)}, {Name: "mode", Value: mode(sorted)},
		{Name: "variance", Value: spec.Round(spread, 8)}, {Name: "std_dev", Value: spec.Round(deviation(xs), 8)},
		{Name: "q1", Value: q1}, {Name: "q2", Value: quantile(sorted, 0.5)}, {Name: "q3", Value: q3}, {Name: "iqr", Value: q3 - q1},
		{Name: "p10", Value: quantile(sorted, 0.1)}, {Name: "p90", Value: quantile(sorted, 0.9)}, {Name: "p95", Value: quantile(sorted, 0.95)}, {Name: "p99", Value: quantile(sorted, 0.99)},
	} {
		o.Set(m.Name, m.Value)
	}
	return o
}

// StatsCorrelate returns the tool stats_correlate, which tells the correlation of two sets.
func StatsCorrelate() *adk.Tool {
	return spec.Tool{
		Name:        "stats_correlate",
		Description: "Says how two equally long sets of numbers go together: Pearson's r, the explained variance, and what that means in words.",
		Args:        []spec.Arg{spec.Text("x", numbersArg).Required(), spec.Text("y", numbersArg).Required()},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			x, err := finiteNumbers(c.Text("x"))
			if err != nil {
				return "", fmt.Errorf("Error in x: %w", err)
			}
			y, err := finiteNumbers(c.Text("y"))
			if err != nil {
				return "", fmt.Errorf("Error in y: %w", err)
			}
			return correlate(x, y)
		},
	}.Make()
}

func correlate(x, y []float64) (string, error) {
	if len(x) != len(y) {
		return "", fmt.Errorf("x and y must have the same length: x has %d, y has %d", len(x), len(y))
	}
	if len(x) < 2 {
		return "", fmt.Errorf("At least 2 data points are needed")
	}
	r, err := pearson(x, y)
	if err != nil {
		return "", err
	}
	direction := "no"
	if r > 0 {
		direction = "positive"
	} else if r < 0 {
		direction = "negative"
	}
	strength := "very weak / negligible"
	for _, level := range []struct {
		from float64
		name string
	}{{.9, "very strong"}, {.7, "strong"}, {.5, "moderate"}, {.3, "weak"}} {
		if math.Abs(r) >= level.from {
			strength = level.name
			break
		}
	}
	return fmt.Sprintf("r = %s\nr² = %s%% (explained variance)\nInterpretation: %s %s correlation",
		spec.Fixed(r, 6), spec.Fixed(r*r*100, 2), strength, direction), nil
}

// pearson returns the correlation of two lists of equal length.
func pearson(x, y []float64) (float64, error) {
	x, _ = levelled(x)
	y, _ = levelled(y)
	meanX, meanY := meanOf(x), meanOf(y)
	var xy, xx, yy sum
	for i := range x {
		dx, dy := x[i]-meanX, y[i]-meanY
		xy.add(float64(dx * dy))
		xx.add(float64(dx * dx))
		yy.add(float64(dy * dy))
	}
	if xx.total() == 0 || yy.total() == 0 {
		return 0, fmt.Errorf("one side is constant: there is no correlation")
	}
	r := xy.total() / math.Sqrt(xx.total()) / math.Sqrt(yy.total())
	return max(-1, min(1, r)), nil
}

// levelled divides numbers by a power of two, such that their squares and sums neither overflow nor
// underflow a float64. For most numbers that is not necessary, and the exponent is 0.
func levelled(xs []float64) (level []float64, exponent int) {
	most := 0.0
	for _, x := range xs {
		most = max(most, math.Abs(x))
	}
	_, exponent = math.Frexp(most)
	if exponent > -256 && exponent < 256 {
		return xs, 0
	}
	level = make([]float64, len(xs))
	for i, x := range xs {
		level[i] = math.Ldexp(x, -exponent)
	}
	return level, exponent
}

// StatsHistogram returns the tool stats_histogram, which counts numbers in bins.
func StatsHistogram() *adk.Tool {
	return spec.Tool{
		Name:        "stats_histogram",
		Description: "Counts numbers in equally wide bins: a line a bin with its range, count, share and a bar. 2 to 100 bins.",
		Args: []spec.Arg{
			spec.Text("numbers", numbersArg).Required(),
			spec.Number("bins", "how many bins, from 2 to 100; taken as the nearest of these").Default(10),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			xs, err := finiteNumbers(c.Text("numbers"))
			if err != nil {
				return "", err
			}
			return histogram(xs, int(math.Round(max(2, min(100, c.Number("bins"))))))
		},
	}.Make()
}

func histogram(xs []float64, bins int) (string, error) {
	xs, exponent := levelled(xs)
	least, most := slices.Min(xs), slices.Max(xs)
	width := (most - least) / float64(bins)
	if least == most {
		bins, width = 1, 0
	} else if width == 0 {
		return "", fmt.Errorf("the numbers lie too close together for bins")
	}
	counts := make([]int, bins)
	for _, x := range xs {
		at := 0
		if width > 0 {
			at = max(0, min(bins-1, int((x-least)/width)))
		}
		counts[at]++
	}
	highest := slices.Max(counts)
	lines := make([]string, bins)
	for i, n := range counts {
		end, close := least+float64(float64(i+1)*width), ")"
		if i == bins-1 {
			end, close = most, "]"
		}
		label := "[" + binEdge(least+float64(float64(i)*width), exponent) + ", " + binEdge(end, exponent) + close
		bar := strings.Repeat("█", int(math.Round(20*float64(n)/float64(highest))))
		share := spec.Fixed(100*float64(n)/float64(len(xs)), 1)
		lines[i] = strings.TrimRight(fmt.Sprintf("%-22s %4d (%5s%%) %s", label, n, share, bar), " ")
	}
	return strings.Join(lines, "\n"), nil
}

// binEdge writes the edge of a bin for numbers that were levelled.
func binEdge(at float64, exponent int) string {
	return spec.Digits(spec.Precise(math.Ldexp(at, exponent), 4))
}

// finiteNumbers parses a list of numbers, and ignores items that are no finite numbers.
func finiteNumbers(text string) ([]float64, error) {
	list, err := spec.List(text)
	if err != nil {
		return nil, err
	}
	var xs []float64
	for _, item := range list {
		if x, ok := jsontree.Number(item); ok && !math.IsInf(x, 0) {
			xs = append(xs, x)
		}
	}
	if len(xs) == 0 {
		return nil, fmt.Errorf("No finite numbers in the list")
	}
	return xs, nil
}

// sum adds with Neumaier's compensation: what an addition loses is added up separately.
type sum struct{ whole, lost float64 }

func (s *sum) add(x float64) {
	t := s.whole + x
	if math.Abs(s.whole) >= math.Abs(x) {
		s.lost += (s.whole - t) + x
	} else {
		s.lost += (x - t) + s.whole
	}
	s.whole = t
}

func (s *sum) total() float64 {
	if math.IsInf(s.whole, 0) || math.IsNaN(s.lost) {
		return s.whole
	}
	return s.whole + s.lost
}

func sumOf(xs []float64) float64 {
	var s sum
	for _, x := range xs {
		s.add(x)
	}
	return s.total()
}

// meanOf divides before adding if the sum would overflow.
func meanOf(xs []float64) float64 {
	n := float64(len(xs))
	if mean := sumOf(xs) / n; !math.IsInf(mean, 0) {
		return mean
	}
	var s sum
	for _, x := range xs {
		s.add(x / n)
	}
	return s.total()
}

// variance returns the variance of a population.
func variance(xs []float64) float64 {
	mean := meanOf(xs)
	var s sum
	for _, x := range xs {
		s.add(float64((x - mean) * (x - mean)))
	}
	return s.total() / float64(len(xs))
}

// deviation returns the root of the variance, even if the variance would overflow.
func deviation(xs []float64) float64 {
	level, exponent := levelled(xs)
	return math.Ldexp(math.Sqrt(variance(level)), exponent)
}

func medianOf(xs []float64) float64 {
	return quantile(slices.Sorted(slices.Values(xs)), 0.5)
}

// quantile returns a quantile of sorted numbers: the mean of two if p divides them evenly.
func quantile(sorted []float64, p float64) float64 {
	n := len(sorted)
	k := p * float64(n)
	whole := int(k)
	switch {
	case whole >= n:
		return sorted[n-1]
	case float64(whole) != k:
		return sorted[whole] // the ⌈k⌉-th
	case n%2 == 0 && whole > 0:
		return sorted[whole-1]/2 + sorted[whole]/2
	}
	return sorted[whole] // the (k+1)-th
}

// mode returns the most frequent of sorted numbers, the smallest one of several.
func mode(sorted []float64) float64 {
	commonest, most := sorted[0], 0
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		if j-i > most {
			commonest, most = sorted[i], j-i
		}
		i = j
	}
	return commonest
}

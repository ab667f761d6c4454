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

// StatsTransform returns the tool stats_transform, which changes a set of numbers in one of nine
// ways.
func StatsTransform() *adk.Tool {
	return spec.Tool{
		Name: "stats_transform",
		Description: "Changes a set of numbers: to 0..1, to z-scores, to percent of the sum, to running totals, to rolling averages over up to window numbers, " +
			"to changes in percent (null first and after a zero), to ranks (equal ones share the lower), or tells its outliers by quartiles or z-scores. A JSON list, or lines of outliers.",
		Args: []spec.Arg{
			spec.Text("numbers", numbersArg).Required(),
			spec.Word("operation", "the change", "normalize_min_max", "normalize_z_score", "normalize_percent_of_sum", "running_total",
				"rolling_avg", "pct_change", "rank", "outliers_iqr", "outliers_zscore").Required(),
			spec.Number("window", "of rolling_avg: how many numbers").Default(3),
			spec.Number("threshold", "of outliers_zscore: from which z-score on").Default(3),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			xs, err := finiteNumbers(c.Text("numbers"))
			if err != nil {
				return "", err
			}
			switch c.Text("operation") {
			case "outliers_iqr":
				return outliersByQuartiles(xs), nil
			case "outliers_zscore":
				return outliersByScore(xs, c.Number("threshold")), nil
			}
			return jsontree.Text(transformed(xs, c.Text("operation"), c.Number("window"))), nil
		},
	}.Make()
}

func transformed(xs []float64, operation string, window float64) []any {
	switch operation {
	case "normalize_min_max":
		xs, _ = levelled(xs)
		least, most := slices.Min(xs), slices.Max(xs)
		return scaledTo(xs, least, most-least, 1, 8)
	case "normalize_z_score":
		xs, _ = levelled(xs)
		return scaledTo(xs, meanOf(xs), math.Sqrt(variance(xs)), 1, 8)
	case "normalize_percent_of_sum":
		xs, _ = levelled(xs)
		return scaledTo(xs, 0, sumOf(xs), 100, 4)
	case "running_total":
		var s sum
		return each(xs, func(_ int, x float64) any { s.add(x); return spec.Round(s.total(), 12) })
	case "rolling_avg":
		size := int(max(1, min(float64(len(xs)), window)))
		return rolling(xs, size)
	case "pct_change":
		return each(xs, func(i int, x float64) any {
			if i == 0 || xs[i-1] == 0 {
				return nil
			}
			return finiteOrNull(spec.Round((x-xs[i-1])/math.Abs(xs[i-1])*100, 4))
		})
	}
	return ranks(xs)
}

func each(xs []float64, with func(i int, x float64) any) []any {
	list := make([]any, len(xs))
	for i, x := range xs {
		list[i] = with(i, x)
	}
	return list
}

func finiteOrNull(x float64) any {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return x
}

// scaledTo returns the distances from a point in multiples of a unit; zeros if the unit is zero.
func scaledTo(xs []float64, from, unit, factor float64, decimals int) []any {
	return each(xs, func(_ int, x float64) any {
		if unit == 0 {
			return 0.0
		}
		return finiteOrNull(spec.Round((x-from)/unit*factor, decimals))
	})
}

// rolling returns, for each number, the average of the last size numbers up to it, or of fewer at
// the beginning.
func rolling(xs []float64, size int) []any {
	if size > 1000 { // one running sum: faster, and exact to eight decimals
		var s sum
		return each(xs, func(i int, x float64) any {
			s.add(x)
			if i >= size {
				s.add(-xs[i-size])
			}
			return finiteOrNull(spec.Round(s.total()/float64(min(i+1, size)), 8))
		})
	}
	return each(xs, func(i int, _ float64) any {
		return finiteOrNull(spec.Round(meanOf(xs[max(0, i+1-size):i+1]), 8))
	})
}

// ranks returns the ranks, counted from 1; equal numbers share the lower one.
func ranks(xs []float64) []any {
	sorted := slices.Sorted(slices.Values(xs))
	return each(xs, func(_ int, x float64) any {
		at, _ := slices.BinarySearch(sorted, x)
		return float64(at + 1)
	})
}

func outliersByQuartiles(xs []float64) string {
	sorted := slices.Sorted(slices.Values(xs))
	q1, q3 := quantile(sorted, 0.25), quantile(sorted, 0.75)
	least, most := q1-1.5*(q3-q1), q3+1.5*(q3-q1)
	bounds := fmt.Sprintf("IQR bounds: %s to %s", spec.Digits(least), spec.Digits(most))
	return outliers(xs, bounds, func(i int) (string, bool) { return "", xs[i] < least || xs[i] > most })
}

func outliersByScore(xs []float64, threshold float64) string {
	level, _ := levelled(xs)
	mean, deviation := meanOf(level), math.Sqrt(variance(level))
	bounds := "z-score threshold: " + spec.Digits(threshold)
	return outliers(xs, bounds, func(i int) (string, bool) {
		if deviation == 0 {
			return "", false
		}
		z := (level[i] - mean) / deviation
		return " (z = " + spec.Fixed(z, 3) + ")", math.Abs(z) > threshold
	})
}

func outliers(xs []float64, bounds string, far func(i int) (note string, ok bool)) string {
	var lines []string
	for i, x := range xs {
		if note, ok := far(i); ok {
			lines = append(lines, fmt.Sprintf("  [%d] = %s%s", i, spec.Digits(x), note))
		}
	}
	if len(lines) == 0 {
		return "No outliers detected (" + bounds + ")"
	}
	return fmt.Sprintf("%d outlier(s) detected (%s):\n%s", len(lines), bounds, strings.Join(lines, "\n"))
}

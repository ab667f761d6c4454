package spec

import (
	"math"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// Digits writes a number as ECMAScript prints it.
func Digits(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return string(canonical.AppendNumber(nil, f))
}

// Fixed writes a number with a number of decimals, as ECMAScript's toFixed does: exact ties round
// away from zero (BAT-5).
func Fixed(f float64, decimals int) string {
	if math.Abs(f) >= 1e21 || math.IsNaN(f) {
		return Digits(f)
	}
	text := strconv.FormatFloat(awayFromTie(f, 'f', decimals), 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return text
}

// Round rounds a number to a number of decimals.
func Round(f float64, decimals int) float64 {
	rounded, err := strconv.ParseFloat(Fixed(f, decimals), 64)
	if err != nil {
		return f // not a finite number
	}
	return rounded
}

// Precise rounds a number to a number of significant digits, as if ECMAScript's toPrecision were
// read back.
func Precise(f float64, digits int) float64 {
	if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return f
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(awayFromTie(f, 'e', digits-1), 'e', digits-1, 64), 64)
	return rounded
}

// Scientific returns a number as a mantissa, with a number of decimals, and an exponent of ten.
func Scientific(f float64, decimals int) (mantissa string, exponent int) {
	mantissa, power, _ := strings.Cut(strconv.FormatFloat(awayFromTie(f, 'e', decimals), 'e', decimals, 64), "e")
	exponent, _ = strconv.Atoi(power)
	return mantissa, exponent
}

// awayFromTie returns f. If f lies exactly between two numbers with that many decimals, it returns
// the next float64 away from zero instead, because package strconv would round a tie to even. A tie
// has only zeros after its 5; checking 22 digits is enough for a float64.
func awayFromTie(f float64, format byte, decimals int) float64 {
	const beyond = 22
	text := strconv.FormatFloat(f, format, decimals+1+beyond, 64)
	if at := strings.IndexByte(text, 'e'); at >= 0 {
		text = text[:at]
	}
	if strings.HasSuffix(text, "5"+strings.Repeat("0", beyond)) {
		return math.Nextafter(f, math.Copysign(math.Inf(1), f))
	}
	return f
}

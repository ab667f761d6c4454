package compare

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// decode returns the tree of a JSON text, with each number in one canonical spelling.
func decode(text string) (tree any, ok bool) {
	tree, ok = jsondiff.Decode(text)
	return spelled(tree), ok
}

// spelled replaces the numbers of a tree, in place, by their canonical spelling.
func spelled(tree any) any {
	switch v := tree.(type) {
	case json.Number:
		return spelling(v.String())
	case map[string]any:
		for name, member := range v {
			v[name] = spelled(member)
		}
	case []any:
		for i, element := range v {
			v[i] = spelled(element)
		}
	}
	return tree
}

// spelling returns a number as a trace writes it, if an int64 or a float64 holds it exactly, and
// otherwise in decimals. 7 and 7.0 stay different, because they are different kinds of numbers in
// Go.
func spelling(number string) json.Number {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return json.Number(strconv.FormatInt(n, 10))
	}
	exact := decimalsOf(number)
	if f, err := strconv.ParseFloat(number, 64); err == nil {
		if text := string(plain.AppendJSON(nil, f)); decimalsOf(text) == exact {
			return json.Number(text)
		}
	}
	return json.Number(exact.String())
}

// decimals is a number as 0.digits times ten to the power of point.
type decimals struct {
	minus  bool
	digits string // neither begins nor ends with a zero
	point  int    // how many digits are before the decimal point
	beyond string // the number as it was spelled, if its exponent does not fit an int32
}

func decimalsOf(number string) (d decimals) {
	rest, minus := strings.CutPrefix(number, "-")
	mantissa, exponent, has := strings.Cut(strings.ToLower(rest), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.minus, d.digits, d.point = minus, whole+fraction, len(whole)
	if has {
		n, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return decimals{beyond: number}
		}
		d.point += int(n)
	}
	zeros := len(d.digits) - len(strings.TrimLeft(d.digits, "0"))
	d.digits, d.point = strings.TrimRight(d.digits[zeros:], "0"), d.point-zeros
	if d.digits == "" {
		d.point = 0
	}
	return d
}

// mostZeros is how many zeros are written out before an exponent is used.
const mostZeros = 20

func (d decimals) String() string {
	sign, behind := "", d.point-len(d.digits)
	if d.minus {
		sign = "-"
	}
	switch {
	case d.beyond != "":
		return d.beyond
	case behind > mostZeros, d.point < -mostZeros:
		return sign + d.digits + "e" + strconv.Itoa(behind)
	case behind >= 0:
		return sign + d.digits + strings.Repeat("0", behind)
	case d.point <= 0:
		return sign + "0." + strings.Repeat("0", -d.point) + d.digits
	}
	return sign + d.digits[:d.point] + "." + d.digits[d.point:]
}

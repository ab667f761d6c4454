package compare

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// decode is the tree of a JSON text, in which one number is spelled in one way.
func decode(text string) (tree any, ok bool) {
	tree, ok = jsondiff.Decode(text)
	return spelled(tree), ok
}

// spelled spells the numbers of a tree anew, in their places.
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

// spelling is a number as a trace writes it, where an int or a float has it, and else by its
// decimals: floats have not all of them. 7 and 7.0 stay apart, which Go tells apart.
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

// decimals are a number: minus, 0.digits, ten times itself so often.
type decimals struct {
	minus  bool
	digits string // which neither begin nor end with a zero
	point  int    // behind so many of the digits
	beyond string // an exponent that no int has: the number as it is spelled
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

// mostZeros is how many zeros are written out before there is an exponent.
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

package data

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// FormatNumber returns the tool format_number, which writes a number for people.
func FormatNumber() *adk.Tool {
	return spec.Tool{
		Name: "format_number",
		Description: "Writes a number for people of a locale: decimal, currency, percent (0.5 is 50%), compact (1.5K), scientific or ordinal (21st). " +
			"Locales: " + localeNames() + ", or a language alone; compact and ordinal are English.",
		Args: []spec.Arg{
			spec.Number("value", "the number").Required(),
			spec.Word("style", "the form", "decimal", "currency", "percent", "compact", "scientific", "ordinal").Default("decimal"),
			spec.Text("currency", "of the style currency: the code, such as USD"),
			spec.Text("locale", "the locale").Default("en-US"), spec.Text("unit", "a word behind the number, such as km"),
			spec.Int("min_decimals", "decimals at least", 0, 20), spec.Int("max_decimals", "decimals at most", 0, 20),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			text, err := formatNumber(c)
			if err == nil && c.Text("unit") != "" {
				text += " " + c.Text("unit")
			}
			return text, err
		},
	}.Make()
}

func formatNumber(c spec.Call) (string, error) {
	l, known := findLocale(c.Text("locale"))
	if !known {
		return "", fmt.Errorf("the locale %.20q is not known; want one of %s", c.Text("locale"), localeNames())
	}
	value, style := c.Number("value"), c.Text("style")
	switch style {
	case "currency":
		return formatCurrency(l, value, c)
	case "percent":
		text, err := decimals(value*100, c, 1, 2)
		return l.written(text) + l.percent, err
	case "compact", "ordinal":
		if !l.english() {
			return "", fmt.Errorf("the style %s is known in English only, not in %s", style, l.name)
		}
		if style == "compact" {
			return compact(l, value), nil
		}
		return ordinal(l, value)
	case "scientific":
		return scientific(l, value, c)
	}
	text, err := decimals(value, c, 0, 3)
	return l.written(text), err
}

// decimals writes a number with least to most decimals, or as many as the call asks for.
func decimals(value float64, c spec.Call, least, most int) (string, error) {
	least, most, err := bounds(c, least, most)
	if err != nil {
		return "", err
	}
	return trimmed(fixed(value, most), least), nil
}

// bounds returns the numbers of decimals that the call asks for, or the defaults.
func bounds(c spec.Call, least, most int) (int, int, error) {
	switch given, limit := c.Has("min_decimals"), c.Has("max_decimals"); {
	case given && limit:
		least, most = c.Int("min_decimals"), c.Int("max_decimals")
	case given:
		least = c.Int("min_decimals")
		most = max(least, most)
	case limit:
		most = c.Int("max_decimals")
		least = min(least, most)
	}
	if least > most {
		return 0, 0, fmt.Errorf("min_decimals %d is above max_decimals %d", least, most)
	}
	return least, most, nil
}

// fixed writes a number with decimals and without an exponent.
func fixed(value float64, decimals int) string {
	if math.Abs(value) < 1e21 {
		return spec.Fixed(value, decimals)
	}
	if math.IsInf(value, 0) {
		value = math.Copysign(math.MaxFloat64, value)
	}
	text := fmt.Sprintf("%.0f", value)
	if decimals > 0 {
		text += "." + strings.Repeat("0", decimals)
	}
	return text
}

// trimmed removes zeros from the end, but keeps at least least decimals.
func trimmed(fixed string, least int) string {
	whole, fraction, _ := strings.Cut(fixed, ".")
	for len(fraction) > least && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

func formatCurrency(l locale, value float64, c spec.Call) (string, error) {
	code := strings.ToUpper(c.Text("currency"))
	if code == "" {
		return "", fmt.Errorf("currency is missing: the style currency needs a code such as USD")
	}
	if !slices.Contains(currencies, code) {
		return "", fmt.Errorf("currency %.10q is not known, want a code of ISO 4217 such as USD", c.Text("currency"))
	}
	usual, special := currencyDigits[code]
	if !special {
		usual = 2
	}
	text, err := decimals(value, c, usual, usual)
	return l.currency(text, code), err
}

// compact writes two significant digits below 100, and no decimals above.
func compact(l locale, value float64) string {
	scales := []string{"", "K", "M", "B", "T"}
	scaled, at := value, 0
	for at < len(scales)-1 && math.Abs(shortened(scaled)) >= 1000 {
		scaled /= 1000
		at++
	}
	return l.written(strconv.FormatFloat(shortened(scaled)+0, 'f', -1, 64)) + scales[at]
}

func shortened(value float64) float64 {
	if math.Abs(value) < 100 {
		return spec.Precise(value, 2)
	}
	return spec.Round(value, 0)
}

func scientific(l locale, value float64, c spec.Call) (string, error) {
	least, most, err := bounds(c, 2, 6)
	if err != nil {
		return "", err
	}
	mantissa, exponent := spec.Scientific(value, most)
	return fmt.Sprintf("%se%+d", l.written(trimmed(mantissa, least)), exponent), nil
}

func ordinal(l locale, value float64) (string, error) {
	if value != math.Trunc(value) {
		return "", fmt.Errorf("%s has no ordinal, want a whole number", spec.Digits(value))
	}
	suffix := "th"
	tens := int(math.Mod(math.Abs(value), 100))
	if tens/10 != 1 {
		switch tens % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return l.written(fixed(value, 0)) + suffix, nil
}

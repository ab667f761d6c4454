package numbers

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// unit is a unit of measure, with its size in the base unit of its kind.
type unit struct {
	key, label, kind string
	worth            float64
}

// units have exact definitions, those of the United States where definitions differ.
var units = []unit{
	{"m", "metres", "length", 1}, {"km", "kilometres", "length", 1000}, {"cm", "centimetres", "length", 0.01}, {"mm", "millimetres", "length", 0.001},
	{"mi", "miles", "length", 1609.344}, {"ft", "feet", "length", 0.3048}, {"in", "inches", "length", 0.0254}, {"yd", "yards", "length", 0.9144}, {"nmi", "nautical miles", "length", 1852},
	{"g", "grams", "mass", 1}, {"kg", "kilograms", "mass", 1000}, {"mg", "milligrams", "mass", 0.001}, {"t", "metric tons", "mass", 1e6},
	{"lb", "pounds", "mass", 453.59237}, {"oz", "ounces", "mass", 28.349523125}, {"st", "stone", "mass", 6350.29318},
	{"L", "litres", "volume", 1}, {"mL", "millilitres", "volume", 0.001}, {"m3", "cubic metres", "volume", 1000}, {"cm3", "cubic centimetres", "volume", 0.001},
	{"gal", "US gallons", "volume", 3.785411784}, {"qt", "US quarts", "volume", 0.946352946}, {"pt", "US pints", "volume", 0.473176473}, {"cup", "US cups", "volume", 0.2365882365},
	{"floz", "US fluid ounces", "volume", 0.0295735295625}, {"tbsp", "tablespoons", "volume", 0.01478676478125}, {"tsp", "teaspoons", "volume", 0.00492892159375},
	{"m_s", "m/s", "speed", 1}, {"km_h", "km/h", "speed", 1 / 3.6}, {"mph", "mph", "speed", 0.44704}, {"kn", "knots", "speed", 1852.0 / 3600}, {"ft_s", "ft/s", "speed", 0.3048},
	{"m2", "m²", "area", 1}, {"km2", "km²", "area", 1e6}, {"cm2", "cm²", "area", 1e-4}, {"mm2", "mm²", "area", 1e-6}, {"ft2", "sq ft", "area", 0.09290304},
	{"in2", "sq in", "area", 0.00064516}, {"yd2", "sq yd", "area", 0.83612736}, {"acre", "acres", "area", 4046.8564224}, {"ha", "hectares", "area", 1e4},
	{"bit", "bits", "data", 0.125}, {"B", "bytes", "data", 1}, {"KB", "kilobytes", "data", 1e3}, {"MB", "megabytes", "data", 1e6}, {"GB", "gigabytes", "data", 1e9}, {"TB", "terabytes", "data", 1e12},
	{"KiB", "kibibytes", "data", 1 << 10}, {"MiB", "mebibytes", "data", 1 << 20}, {"GiB", "gibibytes", "data", 1 << 30}, {"TiB", "tebibytes", "data", 1 << 40},
	{"ms", "milliseconds", "time", 0.001}, {"s", "seconds", "time", 1}, {"min", "minutes", "time", 60}, {"h", "hours", "time", 3600}, {"d", "days", "time", 86400}, {"wk", "weeks", "time", 604800},
	{"J", "joules", "energy", 1}, {"kJ", "kilojoules", "energy", 1000}, {"cal", "calories", "energy", 4.184}, {"kcal", "kilocalories", "energy", 4184},
	{"Wh", "watt-hours", "energy", 3600}, {"kWh", "kilowatt-hours", "energy", 3.6e6}, {"BTU", "BTU", "energy", 1055.05585262},
	{"Pa", "pascals", "pressure", 1}, {"kPa", "kilopascals", "pressure", 1000}, {"MPa", "megapascals", "pressure", 1e6}, {"bar", "bar", "pressure", 1e5},
	{"psi", "psi", "pressure", 6894.757293168361}, {"atm", "atm", "pressure", 101325}, {"mmHg", "mmHg", "pressure", 133.322387415},
	{"rad", "radians", "angle", 1}, {"deg", "degrees", "angle", math.Pi / 180}, {"grad", "gradians", "angle", math.Pi / 200},
}

// temperature is a scale: the distance of its zero from absolute zero, and its degrees per kelvin.
type temperature struct {
	label        string
	zero, kelvin float64
}

var temperatures = map[string]temperature{
	"C": {"°C", 273.15, 1}, "F": {"°F", 459.67, 1.8}, "K": {"K", 0, 1},
}

// ConvertUnit returns the tool that converts within one kind of quantity.
func ConvertUnit() *adk.Tool {
	return spec.Tool{
		Name:        "convert_unit",
		Description: "Converts a value from one unit to another of the same kind. The units: " + unitKeys() + ".",
		Args: []spec.Arg{
			spec.Number("value", "the value to convert").Required(), spec.Text("from", "the unit it has").Required(), spec.Text("to", "the unit wanted").Required(),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			return convert(c.Number("value"), c.Text("from"), c.Text("to"))
		},
	}.Make()
}

// unitKeys returns the keys of all units, by kind.
func unitKeys() string {
	var kinds []string
	last := ""
	for _, u := range units {
		if u.kind != last {
			kinds, last = append(kinds, u.kind+" ("), u.kind
		} else {
			kinds[len(kinds)-1] += " "
		}
		kinds[len(kinds)-1] += u.key
	}
	return strings.Join(kinds, "), ") + "), temperature (C F K)"
}

func findUnit(key string) (unit, bool) {
	for _, u := range units {
		if u.key == key {
			return u, true
		}
	}
	return unit{}, false
}

func convert(value float64, from, to string) (string, error) {
	warm, fromWarm := temperatures[from]
	cold, toWarm := temperatures[to]
	if fromWarm && toWarm {
		return convertTemperature(value, warm, cold)
	}
	source, sourceKnown := findUnit(from)
	target, targetKnown := findUnit(to)
	if !sourceKnown && !fromWarm {
		return "", unknownUnit(from)
	}
	if !targetKnown && !toWarm {
		return "", unknownUnit(to)
	}
	if fromWarm || toWarm {
		other := to
		if toWarm {
			other = from
		}
		return "", fmt.Errorf("%s is not a temperature unit: convert C, F and K among themselves", other)
	}
	if source.kind != target.kind {
		return "", fmt.Errorf("different categories: %s is a unit of %s, %s of %s", from, source.kind, to, target.kind)
	}
	result := spec.Precise(value*(source.worth/target.worth), 10)
	if math.IsInf(result, 0) {
		return "", fmt.Errorf("the result is beyond what a number holds")
	}
	return fmt.Sprintf("%s %s = %s %s", spec.Digits(value), source.label, spec.Digits(result), target.label), nil
}

func unknownUnit(key string) error {
	return fmt.Errorf("Unknown unit %.40q; the units are %s", key, unitKeys())
}

func convertTemperature(value float64, from, to temperature) (string, error) {
	kelvin := (value + from.zero) / from.kelvin
	if kelvin < 0 {
		return "", fmt.Errorf("%s%s is below absolute zero (0 K)", spec.Digits(value), from.label)
	}
	result := spec.Precise(spec.Round(float64(kelvin*to.kelvin)-to.zero, 10), 10)
	return fmt.Sprintf("%s%s = %s%s", spec.Digits(value), from.label, spec.Digits(result), to.label), nil
}

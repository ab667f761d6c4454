package misc

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

const colorForms = "#rgb, #rrggbb, rgb(r, g, b), hsl(h, s%, l%), a CSS name such as navy, or a Material shade such as red-lighten-2"

// color is a color with its hue in degrees, and saturation and lightness in percent.
type color struct{ h, s, l float64 }

var (
	hexForm = regexp.MustCompile(`^#(?:[0-9a-f]{3}|[0-9a-f]{6})$`)
	rgbForm = regexp.MustCompile(`^rgb\(\s*(\d{1,3})\s*[, ]\s*(\d{1,3})\s*[, ]\s*(\d{1,3})\s*\)$`)
	hslForm = regexp.MustCompile(`^hsl\(\s*(-?\d{1,4}(?:\.\d+)?)(?:deg)?\s*[, ]\s*(\d{1,3}(?:\.\d+)?)%\s*[, ]\s*(\d{1,3}(?:\.\d+)?)%\s*\)$`)
)

// readColor parses one of the forms of a color.
func readColor(argument, text string) (color, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if hex, known := hexOf(text); known {
		text = "#" + hex
	}
	if hexForm.MatchString(text) {
		if len(text) == 4 {
			text = "#" + strings.Repeat(text[1:2], 2) + strings.Repeat(text[2:3], 2) + strings.Repeat(text[3:4], 2)
		}
		n, _ := strconv.ParseUint(text[1:], 16, 32) // cannot fail: the form was checked
		return fromRGB(float64(n>>16), float64(n>>8&0xff), float64(n&0xff)), nil
	}
	if parts, ok := within(rgbForm.FindStringSubmatch(text), 255, 255, 255); ok {
		return fromRGB(parts[0], parts[1], parts[2]), nil
	}
	if parts, ok := within(hslForm.FindStringSubmatch(text), 9999, 100, 100); ok {
		return color{turned(parts[0]), parts[1], parts[2]}, nil
	}
	return color{}, fmt.Errorf("%s: the color %.40q cannot be read; want %s", argument, text, colorForms)
}

// within returns the numbers of a match, if each is at most its limit.
func within(match []string, limits ...float64) (parts []float64, ok bool) {
	if match == nil {
		return nil, false
	}
	for i, limit := range limits {
		part, err := strconv.ParseFloat(match[i+1], 64)
		if err != nil || part > limit {
			return nil, false
		}
		parts = append(parts, part)
	}
	return parts, true
}

// turned returns an angle reduced to a full turn.
func turned(degrees float64) float64 { return math.Mod(math.Mod(degrees, 360)+360, 360) }

func fromRGB(r, g, b float64) color {
	r, g, b = r/255, g/255, b/255
	high, low := max(r, g, b), min(r, g, b)
	c := color{l: (high + low) / 2 * 100}
	if high == low {
		return c
	}
	spread := high - low
	c.s = spread / (1 - math.Abs(float64(high+low)-1)) * 100
	switch high {
	case r:
		c.h = turned((g - b) / spread * 60)
	case g:
		c.h = ((b-r)/spread + 2) * 60
	default:
		c.h = ((r-g)/spread + 4) * 60
	}
	return c
}

// rgb returns the three channels, 0 to 255.
func (c color) rgb() (channels [3]int) {
	chroma := (1 - math.Abs(2*c.l/100-1)) * c.s / 100
	for i, shift := range []float64{0, 8, 4} {
		k := math.Mod(shift+c.h/30, 12)
		x := c.l/100 - float64(chroma/2*max(-1, min(k-3, 9-k, 1)))
		channels[i] = int(math.Round(float64(x * 255)))
	}
	return channels
}

func (c color) hex() string {
	ch := c.rgb()
	return fmt.Sprintf("#%02x%02x%02x", ch[0], ch[1], ch[2])
}

// String returns the color in its three forms.
func (c color) String() string {
	ch := c.rgb()
	return fmt.Sprintf("%s / rgb(%d, %d, %d) / hsl(%s, %s%%, %s%%)", c.hex(), ch[0], ch[1], ch[2],
		spec.Digits(spec.Round(c.h, 0)), spec.Digits(spec.Round(c.s, 0)), spec.Digits(spec.Round(c.l, 0)))
}

// lighter returns the color with more points of lightness, or fewer if points is negative.
func (c color) lighter(points float64) color {
	c.l = max(0, min(100, c.l+points))
	return c
}

func (c color) rotated(degrees float64) color {
	c.h = turned(c.h + degrees)
	return c
}

// luminance returns the relative luminance of WCAG 2.1.
func (c color) luminance() float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		channel := float64(c.rgb()[i]) / 255
		if channel <= 0.04045 {
			channel /= 12.92
		} else {
			channel = math.Pow((channel+0.055)/1.055, 2.4)
		}
		sum += float64(weight * channel)
	}
	return sum
}

// contrast returns the contrast ratio of WCAG 2.1, 1 to 21.
func contrast(a, b color) float64 {
	high, low := a.luminance(), b.luminance()
	if high < low {
		high, low = low, high
	}
	return (high + 0.05) / (low + 0.05)
}

func ratio(r float64) string { return spec.Digits(spec.Round(r, 2)) + ":1" }

// ColorContrast returns the tool color_contrast, which tells the contrast of two colors.
func ColorContrast() *adk.Tool {
	return spec.Tool{
		Name:        "color_contrast",
		Description: "Tells the contrast of two colors after WCAG 2.1, and which levels it passes. A color is " + colorForms + ".",
		Args:        []spec.Arg{spec.Text("foreground", "the color of the text").Required(), spec.Text("background", "the color behind it").Required()},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			front, err := readColor("foreground", c.Text("foreground"))
			if err != nil {
				return "", err
			}
			back, err := readColor("background", c.Text("background"))
			if err != nil {
				return "", err
			}
			return contrastReport(front, back), nil
		},
	}.Make()
}

const enough = 4.5

func contrastReport(front, back color) string {
	r := contrast(front, back)
	passes := func(least float64) string {
		if r >= least {
			return "PASS"
		}
		return "FAIL"
	}
	lines := []string{
		"Foreground: " + front.String(), "Background: " + back.String(), "Contrast ratio: " + ratio(r), "", "WCAG 2.1 compliance:",
		"  AA  Normal text (4.5:1): " + passes(4.5), "  AA  Large text  (3.0:1): " + passes(3),
		"  AAA Normal text (7.0:1): " + passes(7), "  AAA Large text  (4.5:1): " + passes(4.5),
	}
	if r < enough {
		if better := suggestions(front, back); len(better) > 0 {
			lines = append(append(lines, "", "Suggestions to reach AA Normal (4.5:1):"), better...)
		}
	}
	return strings.Join(lines, "\n")
}

// suggestions changes the lightness of one of the colors by a step away from the other, and returns
// the changes that are enough.
func suggestions(front, back color) (lines []string) {
	step, frontWord, backWord := -15.0, "Darken", "Lighten"
	if front.luminance() > back.luminance() {
		step, frontWord, backWord = 15, "Lighten", "Darken"
	}
	if c := front.lighter(step); contrast(c, back) >= enough {
		lines = append(lines, fmt.Sprintf("  %s foreground to %s (%s)", frontWord, c.hex(), ratio(contrast(c, back))))
	}
	if c := back.lighter(-step); contrast(front, c) >= enough {
		lines = append(lines, fmt.Sprintf("  %s background to %s (%s)", backWord, c.hex(), ratio(contrast(front, c))))
	}
	return lines
}

// schemes has the colors that go with a base color, by scheme and label.
var schemes = map[string][]struct {
	label string
	of    func(base color) color
}{
	"complementary":       {{"Complement", func(c color) color { return c.rotated(180) }}},
	"analogous":           {{"Analogous -30", func(c color) color { return c.rotated(-30) }}, {"Analogous +30", func(c color) color { return c.rotated(30) }}},
	"triadic":             {{"Triadic +120", func(c color) color { return c.rotated(120) }}, {"Triadic +240", func(c color) color { return c.rotated(240) }}},
	"split-complementary": {{"Split +150", func(c color) color { return c.rotated(150) }}, {"Split +210", func(c color) color { return c.rotated(210) }}},
	"monochromatic": {
		{"Light", func(c color) color { return c.lighter(20) }}, {"Lighter", func(c color) color { return c.lighter(35) }},
		{"Dark", func(c color) color { return c.lighter(-20) }}, {"Darker", func(c color) color { return c.lighter(-35) }},
	},
}

// ColorScheme returns the tool color_scheme, which finds colors that go with one.
func ColorScheme() *adk.Tool {
	return spec.Tool{
		Name:        "color_scheme",
		Description: "Finds the colors that go with one, by a scheme, and their contrast with it. A color is " + colorForms + ".",
		Args: []spec.Arg{
			spec.Text("color", "the color to begin with").Required(),
			spec.Word("scheme", "the scheme", "complementary", "analogous", "triadic", "split-complementary", "monochromatic").Required(),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			base, err := readColor("color", c.Text("color"))
			if err != nil {
				return "", err
			}
			lines := []string{"Color scheme: " + c.Text("scheme"), "", "Base: " + base.String()}
			contrasts := []string{"", "Contrast ratios with base:"}
			for _, one := range schemes[c.Text("scheme")] {
				other := one.of(base)
				lines = append(lines, one.label+": "+other.String())
				contrasts = append(contrasts, "  "+one.label+": "+ratio(contrast(base, other)))
			}
			return strings.Join(append(lines, contrasts...), "\n"), nil
		},
	}.Make()
}

// ColorAdjust returns the tool color_adjust, which makes a color lighter or darker.
func ColorAdjust() *adk.Tool {
	return spec.Tool{
		Name:        "color_adjust",
		Description: "Makes a color lighter or darker by points of lightness (1 to 100), in one step or up to 10. A color is " + colorForms + ".",
		Args: []spec.Arg{
			spec.Text("color", "the color").Required(), spec.Word("action", "lighten or darken", "lighten", "darken").Required(),
			spec.Number("amount", "points of lightness a step, 1 to 100; taken as the nearest of these").Default(15),
			spec.Number("steps", "how many steps, 1 to 10; taken as the nearest of these").Default(1),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			base, err := readColor("color", c.Text("color"))
			if err != nil {
				return "", err
			}
			sign, done := 1.0, "Lightened"
			if c.Text("action") == "darken" {
				sign, done = -1, "Darkened"
			}
			amount, steps := max(1, min(100, c.Number("amount"))), int(max(1, min(10, c.Number("steps"))))
			lines := []string{"Original: " + base.String()}
			for i := 1; i <= steps; i++ {
				label := fmt.Sprintf("%s (%s%%)", done, spec.Digits(amount))
				if steps > 1 {
					label = fmt.Sprintf("Step %d (%s %s%%)", i, c.Text("action"), spec.Digits(amount*float64(i)))
				}
				lines = append(lines, label+": "+base.lighter(sign*amount*float64(i)).String())
			}
			return strings.Join(lines, "\n"), nil
		},
	}.Make()
}

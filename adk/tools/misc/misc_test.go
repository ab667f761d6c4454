package misc_test

import (
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
	"github.com/adkreplay/adkreplay/adk/tools/misc"
)

// BAT-1: contrast as WCAG 2.1 defines it.
func TestColorContrast(t *testing.T) {
	pair := func(front, back string) string { return trial.Object("foreground", front, "background", back) }
	trial.Check(t, misc.ColorContrast(), []trial.Case{
		{"B-177", pair("black", "white"), "Foreground: #000000 / rgb(0, 0, 0) / hsl(0, 0%, 0%)\nBackground: #ffffff / rgb(255, 255, 255) / hsl(0, 0%, 100%)\nContrast ratio: 21:1\n\nWCAG 2.1 compliance:\n" +
			"  AA  Normal text (4.5:1): PASS\n  AA  Large text  (3.0:1): PASS\n  AAA Normal text (7.0:1): PASS\n  AAA Large text  (4.5:1): PASS"},
		{"B-177", pair("#777", "#777777"), "…Contrast ratio: 1:1…FAIL…FAIL…FAIL…FAIL"}, {"B-178", pair("red-lighten-2", "white"), "Foreground: #e57373…"}, {"B-178", pair("red-500", "red"), "Foreground: #f44336…Background: #ff0000…"}, {"B-178", pair("rgb(255, 0, 0)", "hsl(240, 100%, 50%)"), "Foreground: #ff0000…Background: #0000ff…"}, {"B-178", pair("deep-purple-accent-2", "NAVY"), "Foreground: #7c4dff…Background: #000080…"},
		{"B-179", pair("#777777", "white"), "…AA  Normal text (4.5:1): FAIL…\n\nSuggestions to reach AA Normal (4.5:1):\n  Darken foreground to #515151 (…:1)"}, {"B-179", pair("#eee", "#888"), "…Suggestions…\n  Darken background to…"}, {"B-180", pair("nope", "white"), "Error: foreground: …"}, {"B-180", pair("white", "transparent"), "Error: background: …"}, {"out", pair("rgb(256,0,0)", "white"), "Error: …"}, {"out", pair("#12345", "white"), "Error: …"},
	})
	trial.Check(t, misc.ColorScheme(), []trial.Case{
		{"B-181", trial.Object("color", "red", "scheme", "complementary"), "Color scheme: complementary\n\nBase: #ff0000 / rgb(255, 0, 0) / hsl(0, 100%, 50%)\nComplement: #00ffff / rgb(0, 255, 255) / hsl(180, 100%, 50%)\n\nContrast ratios with base:\n  Complement: 3.19:1"}, {"B-181", trial.Object("color", "red", "scheme", "analogous"), "…Analogous -30: #ff0080…Analogous +30: #ff8000…"}, {"B-181", trial.Object("color", "red", "scheme", "triadic"), "…Triadic +120: #00ff00…Triadic +240: #0000ff…"}, {"B-181", trial.Object("color", "red", "scheme", "split-complementary"), "…Split +150: …Split +210: …"}, {"B-181", trial.Object("color", "red", "scheme", "monochromatic"), "…Light: #ff6666…Lighter: #ffb3b3…Dark: #990000…Darker: #4d0000…"},
		{"B-182", trial.Object("color", "red", "scheme", "mystery"), trial.ARGS}, {"B-182", trial.Object("color", "nope", "scheme", "triadic"), "Error: color: …"},
	})
	adjust := func(color, action string, more ...any) string {
		return trial.Object(append([]any{"color", color, "action", action}, more...)...)
	}
	trial.Check(t, misc.ColorAdjust(), []trial.Case{
		{"B-183", adjust("red", "lighten", "amount", 20), "Original: #ff0000…\nLightened (20%): #ff6666…"}, {"B-183", adjust("red", "darken", "amount", 20), "…Darkened (20%): #990000…"}, {"B-183", adjust("black", "lighten", "amount", 50), "…#808080…"}, {"B-183", adjust("white", "darken", "amount", 50), "…#808080…"}, {"B-184", adjust("black", "lighten", "amount", 10, "steps", 3), "…\nStep 1 (lighten 10%): #1a1a1a…\nStep 2 (lighten 20%): #333333…\nStep 3 (lighten 30%): #4d4d4d…"}, {"B-184", adjust("black", "lighten", "amount", 9999), "…#ffffff…"}, {"B-184", adjust("black", "lighten", "steps", 99), "…Step 10 (lighten 150%): #ffffff…"}, {"B-184", adjust("red", "lighten"), "…Lightened (15%)…"}, {"B-184", adjust("red", "invert"), trial.ARGS}, {"B-184", adjust("nope", "darken"), "Error: color: …"},
	})
}

// BAT-5: comparing values and records.
func TestCompare(t *testing.T) {
	two := func(a, b any, more ...any) string { return trial.Object(append([]any{"a", a, "b", b}, more...)...) }
	trial.Check(t, misc.CompareValues(), []trial.Case{
		{"B-185", two(5, 5), "equal"}, {"B-185", two(10, 5), "greater_than"}, {"B-185", two(1, 5), "less_than"}, {"B-185", two("10", "5"), "greater_than"}, {"B-185", two("banana", "apple"), "greater_than"}, {"B-185", two(nil, 5), "less_than"}, {"B-185", two(nil, nil), "equal"}, {"B-186", two("10", "5", "type_hint", "number"), "greater_than"}, {"B-186", two("foo", 1, "type_hint", "number"), `Error: a is not a number: "foo"`}, {"B-186", two(1, "bar", "type_hint", "number"), `Error: b is not a number: "bar"`},
		{"B-187", two("100", "20", "type_hint", "string"), "less_than"}, {"B-187", two("HELLO", "hello", "case_insensitive", true), "equal"}, {"B-188", two("2024-01-01", "2023-01-01", "type_hint", "date"), "greater_than\na = 2024-01-01T00:00:00.000Z\nb = 2023-01-01T00:00:00.000Z"}, {"B-188", two("not a date", "2023-01-01", "type_hint", "date"), "Error: a is not a date…"}, {"B-188", two(1, 2, "type_hint", "xyz"), trial.ARGS}, {"deep", two(map[string]any{"a": []int{1}}, map[string]any{"a": []int{1}}), "equal"}, {"deep", two([]int{1}, []int{2}), "not_comparable"}, {"mixed", two(1, "x"), "not_comparable"}, {"mixed", two(true, 1), "not_comparable"}, {"truth", two(true, false), "greater_than"}, {"looks", two("1e2", 100), "equal"}, {"missing", `{"a":1}`, trial.ARGS},
	})
	records := func(a, b string, more ...any) string {
		return trial.Object(append([]any{"record_a", a, "record_b", b}, more...)...)
	}
	trial.Check(t, misc.CompareRecords(), []trial.Case{
		{"B-189", records(`{"x":1,"y":2}`, `{"y":2,"x":1}`), "Same value (2): x, y"}, {"B-189", records(`{}`, `{}`), "Records are identical."}, {"B-189", records(`{"x":1}`, `{}`), "Only in A (1): x"}, {"B-189", records(`{}`, `{"x":1}`), "Only in B (1): x"}, {"B-189", records(`{"name":"alice","z":1,"c":2}`, `{"name":"bob","z":1,"c":2}`), "Same value (2): z, c\nDifferent value (1):\n  name: A=\"alice\", B=\"bob\""},
		{"B-190", records(`{"a":{"x":1,"y":2}}`, `{"a":{"y":2,"x":1}}`), "Same value (1): a"}, {"B-190", records(`{"a":{"x":1}}`, `{"a":{"x":2}}`), "Different value (1):…"}, {"B-190", records(`{"a":[1]}`, `{"a":[1]}`, "deep", false), "Same value (1): a"}, {"order", records(`{"a":{"x":1,"y":2}}`, `{"a":{"y":2,"x":1}}`, "deep", false), "Different value (1):…"}, {"B-191", records(`x`, `{}`), "Error: record_a: …"}, {"B-191", records(`{}`, `x`), "Error: record_b: …"}, {"B-191", records(`[]`, `{}`), "Error: record_a: must be a JSON object"}, {"B-191", records(`{}`, `1`), "Error: record_b: must be a JSON object"},
	})
}

// BAT-1: distances between places on the earth.
func TestGeo(t *testing.T) {
	distance := func(a ...float64) string { return trial.Object("lat1", a[0], "lon1", a[1], "lat2", a[2], "lon2", a[3]) }
	trial.Check(t, misc.GeoDistance(), []trial.Case{
		{"B-192", distance(10, 20, 10, 20), "Distance: 0.0000 km / 0.0000 miles"}, {"B-192", distance(40.7128, -74.006, 34.0522, -118.2437), "Distance: 3935.7…"}, {"B-192", distance(0, 0, 0, 1), "Distance: 111.1951 km / 69.0934 miles"}, {"B-193", distance(100, 0, 0, 0), "Error: latitude of point 1…"}, {"B-193", distance(0, 0, 0, 200), "Error: longitude of point 2…"}, {"B-193", `{"lat1":1}`, trial.ARGS}, {"antipodes", distance(0, 0, 0, 180), "Distance: 20015.1…"},
	})
	near := func(lat, lon, radius float64, unit string) string {
		return trial.Object("lat", lat, "lon", lon, "center_lat", 0, "center_lon", 0, "radius", radius, "unit", unit)
	}
	trial.Check(t, misc.GeoWithinRadius(), []trial.Case{
		{"B-194", near(0, 1, 112, "km"), "Yes — distance is 111.1951 km (radius: 112 km)"}, {"B-194", near(0, 1, 100, "km"), "No — …"}, {"B-194", near(0, 1, 70, "miles"), "Yes — distance is 69.0934 miles (radius: 70 miles)"}, {"B-194", near(0, 1, 0, "km"), "Error: radius must be positive…"}, {"B-194", near(200, 1, 1, "km"), "Error: latitude of the point…"},
	})
	box := func(lat, lon, swLat, swLon, neLat, neLon float64) string {
		return trial.Object("lat", lat, "lon", lon, "sw_lat", swLat, "sw_lon", swLon, "ne_lat", neLat, "ne_lon", neLon)
	}
	trial.Check(t, misc.GeoBBoxContains(), []trial.Case{
		{"B-195", box(1, 1, 0, 0, 2, 2), "Yes — point (1, 1) is inside the box from (0, 0) to (2, 2)"}, {"B-195", box(3, 1, 0, 0, 2, 2), "No — point (3, 1) is outside…"}, {"B-195", box(0, 179, -1, 170, 1, -170), "Yes — …"}, {"B-195", box(0, -179, -1, 170, 1, -170), "Yes — …"}, {"B-195", box(0, 0, -1, 170, 1, -170), "No — …"}, {"one meridian", box(0, -180, -1, 170, 1, 180), "Yes — point (0, -180)…"}, {"one meridian", box(0, 180, -1, -180, 1, -170), "Yes — …"}, {"B-195", box(0, 0, 2, 0, 1, 1), "Error: SW latitude…"},
	})
	for _, tool := range misc.All() {
		if strings.Contains(tool.Description(), "  ") {
			t.Errorf("%s: two blanks in its description", tool.Name())
		}
	}
}

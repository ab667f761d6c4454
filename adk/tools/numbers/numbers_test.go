package numbers_test

import (
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
	"github.com/adkreplay/adkreplay/adk/tools/numbers"
)

func args(name, value string) string { return `{"` + name + `":` + quote(value) + `}` }

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// BAT-1, BAT-2: expressions, with their exact results.
func TestCalculate(t *testing.T) {
	cases := []trial.Case{{"B-032", `{}`, trial.ARGS}, {"B-032", `{"expression":42}`, trial.ARGS}}
	for expression, want := range map[string]string{
		"2 + 2": "4", "10 - 3": "7", "6 * 7": "42", "100 / 4": "25", "2 + 3 * 4": "14",
		"sin(pi/4)": "0.707…", "cos(0)": "1", "tan(pi/4)": "1", "log(100, 10)": "2", "sqrt(9)": "3", "2^10": "1024", "exp(0)": "1",
		"5!": "120", "0!": "1", "[1,2;3,4]": "[[1, 2], [3, 4]]", "[[1,2],[3,4]]": "[[1, 2], [3, 4]]", "[1, 2, 3]": "[1, 2, 3]",
		"1/0": "Infinity", "-1/0": "-Infinity", "0/0": "NaN", "2 == 2": "true", "2 != 2": "false", "3 >= 4": "false", "1 < 2": "true",
		"-2^2": "-4", "2^-1": "0.5", "2^3^2": "512", "2^3!": "64", "2 pi": "6.28…", "2(3+4)": "14", "(1+2)(3)": "9", "1/2 pi": "1.57…", "2 sin(0) + 1": "1",
		"10 % 3": "1", "-1 % 3": "2", "5 % 0": "5", "7 / 2 * 3": "10.5", "--3": "3", "+3": "3", "1e3": "1000", ".5 + 5.": "5.5", "2e": "5.43…",
		"0.1 + 0.2": "0.30000000000000004", "nthRoot(27, 3)": "3", "nthRoot(16, 4)": "2", "nthRoot(-32, 5)": "-2", "cbrt(-8)": "-2",
		"abs(-3)": "3", "sign(-2)": "-1", "floor(-1.5)": "-2", "ceil(1.2)": "2", "round(2.5)": "3", "round(-2.5)": "-3", "round(2.345, 2)": "2.35", "fix(-1.7)": "-1",
		"ln(e)": "1", "log(e)": "1", "log2(8)": "3", "log10(1000)": "3", "atan2(1, 1)": "0.785…", "sinh(0)": "0", "acosh(1)": "0",
		"min(3, 1, 2)": "1", "max([3, 5, 4])": "5", "sum(1, 2, 3)": "6", "prod(2, 3, 4)": "24", "mean(1, 2, 3, 4)": "2.5", "median(5, 1, 3)": "3", "std(2, 4, 6)": "2", "std(1)": "0",
		"gcd(12, 18)": "6", "lcm(4, 6)": "12", "mod(-1, 3)": "2", "factorial(5)": "120", "combinations(5, 2)": "10", "permutations(5, 2)": "20", "permutations(4)": "24", "hypot(3, 4)": "5",
		"phi": "1.618…", "tau": "6.28…", "170!": "7.257415615307994e+306",
		"[1,2;3,4] + [1,1;1,1]": "[[2, 3], [4, 5]]", "[1,2;3,4] - 1 * [1,2;3,4]": "[[0, 0], [0, 0]]", "[1,2;3,4] * [0,1;1,0]": "[[2, 1], [4, 3]]", "2 * [1, 2]": "[2, 4]",
		"[1,2,3] * [4,5,6]": "32", "[1,2;3,4] * [1, 1]": "[3, 7]", "transpose([1,2;3,4])": "[[1, 3], [2, 4]]", "det([1,2;3,4])": "-2", "inv([2,0;0,4])": "[[0.5, 0], [0, 0.25]]",
		"[1,1;0,1]^3": "[[1, 3], [0, 1]]", "[1,2] == [1,2]": "true", "-[1,2]": "[-1, -2]", "[2,4]/2": "[1, 2]", "1 - -1": "2",
	} {
		cases = append(cases, trial.Case{"B-022", args("expression", expression), "Result: " + want + "\nKaTeX: $…$"})
	}
	for _, expression := range []string{
		"import(1)", "createUnit(1)", "simplify(1)", "derivative(1)", "compile(1)", "chain(1)", "reviver(1)", "replacer(1)", // B-029
		"2 + ", "unknownFn(1)", "", " ", "1 2", "pi 3", "sqrt", "sqrt()", "sqrt(1, 2)", "sqrt(-1)", "ln(-1)", "asin(2)", "(-8)^(1/3)", "171!", "(-1)!", "1.5!", "[1,2;3]", "[1,2]+[1,2,3]", "[]",
		"[1,[2,3]]", "[1,2,3;4,5,6] * [1,2]", "det([1,2,3])", "inv([1,2;2,4])", "sin([1,2])", "true", "x", "(1", "1)", "[1", "1 + + ", "2 ** 3", "1 = 1", "a.b", "π π", "gcd(1.5, 2)",
		"combinations(2, 3)", "det(3)", "1 < 2 < 3", "-(1<2)", "[1<2]", strings.Repeat("(", 101) + "1" + strings.Repeat(")", 101), strings.Repeat("-", 101) + "1", strings.Repeat("2^", 101) + "2", "\x00", "1;2", "max()",
	} {
		cases = append(cases, trial.Case{"B-029", args("expression", strings.ReplaceAll(expression, "\x00", "")+strings.Repeat("@", strings.Count(expression, "\x00"))), "Error: …"})
	}
	cases = append(cases,
		trial.Case{"B-030", args("expression", strings.Repeat("1+", 501)+"1"), "Error: Expression too long (max 1000 characters)."},
		trial.Case{"100 deep", args("expression", strings.Repeat("(", 100)+"1"+strings.Repeat(")", 100)), "Result: 1…"},
		trial.Case{"100 deep", args("expression", strings.Repeat("abs(", 100)+"-1"+strings.Repeat(")", 100)), "Error: …nested more than 100 deep"},
		trial.Case{"100 deep", args("expression", strings.Repeat("abs(", 99)+"-1"+strings.Repeat(")", 99)), "Result: 1…"},
		trial.Case{"counts", args("expression", "1 + max()"), "Error: max takes 1 argument or more, and was given 0 at column 5"},
		trial.Case{"column", args("expression", "1 + ?"), "Error: Syntax error at column 5: found '?'…"},
		trial.Case{"name", args("expression", "1 + abc"), `Error: Unknown name "abc" at column 5`},
		trial.Case{"B-028", args("expression", "sqrt(2)/(1+x^2)"), "Error…"},
	)
	trial.Check(t, numbers.Calculate(), cases)
}

// BAT-1: the second line is the expression in LaTeX.
func TestCalculateTeX(t *testing.T) {
	var cases []trial.Case
	for expression, want := range map[string]string{
		"1/2": `\frac{1}{2} = 0.5`, "(1+2)/3": `\frac{1 + 2}{3} = 1`, "2^(1+1)": `{2}^{1 + 1} = 4`, "2*3": `2 \cdot 3 = 6`, "sqrt(16)": `\sqrt{16} = 4`,
		"[1,2;3,4]": `\begin{bmatrix}1 & 2 \\ 3 & 4\end{bmatrix} = [[1, 2], [3, 4]]`, "[[1,2],[3,4]]": `\begin{bmatrix}1 & 2 \\ 3 & 4\end{bmatrix} = [[1, 2], [3, 4]]`,
		"log(8, 2)": `\log_{2}\left(8\right) = 3`, "2(3)": `2~\left(3\right) = 6`, "5! % 7 <= 1": `5! \bmod 7 \leq 1 = true`, "abs(-1)": `\left|-1\right| = 1`,
		"nthRoot(8, 3)": `\sqrt[3]{8} = 2`, "hypot(3, 4)": `\operatorname{hypot}\left(3, 4\right) = 5`, "1e3": `1 \cdot 10^{3} = 1000`, "sin(0)": `\sin\left(0\right) = 0`,
	} {
		cases = append(cases, trial.Case{"B-028", args("expression", expression), "Result: …\nKaTeX: $" + want + "$"})
	}
	trial.Check(t, numbers.Calculate(), cases)
}

// BAT-1, BAT-2: formulas in LaTeX.
func TestEvaluateKatex(t *testing.T) {
	cases := []trial.Case{{"B-043", `{}`, trial.ARGS}, {"B-043", `{"katex":42}`, trial.ARGS},
		{"B-042", args("katex", strings.Repeat(`1+`, 501)+"1"), "Error: Expression too long (max 1000 characters)."},
		{"B-042", args("katex", strings.Repeat(`1+`, 9000)+"1"), "Error: Expression too long (max 1000 characters)."},
		{"B-040", args("katex", `\alpha + 1`), `Error: Unknown name "alpha" at column 1`},
		{"B-041", args("katex", `\frac{6}{2}`), "Converted: ((6)/(2))\nResult: 3"},
	}
	for katex, want := range map[string]string{
		`\frac{1}{2} + \sqrt{9}`: "3.5", `\sin(\pi/4)`: "0.707…", `3 \cdot 4`: "12", `3 \times 4`: "12", `12 \div 3`: "4", `\left( 2 + 3 \right) * 4`: "20", `2 + 3 \text{hello}`: "5", `\pi`: "3.14…",
		`\sqrt[3]{27}`: "3", `2^{10}`: "1024", `2^3`: "8", `x_1`: "", `\frac12`: "0.5", `\sin^2 0 + \cos^{2}(0)`: "1", `\log_{10} 1000`: "3", `\log_2(8)`: "3", `\ln e`: "1", `5!`: "120",
		`\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}`: "[[1, 2], [3, 4]]", `\det\left(\begin{matrix}1&2\\3&4\end{matrix}\right)`: "-2", `1 \leq 2`: "true", `\binom{5}{2}`: "10",
		`\operatorname{gcd}(12, 18)`: "6", `\frac{\frac{1}{2}}{2}`: "0.25", `2\,\pi`: "6.28…", `10 \bmod 3`: "1", `3_{a} + 1`: "4", `\left[1, 2\right]`: "[1, 2]",
	} {
		if want != "" {
			cases = append(cases, trial.Case{"B-034", args("katex", katex), "Converted: …\nResult: " + want})
		}
	}
	for _, katex := range []string{`\sum_{i=1}^{3} i`, `\frac{1}`, `\frac{1}{2`, `}`, `\`, ``, `\sqrt[3`, `\text`, `\text{`, `\begin{align}1\end{align}`, `\begin{matrix}1\end{bmatrix}`, `\begin{matrix}1`, `x`, `\infty`,
		strings.Repeat(`{`, 300), strings.Repeat(`\frac`, 300), `\sin`, `^`, `_`} {
		cases = append(cases, trial.Case{"B-040", args("katex", katex), "Error: …"})
	}
	trial.Check(t, numbers.EvaluateKatex(), cases)
}

// BAT-1, BAT-7: statistics of one list of numbers.
func TestStatsDescribe(t *testing.T) {
	trial.Check(t, numbers.StatsDescribe(), []trial.Case{
		{"B-045", args("numbers", `[1,2,3,4,5]`), "{\n  \"count\": 5,\n  \"sum\": 15,\n  \"min\": 1,\n  \"max\": 5,\n  \"range\": 4,\n  \"mean\": 3,\n  \"median\": 3,\n  \"mode\": 1,\n  \"variance\": 2,\n  \"std_dev\": 1.41421356,\n" +
			"  \"q1\": 2,\n  \"q2\": 3,\n  \"q3\": 4,\n  \"iqr\": 2,\n  \"p10\": 1,\n  \"p90\": 5,\n  \"p95\": 5,\n  \"p99\": 5\n}"},
		{"B-046", args("numbers", `[2,4,4,4,5,5,7,9]`), "…\"mode\": 4,\n  \"variance\": 4,\n  \"std_dev\": 2…"},
		{"B-047", args("numbers", `[1,2,3,4,5,6,7,8,9]`), "…\"q2\": 5…"},
		{"even", args("numbers", `[1,2,3,4]`), "…\"median\": 2.5…\"q1\": 1.5…\"q3\": 3.5…"},
		{"B-049", args("numbers", `nope`), "Error: Invalid JSON…"}, {"B-049", args("numbers", `{}`), "Error: …"}, {"B-049", args("numbers", `["a","b"]`), "Error: No finite numbers…"},
		{"B-051", args("numbers", `[1,"x",null,1e999,3]`), "…\"count\": 2…\"sum\": 4…"}, {"noise", args("numbers", `[0.1,0.2,1e16,-1e16]`), "…\"sum\": 0.3…"},
		{"large", args("numbers", `[1e308,1e308]`), "…\"count\": 2…\"mean\": 1e+308…"}, {"huge", args("numbers", `[1e200,3e200]`), "…\"std_dev\": 1e+200,…"}, {"B-052", `{"numbers":[1,2]}`, trial.ARGS}, {"deep", args("numbers", strings.Repeat("[", 101)+strings.Repeat("]", 101)), "Error: …nested…"},
	})
}

// BAT-1: the correlation of two lists.
func TestStatsCorrelate(t *testing.T) {
	two := func(x, y string) string { return `{"x":` + quote(x) + `,"y":` + quote(y) + `}` }
	trial.Check(t, numbers.StatsCorrelate(), []trial.Case{
		{"B-053", two(`[1,2,3,4,5]`, `[2,4,6,8,10]`), "r = 1.000000\nr² = 100.00% (explained variance)\nInterpretation: very strong positive correlation"},
		{"huge", two(`[1e200,2e200,3e200]`, `[-1.7e308,0,1.7e308]`), "r = 1.000000…"}, {"tiny", two(`[1e-200,2e-200,3e-200]`, `[5e-324,0,-5e-324]`), "r = -1.000000…"},
		{"B-053", two(`[1,2,3,4,5]`, `[5,4,3,2,1]`), "r = -1.000000\nr² = 100.00% (explained variance)\nInterpretation: very strong negative correlation"},
		{"none", two(`[1,2,3,4]`, `[1,-1,-1,1]`), "r = 0.000000\nr² = 0.00% (explained variance)\nInterpretation: very weak / negligible no correlation"},
		{"B-054", two(`[1,2,3]`, `[1,2]`), "Error: …same length…3…2"}, {"B-054", two(`[1]`, `[2]`), "Error: At least 2 data points…"},
		{"B-054", two(`x`, `[1]`), "Error in x: …"}, {"B-054", two(`[1]`, `{}`), "Error in y: …"}, {"constant", two(`[1,1]`, `[1,2]`), "Error: …constant…"},
	})
}

// BAT-1: transformations of a list.
func TestStatsTransform(t *testing.T) {
	change := func(list, operation, more string) string {
		return `{"numbers":` + quote(list) + `,"operation":"` + operation + `"` + more + `}`
	}
	trial.Check(t, numbers.StatsTransform(), []trial.Case{
		{"huge", change(`[-1.7e308,0,1.7e308]`, "normalize_min_max", ""), `[0,0.5,1]`}, {"huge", change(`[1e308,1e308,2e307]`, "normalize_percent_of_sum", ""), `[45.4545,45.4545,9.0909]`},
		{"huge", change(`[1e200,2e200,3e200]`, "normalize_z_score", ""), `[-1.22474487,0,1.22474487]`}, {"huge", change(`[1,1,1,1,1e300]`, "outliers_zscore", `,"threshold":1.5`), "1 outlier(s)…\n  [4] = 1e+300 (z = 2.000)"},
		{"B-055", change(`[0,50,100]`, "normalize_min_max", ""), `[0,0.5,1]`}, {"B-056", change(`[1,2,3,4,5]`, "normalize_z_score", ""), `[-1.41421356,-0.70710678,0,0.70710678,1.41421356]`},
		{"B-057", change(`[10,20,30,40]`, "normalize_percent_of_sum", ""), `[10,20,30,40]`}, {"B-058", change(`[1,2,3,4]`, "running_total", ""), `[1,3,6,10]`}, {"noise", change(`[0.1,0.2]`, "running_total", ""), `[0.1,0.3]`},
		{"B-059", change(`[1,2,3,4]`, "rolling_avg", `,"window":2`), `[1,1.5,2.5,3.5]`}, {"default", change(`[1,2,3,4]`, "rolling_avg", ``), `[1,1.5,2,3]`}, {"window", change(`[1,2]`, "rolling_avg", `,"window":-5`), `[1,2]`},
		{"B-060", change(`[100,110,99,0,5]`, "pct_change", ""), `[null,10,-10,-100,null]`}, {"B-061", change(`[30,10,20,10]`, "rank", ""), `[4,1,3,1]`},
		{"B-062", change(`[1,2,3,4,5,100]`, "outliers_iqr", ""), "1 outlier(s) detected (IQR bounds: …):\n  [5] = 100"}, {"B-063", change(`[1,2,3,4,5]`, "outliers_zscore", ""), "No outliers detected (…)"},
		{"z", change(`[1,1,1,1,1,1,1,1,1,1,1,50]`, "outliers_zscore", ""), "1 outlier(s) detected (z-score threshold: 3):\n  [11] = 50 (z = 3.317)"},
		{"B-064", change(`[1]`, "rumba", ""), trial.ARGS}, {"B-065", change(`[2,2]`, "normalize_min_max", ""), `[0,0]`}, {"B-065", change(`[2,2]`, "normalize_z_score", ""), `[0,0]`}, {"B-065", change(`[1,-1]`, "normalize_percent_of_sum", ""), `[0,0]`},
		{"json", change(`x`, "rank", ""), "Error: Invalid JSON…"},
	})
}

// BAT-1, BAT-4: histograms have at most a hundred bins.
func TestStatsHistogram(t *testing.T) {
	bars := "[1, 2.8)                  2 ( 20.0%) ████████████████████\n"
	trial.Check(t, numbers.StatsHistogram(), []trial.Case{
		{"B-066", `{"numbers":"[1,2,3,4,5,6,7,8,9,10]","bins":5}`, bars + "…\n[8.2, 10]                 2 ( 20.0%) ████████████████████"},
		{"one value", `{"numbers":"[3,3]"}`, "[3, 3]                    2 (100.0%) ████████████████████"}, {"B-068", `{"numbers":"nope"}`, "Error: …"}, {"huge", `{"numbers":"[-1.7e308,1.7e308]","bins":3}`, "[-1.7e+308, -5.667e+307)    1 ( 50.0%) ████████████████████\n[-5.667e+307, 5.667e+307)    0 (  0.0%)\n[5.667e+307, 1.7e+308]    1 ( 50.0%) ████████████████████"},
		{"apart", `{"numbers":"[-1.7e308,1.7e308]","bins":2}`, "[-1.7e+308, 0)…"},
	})
	answer, err := trial.Answer(numbers.StatsHistogram(), `{"numbers":"[1,2,3,1000]","bins":500}`) // B-067
	if lines := strings.Count(answer, "\n") + 1; err != nil || lines != 100 {
		t.Errorf("%d lines, %v", lines, err)
	}
}

// BAT-1: conversions of units.
func TestConvertUnit(t *testing.T) {
	var cases []trial.Case
	for call, want := range map[string]string{
		"1 km m": "1 kilometres = 1000 metres", "1 mi m": "1 miles = 1609.344 metres", "100 cm m": "100 centimetres = 1 metres", "1 ft in": "1 feet = 12 inches", "1 kg g": "1 kilograms = 1000 grams", "1 lb g": "1 pounds = 453.59237 grams",
		"1 L mL": "1 litres = 1000 millilitres", "1 gal L": "1 US gallons = 3.785411784 litres", "0 C F": "0°C = 32°F", "100 C F": "100°C = 212°F", "0 C K": "0°C = 273.15K", "273.15 K C": "273.15K = 0°C", "-40 F C": "-40°F = -40°C", "98.6 F C": "98.6°F = 37°C",
		"100 C m": "Error: …not a temperature unit…", "100 m C": "Error: m is not a temperature unit…", "1 km_h m_s": "1 km/h = 0.2777777778 m/s", "1 m_s km_h": "1 m/s = 3.6 km/h", "1 B bit": "1 bytes = 8 bits", "1 KiB B": "1 kibibytes = 1024 bytes", "1 KB B": "1 kilobytes = 1000 bytes",
		"1 h min": "1 hours = 60 minutes", "1 d s": "1 days = 86400 seconds", "180 deg rad": "180 degrees = 3.141592654 radians", "1 m kg": "Error: different categories…length…mass", "1 parsec m": "Error: Unknown unit…", "1 m parsec": "Error: Unknown unit…", "-1 K C": "Error: …0 K…", "-300 C F": "Error: …0 K…",
		"1 atm Pa": "1 atm = 101325 pascals", "1 kWh J": "1 kilowatt-hours = 3600000 joules", "1 acre m2": "1 acres = 4046.856422 m²", "1 cup floz": "1 US cups = 8 US fluid ounces", "1 tbsp tsp": "1 tablespoons = 3 teaspoons", "1 st lb": "1 stone = 14 pounds", "5 C C": "5°C = 5°C", "1 grad deg": "1 gradians = 0.9 degrees",
	} {
		parts := strings.Fields(call)
		cases = append(cases, trial.Case{"B-069", `{"value":` + parts[0] + `,"from":"` + parts[1] + `","to":"` + parts[2] + `"}`, want})
	}
	trial.Check(t, numbers.ConvertUnit(), append(cases, trial.Case{"B-079", `{"value":"1","from":"m","to":"km"}`, trial.ARGS}, trial.Case{"B-079", `{"value":1,"to":"km"}`, trial.ARGS}, trial.Case{"B-079", `{"value":1,"from":"km"}`, trial.ARGS}))
}

package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools"
	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
)

// toolOf returns the tool with the given name.
func toolOf(t *testing.T, name string) *adk.Tool {
	t.Helper()
	for _, tool := range tools.All(tools.Options{}) {
		if tool.Name() == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// TestObserved holds what was observed of the tools that these follow, where no case of a battery
// names the row.
func TestObserved(t *testing.T) {
	expression := func(row string, pairs ...string) (all []trial.Case) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, trial.Case{row, fmt.Sprintf(`{"expression":%q}`, pairs[i]), pairs[i+1]})
		}
		return all
	}
	formula := func(row string, pairs ...string) (all []trial.Case) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, trial.Case{row, fmt.Sprintf(`{"katex":%q}`, pairs[i]), "…Result: " + pairs[i+1] + "…"})
		}
		return all
	}
	unit := func(row string, rows ...[4]string) (all []trial.Case) {
		for _, r := range rows {
			all = append(all, trial.Case{row, fmt.Sprintf(`{"value":%s,"from":%q,"to":%q}`, r[0], r[1], r[2]), r[3]})
		}
		return all
	}
	for name, cases := range map[string][][]trial.Case{
		"calculate": {
			expression("B-023", "2 + 3 * 4", "Result: 14\n…"), expression("B-024", "sin(pi/4)", "Result: 0.707…", "cos(0)", "Result: 1\n…", "tan(pi/4)", "Result: …"),
			expression("B-025", "log(100, 10)", "Result: 2\n…", "sqrt(9)", "Result: 3\n…", "2^10", "Result: 1024\n…", "exp(0)", "Result: 1\n…"),
			expression("B-026", "5!", "Result: 120\n…", "0!", "Result: 1\n…"), expression("B-027", "[1, 2; 3, 4]", "Result: [[1, 2], [3, 4]]\n…"), expression("B-031", "2 + ", "Error…", "launch(1)", "Error…"),
		},
		"evaluate_katex": {
			formula("B-035", `\sin(\pi/4)`, "0.707"), formula("B-036", `3 \cdot 4`, "12", `3 \times 4`, "12", `12 \div 3`, "4"), formula("B-037", `\left( 2 + 3 \right) * 4`, "20"), formula("B-038", `2 + 3 \text{hello}`, "5"), formula("B-039", `\pi`, "3.14"),
		},
		"convert_unit": {
			unit("B-070", [4]string{"1", "kg", "g", "… = 1000 grams"}, [4]string{"1", "lb", "g", "… = 453.59237 grams"}), unit("B-071", [4]string{"1", "L", "mL", "… = 1000 …"}, [4]string{"1", "gal", "L", "… = 3.785411784 …"}),
			unit("B-072", [4]string{"0", "C", "F", "0°C = 32°F"}, [4]string{"100", "C", "F", "100°C = 212°F"}, [4]string{"0", "C", "K", "… = 273.15K"}, [4]string{"273.15", "K", "C", "… = 0°C"}),
			unit("B-073", [4]string{"100", "C", "m", "Error…"}, [4]string{"100", "m", "C", "Error…"}), unit("B-074", [4]string{"1", "km_h", "m_s", "… = 0.27777…"}, [4]string{"1", "m_s", "km_h", "… = 3.6 …"}),
			unit("B-075", [4]string{"1", "B", "bit", "… = 8 bits"}, [4]string{"1", "KiB", "B", "… = 1024 bytes"}, [4]string{"1", "KB", "B", "… = 1000 bytes"}), unit("B-076", [4]string{"1", "h", "min", "… = 60 minutes"}, [4]string{"1", "d", "s", "… = 86400 seconds"}, [4]string{"180", "deg", "rad", "… = 3.14159…"}),
			unit("B-077", [4]string{"1", "m", "kg", "Error…different categories…"}), unit("B-078", [4]string{"1", "parsec", "m", "Error…Unknown unit…"}, [4]string{"1", "m", "parsec", "Error…Unknown unit…"}),
		},
	} {
		for _, list := range cases {
			trial.Check(t, toolOf(t, name), list)
		}
	}
	assert.Contains(t, strings.ToLower(toolOf(t, "calculate").Description()), "math") // B-033
	assert.Regexp(t, "(?i)katex|latex", toolOf(t, "evaluate_katex").Description())    // B-044
	described, err := trial.Answer(toolOf(t, "stats_describe"), `{"numbers":"[1,2,2]"}`)
	require.NoError(t, err)
	at := -1
	for _, key := range strings.Fields("count sum min max range mean median mode variance std_dev q1 q2 q3 iqr p10 p90 p95 p99") { // B-050
		next := strings.Index(described, fmt.Sprintf("%q:", key))
		assert.Greater(t, next, at, key)
		at = next
	}
}

// lastRow is the number of the last observed row.
const lastRow = 207

// elsewhere are the rows that no case names, with the tests that hold them or the decision that was made.
var elsewhere = map[string]string{
	"B-001 B-002 B-003 B-004 B-005 B-006 B-010 B-011 B-012 B-013 B-014 B-015 B-016 B-017": "the engine's own obligations, with its tests (RUN-2, DEL-1)",
	"B-007":             "decided: adk/storage is such a battery",
	"B-008 B-009 B-048": "TestAll", "B-018": "decided: All of each battery gives what its functions give",
	"B-019": "TestAll", "B-020": "TestHostileArguments", "B-158": "TestAll", "B-196": "TestAll", "B-201 B-205": "the battery's own turns, in adk/tools/native",
}

// Every observed row of the tools is named by a case, or has a reason.
func TestLedgerIsKept(t *testing.T) {
	var all strings.Builder
	files, err := filepath.Glob("*/*_test.go")
	require.NoError(t, err)
	for _, file := range append(files, "ledger_test.go") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	for rows := range elsewhere {
		all.WriteString(rows)
	}
	for n := 1; n <= lastRow; n++ {
		assert.Contains(t, all.String(), fmt.Sprintf("B-%03d", n))
	}
}

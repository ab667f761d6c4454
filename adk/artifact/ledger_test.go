package artifact_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/tools/numbers"
	"github.com/adkreplay/adkreplay/adk/tools/texts"
	"github.com/adkreplay/adkreplay/fakes"
)

// The tests below hold behaviour that was observed in the library that these artifacts follow, where
// no test of a single rule holds it.

// L-411, L-412, A-015, A-016, A-019, A-020, A-022: bodies are kept byte for byte.
func TestObservedQuestions(t *testing.T) {
	const body = "alpha\r\nbeta\n"
	for way, a := range opened(t, artifact.Text, body) {
		text, err := a.Text(t.Context())
		require.NoError(t, err)
		assert.Equal(t, body, text, way)
		tokens, err := a.EstimateTokens(t.Context(), "cl100k_base")
		require.NoError(t, err)
		assert.Equal(t, adk.EstimateTokens(body, "cl100k_base"), tokens, way)
	}
	ask := func(construct adk.ArtifactConstructor, body string, questions ...[3]string) {
		holding(t, []*adk.ToolCall{call(t, "c", made(t, construct, body))}, func(ctx context.Context, dc *adk.DispatchContext) {
			forged := forge(t, dc, artifact.Config{})
			for _, q := range questions {
				got, err := answer(ctx, dc, forged, "artifact_"+q[0], `{"callId":"c"`+q[1]+`}`)
				require.NoError(t, err)
				assert.Equal(t, q[2], got, "%s%s of %q", q[0], q[1], body)
			}
		})
	}
	ask(artifact.JSON, "{\"a\": 1}\n\n{\"b\":2}", [3]string{"head", `,"n":1`, `{"a": 1}`}, [3]string{"line_count", "", "3"}, [3]string{"json_length", "", "2"}, [3]string{"json_keys", "", "a\nb"})
	ask(artifact.JSON, `{"a":1}`, [3]string{"json_type", "", "json"}, [3]string{"json_filter", `,"path":"$[?@ == 2]"`, "(empty list)"}, [3]string{"json_filter", `,"path":"$.a"`, "[\n  {\n    \"a\": 1\n  }\n]"})
	ask(artifact.Markdown, "---\na: 1\n---\n", [3]string{"md_frontmatter", "", "{\n  \"a\": 1\n}"}, [3]string{"md_frontmatter", "", "{\n  \"a\": 1\n}"}, [3]string{"md_links", "", "(empty list)"})
}

// the artifacts that the built-in tools produce are kept
// once per call, under the call's id, and are read back.
func TestObservedTurns(t *testing.T) {
	for _, c := range []struct {
		flavour string
		tools   []*adk.Tool
		args    []string
		want    []string // a line of each result
	}{
		{"text", []*adk.Tool{numbers.Calculate(), numbers.Calculate()}, []string{`{"expression":"1 + 1"}`, `{"expression":"10 * 10"}`}, []string{"Result: 2", "Result: 100"}},
		{"text", []*adk.Tool{numbers.Calculate()}, []string{`{"expression":"3 * 7"}`}, []string{"Result: 21"}},
		{"text", []*adk.Tool{numbers.EvaluateKatex()}, []string{`{"katex":"\\frac{7}{2}"}`}, []string{"Result: 3.5"}},
		{"json", []*adk.Tool{numbers.StatsDescribe()}, []string{`{"numbers":"[1,2,3,4,5]"}`}, []string{`"count": 5`}},
		{"json", []*adk.Tool{texts.ParseCSV(), numbers.StatsDescribe()}, []string{`{"text":"a,b\n1,2\n"}`, `{"numbers":"[10,20,60]"}`}, []string{`"b": 2`, `"mean": 30`}},
	} {
		spool := artifact.NewMemorySpool()
		storage := artifact.Spooling(fakes.NewStorage().Storage(), spool, artifact.SpoolingOptions{})
		inTurn(t, storage, func(ctx context.Context, dc *adk.DispatchContext) {
			for i, tool := range c.tools {
				id := fmt.Sprint("call-", i)
				result, err := dc.Execute(ctx, tool, c.args[i])
				require.NoError(t, err)
				wrapped, _, err := artifact.Wrap(ctx, tool, id, result)
				require.NoError(t, err)
				mark, marked := artifact.Of(wrapped.(*adk.Media))
				assert.True(t, marked)
				assert.Equal(t, c.flavour, mark.Flavour, tool.Name())
				require.NoError(t, dc.ToolCalls().Store(ctx, call(t, id, wrapped)))
			}
			calls, err := dc.ToolCalls().Fetch(ctx)
			require.NoError(t, err)
			require.Len(t, calls, len(c.tools))
			for i, kept := range calls {
				data, err := kept.Results().(*adk.Media).Bytes(ctx)
				require.NoError(t, err)
				assert.Contains(t, string(data), c.want[i])
			}
		})
		assert.Equal(t, len(c.tools), spool.Len())
	}
}

// ledger has a line for each group of observed rows: the rows, and the tests that hold them or the
// decision that was made instead.
const ledger = `
L-257 L-258 L-259 L-260 L-261 A-039 A-040 A-041 A-042: TestNewTool
L-402 L-403: TestNew
A-001 A-002 A-012 A-031: TestOf
L-404 L-405 L-406 L-407 L-408 L-409 L-410 L-413 A-005 A-011: TestLines
L-411 L-412 A-015 A-016 A-019 A-020 A-022: TestObservedQuestions
L-414: TestBodiesAreChecked
L-415 L-416 L-417 L-418 L-421 L-445 L-446 L-448 L-459 A-006 A-009 A-013 A-014 A-030 A-068 A-086: TestForge
L-419 L-420 L-422 L-423 L-424 L-425 L-426 L-427 L-430 L-431 L-447 A-010 A-025 A-029: TestForgedAnswers
L-428: TestOwnFlavour
L-429 A-008: TestForgedToolOfWhatIsGone
L-432 A-085 A-087: TestInstall
L-433 A-066 A-078 A-079: TestWrap
L-434 L-435 L-436 L-437 L-438 L-439 L-440 L-441 L-442 L-443 L-444 A-021: TestJSONQuestions
A-017 A-018: TestJSONFaults
L-449 L-450 L-451 L-452 L-453 L-454 A-023 A-024 A-034 A-038: TestMarkdownOutline
L-455 L-456 L-457 L-458 A-026 A-027 A-028: TestMarkdownRanges
L-461 L-462 L-463 L-464 L-465 L-466 L-467 L-468 L-469 L-470 L-471 L-472 L-473 L-475 L-476 L-481 L-483 L-484 L-485: TestSpools
A-043 A-044 A-045 A-046 A-047 A-049 A-050 A-051 A-052 A-055 A-056 A-059 A-072 A-073: TestSpools
L-477 L-478 L-479 L-480 L-482 A-053: TestLineReader
A-063: TestDirSpoolOutlivesAProcess
A-065 A-069 A-070 A-071 A-074 A-075 A-076 A-077: TestObservedTurns
A-064: ../prompt TestInlineArtifacts
A-080 A-081 A-082: ../prompt TestToolResults
A-067: ../chat TestToolTurn
A-003: decided, patterns are RE2 and know no sticky flag: the schema refuses it
A-004: decided, a body is a stream, in which no line can lack
A-007: decided, a method is a function and no name of one (ART-20)
A-032 A-033: decided, headings and info strings are CommonMark's (ART-19)
A-035: decided, frontmatter that does not end is none, for every question (ART-18)
A-036: decided, references are found where their definition is in range (ART-19)
A-037: decided, blocks are divided by a newline (ART-19)
A-048: decided, a spool keeps bytes (SPL-1)
L-486 A-054: decided, a threshold is a line reader's and not a spool's (SPL-6)
L-460 A-090: decided, Go's interfaces say what a reader has
L-474 A-060: decided, a spool has no clear and no has: Sweep and Read do
A-057: decided, a write counts what it writes (SPL-1)
A-058: decided, one pass makes an index (SPL-6)
A-061: decided, keys may have slashes (SPL-4)
A-062: decided, a directory is opened with the spool, so that no link leads out of it
A-083: decided, policy is a middleware's (ART-6)
A-084: decided, Text and Bytes read all, and what is asked of lines streams (ART-12)
A-088: decided, Spooling wraps the obligations of any storage (SPL-9)
A-089: decided, constructors hold bodies in memory (ART-7)
`

// Every row of the ledger names tests that exist, or a decision.
func TestLedgerIsKept(t *testing.T) {
	held := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(ledger)) {
		rows, by, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for _, row := range strings.Fields(rows) {
			held[row] = true
		}
		if strings.HasPrefix(by, "decided, ") {
			continue
		}
		dir, name := ".", by
		if at, test, elsewhere := strings.Cut(by, " "); elsewhere {
			dir, name = at, test
		}
		assert.True(t, hasTest(t, dir, name), "%s is nowhere", by)
	}
	for prefix, ranges := range map[string][][2]int{"L-": {{257, 261}, {402, 486}}, "A-": {{1, 90}}} {
		for _, r := range ranges {
			for n := r[0]; n <= r[1]; n++ {
				row := prefix + strings.Repeat("0", 3-len(strconv.Itoa(n))) + strconv.Itoa(n)
				assert.True(t, held[row], "%s has neither a test nor a decision", row)
			}
		}
	}
}

// hasTest reports whether a folder contains a test of the given name.
func hasTest(t *testing.T, dir, name string) bool {
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	is := regexp.MustCompile(`(?m)^func ` + name + `\(t \*testing\.T\)`)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(dir + "/" + file.Name())
		require.NoError(t, err)
		if is.Match(text) {
			return true
		}
	}
	return false
}

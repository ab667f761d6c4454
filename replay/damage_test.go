package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// smallTrace is a file of 33 lines.
func smallTrace(t testing.TB) []byte {
	t.Helper()
	file, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	return file
}

// A truncated file yields all of its whole lines, and the error names the line in which it ends,
// wherever it was cut.
func TestEveryPrefixIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	file := smallTrace(t)
	for n := range file {
		prefix := file[:n]
		whole := bytes.Count(prefix, []byte("\n"))
		recorded, err := trace.Read(bytes.NewReader(prefix))
		var format *trace.FormatError
		require.ErrorAs(t, err, &format, "cut at byte %d", n)
		assert.Equal(t, trace.FaultTruncated, format.Fault, "cut at byte %d", n)
		assert.Equal(t, whole+1, format.Line, "cut at byte %d", n)
		if whole > 0 {
			require.NotNil(t, recorded)
			assert.Len(t, recorded.Lines(), whole-1, "cut at byte %d", n)
			assert.False(t, recorded.Sealed)
		}
	}
}

// notRead reads a damaged file, which must be refused with a line and a reason.
func notRead(t *testing.T, file []byte, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	_, err := trace.Read(bytes.NewReader(file))
	var refused *trace.FormatError
	require.ErrorAs(t, err, &refused, what)
	assert.True(t, refused.Line >= 1 && refused.Line <= bytes.Count(file, []byte("\n"))+1, "%s: %v", what, err)
	assert.NotEmpty(t, refused.Reason, what)
	assert.NotEmpty(t, refused.Fault, what)
}

// Swapped, doubled or missing lines, and flipped single bits, are always found.
func TestEveryDamageIsFound(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	file := smallTrace(t)
	lines := bytes.SplitAfter(bytes.TrimSuffix(file, []byte("\n")), []byte("\n"))
	lines[len(lines)-1] = append(bytes.Clone(lines[len(lines)-1]), '\n')
	for i := range lines {
		notRead(t, slices.Concat(slices.Insert(slices.Clone(lines), i, lines[i])...), "line %d twice", i+1)
		notRead(t, slices.Concat(slices.Delete(slices.Clone(lines), i, i+1)...), "without line %d", i+1)
		for j := range i {
			if !bytes.Equal(lines[i], lines[j]) {
				swapped := slices.Clone(lines)
				swapped[i], swapped[j] = swapped[j], swapped[i]
				notRead(t, slices.Concat(swapped...), "lines %d and %d swapped", j+1, i+1)
			}
		}
	}
	for at := range file {
		for bit := range 8 {
			damaged := bytes.Clone(file)
			damaged[at] ^= 1 << bit
			notRead(t, damaged, "bit %d of byte %d", bit, at)
		}
	}
}

// Values that are nested too deeply are refused with their line, in every place that can hold a
// value, without exhausting the stack.
func TestDeepNestingIsRefused(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	lists := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	causes := func(n int) string {
		return strings.Repeat(`{"text":"x","cause":`, n) + `{"text":"y"}` + strings.Repeat("}", n)
	}
	for _, place := range []string{
		`{"kind":"stash","path":"a","value":%s}`,
		`{"kind":"report-tool-call","args":{"a":%s}}`,
		`{"kind":"report-tool-call","args":[%s]}`,
		`{"kind":"return","err":%s}`,
		`{"kind":"call","seam":"run","records":[{"#":1,"tool":{"name":"a","description":"b","inputSchema":{"type":"object","properties":%s}}}]}`,
		`{"kind":"call","seam":"run","records":[{"#":1,"tool":{"name":"a","description":"b","inputSchema":{"type":"object"},"meta":{"a":%s}}}]}`,
		`{"kind":"add","record":{"#":1,"thought":{"id":"a","content":"b","payload":%s,"replayCompatibility":"c","createdAt":"2025-01-01T00:00:00Z","updatedAt":"2025-01-01T00:00:00Z"}}}`,
		`{"kind":"add","record":{"#":1,"toolCall":{"id":"a","tool":"b","args":{"a":%s},"results":{"text":"x"},"createdAt":"2025-01-01T00:00:00Z","updatedAt":"2025-01-01T00:00:00Z","completedAt":"2025-01-01T00:00:00Z"}}}`,
		`{"kind":"emit-tool-call","phase":"begin","payload":{"args":{"a":%s}}}`,
		`{"kind":"wait-for","phase":"begin","payload":%s}`,
		`{"kind":"now","unknown":%s}`,
	} {
		for _, value := range []string{lists(100_000), objects(100_000), causes(100_000), lists(5000)} {
			format := tracetest.ReadError(t, tracetest.Seal([]string{tracetest.HeaderLine, fmt.Sprintf(place, value)}, ""))
			assert.Equal(t, 2, format.Line, place)
			assert.Equal(t, trace.FaultMalformed, format.Fault, place)
		}
		for _, depth := range []int{100, 450, 600, 1100, 4000} { // around the bounds: read or refused
			for _, value := range []string{lists(depth), objects(depth), causes(depth)} {
				file := tracetest.Seal([]string{tracetest.HeaderLine, fmt.Sprintf(place, value)}, "")
				if _, err := trace.Read(bytes.NewReader(file)); err != nil {
					require.ErrorAs(t, err, new(*trace.FormatError))
				}
				if _, err := Verify(context.Background(), bytes.NewReader(file), Live{}); err != nil {
					require.ErrorAs(t, err, new(*trace.FormatError))
				}
			}
		}
	}
}

// A trace that claims to keep a newer contract than this engine's is not replayed: a comparison
// would not test what was promised.
func TestANewerContractIsToldAtOnce(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(string(smallTrace(t))), "\n")
	lines[0] = strings.Replace(lines[0], fmt.Sprintf(`"contract":%d`, trace.ContractRevision), fmt.Sprintf(`"contract":%d`, trace.ContractRevision+1), 1)
	report, err := Verify(context.Background(), bytes.NewReader(tracetest.Seal(lines[:len(lines)-1], "")), Live{})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, NewContract, report.Divergence.Class)
	assert.Zero(t, report.Divergence.Crossing, "the header")
	assert.Contains(t, report.Divergence.String(), "contract: expected 3, got 2")
	file := tracetest.Seal(lines[:5], "")
	_, err = Verify(context.Background(), bytes.NewReader(file[:len(file)-10]), Live{})
	assert.ErrorAs(t, err, new(*trace.FormatError), "it is read to its end all the same")
}

// FuzzReadTrace reads any bytes: the reader must not panic, and returns only errors of the documented type.
func FuzzReadTrace(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(tracetest.Seal([]string{tracetest.HeaderLine}, ""))
	f.Add(tracetest.Seal(append([]string{tracetest.HeaderLine}, tracetest.FuzzLines[:1]...), `"n":[],`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := trace.Read(bytes.NewReader(data), trace.Options{MaxLine: 1 << 20, MaxBytes: 1 << 22}); err != nil {
			require.ErrorAs(t, err, new(*trace.FormatError))
		}
	})
}

// FuzzVerify replays a trace of any lines: the replay ends, with a report or with an error of the
// file, and its result is the same in each run.
func FuzzVerify(f *testing.F) {
	for _, name := range []string{"hello", "gate-timeout", "parallel-tools"} {
		file, err := fixtures.Traces.ReadFile(name + ".jsonl")
		require.NoError(f, err)
		f.Add(file[:bytes.LastIndex(file, []byte(`{"end":`))])
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		file := tracetest.Seal(strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n"), "")
		ctx, cancel := context.WithTimeout(context.Background(), patience.Long)
		defer cancel()
		first, err := Verify(ctx, bytes.NewReader(file), Live{}, trace.Options{MaxLine: 1 << 20})
		require.NoError(t, ctx.Err(), "the replay did not end")
		if err != nil {
			require.ErrorAs(t, err, new(*trace.FormatError))
		}
		second, again := Verify(ctx, bytes.NewReader(file), Live{}, trace.Options{MaxLine: 1 << 20})
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(again))
		require.Equal(t, said(first), said(second))
	})
}

// said is a report as its readers see it, so that reports can be compared: a divergence may hold
// the compiled schemas of a tool, which equal no others.
func said(r *Report) string {
	if r == nil {
		return ""
	}
	rest := *r
	rest.Divergence = nil
	if r.Divergence == nil {
		return fmt.Sprint(rest)
	}
	return fmt.Sprint(rest, r.Divergence)
}

// The committed corpus exists and is small.
func TestTheCorpusIsCommitted(t *testing.T) {
	for _, target := range []string{"FuzzReadTrace", "FuzzVerify"} {
		files, err := os.ReadDir("testdata/fuzz/" + target)
		require.NoError(t, err)
		assert.NotEmpty(t, files, target)
	}
}

// An error of the disk is not reported as a fault of the file.
func TestAReadErrorIsNotTheFilesFault(t *testing.T) {
	file := smallTrace(t)
	broken := errors.New("the cable is out")
	for n := range file {
		_, err := trace.Read(io.MultiReader(bytes.NewReader(file[:n]), brokenReader{broken}))
		require.ErrorIs(t, err, broken)
		assert.NotErrorAs(t, err, new(*trace.FormatError))
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// A trace that reaches its size limit ends with whole lines and without a footer, and the turn
// continues.
func TestATraceHasNoMoreBytesThanAllowed(t *testing.T) {
	var whole bytes.Buffer
	require.NoError(t, busyTurn(t, replay.Record(&whole)).Run(context.Background(), rawTurn))
	for most := 1; most < whole.Len()+2000; most += 97 {
		var out bytes.Buffer
		recorder, told := replay.Record(&out, replay.RecordOptions{MaxBytes: int64(most)}), &tracetest.Crossings{}
		require.NoError(t, busyTurn(t, adk.MultiProbe(recorder, told)).Run(context.Background(), rawTurn))
		assert.Equal(t, adk.KindReturn, told.All[len(told.All)-1].Kind, "the run was told to its end")
		assert.LessOrEqual(t, out.Len(), most)
		assert.True(t, out.Len() == 0 || bytes.HasSuffix(out.Bytes(), []byte("}\n")), "whole lines")
		_, err := trace.Read(bytes.NewReader(out.Bytes()))
		if recorder.Err() == nil {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, recorder.Err(), "Options.MaxBytes")
		assertFault(t, err, trace.FaultTruncated)
	}
}

func assertFault(t *testing.T, err error, fault trace.Fault) {
	t.Helper()
	var format *trace.FormatError
	if assert.ErrorAs(t, err, &format) {
		assert.Equal(t, fault, format.Fault, "%v", err)
	}
}

func TestSampling(t *testing.T) {
	opened := 0
	open := func(adk.RunInfo) (io.WriteCloser, error) { opened++; return &file{}, nil }
	recorder := replay.RecordEach(open, replay.RecordOptions{Sample: replay.OneIn(3)})
	var observed []bool
	for range 7 {
		observed = append(observed, recorder.Observe(adk.RunInfo{}) != nil)
	}
	assert.Equal(t, []bool{true, false, false, true, false, false, true}, observed)
	assert.Equal(t, 3, opened)

	byName := replay.RecordEach(open, replay.RecordOptions{Sample: func(info adk.RunInfo) bool { return info.Executor == "model" }})
	assert.NotNil(t, byName.Observe(adk.RunInfo{Executor: "model"}))
	assert.Nil(t, byName.Observe(adk.RunInfo{Executor: "other"}))
	assert.NotNil(t, replay.RecordEach(open, replay.RecordOptions{Sample: replay.OneIn(0)}).Observe(adk.RunInfo{}))

	broken := replay.RecordEach(open, replay.RecordOptions{Sample: func(adk.RunInfo) bool { panic("no idea") }})
	require.NoError(t, busyTurn(t, broken).Run(context.Background(), rawTurn))
	assert.ErrorContains(t, broken.Err(), "no idea")
}

// gatedWriter blocks each write until it is released, like a stalled disk.
type gatedWriter struct {
	gate   chan struct{}
	mu     sync.Mutex
	kept   bytes.Buffer
	closed int
	fail   error
}

func (w *gatedWriter) Write(p []byte) (int, error) {
	<-w.gate
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return 0, w.fail
	}
	return w.kept.Write(p)
}

func (w *gatedWriter) Close() error { w.closed++; return nil }

func behindGate(t *testing.T, buffer int, fail error, options replay.RecordOptions) (*gatedWriter, *replay.Recorder) {
	out := &gatedWriter{gate: make(chan struct{}), fail: fail}
	options.Buffer = buffer
	recorder := replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) { return out, nil }, options)
	// The writer does not return while the turn runs; the turn ends nevertheless.
	require.NoError(t, busyTurn(t, recorder).Run(context.Background(), rawTurn))
	close(out.gate)
	recorder.Wait()
	assert.Equal(t, 1, out.closed)
	return out, recorder
}

// DET-4: a turn does not wait for a slow disk. If the recorder's buffer is full, the trace ends there.
func TestASlowDiskDoesNotHoldTheTurn(t *testing.T) {
	out, recorder := behindGate(t, 1<<20, nil, replay.RecordOptions{})
	require.NoError(t, recorder.Err())
	_, err := trace.Read(&out.kept)
	assert.NoError(t, err)

	out, recorder = behindGate(t, 1<<20, nil, replay.RecordOptions{Compress: true, Redact: redact.UsualSecrets()})
	require.NoError(t, recorder.Err())
	_, err = trace.Read(&out.kept)
	assert.NoError(t, err)

	out, recorder = behindGate(t, 1500, nil, replay.RecordOptions{})
	assert.ErrorContains(t, recorder.Err(), "slower than the run")
	recorded, err := trace.Read(&out.kept)
	assertFault(t, err, trace.FaultTruncated)
	assert.NotEmpty(t, recorded.Lines(), "what came before is kept")

	out, recorder = behindGate(t, 1<<20, errors.New("disk full"), replay.RecordOptions{})
	assert.ErrorContains(t, recorder.Err(), "disk full")
	assert.Equal(t, 1, strings.Count(recorder.Err().Error(), "disk full"), "it is said once")
	assert.Zero(t, out.kept.Len())
}

// steps keeps the contents after each write.
type steps struct {
	bytes.Buffer
	lens []int
}

func (s *steps) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	s.lens = append(s.lens, s.Len())
	return n, err
}

func compressed(t *testing.T, lines []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	require.NoError(t, err)
	_, err = w.Write(lines)
	require.NoError(t, errors.Join(err, w.Close()))
	return out.Bytes()
}

// A compressed trace holds the same crossings as any other, and a crash leaves all crossings that
// were recorded before it.
func TestCompressedTraces(t *testing.T) {
	var out steps
	var plain bytes.Buffer
	recorder := replay.Record(&out, replay.RecordOptions{Compress: true})
	require.NoError(t, busyTurn(t, adk.MultiProbe(recorder, replay.Record(&plain))).Run(context.Background(), rawTurn))
	require.NoError(t, recorder.Err())
	recorded, err := trace.Read(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	want, err := trace.Read(&plain)
	require.NoError(t, err)
	require.Equal(t, len(want.Lines()), len(recorded.Lines()))
	report, err := replay.Verify(t.Context(), bytes.NewReader(out.Bytes()), replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)

	seen := map[int]bool{}
	for _, n := range out.lens[:len(out.lens)-1] {
		cut, err := trace.Read(bytes.NewReader(out.Bytes()[:n]))
		if cut == nil {
			continue // not yet the header
		}
		seen[len(cut.Lines())] = true
		if err != nil { // the frame need not be complete
			assertFault(t, err, trace.FaultTruncated)
		}
	}
	for n := range recorded.Lines() {
		assert.True(t, seen[n], "there is a moment at which %d crossings can be read", n)
	}
}

// A damaged compressed file is never read as a different trace.
func TestDamagedCompressedTraces(t *testing.T) {
	t.Parallel()
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		if f.Name != "hello" && f.Name != thorough.Of("tool-round-trip", "hello", "hello") {
			return // every bit of two fixtures suffices
		}
		whole := compressed(t, f.Bytes)
		recorded, err := trace.Read(bytes.NewReader(whole))
		require.NoError(t, err)
		for n := 0; n < len(whole); n += thorough.Of(1, 1, 8) {
			cut, err := trace.Read(bytes.NewReader(whole[:n]))
			var format *trace.FormatError
			require.ErrorAs(t, err, &format, "cut at %d", n)
			if cut != nil && len(cut.Lines()) == len(recorded.Lines()) {
				assert.Equal(t, trace.FaultTruncated, format.Fault, "only the frame's end is missing")
				report, err := replay.Verify(t.Context(), bytes.NewReader(whole[:n]), replay.Live{})
				require.ErrorAs(t, err, &format, "cut at %d", n)
				assert.Equal(t, len(recorded.Lines()), report.Crossings, "what was read is good")
			}
		}
		for n := 1; n < 9; n++ {
			_, err := trace.Read(bytes.NewReader(append(bytes.Clone(whole), bytes.Repeat([]byte{'x'}, n)...)))
			var format *trace.FormatError
			require.ErrorAs(t, err, &format, "%d bytes behind it", n)
		}
		_, err = trace.Read(bytes.NewReader(append(bytes.Clone(whole), compressed(t, nil)...)))
		assert.NoError(t, err, "nothing that is packed says nothing")
		for n := 0; n < len(whole); n += thorough.Of(1, 1, 8) {
			damaged := bytes.Clone(whole)
			damaged[n] ^= 1 << (n % 8)
			got, err := trace.Read(bytes.NewReader(damaged))
			if err != nil {
				var format *trace.FormatError
				require.ErrorAs(t, err, &format, "a bit at %d", n)
				continue
			}
			var again bytes.Buffer // some bits do not affect the contents
			_, err = got.WriteTo(&again)
			require.NoError(t, err)
			assert.Equal(t, string(f.Bytes), again.String(), "a bit at %d", n)
		}
	})
}

// endless repeats a text forever.
type endless struct {
	text []byte
	at   int
	gave int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.gave += n
	return n, nil
}

// A small file that unpacks to a large one takes no more memory than the limit.
func TestBombs(t *testing.T) {
	t.Parallel()
	header := `{"adkreplay":"trace","version":1,"contract":1,"start":"2025-01-01T00:00:00Z","seams":{"executor":"m","turn-input":[],"turn-output":[],"dispatch-input":[],"dispatch-output":[]}}` + "\n"
	lines := compressed(t, []byte(header+strings.Repeat("{\"kind\":\"now\"}\n", 200_000)))
	assert.Less(t, len(lines), 5000)
	_, err := trace.Read(bytes.NewReader(lines), trace.Options{MaxBytes: 1 << 20})
	assertFault(t, err, trace.FaultTooLarge)
	assert.ErrorContains(t, err, "bytes: more than 1048576 bytes of a compressed trace when it is unpacked; --limit bytes=N or Options.MaxBytes can allow more")

	blanks := compressed(t, bytes.Repeat([]byte(" "), 64<<20))
	_, err = trace.Read(bytes.NewReader(blanks), trace.Options{MaxLine: 1 << 20})
	assertFault(t, err, trace.FaultTooLarge)

	var wide bytes.Buffer
	w, err := zstd.NewWriter(&wide, zstd.WithWindowSize(64<<20))
	require.NoError(t, err)
	_, err = io.Copy(w, io.LimitReader(&endless{text: []byte(header)}, 80<<20))
	require.NoError(t, errors.Join(err, w.Close()))
	_, err = trace.Read(&wide)
	assertFault(t, err, trace.FaultMalformed)
	assert.ErrorContains(t, err, "window")
}

// A line that never ends is not read to its end.
func TestALineWithoutEndIsGivenUp(t *testing.T) {
	in := &endless{text: []byte(`{"a":"`)}
	_, err := trace.Read(in, trace.Options{MaxLine: 1 << 16})
	assertFault(t, err, trace.FaultTooLarge)
	assert.Less(t, in.gave, 1<<18, fmt.Sprint(err))
}

// A trace that is longer than the read limit is refused before any live code runs: live code would
// continue as well, with no recording to compare it with.
func TestLiveCodeIsNotRunForAPartOfATrace(t *testing.T) {
	t.Parallel()
	shape, ok := large.Named("stream")
	require.True(t, ok)
	recorded := shape.Trace(1_000)
	live := replay.LiveExecutor(func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
		t.Error("live code ran")
		return nil
	})
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), live, trace.Options{MaxCrossings: 500})
	assertFault(t, err, trace.FaultTooLarge)
	assert.Nil(t, report)
}

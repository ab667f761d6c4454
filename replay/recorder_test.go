package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// noStorage keeps nothing.
var noStorage = fakes.NoOpStorage()

// busyTurn is a runner whose turn uses much of what a turn can do.
func busyTurn(t testing.TB, probe adk.Probe) *adk.Runner {
	tool, err := adk.NewTool(adk.ToolInit{
		Name: "search", Description: "finds", InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("found"), nil
		},
	})
	require.NoError(t, err)
	runner, err := adk.NewRunner(adk.Config{
		Executor: adk.Executor{Name: "model", Run: runBusily},
		Storage:  noStorage,
		Tools:    []*adk.Tool{tool},
		TurnInput: []adk.TurnMiddleware{{Name: "hydrate", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			next(ctx)
			return nil
		}}},
		TurnOutput: []adk.TurnMiddleware{{Name: "fails", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			panic(io.ErrUnexpectedEOF)
		}}},
		Probe: probe,
	})
	require.NoError(t, err)
	return runner
}

func runBusily(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	for _, delta := range []string{"half \xe2\x82", "\xac", ""} {
		if _, err := h.ReportMessage("m1", delta, delta == ""); err != nil {
			return err
		}
	}
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	message, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleAssistant, Content: "half €", CreatedAt: at, UpdatedAt: at})
	if err != nil {
		return err
	}
	if err := dc.Messages().Store(ctx, message); err != nil {
		return err
	}
	strand, err := dc.Fork(ctx, "left", func(ctx context.Context, dc *adk.DispatchContext) error { return errors.New("lost") })
	if err != nil {
		return err
	}
	_ = strand.Wait()
	return dc.Ack()
}

var rawTurn = adk.RawTurn{SystemPrompt: "be brief", Instructions: []string{"no jokes"}, Stash: map[string]any{"n": 1, "f": 1.5}}

// DET-4: the trace of a run holds every crossing that an observer of the run gets.
func TestTheTraceOfARunHoldsEveryCrossingOfIt(t *testing.T) {
	var out bytes.Buffer
	recorder, told := replay.Record(&out), &tracetest.Crossings{}
	require.NoError(t, busyTurn(t, adk.MultiProbe(recorder, told)).Run(context.Background(), rawTurn))
	require.NoError(t, recorder.Err())

	recorded, err := trace.Read(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	assert.True(t, recorded.Sealed)
	assert.Equal(t, adk.RunInfo{Executor: "model", TurnInput: []string{"hydrate"}, TurnOutput: []string{"fails"}, DispatchInput: []string{}, DispatchOutput: []string{}}, recorded.Info)
	require.Len(t, recorded.Lines(), len(told.All))
	for i, want := range told.All {
		got := recorded.Lines()[i]
		assert.Equal(t, want.Kind, got.Kind)
		assert.Equal(t, want.Phase, got.Phase)
		assert.True(t, want.At.Equal(got.At))
		assert.Equal(t, [4]int{want.Seq, want.Call, want.Strand, want.Op}, [4]int{got.Seq, got.Call, got.Strand, got.Op})
		assert.Equal(t, want.Text, got.Text)
		assert.Equal(t, want.Digest, got.Digest)
		assert.Equal(t, want.Value, got.Value)
		if want.Err != nil {
			assert.EqualError(t, got.Err, want.Err.Error())
		}
		if want.Record != nil {
			assert.Equal(t, want.Record.Digest(), got.Record.Digest())
		}
	}
	var again bytes.Buffer
	_, err = recorded.WriteTo(&again)
	require.NoError(t, err)
	assert.Equal(t, out.String(), again.String())
}

// PIP-11: a turn whose executor ends its goroutine has a whole trace, with that outcome.
func TestATurnThatEndsItsGoroutineHasAWholeTrace(t *testing.T) {
	var out bytes.Buffer
	recorder := replay.Record(&out)
	runner, err := adk.NewRunner(adk.Config{
		Executor: adk.Executor{Name: "model", Run: func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
			runtime.Goexit()
			return nil
		}},
		Storage: noStorage, Probe: recorder,
	})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = runner.Run(context.Background(), rawTurn)
	}()
	<-done
	require.NoError(t, recorder.Err())
	recorded, err := trace.Read(&out)
	require.NoError(t, err)
	outcomes := map[string]adk.Outcome{}
	for _, line := range recorded.Lines() {
		if line.Kind == adk.KindReturn {
			outcomes[string(line.Outcome)] = line.Outcome
		}
	}
	assert.Contains(t, outcomes, "goexit")
}

// brokenWriter fails or panics at its n-th write, and again in Close.
type brokenWriter struct {
	n      int
	panics bool
	closed int
	kept   bytes.Buffer
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.n--; w.n > 0 {
		return w.kept.Write(p)
	}
	if w.panics {
		panic("disk on fire")
	}
	return 0, errors.New("disk full")
}

func (w *brokenWriter) Close() error { w.closed++; panic("stuck") }

// DET-4: a recorder whose writer fails or panics does not disturb the turn, closes the writer, and returns the error.
func TestARecorderThatFailsDisturbsNoTurn(t *testing.T) {
	for n := 1; n < 12; n++ {
		for _, panics := range []bool{true, false} {
			out := &brokenWriter{n: n, panics: panics}
			recorder, told := replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) { return out, nil }), &tracetest.Crossings{}
			require.NoError(t, busyTurn(t, adk.MultiProbe(recorder, told)).Run(context.Background(), rawTurn))
			assert.Equal(t, adk.KindReturn, told.All[len(told.All)-1].Kind, "the run was told to its end")
			assert.ErrorContains(t, recorder.Err(), "disk")
			assert.ErrorContains(t, recorder.Err(), "stuck")
			assert.Equal(t, 1, out.closed)
			_, err := trace.Read(&out.kept)
			var format *trace.FormatError
			require.ErrorAs(t, err, &format)
			assert.Equal(t, trace.FaultTruncated, format.Fault)
		}
	}
}

func TestARecorderOfOneRunRefusesASecond(t *testing.T) {
	var out bytes.Buffer
	recorder := replay.Record(&out)
	runner := busyTurn(t, recorder)
	require.NoError(t, runner.Run(context.Background(), rawTurn))
	whole := out.String()
	require.NoError(t, recorder.Err())
	require.NoError(t, runner.Run(context.Background(), rawTurn))
	assert.ErrorContains(t, recorder.Err(), "a run already")
	assert.Equal(t, whole, out.String())
	assert.Nil(t, recorder.Observe(adk.RunInfo{}))
}

func TestAWriterThatDoesNotOpenLeavesTheRunUnobserved(t *testing.T) {
	for want, open := range map[string]func(adk.RunInfo) (io.WriteCloser, error){
		"no space":     func(adk.RunInfo) (io.WriteCloser, error) { return nil, errors.New("no space") },
		"panic: no go": func(adk.RunInfo) (io.WriteCloser, error) { panic("no go") },
		"no writer":    func(adk.RunInfo) (io.WriteCloser, error) { return nil, nil },
	} {
		recorder := replay.RecordEach(open)
		require.NoError(t, busyTurn(t, recorder).Run(context.Background(), rawTurn))
		assert.ErrorContains(t, recorder.Err(), want)
	}
}

// DET-4: a recorder without a writer reports that before any run, and disturbs no run.
func TestNoWriter(t *testing.T) {
	for name, recorder := range map[string]*replay.Recorder{"Record": replay.Record(nil), "RecordEach": replay.RecordEach(nil)} {
		assert.ErrorContains(t, recorder.Err(), "was given no writer, and records nothing: want an io.Writer", name)
		assert.NoError(t, busyTurn(t, recorder).Run(context.Background(), rawTurn), name)
	}
	_, err := replay.Verify(t.Context(), nil, replay.Live{})
	assert.EqualError(t, err, "there is nothing to read a trace of: the reader is nil")
}

// file is the writer of one run.
type file struct {
	bytes.Buffer
	closed bool
}

func (f *file) Close() error { f.closed = true; return nil }

func TestConcurrentRunsHaveATraceEach(t *testing.T) {
	var mu sync.Mutex
	var files []*file
	recorder := replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) {
		mu.Lock()
		defer mu.Unlock()
		files = append(files, &file{})
		return files[len(files)-1], nil
	})
	runner := busyTurn(t, recorder)
	var runs sync.WaitGroup
	for range 20 {
		runs.Go(func() { assert.NoError(t, runner.Run(context.Background(), rawTurn)) })
	}
	runs.Wait()
	require.NoError(t, recorder.Err())
	require.Len(t, files, 20)
	for _, f := range files {
		assert.True(t, f.closed)
		recorded, err := trace.Read(&f.Buffer)
		require.NoError(t, err)
		assert.Equal(t, adk.LabelRun, recorded.Lines()[0].Seam.Label)
	}
}

// If all runs fail to be recorded, as on a full disk, a recorder counts the failures and keeps the
// first.
func TestFailuresAreCounted(t *testing.T) {
	full := errors.New("the disk is full")
	recorder := replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) { return nil, full })
	for range 16 {
		assert.Nil(t, recorder.Observe(adk.RunInfo{}))
	}
	assert.Equal(t, 16, strings.Count(recorder.Err().Error(), full.Error()))
	assert.NotContains(t, recorder.Err().Error(), "more")
	for range 10_000 {
		recorder.Observe(adk.RunInfo{})
	}
	assert.Equal(t, 16, strings.Count(recorder.Err().Error(), full.Error()))
	assert.ErrorIs(t, recorder.Err(), full)
	assert.ErrorContains(t, recorder.Err(), "and 10000 failures more")
}

// A recorder keeps little of a running run: ten thousand runs fit into a gigabyte, including what
// the compression of all of them keeps (TestPackingIsBounded).
func TestOpenRunsAreSmall(t *testing.T) {
	const runs, perRun = 500, 16 << 10
	recorder := replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) { return closer{io.Discard}, nil })
	fixture := tracetest.FixtureNamed(t, "tool-round-trip")
	open := make([]adk.Observer, runs)
	before := int(allocs.Heap())
	for i := range open {
		open[i] = recorder.Observe(fixture.Trace.Info)
		for n := range len(fixture.Trace.Lines()) - 1 {
			open[i].Tell(&fixture.Trace.Lines()[n].Crossing)
		}
	}
	kept := int(allocs.Heap()) - before
	require.NoError(t, recorder.Err())
	t.Logf("%d bytes a run", kept/runs)
	assert.Less(t, kept, runs*perRun)
	runtime.KeepAlive(open)
}

type closer struct{ io.Writer }

func (closer) Close() error { return nil }

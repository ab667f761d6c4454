package replay_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// DET-4: concurrent runs, each with its own compressed trace, take no more than a gigabyte
// together. `make heavy` tries ten thousand runs; a normal test run has fewer.
func TestALargeNumberOfRuns(t *testing.T) {
	runs := 64
	if os.Getenv(largeVariable) == "all" {
		runs = 10_000
	}
	const keptOneIn = 16
	var lock sync.Mutex
	var kept []*bytes.Buffer
	opened := 0
	recorder := replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) {
		lock.Lock()
		defer lock.Unlock()
		if opened++; opened%keptOneIn != 0 {
			return closing{io.Discard}, nil
		}
		kept = append(kept, &bytes.Buffer{})
		return closing{kept[len(kept)-1]}, nil
	}, replay.RecordOptions{Compress: true})
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	var arrived, ended sync.WaitGroup
	arrived.Add(runs)
	goOn := make(chan struct{})
	runner, err := adk.NewRunner(adk.Config{Probe: recorder, Storage: fakes.NewStorage().Storage(),
		Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := h.ReportMessage(dc.NewID(), "It is 4 °C in Oslo.", true); err != nil {
				return err
			}
			arrived.Done()
			<-goOn
			return dc.Ack()
		}}})
	require.NoError(t, err)
	for range runs {
		ended.Go(func() { assert.NoError(t, runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Be brief."})) })
	}
	arrived.Wait()
	runtime.ReadMemStats(&during)
	close(goOn)
	ended.Wait()
	require.NoError(t, recorder.Err())
	t.Logf("%d runs at once: %d MB from the system", runs, (during.Sys-before.Sys)>>20)
	assert.Less(t, during.Sys-before.Sys, uint64(1<<30))
	require.Len(t, kept, runs/keptOneIn)
	for _, file := range kept {
		read, err := trace.Read(file)
		require.NoError(t, err)
		assert.True(t, read.Sealed)
	}
}

// closing is a writer with a Close method that does nothing.
type closing struct{ io.Writer }

func (closing) Close() error { return nil }

//go:build unix

package adkhttp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/replay"
)

// copying is the floor of the benchmark: a transport that copies the bodies and records nothing.
type copying struct {
	base http.RoundTripper
	kept []byte
}

func (c *copying) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	var kept bytes.Buffer
	if _, err := io.Copy(&kept, body); err != nil {
		return nil, err
	}
	resp, err := c.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	c.kept = append(kept.Bytes(), answer...)
	return resp, err
}

var asked = sync.OnceValue(func() (all []string) {
	for n := range 2000 {
		all = append(all, fmt.Sprintf(`{"model":"m","n":%d,"messages":[{"role":"user","content":"%s"}]}`, n, strings.Repeat("How is the weather in Oslo? ", 146)))
	}
	return all
})

// post sends one request of 4 KB, the nth of 2000.
func post(ctx context.Context, client *http.Client, n int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1", strings.NewReader(asked()[n]))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// BenchmarkAsk measures what a recorded ask of 4 KB costs above one through a transport that copies
// the bodies. The two alternate, and the medians of the process's CPU time are reported.
func BenchmarkAsk(b *testing.B) {
	const asks = 500
	floor := &http.Client{Transport: &copying{base: answering}}
	client := &http.Client{Transport: adkhttp.NewTransport(answering)}
	var copied, recorded []time.Duration
	round := func(ctx context.Context, client *http.Client) time.Duration {
		runtime.GC() // so that neither side collects the other's garbage
		begun := processTime(b)
		for n := range asks {
			require.NoError(b, post(ctx, client, n))
		}
		return (processTime(b) - begun) / asks
	}
	config := turn(func(ctx context.Context) {
		for b.Loop() {
			copied = append(copied, round(ctx, floor))
			recorded = append(recorded, round(ctx, client))
		}
	})
	runner := must(adk.NewRunner(fakes.Deterministic(config, replay.Record(io.Discard))))
	require.NoError(b, runner.Run(b.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(copied)), "floor-ns/ask")
	b.ReportMetric(float64(median(recorded)-median(copied)), "above-ns/ask")
}

// What a recorded ask allocates in addition to the ask itself is bounded: unlike times, allocations
// do not depend on the machine.
func TestRecordedAsksAllocateLittle(t *testing.T) {
	allocs.Countable(t)
	allocations := func(ctx context.Context, transport http.RoundTripper) float64 {
		client := &http.Client{Transport: transport}
		return allocs.PerRun(100, func() { require.NoError(t, post(ctx, client, 1)) })
	}
	config := turn(func(ctx context.Context) {
		floor := allocations(ctx, &copying{base: answering})
		assert.LessOrEqual(t, allocations(ctx, adkhttp.NewTransport(answering))-floor, 20.0)
	})
	runner := must(adk.NewRunner(fakes.Deterministic(config, replay.Record(io.Discard))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// processTime is the CPU time of this process on all cores, the garbage collector's
// included: other processes on the machine do not count.
func processTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// What a served ask allocates is bounded too, in number and in bytes. That covers reading its lines,
// asking, answering and comparing. Where nothing has changed, nothing is parsed, written or held a
// second time.
func TestServedAsksAllocateLittle(t *testing.T) {
	allocs.Countable(t)
	const few, many = 100, 600
	allocated := func(asks int) (count, size uint64) {
		verify := served(t, asks)
		verify()
		return allocs.Sum(verify)
	}
	fewCount, fewSize := allocated(few)
	manyCount, manySize := allocated(many)
	assert.LessOrEqual(t, (manyCount-fewCount)/(many-few), uint64(60))
	assert.LessOrEqual(t, (manySize-fewSize)/(many-few), uint64(24<<10))
}

// BenchmarkServed reports how many answers a replay serves, each to a request of 4 KB of its own.
func BenchmarkServed(b *testing.B) {
	for _, asks := range []int{1000, len(asked())} {
		b.Run(fmt.Sprint(asks), func(b *testing.B) {
			verify := served(b, asks)
			begun := processTime(b)
			for b.Loop() {
				verify()
			}
			b.ReportMetric(float64(b.N*asks)/b.Elapsed().Seconds(), "answers/s")
			b.ReportMetric(float64(b.N*asks)/(processTime(b)-begun).Seconds(), "answers/cpu-s")
		})
	}
}

// served records a run of some asks, and returns a function that replays it with the asking code live.
func served(tb testing.TB, asks int) (verify func()) {
	base := http.RoundTripper(answering)
	run := turn(func(ctx context.Context) {
		client := &http.Client{Transport: adkhttp.NewTransport(base)}
		for n := range asks {
			require.NoError(tb, post(ctx, client, n))
		}
	})
	var written bytes.Buffer
	runner := must(adk.NewRunner(fakes.Deterministic(run, replay.Record(&written))))
	require.NoError(tb, runner.Run(tb.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	base = roundTrip(func(*http.Request) (*http.Response, error) { panic("the world was asked") })
	return func() {
		report, err := replay.Verify(tb.Context(), bytes.NewReader(written.Bytes()), replay.LiveExecutor(run.Executor.Run))
		require.NoError(tb, err)
		require.Nil(tb, report.Divergence)
	}
}

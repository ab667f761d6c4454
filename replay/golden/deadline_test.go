package golden_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// timedTB is a test with a deadline, as go test gives one.
type timedTB struct {
	*fakeTB
	deadline time.Time
}

func (t timedTB) Deadline() (time.Time, bool) { return t.deadline, true }

// If live code waits for something that never comes, a check reports the trace and the lines
// before go test ends the process.
func TestACheckEndsBeforeTheTest(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))) // one trace waits, the other does not
	dir := turns(t)
	terminal, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer func(before *os.File) { os.Stderr = before }(os.Stderr)
	os.Stderr = terminal
	synctest.Test(t, func(t *testing.T) {
		never := make(chan bool)
		defer close(never)
		begun := time.Now()
		tb := timedTB{&fakeTB{name: "TestReplay"}, begun.Add(10 * time.Minute)}
		golden.Replay(tb, dir, func(trace string) replay.Live {
			config, raw := weather()
			if trace == dir+"/a.jsonl" {
				config.Executor.Run = func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
					<-never
					return nil
				}
			}
			return replay.Live{Config: config, Turn: raw, Seams: []string{replay.Executor}}
		})
		assert.InDelta(t, 9*time.Minute, time.Since(begun), float64(2*time.Second))
		require.Len(t, tb.failed, 1)
		said := unfolded(tb.failed[0])
		assert.Contains(t, said, "replay: the test is nearly out of time, which go test -timeout gives\ninterrupted: 1 of 2 traces were verified: "+dir+"/b.jsonl\n"+
			dir+"/a.jsonl: 1 goroutine of the run left behind, not ended\nchan receive in ")
		assert.Contains(t, said, "replay/golden/deadline_test.go:")
		assert.Equal(t, 1, strings.Count(said, "nearly out of time"))
	})
	told, err := os.ReadFile(terminal.Name())
	require.NoError(t, err)
	assert.Regexp(t, `\Agolden: `+dir+`/a\.jsonl: live code has done nothing for 30s: chan receive in golden_test\.\S+ at replay/golden/deadline_test\.go:\d+\n\z`,
		unfolded(string(told)), "once, and of no other trace")
}

package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/golden"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// recorded is a session of three chats, the second of which was killed after it booked.
const recorded = "testdata/session"

var record = flag.Bool("record", false, "record the session in testdata/session again")

// The agent of today does in every turn of the recorded session what it did then, and begins
// and leaves each with the same values.
func TestRecordedSession(t *testing.T) {
	if *record {
		recordSession(t)
	}
	golden.ReplaySessions(t, recorded, func(string) (*session.Host, replay.Live) {
		return today(t, func(*session.Config) {}), replay.Live{Seams: liveSeams}
	})
}

// liveSeams are what runs of today's agent: its middlewares, its executor and its tools, but for
// the one that writes.
var liveSeams = []string{replay.Tools, replay.Middleware, replay.Executor, "tool/remember"}

// A change of the agent is named, with the delivery that shows it first.
func TestChangedSession(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*session.Config)
		class  sessions.Class
		says   string
	}{
		"another prompt": {func(c *session.Config) {
			c.Prompt = func(session.Seed) (string, []string, error) { return "Be rude.", nil, nil }
		}, sessions.Hydrate, "prompt"},
		"notes that are not shown": {func(c *session.Config) {
			c.Agent.TurnInput = slices.DeleteFunc(c.Agent.TurnInput, func(m adk.TurnMiddleware) bool { return m.Name == "memory" })
		}, sessions.Turn, "memory"},
		"a tool that keeps something else": {func(c *session.Config) {
			c.Agent.Tools[0] = must(adk.NewTypedTool(adk.ToolInit{Name: "remember", Description: rememberText, Effect: adk.EffectReads}, func(_ context.Context, dc *adk.DispatchContext, in noteArgs) (adk.ToolResult, error) {
				return adk.Text("kept"), notesKey.Set(dc, map[string]string{in.Topic: "black"})
			}))
		}, sessions.Turn, "black"},
	} {
		t.Run(name, func(t *testing.T) {
			report := verify(t, recorded, today(t, c.change))
			if len(report.Divergences) != 1 {
				t.Fatalf("%d divergences, want one", len(report.Divergences))
			}
			if d := report.Divergences[0]; d.Class != c.class || !strings.Contains(d.String(), c.says) {
				t.Errorf("%s, want a %s that says %q", d, c.class, c.says)
			}
		})
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// today is today's host, which asks nobody and keeps nothing.
func today(t *testing.T, change func(*session.Config)) *session.Host {
	t.Helper()
	kept, err := memory.New(storageConfig().Config)
	check(t, err)
	nobody := func(context.Context, booking) (string, error) { panic("the calendar was asked") }
	config, err := hostConfig(outside{Model: modelOptions("http://localhost/v1", "", "small"), Calendar: nobody, Storage: kept.Storage(), Sessions: kept.Sessions(), Spool: artifact.NewMemorySpool()})
	check(t, err)
	change(&config)
	host, err := session.NewHost(config)
	check(t, err)
	return host
}

// verify plays what is recorded in a folder on a host.
func verify(t *testing.T, folder string, host *session.Host) *sessions.Report {
	t.Helper()
	sources, err := corpus.Sources(os.DirFS(folder))
	check(t, err)
	recordings, _ := sessions.Recordings(sources)
	if len(recordings) != 1 {
		t.Fatalf("%s has %d recordings, want one", folder, len(recordings))
	}
	journal, _ := recordings[0].Read(trace.Options{})
	turns := recordings[0].Turns(trace.Options{})
	report, err := sessions.Verify(t.Context(), journal, sessions.Options{
		Host: host,
		Live: replay.Live{Config: host.Agent(), Seams: liveSeams},
		Open: func(turn string) (io.ReadCloser, error) { return turns[turn].Open() },
	})
	check(t, err)
	return report
}

// recordSession records the session as production would.
func recordSession(t *testing.T) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal("-record is refused where CI is set: a trace is changed by somebody who reads the diff")
	}
	folder, err := filepath.Abs(recorded)
	check(t, err)
	check(t, errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)))
	db := t.TempDir()
	live(t, db, "", 0, "-record", folder, "My tea is green")
	watched(t, db, "", killedAt(t, "booked"), append([]string{"-record", folder}, dentist...)...)
	live(t, db, "What do you know of me?\n", 0, "-record", folder)
}

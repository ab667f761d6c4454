package grounded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/agent/grounded"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/explore"
	turns "github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// The documentation of these tests: twelve pages with a chunk each, in the order in which
// they fit the question, and how well.
var pages = func() (all []grounded.Chunk) {
	for i := range 12 {
		all = append(all, grounded.Chunk{ID: fmt.Sprintf("chunk-%d", i), Page: fmt.Sprintf("/page-%d", i), Anchor: "top",
			Text: fmt.Sprintf("Page %d says: %s", i, strings.Repeat("the gate opens at noon. ", 4))})
	}
	return all
}()

// world is a documentation, a reranker and a database without a network.
type world struct {
	storage *fakes.Storage
	written []grounded.Entry
	score   float64 // of the best chunk
	chunks  int     // that are found
	lanes   []string
	fails   bool // the rewriter, the supposer and the reranker
}

var errDown = errors.New("the service is down")

func (w *world) agent(script fakes.Script) *grounded.Agent {
	said := func(form string) func(context.Context, string) (string, error) {
		return func(_ context.Context, question string) (string, error) {
			if w.fails {
				return "", errDown
			}
			return form + question, nil
		}
	}
	return &grounded.Agent{
		Model: script.Executor("model"), Storage: w.storage.Storage(), Floor: 0.3, Room: 1_000, Window: 4096, Reserve: 512, Tries: 3,
		World: grounded.World{
			Rewrite: said("In other words: "), Suppose: said("Suppose: "),
			Search: func(_ context.Context, in grounded.Lookup) ([]grounded.Chunk, error) {
				w.lanes = append(w.lanes, in.Lane)
				return pages[:w.chunks], nil
			},
			Rank: func(_ context.Context, in grounded.Ranking) ([]float64, error) {
				if w.fails {
					return nil, errDown
				}
				scores := make([]float64, len(in.Texts))
				for i := range scores {
					scores[i] = w.score / float64(i+1)
				}
				return scores, nil
			},
			Learn: func(context.Context, []grounded.Entry) ([]string, error) { return []string{"They ask of gates."}, nil },
			Write: func(_ context.Context, in []grounded.Entry) (int, error) {
				w.written = append(w.written, in...)
				return len(in), nil
			},
		},
	}
}

const (
	question = "When does the gate open?"
	uncited  = "It opens at noon."
	wrong    = "It opens at noon, says [this page](/page-99)."
	good     = "It opens at noon, says [page 0](/page-0#top)."
	coded    = "See the docs.\n```go\nopen()\n```\nIt opens at noon, says [this](/page-99)."
)

// replies are what the model says, an answer an iteration.
func replies(answers ...string) (script fakes.Script) {
	for i, text := range answers {
		script = append(script, []fakes.Step{fakes.Say(text).As(fmt.Sprintf("answer-%d", i))})
	}
	return script
}

// turn runs one, and gives its trace and how its dispatch ended.
func turn(t *testing.T, a *grounded.Agent) (trace []byte, end adk.DispatchEnd) {
	t.Helper()
	var recorded bytes.Buffer
	recorder := replay.Record(&recorded)
	runner, err := adk.NewRunner(fakes.Deterministic(a.Config(), recorder))
	if err != nil {
		t.Fatal(err)
	}
	raw := grounded.Turn(question)
	raw.Observability.DispatchEnd = func(e adk.DispatchEnd) { end = e }
	if err := errors.Join(runner.Run(context.Background(), raw), recorder.Err()); err != nil {
		t.Fatal(err)
	}
	property.Check(t, bytes.NewReader(recorded.Bytes()))
	return recorded.Bytes(), end
}

// Which answers stand, and what is kept of a turn.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name       string
		world      world
		script     fakes.Script
		status     string
		iterations int
		answer     string // as it is kept; empty where nothing is
	}{
		{"the third one is good", world{score: 0.9, chunks: 3}, replies(uncited, wrong, good), adk.StatusAck, 3, good},
		{"the first one is good", world{score: 0.9, chunks: 3}, replies(good), adk.StatusAck, 1, good},
		{"none is good", world{score: 0.9, chunks: 3}, replies(uncited, wrong, coded), adk.StatusAck, 3, "See the docs.\n\nIt opens at noon, says this."},
		{"below the floor", world{score: 0.2, chunks: 2}, replies("It is a secret."), adk.StatusAck, 1,
			"The documentation does not answer this. The closest pages:\n\n- [/page-0](/page-0)\n- [/page-1](/page-1)"},
		{"nothing is found", world{score: 0.9}, replies("It is a secret."), adk.StatusAck, 1, "The documentation does not answer this."},
		{"services are down", world{chunks: 3, fails: true}, replies(good), adk.StatusAck, 1, good},
		{"aborted in the second", world{score: 0.9, chunks: 3}, append(replies(uncited), []fakes.Step{fakes.Abort(errDown)}), adk.StatusAborted, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.world
			w.storage = fakes.NewStorage()
			_, end := turn(t, w.agent(c.script))
			if end.Status != c.status || end.Iterations != c.iterations {
				t.Errorf("the dispatch ended %s after %d iterations, want %s after %d", end.Status, end.Iterations, c.status, c.iterations)
			}
			var want []grounded.Entry
			if c.answer != "" {
				want = []grounded.Entry{{ID: "question", Role: "user", Text: question}, {ID: fmt.Sprintf("answer-%d", c.iterations-1), Role: "assistant", Text: c.answer}}
			}
			if !slices.Equal(w.written, want) {
				t.Errorf("written is %q, want %q", w.written, want)
			}
			if messages, memories := w.storage.Messages(), w.storage.Memories(); len(messages) > 0 || (len(memories) > 0) != (c.answer != "") {
				t.Errorf("the storage has %d messages and %d memories", len(messages), len(memories))
			}
			fetches := 0
			for _, call := range w.storage.Calls() {
				if call.Collection == adk.Messages && call.Op == fakes.OpFetch {
					fetches++
				}
			}
			lanes := 3
			if c.world.fails {
				lanes = 1
			}
			if fetches != 1 || len(w.lanes) != lanes {
				t.Errorf("messages were fetched %d times, and %v searched: want once, and %d lanes", fetches, w.lanes, lanes)
			}
		})
	}
}

// The model is shown the chunks that there is room for, the best first.
func TestRoom(t *testing.T) {
	w := world{storage: fakes.NewStorage(), score: 0.9, chunks: 9}
	var shown []string
	a := w.agent(fakes.Script{{fakes.Do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, r := range dc.Retrievables().All() {
			shown = append(shown, r.Source())
		}
		return nil
	}), fakes.Say(good)}})
	a.Room = 4*adk.EstimateTokens(pages[0].Text, adk.EncodingCL100kBase) + 5
	turn(t, a)
	if want := []string{"/page-0#top", "/page-1#top", "/page-2#top", "/page-3#top"}; !slices.Equal(shown, want) {
		t.Errorf("shown is %q, want %q", shown, want)
	}
}

// A window that is too small sheds chunks but one and what is remembered, and says so. Of what
// does not fit then the report says refused: the turn is not aborted, and it is the executor
// that refuses. Nothing is kept of it.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		window int
		status string
		report map[string]any // nil where all fits
	}{
		{4096, adk.StatusAck, nil},
		{100, adk.StatusAck, map[string]any{"refused": false, "retrievables": 7, "memories": 0, "messages": 0}},
		{30, adk.StatusNack, map[string]any{"refused": true, "retrievables": 8, "memories": 0, "messages": 0}},
	} {
		w := world{storage: fakes.NewStorage(), score: 0.9, chunks: 9}
		a := w.agent(replies(good))
		a.Window, a.Reserve = c.window, 20
		answers := a.Model.Run
		a.Model.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if tooLong(dc, c.window-20) {
				return errors.New("more than the window")
			}
			return answers(ctx, dc, h)
		}
		trace, end := turn(t, a)
		if end.Status != c.status {
			t.Errorf("window %d: the dispatch ended %q, want %q", c.window, end.Status, c.status)
		}
		report := reported(t, trace)
		for name, want := range c.report {
			if got := fmt.Sprint(report[name]); got != fmt.Sprint(want) {
				t.Errorf("window %d: the report says %s %s, want %v", c.window, name, got, want)
			}
		}
		if c.report == nil && report != nil {
			t.Errorf("window %d: it reports %v", c.window, report)
		}
		if c.status == adk.StatusNack && len(w.written) > 0 {
			t.Errorf("window %d: %v is kept", c.window, w.written)
		}
	}
}

// tooLong reports whether the chunks alone are more than a room.
func tooLong(dc *adk.DispatchContext, room int) bool {
	for _, r := range dc.Retrievables().All() {
		room -= adk.EstimateTokens(r.Content().String(), adk.EncodingCL100kBase)
	}
	return room < 0
}

// reported is what shed said in a turn. It fails where that was aborted.
func reported(t *testing.T, content []byte) (report map[string]any) {
	t.Helper()
	recorded, err := trace.Read(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range recorded.All() {
		switch x := line.Crossing; {
		case x.Kind == adk.KindReportLog && x.Name == grounded.ReportKind:
			report, _ = x.Value.(map[string]any)
		case x.Kind == adk.KindCancel:
			t.Errorf("crossing %d is a %s: %v", x.Seq, x.Kind, x.Err)
		}
	}
	return report
}

// Whatever breaks at one point of a turn, no answer is kept that may not stand.
func TestExplored(t *testing.T) {
	subject := turns.Subject{Name: "grounded", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		w := &world{storage: fakes.NewStorage(), score: 0.9, chunks: 3}
		return w.agent(replies(uncited, wrong, good)).Config(), grounded.Turn(question)
	}, Check: func(r turns.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindAsk && x.Phase == adk.Begin && x.Name == "database" && strings.Contains(string(x.JSON), "/page-99") {
				return errors.New("an answer is kept that links to no page")
			}
		}
		return nil
	}}
	explore.Test(t, subject, explore.Options{})
}

// nobody is a world that must not be asked.
var nobody = grounded.World{
	Rewrite: asked[string, string], Suppose: asked[string, string], Search: asked[grounded.Lookup, []grounded.Chunk],
	Rank: asked[grounded.Ranking, []float64], Learn: asked[[]grounded.Entry, []string], Write: asked[[]grounded.Entry, int],
}

func asked[Request, Answer any](context.Context, Request) (Answer, error) {
	panic("the world was asked")
}

// A replay of today's code asks nobody, and is red where a decision has changed: at the first
// crossing that is another.
func TestReplay(t *testing.T) {
	w := world{storage: fakes.NewStorage(), score: 0.9, chunks: 3}
	trace, _ := turn(t, w.agent(replies(uncited, wrong, good)))
	for name, c := range map[string]struct {
		change func(*grounded.Agent)
		seam   string // of the divergence
	}{
		"unchanged":        {func(*grounded.Agent) {}, ""},
		"fewer tries":      {func(a *grounded.Agent) { a.Tries = 2 }, "dispatch-output/citation-gate"},
		"a higher floor":   {func(a *grounded.Agent) { a.Floor = 0.95 }, "turn-input/retrieve"},
		"less room":        {func(a *grounded.Agent) { a.Room = 50 }, "turn-input/retrieve"},
		"a smaller window": {func(a *grounded.Agent) { a.Window = 600 }, "turn-input/shed"},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.agent(nil)
			a.World = nobody
			c.change(a)
			report, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.Live{Config: a.Config(), Seams: []string{replay.Middleware}})
			if err != nil {
				t.Fatal(err)
			}
			seam := ""
			if report.Divergence != nil {
				seam, _, _ = strings.Cut(report.Divergence.Seam, "#")
			}
			if seam != c.seam {
				t.Errorf("it diverges in %q, want %q: %s", seam, c.seam, report)
			}
		})
	}
}

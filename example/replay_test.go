package agent_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"example.com/agent"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// folder holds the recorded turns.
const folder = "testdata/turns"

// reading is how traces are read: with the errors that the agent tells apart, so that
// they are themselves again. They are written with the same ones.
var reading = trace.Options{Sentinels: map[string]error{"agent.ErrNoSuchCity": agent.ErrNoSuchCity}}

// The agent of today does in every recorded turn what it did when it was
// recorded: its prompt, middlewares, executor, tool and storage run, and what the
// model and the weather service said comes from the trace.
func TestReplay(t *testing.T) {
	golden.Replay(t, folder, func(name string) replay.Live {
		config, err := agent.Config(recorded(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return replay.Live{Config: config, Turn: agent.Turn(), Seams: []string{replay.Everything}, Writes: true}
	}, reading)
}

// The transcript of the turn in which most happens.
func TestTranscript(t *testing.T) {
	for _, c := range turns {
		if c.name == "busy-and-unknown" {
			golden.Transcript(t, c.name, c.run)
		}
	}
}

func TestStorage(t *testing.T) {
	err := fakes.TestStorage(func() adk.Storage { return must(agent.NewStorage()).Obligations() })
	if err != nil {
		t.Error(err)
	}
}

// recorded is the outside as a trace tells it: what the model and the weather
// service answered, and what was stored before.
func recorded(t *testing.T, name string) agent.Outside {
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	read, err := trace.Read(file, reading)
	if err != nil {
		t.Fatal(err)
	}
	told := telling{calls: map[int]adk.Crossing{}, fetched: map[string]bool{}, answers: map[string][]weather{}}
	for _, line := range read.Lines {
		told.take(line.Crossing)
	}
	storage, err := agent.NewStorage(told.before...)
	if err != nil {
		t.Fatal(err)
	}
	return agent.Outside{Model: newModel(told.replies), Forecasts: newService(told.answers), Storage: storage}
}

// telling is what a trace has told so far.
type telling struct {
	calls   map[int]adk.Crossing // of seams, by their numbers
	units   any
	fetched map[string]bool
	before  []adk.Record
	replies []agent.Reply
	answers map[string][]weather
}

// take takes the next crossing in: what the executor reports is what the model
// said, and what the tool returned is what the service said.
func (r *telling) take(x adk.Crossing) {
	switch x.Kind {
	case adk.KindCall:
		r.calls[x.ID] = x
		if x.Seam.Label == adk.LabelExecutor {
			r.replies = append(r.replies, agent.Reply{})
		}
	case adk.KindReturn:
		r.returned(r.calls[x.ID], x)
	case adk.KindStash:
		if x.Name == "user.units" {
			r.units = x.Value
		}
	case adk.KindReportMessage:
		r.replies[len(r.replies)-1].Text += x.Text
	case adk.KindReportToolCall:
		if args, begins := x.Args.(string); begins {
			reply := &r.replies[len(r.replies)-1]
			reply.Calls = append(reply.Calls, agent.Call{ID: x.Name, Tool: x.Key, Args: args})
		}
	}
}

func (r *telling) returned(call, x adk.Crossing) {
	switch call.Seam.Label {
	case adk.LabelTool:
		args := call.Args.(map[string]any)
		q := query(fmt.Sprint(args["city"]), args["days"], fmt.Sprint(r.units))
		answer := weather{err: errors.Unwrap(x.Err)} // the tool has wrapped it
		if text, ok := x.Result.(*adk.Tokenizable); ok {
			answer.text = text.String()
		}
		r.answers[q] = append(r.answers[q], answer)
	case adk.LabelStorage:
		if name := call.Seam.Name; !r.fetched[name] { // later fetches give what was stored meanwhile too
			r.fetched[name] = true
			r.before = append(r.before, x.Records...)
		}
	}
}

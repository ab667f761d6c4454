package sessions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/sessions"
)

// door is a channel that stores no record.
type door struct{}

func (door) State() (json.RawMessage, error) { return nil, nil }

func (door) Deliver(context.Context, *adk.TurnContext, session.Delivery) error { return nil }

// tracing writes a trace for each turn into a buffer; programs open a file for each.
type tracing struct{ trace *bytes.Buffer }

func (p *tracing) Observe(info adk.RunInfo) adk.Observer {
	p.trace = &bytes.Buffer{}
	return replay.Record(p.trace).Observe(info)
}

// A host writes a journal, and a trace for each turn; both are verified together.
func ExampleVerify() {
	kept, err := memory.New(storage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	var written bytes.Buffer
	var latest tracing
	traces := map[string]*bytes.Buffer{}
	journal := sessions.Record(&written)
	host, err := session.NewHost(session.Config{
		Agent: adk.Config{
			Storage: kept.Storage(),
			Executor: adk.Executor{Name: "greeter", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return dc.Ack()
			}},
			Probe: &latest,
		},
		Store:    kept.Sessions(),
		Channels: map[string]func(json.RawMessage) (session.Channel, error){"door": func(json.RawMessage) (session.Channel, error) { return door{}, nil }},
		Prompt:   func(session.Seed) (string, []string, error) { return "You greet.", nil, nil },
		Journal: func(s session.Step) {
			if s.Kind == session.StepRan {
				traces[s.Turn] = latest.trace
			}
			journal.Step(s)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"monday", "tuesday"} {
		if _, err := host.Deliver(context.Background(), session.Delivery{Session: "ada", ID: id, Kind: "door", Payload: json.RawMessage(`{}`)}); err != nil {
			log.Fatal(err)
		}
	}
	if err := journal.Close(); err != nil {
		log.Fatal(err)
	}

	read, err := sessions.Read(&written)
	if err != nil {
		log.Fatal(err)
	}
	report, err := sessions.Verify(context.Background(), read, sessions.Options{
		Host: host,
		Open: func(turn string) (io.ReadCloser, error) { return io.NopCloser(traces[turn]), nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Sessions, "session,", report.Commits, "commits,", len(report.Divergences), "divergences")
	// Output: 1 session, 2 commits, 0 divergences
}

package catalogue_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/agent/catalogue"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// folder holds the recorded turn.
const folder = "testdata/turns"

// size is how long the catalogue is at least: far beyond what a trace holds of a body.
const size = 5 << 20

// sells is a shop with so many bytes of products, of which one is nearly gone.
func sells(size int) catalogue.Shop {
	var body strings.Builder
	body.WriteString(`{"products":[`)
	for n := 0; body.Len() < size; n++ {
		fmt.Fprintf(&body, `{"name":"lamp %d","price":%d.5,"stock":%d,"about":%q},`, n, n%90+10, n%50+10, "A lamp for the table, with a cord of two metres.")
	}
	body.WriteString(`{"name":"the last lamp","price":12.5,"stock":1}]}`)
	return func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(body.String())), nil
	}
}

// question is what the user asks, and answer what the model says in the end.
const (
	question = "Which lamps are nearly sold out?"
	answer   = "Only the last lamp: there is one left, at 12.50."
)

// script is a model whose replies are known.
func script() http.RoundTripper {
	return fakes.NewTransport(fakes.Converse(
		fakes.StreamToolCall("call_1", "products", "{}"),
		fakes.StreamToolCall("call_2", "artifact_json_keys", `{"callId":"call_1"}`),
		fakes.StreamToolCall("call_3", "artifact_json_get", `{"callId":"call_1",`, `"path":"$.products[?@.stock < 10]"}`),
		fakes.StreamReply(answer),
	))
}

// agent is the agent with all that is outside.
func agent(transport http.RoundTripper, shop catalogue.Shop) adk.Config {
	at := fakes.Epoch.Add(-time.Minute)
	asked, err := adk.NewMessage(adk.MessageInit{ID: "q1", Role: adk.RoleUser, Content: question, CreatedAt: at, UpdatedAt: at})
	if err != nil {
		panic(err)
	}
	config, err := catalogue.Config(transport, shop, artifact.NewMemorySpool(), fakes.NewStorage(asked).Storage())
	if err != nil {
		panic(err)
	}
	return config
}

var record = flag.Bool("record", false, "record the turn in testdata/turns again")

// The model answers from 5 MiB of JSON of which it is shown two lines, and so is the trace.
func TestAnswersFromWhatNoPromptHolds(t *testing.T) {
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	runner, err := adk.NewRunner(fakes.Deterministic(agent(script(), sells(size)), recorder))
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	turn := adk.RawTurn{SystemPrompt: catalogue.Prompt}
	turn.Functional.Message = func(e adk.MessageEvent) { said = e.Full }
	if err := errors.Join(runner.Run(t.Context(), turn), recorder.Err()); err != nil {
		t.Fatal(err)
	}
	if said != answer {
		t.Errorf("the agent said %q, want %q", said, answer)
	}
	property.Check(t, bytes.NewReader(trace.Bytes()))
	if !strings.Contains(trace.String(), "the last lamp") || strings.Contains(trace.String(), "lamp 4711") {
		t.Error("want the answers to questions in the trace, and nothing else of the body")
	}
	if trace.Len() > 128<<10 {
		t.Errorf("the trace has %d bytes", trace.Len())
	}
	if *record {
		write(t, filepath.Join(folder, "nearly-sold-out.jsonl"), trace.Bytes())
	}
}

func write(t *testing.T, path string, trace []byte) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal("-record is refused where CI is set: a trace is changed by somebody who reads the diff")
	}
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(path, trace, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// seams are what runs in a replay: all but the tool that writes to the spool.
var seams = []string{replay.Prompt, replay.Tools, replay.Middleware, replay.Executor, "tool/artifact_*"}

// today is the agent of today, whose shop nobody may ask: what was asked of its body has its
// answer in the trace.
func today() replay.Live {
	closed := func(context.Context) (io.ReadCloser, error) { panic("the shop was asked") }
	return replay.Live{Config: agent(fakes.NewTransport(fakes.Conversation{}), closed), Turn: adk.RawTurn{SystemPrompt: catalogue.Prompt}, Seams: seams}
}

// Today's agent does what it did when it was recorded, without the shop, its body or a model.
func TestReplay(t *testing.T) {
	golden.Replay(t, folder, func(string) replay.Live { return today() })
}

// faults are all but those in which the model wants a tool twice at once: what the shop sells
// may be fetched twice, and is kept under a key of its own each time.
func faults() []turn.FaultKind {
	return slices.DeleteFunc(turn.FaultKinds(), func(k turn.FaultKind) bool { return k == turn.ChatTwins || k == turn.ChatSeveral })
}

// Whatever breaks at one point of a turn, the agent ends well: with a small body, which is
// read through the context, and with what was recorded of a large one.
func TestExplored(t *testing.T) {
	small := turn.Subject{Name: "a few lamps", Check: answered, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return agent(script(), sells(1<<10)), adk.RawTurn{SystemPrompt: catalogue.Prompt}
	}}
	explore.Test(t, small, explore.Options{Faults: faults()})
	explore.Traces(t, folder, func(string) turn.Instance {
		live := today()
		return turn.Instance{Config: live.Config, Raw: live.Turn, Check: answered}
	}, explore.Options{Faults: faults()})
}

// answered holds that a turn which ends well has said something.
func answered(r turn.Run) error {
	said := ""
	for x := range r.Crossings {
		switch {
		case x.Kind == adk.KindReportMessage && x.Err == nil:
			said += x.Text
		case x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck && said == "":
			return errors.New("the turn ended well, and nothing was said")
		}
	}
	return nil
}

// Package trial runs tools for the tests of the batteries, in the way an executor does: within a
// turn, with validated arguments, and with a deterministic clock and ids.
package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// TB is the part of testing.TB that Check needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Case is one call of a tool and its expected answer: the row of the ledger, or a description of
// the case; the JSON text of the arguments; and the answer. In the answer, "…" matches any text;
// [ARGS] stands for E_INVALID_TOOL_ARGS.
type Case [3]string

// ARGS is the expected answer for arguments that the schema refuses.
const ARGS = "ARGS"

// Object returns the JSON of arguments, which are given as pairs of name and value.
func Object(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Check runs the cases of a tool and reports the differences.
func Check(t TB, tool *adk.Tool, cases []Case) {
	t.Helper()
	for _, c := range cases {
		id, arguments, want := c[0], c[1], c[2]
		got, err := Answer(tool, arguments)
		if errors.Is(err, adk.E_INVALID_TOOL_ARGS) {
			got = ARGS
		} else if err != nil {
			got = "failed: " + err.Error()
		}
		if !Fits(got, want) {
			t.Errorf("%s: %s %s\nwant %q\ngot  %q", id, tool.Name(), arguments, want, got)
		}
	}
}

// Fits reports whether an answer is the wanted one, in which "…" matches any text.
func Fits(got, want string) bool {
	pieces := strings.Split(want, "…")
	if len(pieces) == 1 {
		return got == want
	}
	rest, begins := strings.CutPrefix(got, pieces[0])
	last := pieces[len(pieces)-1]
	if !begins || !strings.HasSuffix(rest, last) {
		return false
	}
	rest = strings.TrimSuffix(rest, last)
	for _, piece := range pieces[1 : len(pieces)-1] {
		at := strings.Index(rest, piece)
		if at < 0 {
			return false
		}
		rest = rest[at+len(piece):]
	}
	return true
}

// Answer returns a tool's answer to arguments, which are an object or the JSON text of one.
func Answer(tool *adk.Tool, args any) (string, error) {
	return In(context.Background(), fakes.NewStorage().Storage(), func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
		return Execute(ctx, dc, tool, args)
	})
}

// Execute runs a tool in a dispatch and returns its text.
func Execute(ctx context.Context, dc *adk.DispatchContext, tool *adk.Tool, args any) (string, error) {
	result, err := dc.Execute(ctx, tool, args)
	if err != nil {
		return "", err
	}
	text, ok := result.(*adk.Tokenizable)
	if !ok {
		return "", fmt.Errorf("%T is no text", result)
	}
	return text.String(), nil
}

// In runs a function in the executor of a turn on a storage.
func In(ctx context.Context, storage adk.Storage, do func(ctx context.Context, dc *adk.DispatchContext) (string, error), watch ...Watch) (answer string, err error) {
	config := fakes.Deterministic(adk.Config{
		Storage: storage,
		Executor: adk.Executor{Name: "trial", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			answer, err = do(ctx, dc)
			return dc.Ack()
		}},
	}, probes(watch)...)
	runner, fault := adk.NewRunner(config)
	if fault != nil {
		return "", fault
	}
	if fault := runner.Run(ctx, adk.RawTurn{SystemPrompt: "trial"}); fault != nil {
		return "", fault
	}
	return answer, err
}

// Watch is called with the crossings of a run.
type Watch func(x *adk.Crossing)

// Observe makes Watch an adk.Probe.
func (w Watch) Observe(adk.RunInfo) adk.Observer { return watching{w} }

func probes(all []Watch) []adk.Probe {
	list := make([]adk.Probe, len(all))
	for i, w := range all {
		list[i] = w
	}
	return list
}

// watching is the observer of one run.
type watching struct{ watch Watch }

func (watching) Begin(adk.Step)         {}
func (watching) Park(int, func() bool)  {}
func (watching) Resume(int)             {}
func (w watching) Tell(x *adk.Crossing) { w.watch(x) }

package rename_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// run records a run whose executor uses one id for everything that it makes: a message that it
// reports and one that it stores, a tool's argument, and a request.
func run(t *testing.T, id string) *trace.Trace {
	var file bytes.Buffer
	tool := fakes.NewTool("look", "Looks at a message.", "seen").Tool()
	config := adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tool}, Executor: adk.Executor{Name: "model",
		Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if dc.Iteration() == 1 { // the state before it has the message
				_, err := dc.Messages().Remove(id)
				return errors.Join(err, dc.Ack())
			}
			if _, err := h.ReportMessage(id, "hello", true); err != nil {
				return err
			}
			m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleAssistant, Content: "hello", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
			if err != nil {
				return err
			}
			if _, err := dc.Messages().Add(m); err != nil {
				return err
			}
			if _, err := dc.Execute(ctx, tool, map[string]any{"of": id, "depth": 1.0}); err != nil {
				return err
			}
			_, err = adk.Ask(ctx, "archive", map[string]string{"see": "/messages/" + id}, func(context.Context, map[string]string) (string, error) {
				return "kept", nil
			})
			return err
		}}}
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&file)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Talk."}))
	read, err := trace.Read(&file)
	require.NoError(t, err)
	return read
}

func every(*calls.Call) bool { return true }

// A new run in which the ids are replaced by the recorded ones that they stand for equals the
// recorded run to the last byte: also in arguments and requests, and in the checksums of calls and
// the digests of states, which depend on the ids.
func TestAppliedIDsMakeTheRecordedRun(t *testing.T) {
	want, got := run(t, "message-one"), run(t, "message-two")
	ids := rename.New(calls.Of(want), every)
	assert.False(t, ids.Any())
	assert.NotEqual(t, text(t, want.Lines()), text(t, ids.Apply(got.Lines())), "as long as nothing stands for anything")

	require.True(t, ids.May("message-one", "message-two"))
	ids.Pair("message-one", "message-two")
	assert.True(t, ids.Any())
	recorded, found := ids.Wanted("message-two")
	assert.True(t, found)
	assert.Equal(t, "message-one", recorded)
	before := text(t, got.Lines())
	for _, line := range got.Lines() {
		ids.Recorded(&line.Crossing) // this pairs the checksums of calls
	}
	assert.Equal(t, text(t, want.Lines()), text(t, ids.Apply(got.Lines())))
	assert.Equal(t, before, text(t, got.Lines()), "the run itself is left as it was")
}

// text is the lines as a trace writes them.
func text(t *testing.T, lines []trace.Line) string {
	var out bytes.Buffer
	w := trace.NewWriter(&out, trace.Header{})
	for _, line := range lines {
		require.NoError(t, w.Write(&line.Crossing))
	}
	return out.String()
}

// Ids pair one to one, and only ids that live code made are paired: an id that came from the
// context, or that the recording contains, stands for itself.
func TestIDsPairOneToOne(t *testing.T) {
	tree := calls.Of(run(t, "message-one"))
	ids := rename.New(tree, every)
	assert.True(t, ids.May("message-one", "new"))
	assert.False(t, ids.May("unheard-of", "new"), "nobody recorded it")
	ids.Pair("message-one", "new")
	assert.True(t, ids.May("message-one", "new"), "again")
	assert.False(t, ids.May("message-one", "newer"), "it is taken")
	assert.False(t, ids.Keeps("message-one", "message-one"), "another one stands for it")
	recorded, _ := ids.Wanted("message-one")
	assert.Equal(t, "new", recorded, "and takes that one's name")

	ids = rename.New(tree, every)
	assert.True(t, ids.Keeps("message-one", "message-one"))
	assert.False(t, ids.May("message-one", "new"), "it stands for itself")

	ids = rename.New(tree, func(*calls.Call) bool { return false })
	assert.False(t, ids.May("message-one", "new"), "the recording gives it again")
	assert.True(t, ids.Keeps("message-one", "message-one"))
}

// An operation with an id gets the given id in its place; the original crossing does not change.
func TestWithID(t *testing.T) {
	named := 0
	for _, line := range run(t, "message-one").Lines() {
		x := line.Crossing
		id := rename.IDOf(&x)
		if id == "" {
			continue
		}
		named++
		assert.Equal(t, "message-one", id, "%s", x.Kind)
		assert.Equal(t, "other", rename.IDOf(rename.WithID(&x, "other")), "%s", x.Kind)
		assert.Equal(t, id, rename.IDOf(&x))
	}
	assert.Equal(t, 3, named, "the report, and what was added and removed")
}

// Inside of a text, an id must stand between characters that no id contains, and be long enough
// not to be a word by chance.
func TestInText(t *testing.T) {
	ids := rename.New(calls.Of(run(t, "message-one")), every)
	assert.Equal(t, `"at message-two"`, string(ids.InText([]byte(`"at message-two"`))))
	ids.Pair("message-one", "message-two")
	ids.Pair("short", "brief")
	for in, want := range map[string]string{
		``:                             ``,
		`"message-two"`:                `"message-one"`,
		`{"a":"/message-two/x","b":1}`: `{"a":"/message-one/x","b":1}`,
		`"message-two,message-two"`:    `"message-one,message-one"`,
		`"message-twofold"`:            `"message-twofold"`,
		`"a.message-two"`:              `"a.message-two"`,
		`"\nmessage-two"`:              `"\nmessage-one"`,
		`"\u0041message-two"`:          `"\u0041message-one"`,
		`"brief"`:                      `"brief"`,
		`"cut \`:                       `"cut \`,
	} {
		assert.Equal(t, want, string(ids.InText([]byte(in))), in)
	}
}

// Random ids in requests pair one to one if everything else is the same, and only ids that had not
// occurred before.
func TestRandomIDsOfRequests(t *testing.T) {
	const (
		made  = "0b6f0f0e-6c2e-4a54-9d36-0a2f3f0f8a11"
		mine  = "5d1c2b7a-93c8-4f0f-8e56-7b1d0c9e4f22"
		third = "018f4e2a-7c3b-7d10-a9c1-3e5f7a9b1c33" // of version 7
		given = "c2d3e4f5-0a1b-4c2d-9e3f-4a5b6c7d8e44"
		name  = "6ba7b810-9dad-11d1-80b4-00c04fd430c8" // of version 1, as ids that name something are
	)
	recorded := calls.Of(asked(t, `{"key":"`+made+`","see":"`+given+`","of":"`+name+`"}`, given))
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{`{"key":"` + made + `"}`, `{"key":"` + mine + `"}`, true},
		{`{"key":"` + made + `"}`, `{"key":"` + third + `"}`, true},
		{`{"key":"session_` + made + `","n":1}`, `{"key":"session_` + mine + `","n":1}`, true},
		{`{"key":"` + made + `"}`, `{"key":"` + made + `"}`, false},                 // there is nothing to pair
		{`{"key":"` + made + `","n":1}`, `{"key":"` + mine + `","n":2}`, false},     // something else differs
		{`{"key":"\n` + made + `"}`, `{"key":"\t` + mine + `"}`, false},             // here too
		{`{"key":"` + made + `"}`, `{"key":"` + given + `"}`, false},                // that id stands for itself
		{`{"key":"` + given + `"}`, `{"key":"` + mine + `"}`, false},                // the recording contains it
		{`{"key":"` + third + `"}`, `{"key":"` + mine + `"}`, false},                // it was not recorded
		{`{"key":"` + name + `"}`, `{"key":"` + name[:35] + `9"}`, false},           // it is not random
		{`{"key":"x` + made[1:] + `"}`, `{"key":"y` + made[1:] + `"}`, false},       // nor is text that is no UUID
		{`{"key":"` + made + `"}`, `{"key":"` + made[:9] + made[9:] + ` "}`, false}, // another length
	} {
		ids := rename.New(recorded, every)
		assert.Equal(t, c.same, ids.PairRequests([]byte(c.want), []byte(c.got)), "%s %s", c.want, c.got)
		assert.Equal(t, c.same, ids.Any(), c.got)
		if c.same {
			assert.Equal(t, c.want, string(ids.InText([]byte(c.got))))
			assert.False(t, ids.PairRequests([]byte(c.want), []byte(`{"key":"`+given+`"}`)), "it is taken")
			assert.Equal(t, 1, ids.Random())
		}
	}
	ids := rename.New(recorded, every)
	for _, x := range recorded.Lines {
		ids.Again(x.Seq)
	}
	assert.False(t, ids.PairRequests([]byte(`"`+made+`"`), []byte(`"`+mine+`"`)), "it stands for itself")
	ids = rename.New(recorded, every)
	ids.PairMembers([]byte(`{"key":"`+made+`","n":1,"see":"`+given+`"}`), []byte(`{"n":2,"key":"`+mine+`","see":"`+third+`"}`))
	assert.Equal(t, `"`+made+`"`, string(ids.InText([]byte(`"`+mine+`"`))), "whatever else has changed")
	assert.Equal(t, 1, ids.Random())
}

// asked records a run whose executor makes one request, in a turn with the instruction.
func asked(t *testing.T, request, instruction string) *trace.Trace {
	var file bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model",
		Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, err := adk.Ask(ctx, "archive", json.RawMessage(request), func(_ context.Context, r json.RawMessage) (json.RawMessage, error) { return r, nil })
			return errors.Join(err, dc.Ack())
		}}}, replay.Record(&file)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x", Instructions: []string{instruction}}))
	recorded, err := trace.Read(&file)
	require.NoError(t, err)
	return recorded
}

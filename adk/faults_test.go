package adk_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// faultsOf returns the faults that an error lists.
func faultsOf(t *testing.T, err error) []adk.Fault {
	t.Helper()
	var ours *adk.Error
	require.ErrorAs(t, err, &ours)
	require.NotEmpty(t, ours.Faults)
	return ours.Faults
}

func pathsOf(faults []adk.Fault) (paths []string) {
	for _, f := range faults {
		paths = append(paths, f.Path)
	}
	return paths
}

// ERR-1, TOL-2, GAT-3, RUN-1: an error with several faults has them as a list too. Each says where it
// is, and never shows the value.
func TestErrorsListTheirFaults(t *testing.T) {
	counts := tool("count", done)
	_, err := counts.Validate(map[string]any{"n": "secret", "m": 1})
	assert.Equal(t, []adk.Fault{{Path: "/m", Keyword: "additionalProperties", Message: "/m: additionalProperties"},
		{Path: "/n", Keyword: "type", Message: "/n: type, want integer"}}, faultsOf(t, err))

	_, err = adk.NewMessage(adk.MessageInit{Role: "judge"})
	assert.Equal(t, []string{"id", "role", "content", "createdAt", "updatedAt"}, pathsOf(faultsOf(t, err)))

	_, err = adk.NewTool(adk.ToolInit{Name: "t", Description: "d", InputSchema: []byte("{}"), Effect: "some"})
	assert.Equal(t, []string{"InputSchema", "Handler", "Effect"}, pathsOf(faultsOf(t, err)))
	assert.Equal(t, "want a function", faultsOf(t, err)[1].Message)

	_, err = adk.NewRunner(adk.Config{Storage: newConfig().Storage, TurnInput: []adk.TurnMiddleware{{Run: turnStep("", onward).Run}}})
	assert.Equal(t, []adk.Fault{{Path: "Executor.Name", Message: "is empty: give the executor a name"}, {Path: "Executor.Run", Message: "is missing"},
		{Path: "TurnInput[0].Name", Message: "is empty: every middleware has a name"}}, faultsOf(t, err))
	assert.ErrorContains(t, err, "Executor.Run is missing; TurnInput[0].Name is empty")

	var none context.Context
	err = newRunner(t, newConfig()).Run(none, adk.RawTurn{SystemPrompt: "Go.", Instructions: []string{"a", "a"}, Stash: map[string]any{"a.b": 1}})
	assert.Equal(t, []string{"Instructions[1]", "Stash", ""}, pathsOf(faultsOf(t, err)))
	_, err = adk.Dispatch(context.Background(), adk.DispatchInput{Name: "d", Executor: ackAt(0)})
	assert.Equal(t, []adk.Fault{{Message: "neither Source nor Raw is given: give the context of a turn or a dispatch, or a raw one"}}, faultsOf(t, err))

	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		_, err := e.Gate.Resolve("ann", "secret")
		assert.Equal(t, []adk.Fault{{Keyword: "type", Message: "(root): type, want boolean"}}, faultsOf(t, err))
		assert.True(t, must(e.Gate.Resolve("ann", true)))
	}
	runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r", Schema: []byte(`{"type":"boolean"}`)})
		return errors.Join(err, dc.Ack())
	}), raw)
}

// GAT-1, GAT-3: the typed wait uses the schema of its type, and returns a value of the type.
func TestTypedWait(t *testing.T) {
	type answer struct {
		Approved bool   `json:"approved"`
		Why      string `json:"why,omitempty"`
	}
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		_, err := e.Gate.Resolve("ann", map[string]any{"approved": "yes"})
		assert.ErrorIs(t, err, adk.E_INVALID_TURN_GATE_RESOLUTION)
		assert.True(t, must(e.Gate.Resolve("ann", map[string]any{"approved": true})))
	}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		given, err := adk.WaitFor[answer](ctx, dc, adk.Gate{ID: "g", Reason: "r"})
		assert.NoError(t, err)
		assert.Equal(t, answer{Approved: true}, given)
		require.NoError(t, dc.Abort(errBoom))
		_, err = adk.WaitFor[answer](ctx, dc, adk.Gate{ID: "h", Reason: "r"})
		assert.ErrorIs(t, err, errBoom)
		return nil
	})
	runTurn(t, config, raw)
}

// GAT-1: a resolution that the schema accepts but that is not a value of the type is an error.
func TestTypedWaitMisfits(t *testing.T) {
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { must(e.Gate.Resolve("ann", "text")) }
	runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := adk.WaitFor[int](ctx, dc, adk.Gate{ID: "g", Reason: "r", Schema: []byte("true")})
		assert.ErrorContains(t, err, "is no int")
		text, err := adk.WaitFor[string](ctx, dc, adk.Gate{ID: "h", Reason: "r"})
		assert.NoError(t, err)
		assert.Equal(t, "text", text)
		return dc.Ack()
	}), raw)
}

// RUN-13, DEL-1: Keep stores a record and adds it to the set, on every context. When the storage
// fails, the set stays unchanged.
func TestKeep(t *testing.T) {
	store := &book{answer: func(_ context.Context, _ adk.Scope, call string) error {
		if call == "messages.store bad" {
			return errBoom
		}
		return nil
	}}
	keep := func(ctx context.Context, h adk.Handle, prefix string) {
		require.NoError(t, h.Messages().Keep(ctx, message(prefix)))
		assert.True(t, h.Messages().Has(prefix))
		assert.Same(t, errBoom, h.Messages().Keep(ctx, message("bad")))
		assert.False(t, h.Messages().Has("bad"))
	}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		keep(ctx, dc.Handle, "d")
		return dc.Ack()
	})
	config.Storage = store.storage()
	pipelines[0].put(&config, "m", func(ctx context.Context, h adk.Handle, next adk.Next) error {
		keep(ctx, h, "t")
		next(ctx)
		return nil
	})
	runTurn(t, config, hello)
	assert.Equal(t, []string{"messages.store t", "messages.store bad", "messages.store d", "messages.store bad"}, store.all())
}

// PRM-6: a thought whose text the provider does not disclose has only a payload.
func TestRedactedThought(t *testing.T) {
	init := adk.ThoughtInit{ID: "t", Payload: "opaque", ReplayCompatibility: "v1", CreatedAt: noon, UpdatedAt: noon}
	redacted := must(adk.NewThought(init))
	assert.Nil(t, redacted.Content())
	assert.Equal(t, init.Payload, redacted.Init().Payload)
	back := must(adk.ParseRecord(adk.RecordThought, must(redacted.MarshalJSON())))
	assert.Equal(t, redacted.Digest(), back.Digest())
	_, err := adk.NewThought(adk.ThoughtInit{ID: "t", CreatedAt: noon, UpdatedAt: noon})
	assert.ErrorContains(t, err, "want one of them or both")
}

// PRM-8: a reader may tell the size of a media without being read. It is asked once, and the media keeps
// the answer: as JSON, with another reader, and when it is made anew.
func TestMediaSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "five")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	unread := adk.MediaFunc(func(context.Context) (io.ReadCloser, error) { panic("is read") })
	seven := int64(7)
	for name, c := range map[string]struct {
		reader adk.MediaReader
		beside *int64
		n      int64
		known  bool
	}{
		"bytes": {adk.MediaBytes([]byte("123")), nil, 3, true}, "no bytes": {adk.MediaBytes(nil), nil, 0, true}, "file": {adk.MediaFile(path), nil, 5, true},
		"no file": {adk.MediaFile(path + "?"), nil, 0, false}, "function": {unread, nil, 0, false},
		"beside a function": {unread, &seven, 7, true}, "beside bytes": {adk.MediaBytes([]byte("123")), &seven, 3, true},
	} {
		init := picture("p", unread).Init()
		init.Reader, init.Size = c.reader, c.beside
		media := must(adk.NewMedia(init))
		read := must(adk.ParseRecord(adk.RecordMedia, must(media.MarshalJSON()))).(*adk.Media)
		again := read.WithReader(unread).Init()
		for of, m := range map[string]*adk.Media{"itself": media, "from JSON": read, "made anew": must(adk.NewMedia(again)), "with none": media.WithReader(nil)} {
			n, known := m.Size()
			assert.Equal(t, c.n, n, "%s, %s", name, of)
			assert.Equal(t, c.known, known, "%s, %s", name, of)
			assert.Equal(t, media.Digest(), m.Digest(), "%s, %s", name, of)
		}
	}
	_, known := (&adk.Media{}).Size()
	assert.False(t, known)
	_, err := adk.ParseRecord(adk.RecordMedia, []byte(strings.Replace(string(must(picture("p", unread).MarshalJSON())), "{", `{"size":-1,`, 1)))
	assert.ErrorContains(t, err, "size: is -1, want the length of the bytes, or nil where nobody knows it")
}

package adk_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// faultsOf are the faults that an error lists.
func faultsOf(t *testing.T, err error) []adk.Fault {
	t.Helper()
	var ours *adk.Error
	require.ErrorAs(t, err, &ours)
	require.NotEmpty(t, ours.Faults)
	return ours.Faults
}

// ERR-1, TOL-2, GAT-3, RUN-1: an error that lists faults has them one by one too,
// with where each is, and never the value.
func TestErrorsListTheirFaults(t *testing.T) {
	counts := tool("count", done)
	_, err := counts.Validate(map[string]any{"n": "secret", "m": 1})
	assert.Equal(t, []adk.Fault{{Path: "/m", Keyword: "additionalProperties", Message: "/m: additionalProperties"},
		{Path: "/n", Keyword: "type", Message: "/n: type, want integer"}}, faultsOf(t, err))

	_, err = adk.NewMessage(adk.MessageInit{Role: "judge"})
	var paths []string
	for _, f := range faultsOf(t, err) {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{"id", "role", "content", "createdAt", "updatedAt"}, paths)

	_, err = adk.NewRunner(adk.Config{Storage: newConfig().Storage, TurnInput: []adk.TurnMiddleware{{Run: turnStep("", onward).Run}}})
	paths = nil
	for _, f := range faultsOf(t, err) {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{"Executor.Name", "Executor.Run", "TurnInput[0].Name"}, paths)

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

// GAT-1, GAT-3: the typed wait has the schema of its type, and gives a value of it.
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

// GAT-1: what no schema kept out and is no value of the type is an error.
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

// RUN-13, DEL-1: Keep stores and has the record in the set, on every context; a
// storage that fails leaves nothing.
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

// PRM-6: a thought whose text the provider keeps to itself has a payload alone.
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

// PRM-8: a reader may tell how much there is without being read.
func TestMediaSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "five")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	unread := func(context.Context) (io.ReadCloser, error) { panic("is read") }
	sizeOf := func(reader adk.MediaReader) (n int64, known bool) {
		return picture("p", unread).WithReader(reader).Size()
	}
	for name, c := range map[string]struct {
		reader adk.MediaReader
		n      int64
		known  bool
	}{
		"bytes": {adk.MediaBytes([]byte("123")), 3, true}, "file": {adk.MediaFile(path), 5, true},
		"no file": {adk.MediaFile(path + "?"), 0, false}, "function": {adk.MediaFunc(unread), 0, false}, "none": {nil, 0, false},
	} {
		n, known := sizeOf(c.reader)
		assert.Equal(t, c.n, n, name)
		assert.Equal(t, c.known, known, name)
	}
	_, known := (&adk.Media{}).Size()
	assert.False(t, known)
}

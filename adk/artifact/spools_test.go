package artifact_test

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

func dirSpool(t *testing.T) *artifact.DirSpool {
	t.Helper()
	spool, err := artifact.NewDirSpool(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, spool.Close()) })
	return spool
}

// SPL-1, SPL-2, SPL-3, SPL-4, SPL-5, SPL-6, SPL-8, SPL-11: the spools of this package pass the suite.
func TestSpools(t *testing.T) {
	thorough.Long(t)
	assert.NoError(t, fakes.TestSpool(func() artifact.Spool { return artifact.NewMemorySpool() }))
	assert.NoError(t, fakes.TestSpool(func() artifact.Spool { return dirSpool(t) }))
	assert.NoError(t, fakes.TestSpool(func() artifact.Spool { return artifact.Prefixed(artifact.NewMemorySpool(), "part/") }))
}

// forgetful is a spool with a flaw.
type forgetful struct {
	artifact.Spool
	flaw string
}

func (f forgetful) Write(ctx context.Context, key string, body io.Reader) (artifact.Entry, error) {
	data, err := io.ReadAll(io.LimitReader(body, 2<<20)) // more than the other spool accepts
	if f.flaw == "text" {
		data = []byte(strings.ToValidUTF8(string(data), "?"))
	}
	entry, writing := f.Spool.Write(ctx, key, strings.NewReader(string(data)))
	switch f.flaw {
	case "half": // keeps the bytes that came before the body failed
		return entry, errors.Join(err, writing)
	case "count":
		entry.Lines++
	}
	if err != nil {
		return artifact.Entry{}, err
	}
	return entry, writing
}

func (f forgetful) Read(ctx context.Context, key string) (adk.MediaReader, bool, error) {
	reader, found, err := f.Spool.Read(ctx, key)
	if f.flaw == "unknown" && !found {
		return nil, false, errors.New("no such key")
	}
	return reader, found, err
}

// SPL-11: the suite finds each flaw, and names the rule that it breaks.
func TestSpoolSuiteSees(t *testing.T) {
	for flaw, rule := range map[string]string{"text": "SPL-1: any bytes", "count": "SPL-1: any bytes", "half": "SPL-2: a write", "unknown": "SPL-3", "small": "SPL-1: a body of 32 MiB"} {
		err := fakes.TestSpool(func() artifact.Spool { return forgetful{&artifact.MemorySpool{MaxBytes: 1 << 20}, flaw} })
		assert.ErrorContains(t, err, rule, flaw)
	}
}

// SPL-7: a body that is too long gives E_SPOOL_TOO_LARGE, and no part of it is kept.
func TestSpoolsAreBounded(t *testing.T) {
	dir := dirSpool(t)
	dir.MaxBytes = 10
	for _, spool := range []artifact.Spool{&artifact.MemorySpool{MaxBytes: 10}, dir} {
		_, err := spool.Write(t.Context(), "k", strings.NewReader("0123456789"))
		require.NoError(t, err)
		_, err = spool.Write(t.Context(), "k", strings.NewReader("0123456789x"))
		assert.ErrorIs(t, err, adk.E_SPOOL_TOO_LARGE)
		reader, _, err := spool.Read(t.Context(), "k")
		require.NoError(t, err)
		assert.Equal(t, "0123456789", text(t, reader))
	}
}

func text(t *testing.T, reader adk.MediaReader) string {
	t.Helper()
	stream, err := reader.Open(t.Context())
	require.NoError(t, err)
	data, err := io.ReadAll(stream)
	require.NoError(t, errors.Join(err, stream.Close()))
	return string(data)
}

// SPL-2, SPL-8: a directory spool outlives its process: another process finds what was written, does
// not see what a crash left behind, and follows no link out of the directory.
func TestDirSpoolOutlivesAProcess(t *testing.T) {
	dir := t.TempDir()
	first, err := artifact.NewDirSpool(dir)
	require.NoError(t, err)
	_, err = first.Write(t.Context(), "a/b", strings.NewReader("body\n"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0123.99.1.body"), []byte("half"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0123.entry.99.1.tmp"), []byte("{"), 0o600))
	require.NoError(t, first.Close())
	second, err := artifact.NewDirSpool(dir)
	require.NoError(t, err)
	defer func() { assert.NoError(t, second.Close()) }()
	reader, found, err := second.Read(t.Context(), "a/b")
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, "body\n", text(t, reader))
	var keys []string
	for entry, err := range second.List(t.Context(), "") {
		require.NoError(t, err)
		assert.False(t, entry.Written.IsZero())
		keys = append(keys, entry.Key)
	}
	assert.Equal(t, []string{"a/b"}, keys)
	for range 20 { // the files of replaced bodies are gone
		_, err = second.Write(t.Context(), "a/b", strings.NewReader("again"))
		require.NoError(t, err)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 4, "an entry, its body, and what the crash left")
}

// SPL-2: a body whose reader fails or panics is not kept, and no file of it is left.
func TestBodyThatPanics(t *testing.T) {
	dir := t.TempDir()
	spool, err := artifact.NewDirSpool(dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, spool.Close()) })
	assert.Panics(t, func() {
		_, _ = spool.Write(t.Context(), "k", io.MultiReader(strings.NewReader("half"), panicking{}))
	})
	_, err = spool.Write(t.Context(), "k", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrClosedPipe)))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("gone") }

// SPL-6: a negative threshold is refused, and a pass over the body that failed is repeated.
func TestLineReader(t *testing.T) {
	_, err := artifact.NewLineReader(artifact.MemoryReader(nil), -1)
	assert.ErrorIs(t, err, adk.E_INVALID_ARTIFACT_CONFIG)
	opened := 0
	flaky := adk.MediaFunc(func(ctx context.Context) (io.ReadCloser, error) {
		if opened++; opened == 1 {
			return nil, errors.New("not now")
		}
		return artifact.MemoryReader([]byte("a\nb\nc")).Open(ctx)
	})
	lines, err := artifact.NewLineReader(flaky, 0)
	require.NoError(t, err)
	assert.Zero(t, opened, "nothing is read before the first question")
	_, err = lines.LineCount(t.Context())
	assert.ErrorContains(t, err, "not now")
	line, ok, err := lines.Line(t.Context(), 2)
	require.NoError(t, err)
	assert.Equal(t, []any{"c", true}, []any{line, ok})
	assert.Equal(t, 3, opened, "one pass, and the line from the beginning, as there are no ranges")
}

// SPL-6: a caller that waits for another caller's pass returns when its own context ends, and the pass goes
// on. What is already known needs no pass.
func TestLineReaderWaitsWithinTheContext(t *testing.T) {
	gone, begun, goOn := errors.New("left"), make(chan struct{}), make(chan struct{})
	lines, err := artifact.NewLineReader(adk.MediaFunc(func(ctx context.Context) (io.ReadCloser, error) {
		close(begun)
		<-goOn
		return artifact.MemoryReader([]byte("a\nb")).Open(ctx)
	}), math.MaxInt64)
	require.NoError(t, err)
	counted, left := make(chan int, 1), make(chan error, 1)
	go func() {
		n, err := lines.LineCount(t.Context())
		assert.NoError(t, err)
		counted <- n
	}()
	<-begun
	ctx, leave := context.WithCancelCause(t.Context())
	go func() {
		_, err := lines.LineCount(ctx)
		left <- err
	}()
	leave(gone)
	select {
	case err := <-left:
		assert.ErrorIs(t, err, gone)
	case <-time.After(patience.Long / 10):
		t.Error("it waits for the pass of another")
	}
	close(goOn)
	assert.Equal(t, 2, <-counted)
	for range 20 { // whichever case a select would choose
		n, err := lines.LineCount(ctx)
		require.NoError(t, err)
		assert.Equal(t, 2, n)
	}
}

// SPL-9: Sweep deletes what nobody uses and is old enough.
func TestSweep(t *testing.T) {
	spool := artifact.NewMemorySpool()
	for _, key := range []string{"used", "orphan"} {
		_, err := spool.Write(t.Context(), key, strings.NewReader("x"))
		require.NoError(t, err)
	}
	isUsed := func(_ context.Context, key string) (bool, error) { return key == "used", nil }
	deleted, err := artifact.Sweep(t.Context(), spool, isUsed, time.Time{})
	require.NoError(t, err)
	assert.Zero(t, deleted, "all are younger")
	deleted, err = artifact.Sweep(t.Context(), spool, isUsed, time.Now().Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, 1, deleted)
	assert.Equal(t, 1, spool.Len())
}

// SPL-2, SPL-9: Sweep deletes what a crash left in a directory between writing a body and its entry,
// and nothing else.
func TestSweepAfterACrash(t *testing.T) {
	dir := t.TempDir()
	spool, err := artifact.NewDirSpool(dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, spool.Close()) })
	_, err = spool.Write(t.Context(), "used", strings.NewReader("whole"))
	require.NoError(t, err)
	for _, name := range []string{"a.1.1.body", "a.1.2.tmp", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("left"), 0o600))
	}
	isUsed := func(context.Context, string) (bool, error) { return true, nil }
	left := func() int {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		return len(entries)
	}
	deleted, err := artifact.Sweep(t.Context(), spool, isUsed, time.Now().Add(-time.Hour))
	require.NoError(t, err)
	assert.Zero(t, deleted, "somebody may be writing them")
	assert.Equal(t, 5, left())
	deleted, err = artifact.Sweep(t.Context(), spool, isUsed, time.Now().Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, 1, deleted)
	assert.Equal(t, 3, left(), "the body with its entry, and what is no file of a spool")
	reader, found, err := spool.Read(t.Context(), "used")
	require.NoError(t, err)
	require.True(t, found)
	stream, err := reader.Open(t.Context())
	require.NoError(t, err)
	body, err := io.ReadAll(stream)
	require.NoError(t, errors.Join(err, stream.Close()))
	assert.Equal(t, "whole", string(body))
}

// call makes a tool call with a result.
func call(t *testing.T, id string, results adk.ToolResult) *adk.ToolCall {
	t.Helper()
	made, err := adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: "fetch", Args: map[string]any{}, Results: results, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch, CompletedAt: fakes.Epoch})
	require.NoError(t, err)
	return made
}

// inTurn runs do in the executor of a turn.
func inTurn(t *testing.T, storage adk.Storage, do func(ctx context.Context, dc *adk.DispatchContext), watch ...adk.Probe) {
	t.Helper()
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: storage, Executor: adk.Executor{Name: "test", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		do(ctx, dc)
		return dc.Ack()
	}}}, watch...))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "test", Stash: map[string]any{"storage": map[string]any{"tenant": "acme/../x", "session": "s1"}}}))
}

// SPL-9, SPL-10, SPL-4: the body is kept before its record is stored. The turn's record has no key, and
// the stored record has one. Fetching restores the reader. Deleting the record deletes the body.
func TestSpooling(t *testing.T) {
	kept, spool := fakes.NewStorage(), artifact.NewMemorySpool()
	storage := artifact.Spooling(kept.Storage(), spool, artifact.SpoolingOptions{})
	made, err := artifact.JSON(t.Context(), adk.Text(`{"a":1}`))
	require.NoError(t, err)
	first := call(t, "../call 1", made)
	inTurn(t, storage, func(ctx context.Context, dc *adk.DispatchContext) {
		require.NoError(t, dc.ToolCalls().Store(ctx, first))
		require.NoError(t, dc.ToolCalls().Store(ctx, call(t, "2", adk.Text("plain"))))
		own, _ := dc.ToolCalls().Get("../call 1")
		mark, _ := artifact.Of(own.Results().(*adk.Media))
		assert.Empty(t, mark.Key)

		fetched, err := dc.ToolCalls().Fetch(ctx)
		require.NoError(t, err)
		mark, marked := artifact.Of(fetched[0].Results().(*adk.Media))
		require.True(t, marked)
		assert.Regexp(t, `^acme%2F\.\.%2Fx/s1/\.\.%2Fcall%201~sha256:[0-9a-f]{32}~[0-9a-f]{16}$`, mark.Key)
		data, err := fetched[0].Results().(*adk.Media).Bytes(ctx)
		require.NoError(t, err)
		assert.Equal(t, `{"a":1}`, string(data))

		// This also holds for a record that was parsed from JSON alone.
		text, err := fetched[0].MarshalJSON()
		require.NoError(t, err)
		parsed, err := adk.RecordParser{MediaReader: artifact.Readers(spool)}.Parse(adk.RecordToolCall, text)
		require.NoError(t, err)
		data, err = parsed.(*adk.ToolCall).Results().(*adk.Media).Bytes(ctx)
		require.NoError(t, err)
		assert.Equal(t, `{"a":1}`, string(data))

		assert.Equal(t, 1, spool.Len())
		require.NoError(t, dc.ToolCalls().Mutate(ctx, first))
		assert.Equal(t, 1, spool.Len(), "the same body has the same key")
		require.NoError(t, dc.ToolCalls().Delete(ctx, "../call 1"))
		assert.Zero(t, spool.Len())
	})
}

// SPL-9: when the spool fails, the obligation fails with its error, and no record is stored.
// Attachments and plain media are kept if the options ask for it.
func TestSpoolingFailsAndKeepsMore(t *testing.T) {
	kept := fakes.NewStorage()
	storage := artifact.Spooling(kept.Storage(), &artifact.MemorySpool{MaxBytes: 3}, artifact.SpoolingOptions{})
	made, err := artifact.Text(t.Context(), adk.Text("long"))
	require.NoError(t, err)
	inTurn(t, storage, func(ctx context.Context, dc *adk.DispatchContext) {
		assert.ErrorIs(t, dc.ToolCalls().Store(ctx, call(t, "1", made)), adk.E_SPOOL_TOO_LARGE)
	})
	assert.Empty(t, kept.ToolCalls())

	spool := artifact.NewMemorySpool()
	storage = artifact.Spooling(fakes.NewStorage().Storage(), spool, artifact.SpoolingOptions{Messages: true, Media: true})
	picture, err := adk.NewUserAttachment(adk.MediaInit{ID: "p", Kind: adk.MediaImage, MIMEType: "image/png", Filename: "p.png", Reader: adk.MediaBytes([]byte{0xff, 0})})
	require.NoError(t, err)
	message, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleUser, Attachments: []*adk.Media{picture}, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	require.NoError(t, err)
	inTurn(t, storage, func(ctx context.Context, dc *adk.DispatchContext) {
		require.NoError(t, dc.Messages().Store(ctx, message))
		assert.Equal(t, 1, spool.Len())
		fetched, err := dc.Messages().Fetch(ctx)
		require.NoError(t, err)
		media := fetched[0].Attachments()[0]
		_, marked := artifact.Of(media)
		assert.False(t, marked, "a picture that is kept is no artifact")
		data, err := media.Bytes(ctx)
		require.NoError(t, err)
		assert.Equal(t, []byte{0xff, 0}, data)
	})
}

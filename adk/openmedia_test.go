package adk_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
)

// picture is a media with its own reader.
func picture(id string, read func(ctx context.Context) (io.ReadCloser, error)) *adk.Media {
	return must(adk.NewUserAttachment(adk.MediaInit{ID: id, Kind: adk.MediaImage, MIMEType: "image/png", Filename: id + ".png", Reader: adk.MediaFunc(read)}))
}

func bytesOf(text string) func(context.Context) (io.ReadCloser, error) {
	return adk.MediaBytes([]byte(text)).Open
}

// opened returns the recorded openings: their media, and their results.
func opened(told []adk.Crossing) (media []*adk.Media, done []adk.Crossing) {
	for _, x := range told {
		switch {
		case x.Kind != adk.KindOpenMedia:
		case x.Phase == adk.Begin:
			media = append(media, x.Record.(*adk.Media))
		default:
			done = append(done, x)
		}
	}
	return media, done
}

// PRM-8, DET-6: opening a media through the context records its bytes, in two crossings between which
// the reader runs. Opening it without the context records nothing.
func TestOpenMedia(t *testing.T) {
	rec, config := &recorder{}, newConfig()
	config.Probe = rec
	var fetched *adk.Media
	config.TurnInput = []adk.TurnMiddleware{turnStep("look", func(ctx context.Context, h adk.Handle, next adk.Next) error {
		own := picture("own", func(ctx context.Context) (io.ReadCloser, error) { return bytesOf("inside")(ctx) })
		fetched = picture("fetched", func(ctx context.Context) (io.ReadCloser, error) { h.NewID(); return bytesOf("outside")(ctx) })
		data := must(h.OpenMedia(ctx, fetched))
		assert.Equal(t, "outside", string(data))
		assert.Equal(t, []byte{}, must(h.OpenMedia(ctx, picture("empty", bytesOf("")))))
		assert.Equal(t, "inside", string(must(own.Bytes(ctx))))
		_, err := h.OpenMedia(ctx, nil)
		assert.ErrorContains(t, err, "nil media")
		next(ctx)
		return nil
	})}
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	assert.Contains(t, strings.Join(rec.all(), "|"), "> turn-input/look|open-media(|new-id id2|)open-media|open-media(|)open-media|next(")
	media, done := opened(rec.crossings())
	require.Len(t, done, 2)
	assert.Same(t, fetched, media[0])
	assert.Equal(t, []byte("outside"), done[0].Value)
	assert.Equal(t, []byte{}, done[1].Value)
}

// PRM-8: a reader's error is returned and recorded unchanged, without bytes. A panic becomes
// an error.
func TestOpenMediaThatCannotBeRead(t *testing.T) {
	rec := &recorder{}
	cut := io.MultiReader(strings.NewReader("half"), errReader{})
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for want, read := range map[error]func(context.Context) (io.ReadCloser, error){
			errBoom:                  func(context.Context) (io.ReadCloser, error) { return nil, errBoom },
			io.ErrUnexpectedEOF:      func(context.Context) (io.ReadCloser, error) { return io.NopCloser(cut), nil },
			adk.E_NOT_A_MEDIA_READER: func(context.Context) (io.ReadCloser, error) { return nil, nil },
		} {
			data, err := dc.OpenMedia(ctx, picture("p", read))
			assert.ErrorIs(t, err, want)
			assert.Nil(t, data)
		}
		_, err := dc.OpenMedia(ctx, picture("p", func(context.Context) (io.ReadCloser, error) { panic(errBoom) }))
		var panicked *adk.PanicError
		require.ErrorAs(t, err, &panicked)
		assert.ErrorIs(t, err, errBoom)
		assert.Contains(t, string(panicked.Stack()), "TestOpenMediaThatCannotBeRead")
		_, err = dc.OpenMedia(ctx, picture("p", bytesOf("")).WithReader(nil))
		assert.ErrorIs(t, err, adk.E_NOT_A_MEDIA_READER)
		assert.ErrorContains(t, err, `media "p" holds no bytes`)
		return dc.Ack()
	})
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	_, done := opened(rec.crossings())
	assert.Len(t, done, 5)
	for _, x := range done {
		assert.Error(t, x.Err)
		assert.Nil(t, x.Value)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// ABT-7, ABT-5: an aborted turn opens nothing more. A reader that is already running has the
// cancelled context, and decides itself.
func TestOpenMediaInAnAbortedTurn(t *testing.T) {
	heard := &outcome{}
	lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		data, err := dc.OpenMedia(ctx, picture("quick", func(ctx context.Context) (io.ReadCloser, error) {
			require.NoError(t, dc.Abort(errBoom))
			return bytesOf("x")(ctx)
		}))
		assert.Equal(t, "x", string(data))
		assert.NoError(t, err)
		_, err = dc.OpenMedia(context.WithoutCancel(ctx), picture("late", func(context.Context) (io.ReadCloser, error) { panic("is read") }))
		assert.Same(t, errBoom, err)
		return err
	}), heard.watch(hello))
	assert.Contains(t, strings.Join(lines, "|"), "open-media(|abort|= cancel abort|)open-media|open-media(|)open-media boom|< executor/model#0 error")
	assert.Equal(t, adk.StatusAborted, heard.ends[0].Status)
	assert.Empty(t, heard.errors, "ABT-13")
}

// PIP-11: when a reader ends its goroutine, the operation is closed all the same.
func TestOpenMediaGoexit(t *testing.T) {
	lines := runToGoexit(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := dc.OpenMedia(ctx, picture("p", func(context.Context) (io.ReadCloser, error) { runtime.Goexit(); return nil, nil }))
		return errors.Join(err, dc.Ack())
	}), hello)
	at := slices.Index(lines, "open-media(")
	require.Positive(t, at)
	assert.Contains(t, lines[at+1], ")open-media user code ended its goroutine")
	assert.Contains(t, lines, "< executor/model#0 goexit")
	assert.Contains(t, lines, "! turnEnd")
}

// DET-4: when an observer panics on the bytes, nothing is disturbed. Without an observer an opening
// allocates no more than its bytes.
func TestOpenMediaUnobserved(t *testing.T) {
	allocs.Countable(t)
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		media := picture("p", bytesOf("x"))
		read := allocs.PerRun(50, func() { _ = must(media.Bytes(ctx)) })
		allocs.AtMost(t, read+1, 50, func() { _ = must(dc.OpenMedia(ctx, media)) }, "opening")
		return dc.Ack()
	})
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
}

// PRM-8: a parser gives every media its reader, wherever in a record the media is.
func TestRecordParserGivesReaders(t *testing.T) {
	cat := picture("cat", bytesOf("meow"))
	results := func(results adk.ToolResult) *adk.ToolCall {
		return must(adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "t", Args: "{}", Results: results, CreatedAt: noon, UpdatedAt: noon, CompletedAt: noon}))
	}
	parser := adk.RecordParser{MediaReader: func(m *adk.Media) adk.MediaReader { return adk.MediaBytes([]byte("bytes of " + m.ID())) }}
	for _, c := range []struct {
		record adk.Record
		media  func(adk.Record) *adk.Media
	}{
		{cat, func(r adk.Record) *adk.Media { return r.(*adk.Media) }},
		{must(adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleUser, Attachments: []*adk.Media{cat}, CreatedAt: noon, UpdatedAt: noon})),
			func(r adk.Record) *adk.Media { return r.(*adk.Message).Attachments()[0] }},
		{results(cat), func(r adk.Record) *adk.Media { return r.(*adk.ToolCall).Results().(*adk.Media) }},
		{results(adk.MediaList{cat}), func(r adk.Record) *adk.Media { return r.(*adk.ToolCall).Results().(adk.MediaList)[0] }},
		{must(adk.NewThought(adk.ThoughtInit{ID: "t", Content: "hm", Payload: []any{cat}, ReplayCompatibility: "x", CreatedAt: noon, UpdatedAt: noon})),
			func(r adk.Record) *adk.Media { return r.(*adk.Thought).Payload().([]any)[0].(*adk.Media) }},
	} {
		read, err := parser.Parse(c.record.RecordKind(), must(c.record.MarshalJSON()))
		require.NoError(t, err)
		assert.Equal(t, c.record.Digest(), read.Digest())
		assert.Equal(t, "bytes of cat", string(must(c.media(read).Bytes(t.Context()))), "%T", c.record)
	}
	assert.Equal(t, cat.Digest(), cat.WithReader(adk.MediaBytes(nil)).Digest())
}

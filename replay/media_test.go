package replay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// photo is a media whose reader returns what read returns; with a nil read it has no reader.
func photo(id string, read func() (string, error)) *adk.Media {
	return tracetest.Must(adk.NewUserAttachment(adk.MediaInit{ID: id, Kind: adk.MediaImage, MIMEType: "image/png", Filename: id + ".png",
		Reader: adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
			if read == nil {
				return io.NopCloser(strings.NewReader("")), nil
			}
			text, err := read()
			return io.NopCloser(strings.NewReader(text)), err
		})}))
}

func of(text string) func() (string, error) { return func() (string, error) { return text, nil } }

type execute = func(context.Context, *adk.DispatchContext, *adk.Helpers) error

// recordPhotos records a turn whose question has the media attached.
func recordPhotos(t *testing.T, executor execute, output []adk.TurnMiddleware, medias ...*adk.Media) []byte {
	question := tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "q1", Role: adk.RoleUser, Attachments: medias, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(adk.Config{
		Executor: adk.Executor{Name: "model", Run: executor}, Storage: fakes.NewStorage(question).Storage(),
		TurnInput: []adk.TurnMiddleware{{Name: "hydrate", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			for _, m := range tracetest.Must(tc.Messages().Fetch(ctx)) {
				_ = tracetest.Must(tc.Messages().Add(m))
			}
			next(ctx)
			return nil
		}}},
		TurnOutput: output,
	}, replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Look."}))
	return trace.Bytes()
}

func attached(dc *adk.DispatchContext, i int) *adk.Media {
	return dc.Messages().All()[0].Attachments()[i]
}

func verified(t *testing.T, trace []byte, live replay.Live) {
	t.Helper()
	report, err := replay.Verify(t.Context(), bytes.NewReader(trace), live)
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
}

// PRM-8: a replay returns the recorded result of each opening, and runs no reader.
func TestOpenedMediaPlayAgain(t *testing.T) {
	reads := 0
	counted := func(text string, err error) func() (string, error) {
		return func() (string, error) { reads++; return text, err }
	}
	same := photo("same", func() (string, error) {
		if reads++; reads%2 == 0 {
			return "", errors.New("503 Service Unavailable")
		}
		return "take " + string(rune('0'+reads)), nil
	})
	trace := recordPhotos(t, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for range 3 {
			_, _ = dc.OpenMedia(ctx, same)
		}
		_, _ = dc.OpenMedia(ctx, photo("empty", counted("", nil)))
		_, _ = dc.OpenMedia(ctx, photo("broken", counted("", io.ErrUnexpectedEOF)))
		_, _ = dc.OpenMedia(ctx, photo("hostile", func() (string, error) { reads++; panic("the codec fell over") }))
		_, _ = dc.OpenMedia(ctx, photo("fetched", func() (string, error) { reads++; return dc.NewID(), dc.Sleep(ctx, 5) }))
		one := tracetest.Must(dc.Fork(ctx, "one", func(ctx context.Context, dc *adk.DispatchContext) error {
			_, err := dc.OpenMedia(ctx, same)
			return err
		}))
		two := tracetest.Must(dc.Fork(ctx, "two", func(ctx context.Context, dc *adk.DispatchContext) error {
			_, err := dc.OpenMedia(ctx, same)
			return err
		}))
		_ = errors.Join(one.Wait(), two.Wait())
		return dc.Ack()
	}, nil, same)
	require.Equal(t, 9, reads)
	assert.Contains(t, string(trace), `"bytes":{"$bytes":"dGFrZSAx"}`)
	verified(t, trace, replay.Live{})
	assert.Equal(t, 9, reads, "a replay ran a reader")
}

// PIP-11: a reader that ends its goroutine does so again in a replay.
func TestReaderThatEndsItsGoroutinePlaysAgain(t *testing.T) {
	var trace []byte
	done := make(chan bool)
	go func() {
		defer close(done)
		var out bytes.Buffer
		runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NoOpStorage(),
			Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, err := dc.OpenMedia(ctx, photo("p", func() (string, error) { runtime.Goexit(); return "", nil }))
				return err
			}}}, replay.Record(&out))))
		defer func() { trace = out.Bytes() }()
		_ = runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Look."})
	}()
	<-done
	require.Contains(t, string(trace), `"outcome":"goexit"`)
	verified(t, trace, replay.Live{})
}

// Live code gets the recorded bytes of a media that was opened anywhere in the trace, with the
// context or without. For other media it gets an error that names the media (design: "what a trace
// does not hold it names").
func TestLiveCodeOpensRecordedMedia(t *testing.T) {
	var seen string
	var missing error
	look := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		seen = string(tracetest.Must(dc.OpenMedia(ctx, attached(dc, 0))))
		later, err := attached(dc, 1).Bytes(ctx)
		seen += " " + string(later)
		_, missing = attached(dc, 2).Bytes(ctx)
		return errors.Join(err, dc.Ack())
	}
	output := []adk.TurnMiddleware{{Name: "look", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		_, err := tc.OpenMedia(ctx, tc.Messages().All()[0].Attachments()[1])
		_ = tracetest.Must(tc.OpenMedia(ctx, photo("fetched", func() (string, error) {
			_, _ = tc.Messages().Fetch(ctx)
			_, _ = tc.OpenMedia(ctx, photo("inner", func() (string, error) { return tc.NewID(), nil }))
			return tc.NewID(), nil
		})))
		next(ctx)
		return err
	}}}
	trace := recordPhotos(t, look, output, photo("cat", of("meow")), photo("dog", of("woof")), photo("fish", of("blub")))
	require.NoError(t, missing)

	seen = ""
	verified(t, trace, replay.LiveExecutor(look))
	assert.Equal(t, "meow woof", seen)
	require.ErrorIs(t, missing, adk.E_NOT_A_MEDIA_READER)
	assert.EqualError(t, missing, `E_NOT_A_MEDIA_READER: the trace does not hold the bytes of media "fish" (image/png, "fish.png"): `+
		`nobody opened it through a context, as Handle.OpenMedia does`)
}

// Live code gets the recorded error of an opening, and its openings are compared: opening another
// media is reported at once.
func TestLiveCodeOpensOtherwise(t *testing.T) {
	var failure error
	opening := func(i int) execute {
		return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, failure = dc.OpenMedia(ctx, attached(dc, i))
			return dc.Ack()
		}
	}
	trace := recordPhotos(t, opening(0), nil, photo("cat", func() (string, error) { return "", io.ErrUnexpectedEOF }), photo("dog", of("woof")))
	failure = nil
	verified(t, trace, replay.LiveExecutor(opening(0)))
	require.ErrorIs(t, failure, io.ErrUnexpectedEOF)

	report, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.LiveExecutor(opening(1)))
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, "media.filename", report.Divergence.Fields[0].Field)
}

// The consequences of a divergence are also reported for a trace with media: the rest of the run
// opens the media again.
func TestImpactBehindAnOpening(t *testing.T) {
	recorded := recordPhotos(t, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := dc.OpenMedia(ctx, attached(dc, 0))
		return errors.Join(err, dc.Stash().Set("seen", dc.NewID()), dc.Ack())
	}, nil, photo("cat", of("meow")))
	edited := tracetest.Reseal(t, bytes.Replace(recorded, []byte(`"iterations":1`), []byte(`"iterations":2`), 1))
	report, err := replay.Verify(t.Context(), bytes.NewReader(edited), replay.Live{})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, "iterations", report.Divergence.Fields[0].Field)
	require.NotNil(t, report.Divergence.After)
	assert.Equal(t, replay.Impact{Equal: len(tracetest.Must(trace.Read(bytes.NewReader(recorded))).Lines()) - report.Divergence.Crossing}, *report.Divergence.After)
}

// A trace in memory holds the bytes of its media as well.
func TestMediaOfATraceInMemory(t *testing.T) {
	recorded, err := trace.Read(bytes.NewReader(recordPhotos(t, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := dc.OpenMedia(ctx, attached(dc, 0))
		return errors.Join(err, dc.Ack())
	}, nil, photo("cat", of("meow")), photo("dog", of("woof")))))
	require.NoError(t, err)
	for _, line := range recorded.Lines() {
		if line.Kind != adk.KindAdd {
			continue
		}
		medias := line.Record.(*adk.Message).Attachments()
		data, err := medias[0].Bytes(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "meow", string(data))
		_, err = medias[1].Bytes(t.Context())
		assert.ErrorIs(t, err, adk.E_NOT_A_MEDIA_READER)
		return
	}
	t.Fatal("no message was added")
}

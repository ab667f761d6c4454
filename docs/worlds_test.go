package docs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// errMissing stands for the error of a client that says that there is no such key.
var errMissing = errors.New("cache: missing")

var cacheSentinels = map[string]error{"cache.errMissing": errMissing}

// cache is a server of keys, with its locks.
type cache struct{ held map[string]string }

func (c *cache) get(context.Context, string) ([]byte, error) { return nil, errMissing }

func (c *cache) acquire(_ context.Context, l lock) (bool, error) {
	if c.held[l.Key] != "" {
		return false, nil
	}
	c.held[l.Key] = l.Token
	return true, nil
}

func (c *cache) release(_ context.Context, l lock) (bool, error) {
	mine := c.held[l.Key] == l.Token
	if mine {
		delete(c.held, l.Key)
	}
	return mine, nil
}

type lock struct {
	Key   string `json:"key"`
	Token string `json:"token"`
}

func (c *cache) locked(ctx context.Context, key string, work func() error) (err error) {
	l := lock{Key: key, Token: adk.NewID(ctx)}
	defer func() { // also where the answer was lost: it may be ours
		_, failed := adk.Ask(context.WithoutCancel(ctx), "cache: release", l, c.release,
			adk.AskOptions{Effect: adk.EffectWrites, Key: "release " + l.Token, AfterAbort: true})
		err = errors.Join(err, failed)
	}()
	mine, err := adk.Ask(ctx, "cache: acquire", l, c.acquire, adk.AskOptions{Effect: adk.EffectWrites, Key: l.Token})
	if err != nil {
		return err
	}
	if !mine {
		return errors.New("cache: " + key + " is locked")
	}
	return work()
}

type ran struct {
	Stdout []byte `json:"stdout"`
	Exit   int    `json:"exit"`
}

func command(ctx context.Context, argv ...string) (ran, error) {
	return adk.Ask(ctx, "exec: "+argv[0], argv, func(ctx context.Context, argv []string) (ran, error) {
		out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
			return ran{out, exit.ExitCode()}, nil
		}
		return ran{Stdout: out}, err // one that was killed, or never began
	})
}

// socket is a connection that gives a message at a time.
type socket interface {
	Read(ctx context.Context) ([]byte, error)
	Close() error
}

func listen(ctx context.Context, topic string, dial func(context.Context, string) (socket, error)) iter.Seq2[[]byte, error] {
	return adk.AskStream(ctx, "socket", topic, func(ctx context.Context, topic string, hand func([]byte) error) error {
		conn, err := dial(ctx, topic)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		for {
			message, err := conn.Read(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := hand(message); err != nil {
				return err // the reader has had enough
			}
		}
	}, adk.AskOptions{Effect: adk.EffectReads})
}

// messages is a socket.
type messages [][]byte

func (m *messages) Close() error { return nil }

func (m *messages) Read(context.Context) ([]byte, error) {
	if len(*m) == 0 {
		return nil, io.EOF
	}
	first := (*m)[0]
	*m = (*m)[1:]
	return first, nil
}

// worldly is an agent that asks all of them, and says what it got.
func worldly(c *cache, argv []string, dial func(context.Context, string) (socket, error)) adk.Config {
	return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		said := ""
		err := c.locked(ctx, "books", func() error {
			if _, err := adk.Ask(ctx, "cache: get", "total", c.get); !errors.Is(err, errMissing) {
				return errors.Join(errors.New("it is there"), err)
			}
			r, err := command(ctx, argv...)
			said += string(r.Stdout)
			if r.Exit != 0 {
				said += "failed"
			}
			for message, failed := range listen(ctx, "news", dial) {
				said += string(message)
				err = errors.Join(err, failed)
			}
			return err
		})
		if err != nil {
			return err
		}
		if _, err := h.ReportMessage(dc.NewID(), said, true); err != nil {
			return err
		}
		return dc.Ack()
	}}}
}

// What the page asks is recorded, and replayed where none of it is there.
func TestWorlds(t *testing.T) {
	world := &cache{held: map[string]string{}}
	dial := func(context.Context, string) (socket, error) { return &messages{[]byte("\xff"), []byte("b")}, nil }
	for _, argv := range [][]string{{"go", "env", "GOOS"}, {"go", "no-such-command"}} {
		var recorded bytes.Buffer
		runner, err := adk.NewRunner(fakes.Deterministic(worldly(world, argv, dial), replay.Record(&recorded, replay.RecordOptions{Sentinels: cacheSentinels})))
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be brief."}))
		assert.Empty(t, world.held)
		live := replay.Live{Config: worldly(nil, argv, nil), Seams: []string{replay.Executor}}
		report, err := replay.Verify(t.Context(), &recorded, live, trace.Options{Sentinels: cacheSentinels})
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, report)
	}
}

// The page shows what is run here, and in the module that has gRPC.
func TestWorldsPageShowsWhatRuns(t *testing.T) {
	page, err := os.ReadFile("worlds.md")
	require.NoError(t, err)
	var code []byte
	for _, file := range []string{"worlds_test.go", "../internal/sdks/grpc_test.go"} {
		more, err := os.ReadFile(file)
		require.NoError(t, err)
		code = append(code, more...)
	}
	shown := blocksOf(page)
	require.NotEmpty(t, shown)
	for _, b := range shown {
		require.Equal(t, "go", b.language)
		assert.True(t, bytes.Contains(code, []byte(b.content)), "the page has\n%s", b.content)
	}
}

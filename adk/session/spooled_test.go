package session_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
)

// report stores a tool call with a body; opened counts how often the body is read.
func report(ctx context.Context, dc *adk.DispatchContext, opened *int) error {
	text, err := artifact.Text(ctx, adk.NewTokenizable("a long report"))
	if err != nil {
		return err
	}
	media := text.(*adk.Media).WithReader(adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		*opened++
		return io.NopCloser(strings.NewReader("a long report")), nil
	}))
	call, err := adk.NewToolCall(adk.ToolCallInit{ID: "call", Tool: "report", Args: map[string]any{}, Results: media, CreatedAt: dc.Now(), UpdatedAt: dc.Now(), CompletedAt: dc.Now()})
	if err != nil {
		return err
	}
	return dc.ToolCalls().Store(ctx, call)
}

// spooling is a world whose hosts keep bodies in a spool.
func spooling(t *testing.T) (*world, artifact.Spool) {
	w, spool := newWorld(t), artifact.NewMemorySpool()
	kept, err := memory.New(storage.Config{Strict: new(true), Spool: spool})
	require.NoError(t, err)
	w.kept = kept
	return w, spool
}

func keysOf(t *testing.T, spool artifact.Spool) (keys []string) {
	for entry, err := range spool.List(t.Context(), "") {
		require.NoError(t, err)
		keys = append(keys, entry.Key)
	}
	return keys
}

// bodies returns the bodies of the tool calls of session one.
func (w *world) bodies() (bodies []string) {
	calls, err := w.kept.Storage().ToolCalls.Fetch(context.Background(), storage.Partition{Tenant: "shop", Session: "one"}.Scope())
	require.NoError(w.t, err)
	for _, call := range calls {
		body, err := call.Results().(*adk.Media).Open(context.Background())
		require.NoError(w.t, err)
		all, err := io.ReadAll(body)
		require.NoError(w.t, errors.Join(err, body.Close()))
		bodies = append(bodies, string(all))
	}
	return bodies
}

// SES-23: a body is read and spooled once, when a turn stores its record, under the turn's session, whatever
// the turn writes to its stash. The commit keeps the record with the key.
func TestBodiesAreSpooledWhenStaged(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		w, spool := spooling(t)
		opened, attempts, during := 0, 0, []string{}
		c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
			require.NoError(t, dc.Stash().Set("storage.tenant", "others"))
			if err := report(ctx, dc, &opened); err != nil {
				return err
			}
			during = keysOf(t, spool)
			if attempts++; attempts == 1 {
				return errBroken
			}
			return nil
		})
		if elsewhere {
			c.Store = newWorld(t).kept.Sessions()
		}
		c.NoWait = true
		c.Wrap = func(s adk.Storage) adk.Storage { return artifact.Spooling(s, spool, artifact.SpoolingOptions{}) }
		h := w.host(c)
		_, err := h.Deliver(t.Context(), delivery("one", "a"))
		require.ErrorIs(t, err, adk.E_SESSION_BUSY)
		require.Len(t, during, 1)
		assert.True(t, strings.HasPrefix(during[0], "shop/one/"), during[0])
		assert.Equal(t, 1, opened)
		assert.Empty(t, w.bodies(), "the attempt failed")
		w.clock.Advance(time.Second)
		deliver(t, h, delivery("one", "a"))
		assert.Equal(t, 2, opened, "once an attempt, and not at the commit")
		assert.Equal(t, during, keysOf(t, spool))
		assert.Equal(t, []string{"a long report"}, w.bodies())
	}
}

// SES-23: a record that a failed attempt has deleted is still there with its body. When the deletion
// counts, the body is left to Sweep.
func TestBodiesOfWhatWasDeleted(t *testing.T) {
	w, spool := spooling(t)
	opened, failing := 0, true
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		seed, err := session.SeedOf(dc)
		if err != nil || seed.Delivery == "a" {
			return errors.Join(err, report(ctx, dc, &opened))
		}
		if err := dc.ToolCalls().Delete(ctx, "call"); err != nil || failing {
			return errors.Join(err, errBroken)
		}
		return nil
	})
	c.NoWait = true
	c.Wrap = func(s adk.Storage) adk.Storage { return artifact.Spooling(s, spool, artifact.SpoolingOptions{}) }
	h := w.host(c)
	deliver(t, h, delivery("one", "a"))
	_, err := h.Deliver(t.Context(), delivery("one", "b"))
	require.ErrorIs(t, err, adk.E_SESSION_BUSY)
	assert.Equal(t, []string{"a long report"}, w.bodies())
	failing = false
	w.clock.Advance(time.Second)
	deliver(t, h, delivery("one", "b"))
	assert.Empty(t, w.bodies())
	deleted, err := artifact.Sweep(t.Context(), spool, func(context.Context, string) (bool, error) { return false, nil }, time.Now().Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, 1, deleted)
}

// SES-23, SPL-9: where writes are not staged, a deletion deletes the body too, also of a record that is
// beyond the limit of a fetch, but not a body that such a record still names.
func TestBodiesOfWhatIsDeletedAtOnce(t *testing.T) {
	w, spool := newWorld(t), artifact.NewMemorySpool()
	kept, err := memory.New(storage.Config{Strict: new(true), Spool: spool, Limit: map[adk.CollectionName]int{adk.ToolCalls: 1}})
	require.NoError(t, err)
	w.kept = kept
	var deletes []string
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		for _, id := range []string{"first", "other", "last"} {
			body := "same"
			if id == "other" {
				body = "own"
			}
			made, err := artifact.Text(ctx, adk.NewTokenizable(body))
			if err != nil {
				return err
			}
			call, err := adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: "report", Args: map[string]any{}, Results: made, CreatedAt: dc.Now(), UpdatedAt: dc.Now(), CompletedAt: dc.Now()})
			if err != nil {
				return err
			}
			if err := dc.ToolCalls().Store(ctx, call); err != nil {
				return err
			}
		}
		for _, id := range deletes {
			if err := dc.ToolCalls().Delete(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
	c.Persist = session.Direct
	c.Wrap = func(s adk.Storage) adk.Storage {
		return artifact.Spooling(s, spool, artifact.SpoolingOptions{Key: func(_ adk.Scope, _ string, media *adk.Media) string {
			mark, _ := artifact.Of(media)
			return "shop/one/" + mark.SHA256[:4]
		}})
	}
	deletes = []string{"last", "other"}
	deliver(t, w.host(c), delivery("one", "a"))
	assert.Equal(t, []string{"same"}, w.bodies())
	assert.Equal(t, []string{"shop/one/0967"}, keysOf(t, spool))
}

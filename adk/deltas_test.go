package adk_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// seeded is a config whose turn begins with messages a, b and c, and which stores in held the keys
// and texts of the messages that the turn holds at its end.
func seeded(held *[]string) adk.Config {
	config := newConfig()
	config.TurnInput = []adk.TurnMiddleware{{Name: "seed", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		for _, id := range []string{"a", "b", "c"} {
			must(tc.Messages().Add(message(id)))
		}
		next(ctx)
		return nil
	}}}
	config.TurnOutput = []adk.TurnMiddleware{{Name: "look", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		*held = textsOf(tc.Messages().All())
		next(ctx)
		return nil
	}}}
	return config
}

// textsOf returns each message as its id or, if its text is not the usual one, as id: text.
func textsOf(messages []*adk.Message) []string {
	texts := []string{}
	for _, m := range messages {
		text := m.ID()
		if said := m.Content().String(); said != "says" {
			text += ": " + said
		}
		texts = append(texts, text)
	}
	return texts
}

// DEL-1, DEL-2, DEL-4, RUN-12: how each change alters the dispatch's set at once and, after the
// ack, the turn's set.
func TestChangesReachTheTurn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(ctx context.Context, set adk.Records[*adk.Message]) error
		want   []string
	}{
		"store": {func(ctx context.Context, set adk.Records[*adk.Message]) error { return set.Store(ctx, message("d")) }, []string{"a", "b", "c", "d"}},
		"store again": {func(ctx context.Context, set adk.Records[*adk.Message]) error {
			return set.Store(ctx, message("b", "more"))
		}, []string{"a", "b: says more", "c"}},
		"mutate": {func(ctx context.Context, set adk.Records[*adk.Message]) error {
			return set.Mutate(ctx, message("b", "more"))
		}, []string{"a", "b: says more", "c"}},
		"mutate unknown": {func(ctx context.Context, set adk.Records[*adk.Message]) error { return set.Mutate(ctx, message("d")) }, []string{"a", "b", "c", "d"}},
		"delete":         {func(ctx context.Context, set adk.Records[*adk.Message]) error { return set.Delete(ctx, "b") }, []string{"a", "c"}},
		"delete unknown": {func(ctx context.Context, set adk.Records[*adk.Message]) error { return set.Delete(ctx, "x") }, []string{"a", "b", "c"}},
		"in order": {func(ctx context.Context, set adk.Records[*adk.Message]) error {
			return errors.Join(set.Store(ctx, message("d")), set.Delete(ctx, "a"), set.Store(ctx, message("a")), set.Delete(ctx, "d"))
		}, []string{"b", "c", "a"}},
		// Add and Remove change only the set on which they are called.
		"add": {func(_ context.Context, set adk.Records[*adk.Message]) error {
			must(set.Add(message("own")))
			must(set.Remove("a"))
			return nil
		}, []string{"a", "b", "c"}},
	} {
		for _, writeBehind := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var held, own []string
				config := seeded(&held)
				config.WriteBehind = writeBehind
				config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					require.NoError(t, c.change(ctx, dc.Messages()))
					own = textsOf(dc.Messages().All())
					return dc.Ack()
				})
				runTurn(t, config, hello)
				assert.Equal(t, c.want, held)
				if name == "add" {
					assert.Equal(t, []string{"b", "c", "own"}, own)
				} else {
					assert.Equal(t, c.want, own)
				}
			})
		}
	}
}

// DEL-4: standing instructions are identified by their text.
func TestInstructionDeltas(t *testing.T) {
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		set := dc.Instructions()
		return errors.Join(set.Mutate(ctx, adk.NewTokenizable("b")), set.Store(ctx, adk.NewTokenizable("a")),
			set.Store(ctx, adk.NewTokenizable("c")), set.Delete(ctx, "b"), dc.Ack())
	})
	var held []string
	config.TurnOutput = []adk.TurnMiddleware{{Name: "look", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		held = keysOf(tc.Instructions().All())
		next(ctx)
		return nil
	}}}
	raw := hello
	raw.Instructions = []string{"a", "b"}
	runTurn(t, config, raw)
	assert.Equal(t, []string{"a", "c"}, held)
}

// DEL-1: an obligation that fails changes nothing and returns its error.
func TestObligationThatFailsChangesNothing(t *testing.T) {
	var held []string
	config := seeded(&held)
	config.Storage = (&book{answer: func(context.Context, adk.Scope, string) error { return errBoom }}).storage()
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		call := toolCall("t", "x")
		assert.ErrorIs(t, dc.Messages().Store(ctx, message("d")), errBoom)
		assert.ErrorIs(t, dc.Messages().Mutate(ctx, message("a", "more")), errBoom)
		assert.ErrorIs(t, dc.Messages().Delete(ctx, "b"), errBoom)
		assert.ErrorIs(t, dc.ToolCalls().Store(ctx, call), errBoom)
		assert.Equal(t, []string{"a", "b", "c"}, textsOf(dc.Messages().All()))
		assert.Zero(t, dc.ToolCallCount(call.Checksum()))
		return dc.Ack()
	})
	lines := runTurn(t, config, hello)
	assert.Equal(t, []string{"a", "b", "c"}, held)
	assert.Empty(t, with(lines, "! error"))
}

// DEL-2: the queue is applied before iterationEnd, and before the loop is left after an ack
// from the input pipeline or the executor.
func TestWhenTheQueueIsApplied(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(c *adk.Config)
		want bool // whether the turn holds the message at iterationEnd 0
	}{
		"finished iteration": {func(c *adk.Config) { c.Executor = storing(0, 1) }, true},
		"executor acks":      {func(c *adk.Config) { c.Executor = storing(0, 0) }, false},
		"input acks": {func(c *adk.Config) {
			c.DispatchInput = []adk.DispatchMiddleware{{Name: "acks", Run: func(ctx context.Context, dc *adk.DispatchContext, _ adk.Next) error {
				return errors.Join(dc.Messages().Store(ctx, message("d")), dc.Ack())
			}}}
		}, false},
		"output acks": {func(c *adk.Config) {
			c.Executor = storing(0, 9)
			c.DispatchOutput = []adk.DispatchMiddleware{{Name: "acks", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
				next(ctx)
				return dc.Ack()
			}}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var held []string
			config := seeded(&held)
			var tc *adk.TurnContext
			seed := config.TurnInput[0].Run
			config.TurnInput[0].Run = func(ctx context.Context, own *adk.TurnContext, next adk.Next) error {
				tc = own
				return seed(ctx, own, next)
			}
			c.put(&config)
			raw, atEnd := hello, false
			raw.Observability.IterationEnd = func(adk.IterationEnd) { atEnd = tc.Messages().Has("d") }
			runTurn(t, config, raw)
			assert.Equal(t, []string{"a", "b", "c", "d"}, held)
			assert.Equal(t, c.want, atEnd)
		})
	}
}

// storing is an executor that stores d in one iteration and acks in another.
func storing(at, acks int) adk.Executor {
	return executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var err error
		if dc.Iteration() == at {
			err = dc.Messages().Store(ctx, message("d"))
		}
		if dc.Iteration() == acks {
			err = errors.Join(err, dc.Ack())
		}
		return err
	})
}

// DEL-3: a nack or an abort discards what its iteration queued, in whichever stage it happens. What
// earlier iterations queued stays.
func TestRefusedIterationsAreDiscarded(t *testing.T) {
	ends := map[string]func(dc *adk.DispatchContext) error{
		"nack":    func(dc *adk.DispatchContext) error { return dc.Nack(errBoom) },
		"abort":   func(dc *adk.DispatchContext) error { return dc.Abort(nil) },
		"failure": func(*adk.DispatchContext) error { return errBoom },
	}
	for name, end := range ends {
		for _, place := range []string{adk.LabelDispatchInput, adk.LabelExecutor, adk.LabelDispatchOutput} {
			for _, writeBehind := range []bool{false, true} {
				t.Run(name+" in "+place, func(t *testing.T) {
					var held []string
					config, store := seeded(new([]string)), &book{}
					config.Storage, config.WriteBehind = store.storage(), writeBehind
					at := func(here string, ctx context.Context, dc *adk.DispatchContext) error {
						if here != place {
							return nil
						}
						id := []string{"kept", "lost"}[dc.Iteration()]
						err := dc.Messages().Store(ctx, message(id))
						if id == "lost" {
							err = errors.Join(err, end(dc))
						}
						return err
					}
					middleware := func(label string) []adk.DispatchMiddleware {
						return []adk.DispatchMiddleware{{Name: "m", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
							next(ctx)
							return at(label, ctx, dc)
						}}}
					}
					config.DispatchInput, config.DispatchOutput = middleware(adk.LabelDispatchInput), middleware(adk.LabelDispatchOutput)
					config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
						return at(adk.LabelExecutor, ctx, dc)
					})
					var tc *adk.TurnContext
					config.TurnInput = append(config.TurnInput, adk.TurnMiddleware{Name: "after", Run: func(ctx context.Context, own *adk.TurnContext, next adk.Next) error {
						tc = own
						next(ctx)
						return nil
					}})
					raw := hello
					raw.Observability.TurnEnd = func(adk.TurnEnd) { held = textsOf(tc.Messages().All()) }
					require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
					assert.Equal(t, []string{"a", "b", "c", "kept"}, held)
					if writeBehind { // DEL-6
						assert.Equal(t, []string{"messages.store kept"}, store.all())
					} else {
						assert.Equal(t, []string{"messages.store kept", "messages.store lost"}, store.all())
					}
				})
			}
		}
	}
}

// DEL-6: with write-behind the obligations are called at the flush, in the order of the changes.
func TestWriteBehind(t *testing.T) {
	store, config := &book{}, newConfig()
	config.Storage, config.WriteBehind = store.storage(), true
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		require.NoError(t, dc.Messages().Store(ctx, message("m")))
		require.NoError(t, dc.Thoughts().Mutate(ctx, thought("t")))
		require.NoError(t, dc.Messages().Delete(ctx, "m"))
		assert.Empty(t, store.all())
		assert.Equal(t, []string{"t"}, keysOf(dc.Thoughts().All()), "the dispatch's own set changes at once")
		_, err := dc.Messages().Fetch(ctx)
		require.NoError(t, err)
		return dc.Ack()
	})
	lines := runTurn(t, config, hello)
	assert.Equal(t, []string{"messages.fetch", "messages.store m", "thoughts.mutate t", "messages.delete m"}, store.all())
	assert.Empty(t, with(lines, "! error"))
	assert.Equal(t, "id2", store.scopes[1].DispatchID)
}

// DEL-6: an obligation that fails at the flush nacks the dispatch, and the parent gets none of its changes.
func TestWriteBehindFails(t *testing.T) {
	for name, answer := range map[string]func() error{
		"error":       func() error { return errBoom },
		"panic":       func() error { panic(errBoom) },
		"abort error": func() error { return adk.Aborted(errBoom) }, // decided: an obligation is not a stage (ABT-3)
	} {
		for place, acks := range map[string]int{"leaving": 0, "iteration end": 1} {
			t.Run(name+" at "+place, func(t *testing.T) {
				store := &book{answer: func(_ context.Context, _ adk.Scope, call string) error {
					if call == "messages.store bad" {
						return answer()
					}
					return nil
				}}
				config, heard := newConfig(), &outcome{}
				config.Storage, config.WriteBehind = store.storage(), true
				config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					for _, id := range []string{"good", "bad", "never"} {
						require.NoError(t, dc.Messages().Store(ctx, message(id)))
					}
					if dc.Iteration() == acks {
						return dc.Ack()
					}
					return nil
				})
				var lastState adk.Digest
				empty := adk.StateDigest{Prompt: adk.NewTokenizable("be kind").Digest()}.Digest()
				config.Probe = &recorder{tell: func(x *adk.Crossing) {
					if x.Kind == adk.KindState {
						lastState = x.Digest
					}
				}}
				lines := runTurn(t, config, heard.watch(hello))
				assert.Equal(t, []string{"messages.store good", "messages.store bad"}, store.all())
				require.Len(t, heard.errors, 1)
				assert.ErrorIs(t, heard.errors[0].Error, adk.E_PERSISTENCE_FLUSH_ERROR)
				assert.ErrorIs(t, heard.errors[0].Error, errBoom)
				assert.Equal(t, adk.StatusNack, heard.ends[0].Status)
				assert.Empty(t, with(lines, "! iterationEnd"))
				assert.Equal(t, empty, lastState, "the parent holds nothing of it")
			})
		}
	}
}

// DEL-6, ABT-7, ABT-13: an abort during the flush. Decided: obligations that have not been called
// yet are not called, the parent gets nothing, and the obligation's error belongs to the abort,
// but a panic is emitted as an error.
func TestAbortDuringTheFlush(t *testing.T) {
	for name, c := range map[string]struct {
		answer func() error
		errors int
	}{
		"in silence": {func() error { return nil }, 0},
		"error":      {func() error { return context.Canceled }, 0},
		"panic":      {func() error { panic(errBoom) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			store := &book{answer: func(context.Context, adk.Scope, string) error { cancel(); return c.answer() }}
			config, heard, rec := newConfig(), &outcome{}, &recorder{}
			config.Storage, config.WriteBehind, config.Probe = store.storage(), true, rec
			config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				require.NoError(t, dc.Messages().Store(ctx, message("first")))
				require.NoError(t, dc.Messages().Store(ctx, message("second")))
				return dc.Ack()
			})
			require.NoError(t, newRunner(t, config).Run(ctx, heard.watch(hello)))
			assert.Equal(t, []string{"messages.store first"}, store.all())
			assert.Equal(t, adk.StatusAborted, heard.ends[0].Status)
			assert.Len(t, heard.errors, c.errors)
			states := statesOf(rec.crossings())
			assert.Equal(t, states[0], states[len(states)-1], "the turn ends with what it began with")
		})
	}
}

// SIG-6: changes that are stored after the ack are flushed with the others.
func TestStoresAfterAck(t *testing.T) {
	var held []string
	config := seeded(&held)
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(dc.Ack(), dc.Messages().Store(ctx, message("d")))
	})
	runTurn(t, config, hello)
	assert.Equal(t, []string{"a", "b", "c", "d"}, held)
}

package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// writesTo asks the service to store something.
func writesTo(ctx context.Context, of, what string, options ...adk.AskOptions) error {
	_, err := adk.Ask(ctx, of, what, func(context.Context, string) (bool, error) { return true, nil }, options...)
	return err
}

// inAGoroutine runs do on a new goroutine and
// waits for it, as frameworks do that run tools.
func inAGoroutine(do func() error) error {
	done := make(chan error)
	go func() { done <- do() }()
	return <-done
}

// An id that a goroutine of user code makes is the recorded one, whatever it is used for: the call
// waits for that goroutine, and so nothing else makes an id. Concurrent goroutines get their own ids.
func TestIDsOfGoroutinesOfUserCodesOwn(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(ctx context.Context, dc *adk.DispatchContext, n int) error{
		"unused": func(ctx context.Context, _ *adk.DispatchContext, _ int) error { adk.NewID(ctx); return nil },
		"unused, before an ask": func(ctx context.Context, dc *adk.DispatchContext, n int) error {
			dc.NewID()
			return writesTo(ctx, "orders", fmt.Sprint(n))
		},
		"unused, behind an ask": func(ctx context.Context, dc *adk.DispatchContext, n int) error {
			defer dc.NewID()
			return writesTo(ctx, "orders", fmt.Sprint(n))
		},
		"in an ask": func(ctx context.Context, _ *adk.DispatchContext, n int) error {
			return writesTo(ctx, "orders", fmt.Sprint(n, " ", adk.NewID(ctx)))
		},
		"in an ask, and another": func(ctx context.Context, dc *adk.DispatchContext, n int) error {
			id := dc.NewID()
			return errors.Join(writesTo(ctx, "orders", fmt.Sprint(n, " ", id)), writesTo(ctx, "audit", "order-"+id))
		},
		"several in an ask": func(ctx context.Context, dc *adk.DispatchContext, n int) error {
			return writesTo(ctx, "orders", fmt.Sprint(n, " ", dc.NewID(), " ", dc.NewID()))
		},
		"as a key": func(ctx context.Context, _ *adk.DispatchContext, n int) error {
			id := adk.NewID(ctx)
			return writesTo(ctx, "orders", fmt.Sprint(n), adk.AskOptions{Effect: adk.EffectWrites, Key: id})
		},
		"as a key and in the ask": func(ctx context.Context, _ *adk.DispatchContext, n int) error {
			id := adk.NewID(ctx)
			return writesTo(ctx, "orders", fmt.Sprint(n, " ", id), adk.AskOptions{Effect: adk.EffectWrites, Key: id})
		},
		"of a record": func(ctx context.Context, dc *adk.DispatchContext, n int) error {
			return notes(ctx, dc, dc.NewID(), fmt.Sprint(n))
		},
	} {
		for how, run := range map[string]func(do func(n int) error) error{
			"one": func(do func(int) error) error { return inAGoroutine(func() error { return do(0) }) },
			"one by one": func(do func(int) error) error {
				var all error
				for n := range 3 {
					all = errors.Join(all, inAGoroutine(func() error { return do(n) }))
				}
				return all
			},
			"at once": func(do func(int) error) error {
				var all started
				for n := range 4 {
					all.Go(func() error { return do(n) })
				}
				return all.Wait()
			},
			"at once, and then one": func(do func(int) error) error {
				var all started
				for n := range 2 {
					all.Go(func() error { return do(n) })
				}
				return errors.Join(all.Wait(), inAGoroutine(func() error { return do(2) }))
			},
			"and then the call itself": func(do func(int) error) error {
				return errors.Join(inAGoroutine(func() error { return do(0) }), do(1))
			},
			"one, and then at once": func(do func(int) error) error {
				var all started
				err := inAGoroutine(func() error { return do(0) })
				for n := range 2 {
					all.Go(func() error { return do(n + 1) })
				}
				return errors.Join(err, all.Wait())
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				agent := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					return errors.Join(run(func(n int) error { return use(ctx, dc, n) }), dc.Ack())
				})
				for range thorough.Of(20, 5, 2) {
					recorded := byTheMachine(t, agent)
					for range thorough.Of(5, 2, 1) {
						d := inTime(t, recorded, replay.Live{Config: agent, Seams: []string{replay.Executor}})
						require.Nil(t, d, "%s\n%s", d, recorded)
					}
				}
			})
		}
	}
}

// The id of a goroutine that its call waits for is exactly the recorded one, since code may use a
// part of an id, which cannot be renamed.
func TestTheIDOfOneGoroutineIsTheRecordedOne(t *testing.T) {
	t.Parallel()
	agent := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		one := func() error { return writesTo(ctx, "orders", "order "+dc.NewID()[:13]) }
		return errors.Join(inAGoroutine(one), inAGoroutine(one), one(), dc.Ack())
	})
	for range thorough.Of(20, 5, 2) {
		recorded := byTheMachine(t, agent)
		d := inTime(t, recorded, replay.Live{Config: agent, Seams: []string{replay.Executor}})
		require.Nil(t, d, "%s\n%s", d, recorded)
	}
}

// Code that shortens an id, or parses it as the UUID that it is, works with the id that it is given.
func TestIDsOfGoroutinesHaveTheFormOfTheRecordedOnes(t *testing.T) {
	t.Parallel()
	agent := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all started
		for range 3 {
			all.Go(func() error {
				if id := dc.NewID(); len(id) != 36 || id[14] != '7' {
					return fmt.Errorf("%s is no id", id)
				}
				return nil
			})
		}
		return errors.Join(all.Wait(), dc.Ack())
	})
	recorded := byTheMachine(t, agent)
	d := inTime(t, recorded, replay.Live{Config: agent, Seams: []string{replay.Executor}})
	require.Nil(t, d, "%s\n%s", d, recorded)
}

// The number of ids, and what is done with them, is still compared.
func TestOtherIDsOfGoroutinesAreTold(t *testing.T) {
	t.Parallel()
	type does func(ctx context.Context, dc *adk.DispatchContext, n int) error
	inOrder := func(ctx context.Context, dc *adk.DispatchContext, n int) error {
		return writesTo(ctx, "orders", fmt.Sprint("order ", n, " is ", dc.NewID()))
	}
	for name, c := range map[string]struct{ was, is does }{
		"one less": {inOrder, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
			if n == 0 {
				return writesTo(ctx, "orders", fmt.Sprint("order ", n, " is ", "none"))
			}
			return inOrder(ctx, dc, n)
		}},
		"one more": {inOrder, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
			if n == 0 {
				dc.NewID()
			}
			return inOrder(ctx, dc, n)
		}},
		"used elsewhere": {inOrder, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
			return writesTo(ctx, "orders", fmt.Sprint("the new order ", n, " is ", dc.NewID()))
		}},
		"not used": {inOrder, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
			return writesTo(ctx, "orders", fmt.Sprint("order ", n, " is ", dc.NewID()[:0]))
		}},
		"another one of two": {
			func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				one, other := dc.NewID(), dc.NewID()
				return errors.Join(writesTo(ctx, "orders", fmt.Sprint(n, one)), writesTo(ctx, "audit", fmt.Sprint(n, other)))
			},
			func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				one := dc.NewID()
				dc.NewID()
				return errors.Join(writesTo(ctx, "orders", fmt.Sprint(n, one)), writesTo(ctx, "audit", fmt.Sprint(n, one)))
			},
		},
	} {
		for many := range 3 {
			agent := func(does does) adk.Config {
				return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					var all started
					for n := range many + 1 {
						all.Go(func() error { return does(ctx, dc, n) })
					}
					return errors.Join(all.Wait(), dc.Ack())
				})
			}
			t.Run(fmt.Sprint(name, "/", many+1), func(t *testing.T) {
				t.Parallel()
				recorded := byTheMachine(t, agent(c.was))
				report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: agent(c.is), Seams: []string{replay.Executor}})
				require.NoError(t, err)
				assert.NotNil(t, report.Divergence, "%s", recorded)
			})
		}
	}
}

// If a call and its goroutine make ids concurrently, it is unknown which recorded id belongs to
// which, so these ids have no order with what the call does.
func TestIDsOfACallBesideThoseOfAGoroutine(t *testing.T) {
	t.Parallel()
	agent := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all started
		all.Go(func() error { dc.NewID(); return nil })
		err := errors.Join(dc.Stash().Set("began", true), writesTo(ctx, "orders", "order"))
		dc.NewID()
		return errors.Join(err, all.Wait(), dc.Ack())
	})
	for range thorough.Of(200, 60, 20) {
		recorded := byTheMachine(t, agent)
		d := inTime(t, recorded, replay.Live{Config: agent, Seams: []string{replay.Executor}})
		require.Nil(t, d, "%s\n%s", d, recorded)
	}
}

// An id that the call makes is the recorded one to the letter also where its goroutines were
// answered in pieces, in whatever order these came, and while such an answer is still open.
func TestTheIDOfTheCallBehindAnswersInPieces(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: adkhttp.NewTransport(answering(func(r *http.Request) *http.Response {
		runtime.Gosched()
		body := io.MultiReader(strings.NewReader("one "), strings.NewReader("two "), strings.NewReader(r.URL.Path))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body), Request: r}
	}))}
	get := func(ctx context.Context, path string) (io.ReadCloser, error) {
		r := tracetest.Must(http.NewRequestWithContext(ctx, http.MethodGet, "http://orders.test/"+path, nil))
		res, err := client.Do(r)
		if err != nil {
			return nil, err
		}
		return res.Body, nil
	}
	echoes := func(ctx context.Context, id string) error {
		got, err := adk.Ask(ctx, "shop", id, func(_ context.Context, id string) (string, error) { return id, nil })
		if err == nil && got != id {
			err = fmt.Errorf("asked with %s, answered with %s", id, got)
		}
		return err
	}
	leaked := make(chan *adk.DispatchContext, 1)
	leaking := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "leaks", Description: "Leaks.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(_ context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			leaked <- dc
			return adk.Text("well"), nil
		}}))
	for name, run := range map[string]func(context.Context, *adk.DispatchContext) error{
		"behind two": func(ctx context.Context, _ *adk.DispatchContext) error {
			var all started
			for _, path := range []string{"carrier", "warehouse"} {
				all.Go(func() error {
					body, err := get(ctx, path)
					if err != nil {
						return err
					}
					_, err = io.ReadAll(body)
					return errors.Join(err, body.Close())
				})
			}
			return errors.Join(all.Wait(), echoes(ctx, adk.NewID(ctx)))
		},
		"behind half of one": func(ctx context.Context, _ *adk.DispatchContext) error {
			var all started
			all.Go(func() error {
				body, err := get(ctx, "carrier")
				if err != nil {
					return err
				}
				_, err = body.Read(make([]byte, 4))
				return errors.Join(err, body.Close())
			})
			return errors.Join(all.Wait(), echoes(ctx, adk.NewID(ctx)))
		},
		"while one is open": func(ctx context.Context, _ *adk.DispatchContext) error {
			var body io.ReadCloser
			var all started
			all.Go(func() (err error) { body, err = get(ctx, "carrier"); return err })
			err := errors.Join(all.Wait(), echoes(ctx, adk.NewID(ctx)))
			_, failed := io.ReadAll(body)
			return errors.Join(err, failed, body.Close(), echoes(ctx, adk.NewID(ctx)))
		},
		"while one is read": func(ctx context.Context, _ *adk.DispatchContext) error {
			var all started
			begun := make(chan bool)
			all.Go(func() error {
				body, err := get(ctx, "carrier")
				close(begun)
				if err != nil {
					return err
				}
				_, err = io.ReadAll(body)
				return errors.Join(err, body.Close())
			})
			<-begun
			id := adk.NewID(ctx)
			return errors.Join(all.Wait(), echoes(ctx, id))
		},
		"behind what comes too late": func(ctx context.Context, dc *adk.DispatchContext) error {
			err := inAGoroutine(func() error { _, err := askedFor(ctx, dc, "leaks", 0); return err })
			_ = sets(<-leaked, "late")
			return errors.Join(err, echoes(ctx, adk.NewID(ctx)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return errors.Join(run(ctx, dc), dc.Ack())
			}, leaking)
			for range thorough.Of(50, 10, 5) {
				recorded := byTheMachine(t, agent)
				d := inTime(t, recorded, replay.Live{Config: agent, Seams: []string{replay.Executor, replay.ToolCode}, Writes: true})
				require.Nil(t, d, "%s\n%s", d, recorded)
			}
		})
	}
}

package zoo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/property/turn"
)

// strange are the families of agents with unusual parts of their own, such as a server, a cache,
// a context or a limit.
var strange = []family{
	{"half a page in the cache", true, func(broken bool) turn.Instance {
		const hours = "Monday to Friday from nine to five, and on Saturday from ten to two."
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, hours)
		}))
		client := &http.Client{Transport: adkhttp.NewTransport(server.Client().Transport)}
		cache, said := map[string]string{}, ""
		get := func(ctx context.Context, url string) (string, error) {
			if page, known := cache[url]; known {
				return page, nil
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return "", err
			}
			resp, err := client.Do(req)
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return "", errors.New(resp.Status)
			}
			page, err := io.ReadAll(resp.Body)
			if err == nil || broken {
				cache[url] = string(page)
			}
			return string(page), err
		}
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var err error
			for range 3 {
				if said, err = get(ctx, server.URL+"/hours"); err == nil || ctx.Err() != nil {
					break
				}
			}
			if err != nil {
				return err
			}
			if err := say(ctx, dc, h, "m0", said); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Close = func() { client.CloseIdleConnections(); server.Close() }
		i.Check = func(r turn.Run) error {
			if acked(r) && said != "" && said != hours && strings.HasPrefix(hours, said) {
				return fmt.Errorf("half a page is told: %q", said)
			}
			return nil
		}
		return i
	}},
	{"a booking undone for nobody", false, func(broken bool) turn.Instance {
		type customer struct{}
		undoneFor := "Ada"
		book := func(ctx context.Context, what string) error {
			_, err := adk.Ask(ctx, "hotel", what, func(ctx context.Context, what string) (string, error) {
				if what == "cancel" {
					undoneFor, _ = ctx.Value(customer{}).(string)
				}
				return "done", nil
			}, adk.AskOptions{Effect: adk.EffectWrites})
			return err
		}
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			booking := context.WithValue(ctx, customer{}, "Ada")
			if err := book(booking, "room"); err != nil {
				return err
			}
			if err := dc.Memories().Store(ctx, memory("room", "booked")); err != nil {
				undo := context.WithoutCancel(booking)
				if broken {
					undo = context.WithoutCancel(ctx)
				}
				return errors.Join(err, book(undo, "cancel"))
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if undoneFor != "Ada" {
				return fmt.Errorf("the booking is undone for %q", undoneFor)
			}
			return nil
		}
		return i
	}},
	{"half a trip when the caller leaves", false, func(broken bool) turn.Instance {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
		client := &http.Client{Transport: adkhttp.NewTransport(server.Client().Transport)}
		send := func(ctx context.Context, method, what string) error {
			req, err := http.NewRequestWithContext(ctx, method, "http://example.com"+what, nil) // a fixed name: the server's port differs in each run
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode >= http.StatusBadRequest {
				return errors.New(resp.Status)
			}
			return nil
		}
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			undo := func(what string) {
				if broken {
					_ = send(ctx, http.MethodDelete, what)
					return
				}
				if err := send(context.WithoutCancel(ctx), http.MethodDelete, what); err != nil { // the caller may have left
					dc.Log(adk.LevelError, "trip", what+" may be booked: "+err.Error(), nil)
				}
			}
			whole := false
			for _, what := range []string{"/flight", "/hotel"} {
				defer func() {
					if !whole {
						undo(what) // also the last one: it may be booked although its answer is lost
					}
				}()
				if err := send(ctx, http.MethodPost, what); err != nil {
					return err
				}
			}
			whole = true
			if err := say(ctx, dc, h, "m0", "You go."); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Close = func() { client.CloseIdleConnections(); server.Close() }
		i.Check = func(r turn.Run) error {
			booked, asked, left := map[string]bool{}, map[int]string{}, false // asked: the path that a DELETE cancels, by operation
			for x := range r.Crossings {
				var q struct{ Method, Path string }
				switch {
				case x.Kind == adk.KindReportLog && x.Name == "trip", x.Kind == adk.KindErrorEvent:
					return nil // the failure is reported, so a person can repair it
				case x.Kind == adk.KindCancel:
					left = true
				case x.Kind != adk.KindAsk || json.Unmarshal(x.JSON, &q) != nil && x.Phase == adk.Begin:
				case x.Phase == adk.Begin && q.Method == http.MethodPost:
					booked[q.Path] = !left || x.Flag // otherwise the ask was refused
				case x.Phase == adk.Begin:
					asked[x.Op] = q.Path
				case x.Err == nil:
					delete(booked, asked[x.Op])
				}
			}
			if booked["/flight"] != booked["/hotel"] {
				return errors.New("half of a trip is booked")
			}
			return nil
		}
		return i
	}},
	{"a failure that is cached for ever", false, func(broken bool) turn.Instance {
		type entry struct {
			rate  string
			err   error
			until time.Time
		}
		cache := map[string]entry{}
		asked, answered := 0, ""
		rate := func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
			if e, known := cache["EUR"]; known && (e.until.IsZero() || dc.Now().Before(e.until)) {
				return e.rate, e.err
			}
			asked++
			text, err := adk.Ask(ctx, "rates", "EUR", func(context.Context, string) (string, error) { return "1.07", nil })
			e := entry{rate: text, err: err}
			if err == nil || !broken {
				e.until = dc.Now().Add(time.Minute)
			}
			cache["EUR"] = e
			return text, err
		}
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for n := range 3 {
				if n > 0 {
					if err := dc.Sleep(ctx, time.Hour); err != nil {
						return err
					}
				}
				if text, err := rate(ctx, dc); err != nil {
					h.Log(adk.LevelWarn, "rates", err.Error(), nil)
				} else {
					answered += text
				}
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			if acked(r) && !aborted(r) && asked < 3 {
				return fmt.Errorf("in two hours the rate was asked for %d times, and answered as %q", asked, answered)
			}
			return nil
		}
		return i
	}},
	{"a seat that waits for a seat", true, func(broken bool) turn.Instance {
		return agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			seats := make(chan struct{}, 1)
			var group sync.WaitGroup
			errs := make([]error, 2)
			search := func(what string) error {
				_, err := adk.Ask(ctx, "search", what, func(context.Context, string) (string, error) { return "found", nil })
				return err
			}
			seated := func(search func() error) error {
				seats <- struct{}{}
				defer func() { <-seats }()
				return search()
			}
			for n, what := range []string{"tea", "milk"} {
				group.Go(func() {
					errs[n] = seated(func() error {
						if err := search(what); err == nil || ctx.Err() != nil {
							return err
						}
						if broken {
							return seated(func() error { return search(what + ", again") })
						}
						return search(what + ", again")
					})
				})
			}
			group.Wait()
			if err := errors.Join(errs...); err != nil {
				return err
			}
			return dc.Ack()
		})
	}},
}

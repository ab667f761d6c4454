package zoo_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// services are the families of bugs around retries, budgets and work that a service has already done.
var services = []family{
	{"an idempotency key made anew for each attempt", true, func(broken bool) turn.Instance {
		paid := map[string]bool{} // the payments in the bank's own books, by key
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			key := dc.NewID()
			var err error
			for range 2 {
				if broken {
					key = dc.NewID()
				}
				_, err = adk.Ask(ctx, "bank", map[string]string{"to": "Ada", "amount": "5", "key": key}, func(_ context.Context, order map[string]string) (string, error) {
					paid[order["key"]] = true
					return "paid", nil
				}, adk.AskOptions{Effect: adk.EffectWrites})
				if err == nil || ctx.Err() != nil {
					break
				}
			}
			if err != nil {
				return err
			}
			if err := say(ctx, dc, h, "m0", "It is paid."); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if len(paid) > 1 {
				return fmt.Errorf("the bank has paid %d times", len(paid))
			}
			return nil
		}
		return i
	}},
	{"a mail sent again by the turn that follows a crash", false, func(broken bool) turn.Instance {
		storage := conversation()
		var sent atomic.Int32
		config := func() (adk.Config, adk.RawTurn) {
			i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				if kept(storage, "mail") {
					return dc.Ack() // it was sent or at least begun, so it is not sent again
				}
				send := func() error {
					_, err := adk.Ask(ctx, "mail", "Hello", func(context.Context, string) (string, error) { sent.Add(1); return "sent", nil }, adk.AskOptions{Effect: adk.EffectWrites})
					return err
				}
				mark := func() error { return dc.Memories().Store(ctx, memory("mail", "sent")) }
				steps := []func() error{mark, send}
				if broken {
					steps = []func() error{send, mark}
				}
				for _, step := range steps {
					if err := step(); err != nil {
						return err
					}
				}
				return dc.Ack()
			})
			return i.Config, i.Raw
		}
		i := turn.Instance{Next: config}
		i.Config, i.Raw = config()
		i.Check = func(turn.Run) error {
			if n := sent.Load(); n > 1 {
				return fmt.Errorf("the mail was sent %d times", n)
			}
			return nil
		}
		return i
	}},
	{"a stream told again from its beginning", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var text string
			attempt := func(id string) error {
				text = ""
				pieces := adk.AskStream(ctx, "model", "the weather", func(_ context.Context, _ string, yield func(string) error) error {
					return errors.Join(yield("It "), yield("rains."))
				})
				for piece, err := range pieces {
					if err != nil {
						return err
					}
					text += piece
					if _, err := h.ReportMessage(id, piece, false); err != nil {
						return err
					}
				}
				return nil
			}
			id := "m0"
			err := attempt(id)
			if err != nil && ctx.Err() == nil {
				h.Log(adk.LevelWarn, "model", "asked again: "+err.Error(), nil)
				if !broken {
					if _, err := h.ReportMessage(id, " (cut off)", true); err != nil {
						return err
					}
					if err := dc.Messages().Store(ctx, message(dc, id, text+" (cut off)")); err != nil {
						return err
					}
					id = "m1"
				}
				err = attempt(id)
			}
			if err != nil {
				return err
			}
			if _, err := h.ReportMessage(id, "", true); err != nil {
				return err
			}
			if err := dc.Messages().Store(context.WithoutCancel(ctx), message(dc, id, text)); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			shown := map[string]string{}
			for x := range r.Crossings {
				if x.Kind == adk.KindReportMessage {
					shown[x.Name] += x.Text
				}
			}
			for _, m := range storage.Messages() {
				if text, found := shown[m.ID()]; found && text != m.Content().String() {
					return fmt.Errorf("shown was %q, kept is %q", text, m.Content())
				}
			}
			return nil
		}
		return i
	}},
	{"a history thrown away for a summary that failed", true, func(broken bool) turn.Instance {
		storage := conversation("One?", "One.")
		i := agent(storage, func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() })
		i.Config.TurnInput = append(i.Config.TurnInput, adk.TurnMiddleware{Name: "summarise", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			old := tc.Messages().All()
			if len(old) < 3 {
				next(ctx)
				return nil
			}
			text, err := adk.Ask(ctx, "model", "sum up", func(context.Context, string) (string, error) { return "They counted.", nil })
			if !broken && (err != nil || text == "") {
				return errors.Join(err, errors.New("no summary"))
			}
			if err := tc.Memories().Store(ctx, memory("summary", "So far: "+text)); err != nil {
				return err
			}
			for _, m := range old[:2] {
				if err := tc.Messages().Delete(ctx, m.ID()); err != nil {
					return err
				}
			}
			next(ctx)
			return nil
		}})
		i.Check = func(turn.Run) error {
			for _, m := range storage.Memories() {
				if m.Content().String() == "So far: " && !kept(storage, "u0") {
					return errors.New("the history is gone, and there is no summary of it")
				}
			}
			return nil
		}
		return i
	}},
	{"a reservation that nobody undoes", false, func(broken bool) turn.Instance {
		storage := conversation()
		book := tool("book", adk.EffectWrites, func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			if err := dc.Memories().Store(ctx, memory("seat", "12A is taken")); err != nil {
				return nil, err
			}
			_, err := adk.Ask(ctx, "bank", "charge 5", func(context.Context, string) (string, error) { return "charged", nil }, adk.AskOptions{Effect: adk.EffectWrites})
			if err != nil {
				if !broken {
					err = errors.Join(err, dc.Memories().Delete(context.WithoutCancel(ctx), "seat"))
				}
				return nil, err
			}
			return adk.Text("booked"), nil
		})
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := dc.Execute(ctx, book, map[string]any{}); err != nil {
				return err
			}
			return dc.Ack()
		}, book)
		i.Check = func(r turn.Run) error {
			charged, undone := false, false
			for x := range r.Crossings {
				charged = charged || x.Kind == adk.KindAsk && x.Phase == adk.Done && x.Err == nil
				undone = undone || x.Kind == adk.KindCall && x.Seam.Name == "memories.delete" || x.Outcome == adk.OutcomePanic // after a panic nothing can be undone
			}
			asked := false
			for x := range r.Crossings {
				asked = asked || x.Kind == adk.KindAsk
			}
			if asked && !charged && kept(storage, "seat") && !undone {
				return errors.New("a seat is taken that nobody has paid")
			}
			return nil
		}
		return i
	}},
	{"a state left at running", false, func(broken bool) turn.Instance {
		storage := fakes.NewStorage(memory("job", "idle"))
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) (err error) {
			if err := dc.Memories().Mutate(ctx, memory("job", "running")); err != nil {
				return err
			}
			defer func() {
				if !broken {
					ctx = context.WithoutCancel(ctx)
				}
				err = errors.Join(err, dc.Memories().Mutate(ctx, memory("job", "idle")))
				if err == nil {
					err = dc.Ack()
				}
			}()
			_, err = dc.Retrievables().Fetch(ctx)
			return err
		})
		i.Check = func(r turn.Run) error {
			failed := false
			for x := range r.Crossings {
				failed = failed || x.Kind == adk.KindReturn && x.Outcome != adk.OutcomeOK && strings.Contains(x.Err.Error(), "broken by the explorer")
			}
			if storage.Memories()[0].Content().String() == "running" && aborted(r) && !failed {
				return errors.New("the turn was aborted, and the job runs for ever")
			}
			return nil
		}
		return i
	}},
	{"a lease that a crash leaves behind", false, func(broken bool) turn.Instance {
		storage := conversation()
		config := func(at int) func() (adk.Config, adk.RawTurn) {
			return func() (adk.Config, adk.RawTurn) {
				i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					if kept(storage, "lease") && (broken || at == 0) {
						return dc.Nack(errors.New("somebody else is at it")) // the twin's lease ends with its process
					}
					if err := dc.Memories().Store(ctx, memory("lease", "mine")); err != nil {
						return err
					}
					if _, err := dc.Retrievables().Fetch(ctx); err != nil {
						return errors.Join(err, dc.Memories().Delete(context.WithoutCancel(ctx), "lease"))
					}
					if err := dc.Memories().Delete(context.WithoutCancel(ctx), "lease"); err != nil {
						return err
					}
					return dc.Ack()
				})
				return i.Config, i.Raw
			}
		}
		i := turn.Instance{Next: config(1)}
		i.Config, i.Raw = config(0)()
		i.Check = func(r turn.Run) error {
			if r.Crashed && r.Next != nil && !acked(*r.Next) {
				return errors.New("nobody can work any more")
			}
			return nil
		}
		return i
	}},
	{"a transaction left open when a price cannot be had", true, func(broken bool) turn.Instance {
		shelf := &shelf{}
		db := sql.OpenDB(shelf)
		client := clientOf(jsonOf(`{"price":12}`))
		quote := tool("quote", adk.EffectReads, func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return nil, err
			}
			if !broken {
				defer func() { _ = tx.Rollback() }()
			}
			answer, err := asked(ctx, client)
			defer answer.Close()
			if err != nil {
				return nil, err
			}
			var said struct{ Price int }
			if err := json.NewDecoder(answer).Decode(&said); err != nil || said.Price == 0 {
				return nil, errors.Join(err, errors.New("there is no price"))
			}
			return adk.Text(fmt.Sprint(said.Price)), tx.Commit()
		})
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			price, err := dc.Execute(ctx, quote, map[string]any{})
			if err != nil {
				return err
			}
			if err := say(ctx, dc, h, "m0", "It costs "+price.(*adk.Tokenizable).String()+"."); err != nil {
				return err
			}
			return dc.Ack()
		}, quote)
		i.Close = func() { _ = db.Close() }
		i.Check = func(r turn.Run) error {
			if !r.Crashed && !aborted(r) && shelf.count("begun") > shelf.count("ended in time") {
				return errors.New("only the end of the turn ends the transaction")
			}
			return nil
		}
		return i
	}},
	{"a day that ends during the turn", false, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			now := dc.Now()
			day := now.Format(time.DateOnly)
			var err error
			for range 3 {
				if _, err = dc.Retrievables().Fetch(ctx); err == nil {
					break
				}
				if err := dc.Sleep(ctx, time.Second); err != nil {
					return err
				}
			}
			if err != nil {
				return err
			}
			if broken {
				now = dc.Now()
			}
			if err := dc.Memories().Store(ctx, memory(day, "noted at "+now.Format(time.DateTime))); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Config.Clock = fakes.NewClockAt(time.Date(2026, 1, 31, 23, 59, 59, 500_000_000, time.UTC))
		i.Check = func(turn.Run) error {
			for _, m := range storage.Memories() {
				if !strings.Contains(m.Content().String(), m.ID()) {
					return fmt.Errorf("under %s stands %q", m.ID(), m.Content())
				}
			}
			return nil
		}
		return i
	}},
}

// texts are the families of bugs around unexpected texts and arguments.
var texts = []family{
	{"a text cut within a letter", true, func(broken bool) turn.Instance {
		cut := ""
		i := agent(conversation("How are you?", "Well."), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for _, m := range dc.Messages().All() {
				text := m.Content().String()
				if broken {
					text = text[:min(len(text), 3)]
				} else {
					runes := []rune(text)
					text = string(runes[:min(len(runes), 3)])
				}
				if !utf8.ValidString(text) {
					cut = text
				}
				if _, err := adk.Ask(ctx, "titles", text, func(context.Context, string) (string, error) { return "A talk", nil }, adk.AskOptions{Effect: adk.EffectReads}); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if cut != "" {
				return fmt.Errorf("the title is %q", cut)
			}
			return nil
		}
		return i
	}},
	{"a tool that there is not", true, func(broken bool) turn.Instance {
		tools := map[string]*adk.Tool{"look": tool("look", adk.EffectReads, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("4 °C"), nil
		})}
		return loop(tools["look"], func(ctx context.Context, dc *adk.DispatchContext, name, arguments string) (string, error) {
			one := tools[name]
			if one == nil && !broken {
				return "there is no tool " + name, nil
			}
			return executed(ctx, dc, one, arguments)
		})
	}},
	{"arguments that were cut taken for none", true, func(broken bool) turn.Instance {
		var looked tally
		remove := tool("look", adk.EffectWrites, func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			looked.note("%d arguments", len(args))
			return adk.Text("done"), nil
		})
		i := loop(remove, func(ctx context.Context, dc *adk.DispatchContext, name, arguments string) (string, error) {
			if name != "look" {
				return "there is no tool " + name, nil
			}
			var args map[string]any
			if err := json.Unmarshal([]byte(arguments), &args); err != nil {
				if !broken {
					return err.Error(), nil
				}
				args = map[string]any{}
			}
			return executed(ctx, dc, remove, must(marshal(args)))
		})
		i.Check = func(turn.Run) error {
			if looked.count("0 arguments") > 0 {
				return errors.New("called without the arguments that were cut off")
			}
			return nil
		}
		return i
	}},
	{"a body that is not closed", true, func(broken bool) turn.Instance {
		var open atomic.Int32
		world := counted{fakes.NewTransport(fakes.Converse(fakes.Reply{ContentType: "application/json", Body: finalReply})), &open}
		client := &http.Client{Transport: adkhttp.NewTransport(world)}
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			resp, err := post(ctx, client, `{"messages":[]}`)
			if err != nil {
				return err
			}
			if !broken {
				defer resp.Body.Close()
			}
			if _, err := dc.Memories().Fetch(ctx); err != nil {
				return err
			}
			_, err = io.ReadAll(resp.Body)
			if broken {
				_ = resp.Body.Close()
			}
			if err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if n := open.Load(); n > 0 {
				return fmt.Errorf("%d bodies are open", n)
			}
			return nil
		}
		return i
	}},
}

const (
	callReply  = `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c0","type":"function","function":{"name":"look","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`
	finalReply = `{"choices":[{"message":{"role":"assistant","content":"It is cold."},"finish_reason":"stop"}]}`
)

// loop returns an agent that asks a model and runs the tools it calls, until an answer has no calls.
func loop(look *adk.Tool, run func(ctx context.Context, dc *adk.DispatchContext, name, arguments string) (string, error)) turn.Instance {
	world := fakes.NewTransport(fakes.Converse(fakes.Reply{ContentType: "application/json", Body: callReply}, fakes.Reply{ContentType: "application/json", Body: finalReply}))
	client := &http.Client{Transport: adkhttp.NewTransport(world)}
	return agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		sent := []map[string]any{{"role": "user", "content": "Weather?"}}
		for range 5 {
			said, err := completed(ctx, client, sent)
			if err != nil {
				return err
			}
			if len(said.ToolCalls) == 0 {
				return dc.Ack()
			}
			sent = append(sent, map[string]any{"role": "assistant", "tool_calls": said.ToolCalls})
			for _, one := range said.ToolCalls {
				function, _ := one["function"].(map[string]any)
				name, _ := function["name"].(string)
				arguments, _ := function["arguments"].(string)
				result, err := run(ctx, dc, name, arguments)
				if err != nil {
					return err
				}
				sent = append(sent, map[string]any{"role": "tool", "tool_call_id": one["id"], "content": result})
			}
		}
		return errors.New("it goes round in circles")
	}, look)
}

// executed returns the text of the tool's result; if the tool fails, the model reads the error instead.
func executed(ctx context.Context, dc *adk.DispatchContext, one *adk.Tool, arguments string) (string, error) {
	_ = one.Name()
	var args map[string]any
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return err.Error(), nil
	}
	result, err := dc.Execute(ctx, one, args)
	if err != nil {
		return "", err
	}
	return result.(*adk.Tokenizable).String(), nil
}

func marshal(args map[string]any) (string, error) {
	data, err := json.Marshal(args)
	return string(data), err
}

func post(ctx context.Context, client *http.Client, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions", bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// counted is a transport that counts the response bodies that are open.
type counted struct {
	http.RoundTripper
	open *atomic.Int32
}

func (c counted) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(req)
	if err == nil {
		c.open.Add(1)
		resp.Body = &countedBody{resp.Body, c.open, false}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	open   *atomic.Int32
	closed bool
}

func (b *countedBody) Close() error {
	if !b.closed {
		b.closed = true
		b.open.Add(-1)
	}
	return b.ReadCloser.Close()
}

// shelf is a database that notes its transactions, and whether they end before their contexts do.
type shelf struct{ tally }

func (s *shelf) Connect(context.Context) (driver.Conn, error) { return onShelf{s, nil}, nil }
func (s *shelf) Driver() driver.Driver                        { return nil }

// onShelf is a connection to a shelf, or a transaction with the context that it was begun with.
type onShelf struct {
	*shelf
	ctx context.Context
}

func (o onShelf) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (o onShelf) Close() error                        { return nil }
func (o onShelf) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }

func (o onShelf) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	o.note("begun")
	return onShelf{o.shelf, ctx}, nil
}

func (o onShelf) Commit() error { return o.Rollback() }

func (o onShelf) Rollback() error {
	if o.ctx.Err() == nil {
		o.note("ended in time")
	}
	return nil
}

package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/fakes"
)

var sessions = []Session{
	{
		Name:  "tenant-from-channel",
		About: "the channel sets a key of what it was made for, a tool reads it: two turns of one session",
		Must:  []Settlement{{"desk", "monday", session.Committed, 1, 1, ""}, {"desk", "tuesday", session.Committed, 1, 2, ""}},
		play: func(w *world) error {
			asks := func(id, answer string) fakes.Script {
				return fakes.Script{{fakes.Call("tickets", `{}`).As(id + "-call")}, {fakes.Say(answer).As(id + "-reply"), fakes.Ack()}}
			}
			host, err := w.host("host", map[string]fakes.Script{"monday": asks("monday", "Two are open."), "tuesday": asks("tuesday", "Still two.")}, func(c *session.Config) {
				c.Keys, c.Agent.Tools = []session.AnyKey{workspace}, []*adk.Tool{ticketsTool}
				c.Channels["desk"] = newDesk
			})
			if err != nil {
				return err
			}
			monday, tuesday := delivery("desk", "monday", "How many tickets are open?"), delivery("desk", "tuesday", "And now?")
			monday.Kind, monday.ChannelState = "desk", json.RawMessage(`{"workspace":"sales"}`)
			tuesday.Kind = "desk"
			return w.settles(host, monday, tuesday)
		},
	},
	{
		Name:  "notes-grow",
		About: "a tool sets a value, and finds it in the next turn: three turns of one session",
		Must: []Settlement{{"ada", "monday", session.Committed, 1, 1, ""}, {"ada", "tuesday", session.Committed, 1, 2, ""},
			{"ada", "friday", session.Committed, 1, 3, ""}},
		play: func(w *world) error {
			host, err := w.host("host", map[string]fakes.Script{"monday": noteTurn("monday", "milk"), "tuesday": noteTurn("tuesday", "bread"), "friday": noteTurn("friday", "salt")}, withNotes)
			if err != nil {
				return err
			}
			return w.settles(host, delivery("ada", "monday", "Note milk."), delivery("ada", "tuesday", "And bread."), delivery("ada", "friday", "And salt."))
		},
	},
	{
		Name:  "nacked-then-redelivered",
		About: "an attempt is nacked: what it set and stored is gone, and the delivery is due again a second later",
		Must:  []Settlement{{"ada", "monday", session.Committed, 2, 1, ""}},
		play: func(w *world) error {
			host, err := w.host("host", map[string]fakes.Script{
				"monday":   {{fakes.Call("note", `{"text":"milk?"}`).As("monday-guess"), fakes.Nack(errors.New("the shop does not answer"))}},
				"monday 2": noteTurn("monday", "milk"),
			}, withNotes)
			if err != nil {
				return err
			}
			monday := delivery("ada", "monday", "Note milk.")
			if err := w.refuses(host, monday, adk.E_SESSION_BUSY); err != nil {
				return err
			}
			w.clock.Advance(time.Second)
			return w.settles(host, monday)
		},
	},
	{
		Name:  "crash-before-commit",
		About: "a process ends between a turn and its commit: when its lease is over another host makes the next attempt",
		Must:  []Settlement{{"ada", "monday", session.Committed, 2, 1, ""}},
		play: func(w *world) error {
			attempts := map[string]fakes.Script{"monday": noteTurn("monday", "milk"), "monday 2": noteTurn("monday", "milk")}
			first, err := w.host("first", attempts, func(c *session.Config) {
				withNotes(c)
				c.Store = &mortalStore{Store: c.Store}
			})
			if err != nil {
				return err
			}
			died := make(chan struct{})
			go func() {
				defer close(died)
				_, _ = first.Deliver(w.ctx, delivery("ada", "monday", "Note milk."))
			}()
			<-died
			second, err := w.host("second", attempts, withNotes)
			if err != nil {
				return err
			}
			if err := w.resumes(second, 0); err != nil { // the lease of the dead process has not expired
				return err
			}
			w.clock.Advance(15 * time.Minute)
			return w.resumes(second, 1)
		},
	},
	{
		Name:  "duplicate-delivery",
		About: "what comes a second time has the outcome that it had, and no turn; with another payload it is refused",
		Must:  []Settlement{{"ada", "monday", session.Committed, 1, 1, ""}},
		play: func(w *world) error {
			host, err := w.host("host", map[string]fakes.Script{"monday": noteTurn("monday", "milk")}, withNotes)
			if err != nil {
				return err
			}
			monday := delivery("ada", "monday", "Note milk.")
			if err := w.settles(host, monday); err != nil {
				return err
			}
			again, err := host.Deliver(w.ctx, monday)
			if err != nil || !again.Duplicate {
				return fmt.Errorf("it came again, and gave %+v, %v", again, err)
			}
			return w.refuses(host, delivery("ada", "monday", "Note beer."), adk.E_DELIVERY_CONFLICT)
		},
	},
	{
		Name:  "two-hosts",
		About: "two hosts share a session: the second one is told that it is taken, and goes on where the first has left",
		Must:  []Settlement{{"ada", "monday", session.Committed, 1, 1, ""}, {"ada", "tuesday", session.Committed, 1, 2, ""}},
		play: func(w *world) error {
			attempts := map[string]fakes.Script{"monday": noteTurn("monday", "milk"), "tuesday": noteTurn("tuesday", "bread")}
			second, err := w.host("second", attempts, withNotes)
			if err != nil {
				return err
			}
			meanwhile := fakes.Do(func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
				return w.refuses(second, delivery("ada", "tuesday", "And bread."), adk.E_SESSION_BUSY)
			})
			attempts["monday"][0] = append([]fakes.Step{meanwhile}, attempts["monday"][0]...)
			first, err := w.host("first", attempts, withNotes)
			if err != nil {
				return err
			}
			if err := w.settles(first, delivery("ada", "monday", "Note milk.")); err != nil {
				return err
			}
			return w.resumes(second, 1)
		},
	},
	{
		Name:  "child-session",
		About: "a tool delegates: the commit of its turn has a delivery accepted in a session of its own",
		Must:  []Settlement{{"ada", "monday", session.Committed, 1, 1, ""}, {"ada/prices", "monday-prices", session.Committed, 1, 1, ""}},
		play: func(w *world) error {
			var host *session.Host
			delegate := tool("delegate", "Has somebody else find something out.", func(_ context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
				id, err := host.Delegate(dc, delivery("ada/prices", "monday-prices", fmt.Sprint(args["text"])))
				return adk.Text("asked: " + id.Delivery), err
			})
			host, err := w.host("host", map[string]fakes.Script{
				"monday": {{fakes.Call("delegate", `{"text":"What is milk?"}`).As("monday-call")},
					{fakes.Say("I have asked.").As("monday-reply"), fakes.Ack()}},
				"monday-prices": {{fakes.Say("1.20 a litre.").As("prices-reply"), fakes.Ack()}},
			}, func(c *session.Config) { c.Agent.Tools = []*adk.Tool{delegate} })
			if err != nil {
				return err
			}
			monday := delivery("ada", "monday", "What does milk cost?")
			monday.Auth = json.RawMessage(`{"user":"ada"}`)
			if err := w.settles(host, monday); err != nil {
				return err
			}
			return w.resumes(host, 1)
		},
	},
	{
		Name:  "upgrade-key",
		About: "a release gives a key its next version: it reads what the former has set, which leaves to it what is newer",
		Must: []Settlement{{"ada", "monday", session.Committed, 1, 1, ""}, {"ada", "tuesday", session.Committed, 1, 2, ""},
			{"ada", "friday", session.Committed, 1, 3, ""}},
		play: func(w *world) error {
			attempts := map[string]fakes.Script{
				"monday":  {{fakes.Call("greet", `{"text":"Ada"}`).As("monday-call")}, {fakes.Say("Hello, Ada.").As("monday-reply"), fakes.Ack()}},
				"tuesday": {{fakes.Call("greet", `{"text":"Oslo"}`).As("tuesday-call")}, {fakes.Say("In Oslo.").As("tuesday-reply"), fakes.Ack()}},
				"friday":  {{fakes.Say("Bye, Ada.").As("friday-reply"), fakes.Ack()}},
			}
			before, err := w.host("release-1", attempts, func(c *session.Config) {
				c.Keys, c.Agent.Tools = []session.AnyKey{userName}, []*adk.Tool{greetTool}
			})
			if err != nil {
				return err
			}
			after, err := w.host("release-2", attempts, func(c *session.Config) {
				c.Keys, c.Agent.Tools = []session.AnyKey{userProfile}, []*adk.Tool{placeTool}
			})
			if err != nil {
				return err
			}
			if err := errors.Join(w.settles(before, delivery("ada", "monday", "I am Ada.")),
				w.settles(after, delivery("ada", "tuesday", "I live in Oslo.")),
				w.refuses(before, delivery("ada", "friday", "Bye."), adk.E_SESSION_STATE_NEWER)); err != nil {
				return err
			}
			return w.resumes(after, 1)
		},
	},
	{
		Name:  "channel-state-changed",
		About: "a channel changes its own state in a turn: the delivery fails for good, and the next one goes on",
		Must: []Settlement{{"desk", "monday", session.Failed, 1, 0, adk.E_SESSION_CHANNEL_STATE_CHANGED},
			{"desk", "tuesday", session.Committed, 1, 1, ""}},
		play: func(w *world) error {
			attempts := map[string]fakes.Script{"tuesday": {{fakes.Say("Good morning.").As("tuesday-reply"), fakes.Ack()}}}
			counting, err := w.host("counting", attempts, func(c *session.Config) { c.Channels[chat] = newCounting })
			if err != nil {
				return err
			}
			mended, err := w.host("mended", attempts, nil)
			if err != nil {
				return err
			}
			monday := delivery("desk", "monday", "Good morning.")
			monday.ChannelState = json.RawMessage(`{"count":0}`)
			return errors.Join(w.settles(counting, monday), w.settles(mended, delivery("desk", "tuesday", "Good morning.")))
		},
	},
}

// The keys of the sessions, and the tools that use them.
var (
	workspace = must(session.NewKey[string](session.KeyInit{Name: "desk.workspace"}))
	notes     = must(session.NewKey[[]string](session.KeyInit{Name: "user.notes"}))
	userName  = must(session.NewKey[string](session.KeyInit{Name: "user.profile"}))
	// userProfile is the key userName in the next release.
	userProfile = must(session.NewKey[profile](session.KeyInit{Name: "user.profile", Version: 2, Upgrade: func(_ int, old json.RawMessage) (json.RawMessage, error) {
		return json.Marshal(map[string]json.RawMessage{"name": old, "place": json.RawMessage(`""`)})
	}}))

	ticketsTool = tool("tickets", "Counts the open tickets of the workspace.", func(_ context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
		name, err := workspace.Get(dc)
		return adk.Text(name + ": 2 open"), err
	})
	noteTool = tool("note", "Notes a text.", func(_ context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		held, err := notes.Ensure(dc, func() []string { return []string{} })
		if err != nil {
			return nil, err
		}
		held = append(held, fmt.Sprint(args["text"]))
		return adk.Text(strings.Join(held, ", ")), notes.Set(dc, held)
	})
	greetTool = tool("greet", "Learns a name.", func(_ context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		return adk.Text("noted"), userName.Set(dc, fmt.Sprint(args["text"]))
	})
	placeTool = tool("greet", "Learns a place.", func(_ context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		known, err := userProfile.Get(dc)
		if err != nil {
			return nil, err
		}
		known.Place = fmt.Sprint(args["text"])
		return adk.Text(known.Name + " in " + known.Place), userProfile.Set(dc, known)
	})
)

type profile struct {
	Name  string `json:"name"`
	Place string `json:"place"`
}

// tool makes a tool that takes a text, which may be missing.
func tool(name, description string, handler adk.ToolHandler) *adk.Tool {
	return must(adk.NewTool(adk.ToolInit{Name: name, Description: description, Handler: handler,
		InputSchema: []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`)}))
}

func withNotes(c *session.Config) {
	c.Keys, c.Agent.Tools = []session.AnyKey{notes}, []*adk.Tool{noteTool}
}

// noteTurn is the script of a turn that notes a text.
func noteTurn(id, text string) fakes.Script {
	return fakes.Script{
		{fakes.Call("note", map[string]any{"text": text}).As(id + "-call")},
		{fakes.Say("Noted.").As(id + "-reply"), fakes.Ack()},
	}
}

// deskChannel is a chat of one workspace, which its state names.
type deskChannel struct {
	chatChannel
	of struct {
		Workspace string `json:"workspace"`
	}
}

func newDesk(state json.RawMessage) (session.Channel, error) {
	c := &deskChannel{chatChannel: chatChannel{state}}
	return c, json.Unmarshal(state, &c.of)
}

func (c *deskChannel) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	if _, err := workspace.Ensure(tc, func() string { return c.of.Workspace }); err != nil {
		return err
	}
	return c.chatChannel.Deliver(ctx, tc, d)
}

// countingChannel changes its own state while it delivers, which a channel must not do.
type countingChannel struct{ chatChannel }

func newCounting(state json.RawMessage) (session.Channel, error) {
	return &countingChannel{chatChannel{state}}, nil
}

func (c *countingChannel) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	c.state = json.RawMessage(`{"count":1}`)
	return c.chatChannel.Deliver(ctx, tc, d)
}

// mortalStore ends the process of its host when an attempt commits.
type mortalStore struct {
	session.Store
	dead bool
}

var errDead = errors.New("the process has ended")

// Commit ends the process before anything is written.
func (s *mortalStore) Commit(context.Context, session.Claim, session.Commit) error {
	s.dead = true
	runtime.Goexit()
	return nil
}

// Release fails once the process has ended, because the deferred code that calls it would not run
// in a process that is gone.
func (s *mortalStore) Release(ctx context.Context, c session.Claim) error {
	if s.dead {
		return errDead
	}
	return s.Store.Release(ctx, c)
}

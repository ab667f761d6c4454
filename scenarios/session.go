package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
)

// Session is a named story of sessions: which deliveries come, to which hosts, and what goes wrong.
type Session struct {
	// Name is the name of the session, in lower case with dashes.
	Name string
	// About says in one line what the session shows.
	About string
	// Must lists how its deliveries must be settled, session by session, in their order.
	Must []Settlement

	play func(w *world) error
}

// Settlement is the result of a delivery.
type Settlement struct {
	Session, Delivery string
	State             session.DeliveryState
	// Attempt is the number of the attempt that settled it, and Revision the number of deliveries
	// that the session had committed by then.
	Attempt  int
	Revision int64
	Code     adk.Code
}

// Watch observes the sessions while they are played. Both fields may be nil.
type Watch struct {
	// Probe returns the probe for the turns of a host, by the host's name.
	Probe func(host string) adk.Probe
	// Journal returns the function that receives the steps of a host.
	Journal func(host string) func(session.Step)
}

// Run plays the session once, with a clock, ids and a scheduler that make every run the same. It
// returns an error if the deliveries are not settled as they must be.
func (s Session) Run(ctx context.Context, watch Watch) error {
	kept, err := memory.New(storage.Config{})
	if err != nil {
		return err
	}
	w := &world{ctx: ctx, kept: kept, clock: fakes.NewClock(), ids: fakes.NewIDs(), watch: watch}
	if err := s.play(w); err != nil {
		return fmt.Errorf("session %s: %w", s.Name, err)
	}
	found, err := w.settlements()
	if err == nil && !slices.Equal(found, s.Must) {
		err = fmt.Errorf("session %s: it ended as %+v and must end as %+v", s.Name, found, s.Must)
	}
	return err
}

// Sessions returns the named sessions, the simple ones first.
func Sessions() []Session { return slices.Clone(sessions) }

// SessionNamed finds a session by its name.
func SessionNamed(name string) (Session, bool) {
	at := slices.IndexFunc(sessions, func(s Session) bool { return s.Name == name })
	if at < 0 {
		return Session{}, false
	}
	return sessions[at], true
}

// world holds what the hosts of a session share.
type world struct {
	ctx   context.Context
	kept  *memory.Memory
	clock *fakes.Clock
	ids   *fakes.IDs
	watch Watch
}

// settlements returns the results of all deliveries.
func (w *world) settlements() (all []Settlement, err error) {
	ids, err := w.kept.Sessions().Sessions(w.ctx, tenant, "", 100)
	for _, id := range ids {
		history, err := w.kept.Sessions().History(w.ctx, id, 0, 100)
		if err != nil {
			return nil, err
		}
		for _, d := range slices.Backward(history) {
			all = append(all, Settlement{id.Session, d.ID, d.State, d.Outcome.Attempt, d.Outcome.Revision, d.Outcome.Code})
		}
	}
	return all, err
}

// tenant is the tenant of all sessions.
const tenant = "acme"

// chat is the kind of the channel of most sessions.
const chat = "chat"

// delivery makes a delivery of a text.
func delivery(to, id, text string) session.Delivery {
	payload := must(json.Marshal(text))
	return session.Delivery{Tenant: tenant, Session: to, ID: id, Kind: chat, Payload: payload}
}

// host makes a host whose model plays one script for each attempt. The scripts are named by the
// delivery and the number of the attempt: "monday", and "monday 2" for the second attempt.
func (w *world) host(name string, attempts map[string]fakes.Script, change func(*session.Config)) (*session.Host, error) {
	config := session.Config{
		Name: name, NoWait: true, Store: w.kept.Sessions(),
		Channels: map[string]func(json.RawMessage) (session.Channel, error){chat: newChat},
		Prompt:   func(session.Seed) (string, []string, error) { return prompt, nil, nil },
		Agent:    adk.Config{Executor: model(attempts), Storage: w.kept.Storage(), Clock: w.clock, IDs: w.ids},
	}
	if w.watch.Journal != nil {
		config.Journal = w.watch.Journal(name)
	}
	if change != nil {
		change(&config)
	}
	var probe adk.Probe
	if w.watch.Probe != nil {
		probe = w.watch.Probe(name)
	}
	config.Agent = fakes.Deterministic(config.Agent, probe)
	return session.NewHost(config)
}

// model makes an executor that plays the script of its attempt.
func model(attempts map[string]fakes.Script) adk.Executor {
	return adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		seed, err := session.SeedOf(dc)
		if err != nil {
			return err
		}
		name := seed.Delivery
		if seed.Attempt > 1 {
			name = fmt.Sprint(name, " ", seed.Attempt)
		}
		return attempts[name].Executor("model").Run(ctx, dc, h)
	}}
}

// chatChannel makes a message of the user from a text, and loads the messages before it.
type chatChannel struct{ state json.RawMessage }

func newChat(state json.RawMessage) (session.Channel, error) { return &chatChannel{state}, nil }

func (c *chatChannel) State() (json.RawMessage, error) { return c.state, nil }

func (c *chatChannel) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	var text string
	if err := json.Unmarshal(d.Payload, &text); err != nil {
		return err
	}
	history, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range history {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: d.ID, Role: adk.RoleUser, Content: text, CreatedAt: tc.Now(), UpdatedAt: tc.Now()})
	if err != nil {
		return err
	}
	return tc.Messages().Keep(ctx, m)
}

// settles delivers, and expects each delivery to be settled.
func (w *world) settles(h *session.Host, deliveries ...session.Delivery) error {
	for _, d := range deliveries {
		if _, err := h.Deliver(w.ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// refuses delivers, and expects an error with the code.
func (w *world) refuses(h *session.Host, d session.Delivery, code adk.Code) error {
	if _, err := h.Deliver(w.ctx, d); !errors.Is(err, code) {
		return fmt.Errorf("delivering %q gave %v, want %s", d.ID, err, code)
	}
	return nil
}

// resumes makes a host settle the deliveries that are left, and expects their number to be want.
func (w *world) resumes(h *session.Host, want int) error {
	n, err := h.Resume(w.ctx, 10)
	if err == nil && n != want {
		err = fmt.Errorf("%d were settled, want %d", n, want)
	}
	return err
}

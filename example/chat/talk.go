package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
)

// conversation is a session as the terminal sees it.
type conversation struct {
	host   *session.Host
	db     *database.DB
	id     session.SessionID
	screen *screen
}

// goOn settles what an earlier chat has left over, in the order in which it was said.
func (c *conversation) goOn(ctx context.Context) error {
	state, err := c.host.State(ctx, c.id.Tenant, c.id.Session)
	if err != nil {
		return err
	}
	for _, d := range slices.Backward(state.Deliveries) {
		if d.State.Settled() {
			continue
		}
		var line payload
		if err := json.Unmarshal(d.Payload, &line); err != nil {
			return fmt.Errorf("%s: %w", d.DeliveryID(), err)
		}
		c.screen.note("going on with %.200q; a chat that may still be at it is waited for", line.Text)
		if err := c.deliver(ctx, d.ID, d.Payload); errors.Is(err, errGivenUp) {
			c.screen.note("%s", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// read says the lines of a terminal. If a line is given up, the later ones are still said.
func (c *conversation) read(ctx context.Context, t terminal) (err error) {
	lines, failed := make(chan string), make(chan error, 1)
	go func() { // it blocks on the terminal, and ends with the process
		defer close(lines)
		scanner := bufio.NewScanner(t.in)
		scanner.Buffer(nil, session.MaxPayload)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
		err := scanner.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("a line has more than %d bytes: nothing of it was said", session.MaxPayload)
		}
		failed <- err
	}()
	for {
		c.screen.write(t.prompt)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case line, more := <-lines:
			if !more {
				return errors.Join(err, <-failed)
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			said := c.say(ctx, adk.UUIDs().NewID(), line)
			if said != nil && !errors.Is(said, errGivenUp) {
				return said
			}
			if said != nil {
				c.screen.note("%s", said)
				err = errors.New("not every line has an answer")
			}
		}
	}
}

// say delivers a line under an id. A line with the same id counts once, however often it is said.
func (c *conversation) say(ctx context.Context, id, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%.60q is no UTF-8: it was not said", text)
	}
	line, err := json.Marshal(payload{text})
	if err != nil {
		return err
	}
	return c.deliver(ctx, id, line)
}

var errGivenUp = errors.New("was given up")

// deliver waits until a delivery is settled and its answer is on the screen.
func (c *conversation) deliver(ctx context.Context, id string, line json.RawMessage) error {
	outcome, err := c.host.Deliver(ctx, session.Delivery{Tenant: c.id.Tenant, Session: c.id.Session, ID: id, Kind: lineKind, Payload: line})
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w: %.60s is kept, and the next chat in session %q goes on with it", context.Cause(ctx), line, c.id.Session)
	case err != nil:
		return err
	case outcome.State == session.Failed:
		return fmt.Errorf("%s %w after attempt %d, with %s", outcome.Delivery, errGivenUp, outcome.Attempt, outcome.Code)
	case c.screen.hasShown(outcome.TurnID):
		return nil
	}
	answers, err := c.answersTo(ctx, id)
	if err != nil {
		return err
	}
	c.screen.note("answered before:")
	for _, answer := range answers {
		c.screen.write(answer + "\n")
	}
	return nil
}

// answersTo reads the answers to a delivery from the database.
func (c *conversation) answersTo(ctx context.Context, id string) (answers []string, err error) {
	place := storage.Place{Partition: storage.Partition{Tenant: c.id.Tenant, Session: c.id.Session}, Collection: adk.Messages}
	rows, err := c.db.Fetch(ctx, place, 0)
	if err != nil {
		return nil, err
	}
	var parser adk.RecordParser
	since := false
	for _, row := range rows {
		record, err := parser.Parse(adk.RecordMessage, row.Body)
		if err != nil {
			return nil, err
		}
		message, ok := record.(*adk.Message)
		switch {
		case !ok:
			return nil, errors.New("a message in the database is none")
		case message.Role() == adk.RoleUser:
			since = message.ID() == messageID(id)
		case since:
			answers = append(answers, message.Content().String())
		}
	}
	return answers, nil
}

// screen shows what the agent says while the agent says it.
type screen struct {
	out, err io.Writer

	mu    sync.Mutex
	shown map[string]bool // turns that were shown completely
}

// listen shows one turn.
func (s *screen) listen(seed session.Seed) (adk.Functional, adk.Observability) {
	if seed.Attempt > 1 {
		s.note("attempt %d", seed.Attempt)
	}
	return adk.Functional{
			Message: func(e adk.MessageEvent) {
				s.write(e.Delta)
				if e.Complete {
					s.write("\n")
				}
			},
		}, adk.Observability{
			ToolExecutionEnd: func(e adk.ToolExecutionEnd) { s.note("%s", e.ToolName) },
			Error:            func(e adk.ErrorEvent) { s.note("%s", e.Error) },
			DispatchEnd: func(e adk.DispatchEnd) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.shown[e.TurnID] = e.Status == adk.StatusAck
			},
		}
}

func (s *screen) hasShown(turn string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown[turn]
}

// write shows what the agent says, and note shows remarks.
func (s *screen) write(text string) { fmt.Fprint(s.out, text) }

func (s *screen) note(format string, args ...any) { fmt.Fprintf(s.err, "("+format+")\n", args...) }

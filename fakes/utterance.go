package fakes

import (
	"cmp"
	"context"

	"github.com/adkreplay/adkreplay/adk"
)

// Utterance is the step of a model that says or thinks something: it reports the text, marks it
// complete, and stores the record.
type Utterance struct {
	chunks    []string
	id        string
	thought   bool
	notStored bool
}

// Say is a message of the model in one piece. Its id is m and the step's place, as in m0.1 for the
// second step of the first iteration.
func Say(text string) Utterance { return Utterance{chunks: []string{text}} }

// Stream is one message of the model in chunks. It breaks off when the context ends.
func Stream(chunks ...string) Utterance { return Utterance{chunks: chunks} }

// Think is a thought of the model in one piece. Its id is t and the step's place.
func Think(text string) Utterance { return Utterance{chunks: []string{text}, thought: true} }

// As returns the utterance with the given id.
func (u Utterance) As(id string) Utterance { u.id = id; return u }

// NotStored returns an utterance that is reported to listeners but leaves no record.
func (u Utterance) NotStored() Utterance { u.notStored = true; return u }

func (u Utterance) play(p player) error {
	if u.thought {
		return u.think(p, cmp.Or(u.id, "t"+p.at))
	}
	return u.say(p, cmp.Or(u.id, "m"+p.at))
}

func (u Utterance) say(p player, id string) error {
	last, err := report(p.ctx, u.chunks, func(delta string, complete bool) (adk.MessageEvent, error) {
		return p.h.ReportMessage(id, delta, complete)
	})
	if err != nil || u.notStored {
		return err
	}
	message, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleAssistant, Content: last.Full,
		CreatedAt: last.CreatedAt, UpdatedAt: last.UpdatedAt})
	if err != nil {
		return err
	}
	return p.dc.Messages().Store(p.ctx, message)
}

func (u Utterance) think(p player, id string) error {
	last, err := report(p.ctx, u.chunks, func(delta string, complete bool) (adk.ThoughtEvent, error) {
		return p.h.ReportThought(id, delta, complete)
	})
	if err != nil || u.notStored {
		return err
	}
	thought, err := adk.NewThought(adk.ThoughtInit{ID: id, Content: last.Full,
		CreatedAt: last.CreatedAt, UpdatedAt: last.UpdatedAt})
	if err != nil {
		return err
	}
	return p.dc.Thoughts().Store(p.ctx, thought)
}

// report reports the chunks, the last of them as complete, and returns the last event. If the
// context ends, it stops and reports the stream complete with what it has.
func report[E any](ctx context.Context, chunks []string, one func(delta string, complete bool) (E, error)) (event E, err error) {
	if len(chunks) == 0 {
		return one("", true)
	}
	for i, chunk := range chunks {
		if i > 0 && ctx.Err() != nil {
			return one("", true)
		}
		if event, err = one(chunk, i == len(chunks)-1); err != nil {
			break
		}
	}
	return event, err
}

package adk

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/adk/internal/handed"
)

// OpenMedia reads all the bytes of a media through the context, so that a trace holds them and a
// replay gives them back without the reader. Bytes read with Media.Open and the like are in no
// trace (PRM-8). The slice is the caller's. Memory and trace hold all the bytes, so this is for
// media that a model could be given, not for long films.
//
// The reader gets ctx without the handle (WLD-3). It decides itself when to give up, even if the
// turn is aborted meanwhile. Its error is returned as it is, and its panic as a *PanicError. In a
// turn that is already aborted the reader is not called, and the error is the abort's cause
// (ABT-7).
func (h Handle) OpenMedia(ctx context.Context, media *Media) (data []byte, err error) {
	if !made(media) {
		return nil, errors.New("adk: open of a nil media or a zero one: give it one that NewMedia made")
	}
	if ctx == nil {
		return nil, errNilContext(KindOpenMedia)
	}
	c := h.call
	if err := c.enter(KindOpenMedia); err != nil {
		return nil, err
	}
	r := c.run
	op := c.begin(KindOpenMedia, func(x *Crossing) { x.Record = media })
	if err = r.refusal(); err != nil {
		r.mu.Unlock()
		c.tellOpened(op, nil, err)
		return nil, err
	}
	r.mu.Unlock()

	err = errGoexit // stands if the reader ends the goroutine
	defer func() { c.tellOpened(op, data, err) }()
	err = guarded(func() (err error) {
		data, err = media.Bytes(handed.Without(ctx))
		return err
	})
	return data, err
}

// tellOpened reports that the bytes were read, or why they were not.
func (c *call) tellOpened(op int, data []byte, err error) {
	r := c.run
	r.before(c, KindOpenMedia, Done)
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.crossing(c, KindOpenMedia, Done, c.now()); x != nil {
		x.Op, x.Err = op, err
		if err == nil {
			x.Value = data
		}
		r.tell(x)
	}
}

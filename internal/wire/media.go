package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// This file gives media their bytes back. A trace holds the bytes of media that were opened through
// a context; opening any other media gives an error that says so.

// Openings holds what each opening of a media in a trace returned. Every media that is read from
// the trace, wherever it appears, reads its bytes from here.
type Openings struct {
	mu     sync.Mutex // live code may open media at any time, from any goroutine
	begun  map[int]adk.Digest
	Given  map[int]Opened
	latest map[adk.Digest]int // the operation whose answer a media's reader gives
}

// Opened is what one opening returned.
type Opened struct {
	Data []byte
	Err  error
}

func newOpenings() *Openings {
	return &Openings{begun: map[int]adk.Digest{}, Given: map[int]Opened{}, latest: map[adk.Digest]int{}}
}

// note records what a line that was read says about openings.
func (o *Openings) note(x *adk.Crossing) {
	if !OpensMedia(x) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if x.Phase == adk.Begin {
		if media, ok := x.Record.(*adk.Media); ok {
			o.begun[x.Op] = media.Digest()
		}
		return
	}
	media, known := o.begun[x.Op]
	if !known {
		return
	}
	delete(o.begun, x.Op)
	if before, ok := o.Given[o.latest[media]]; !ok || before.Err != nil {
		o.latest[media] = x.Op
	}
	data, _ := x.Value.([]byte)
	o.Given[x.Op] = Opened{data, x.Err}
}

// Reached records that a replay has reached the beginning of an opening. From now on the media's
// reader gives the answer of that opening.
func (o *Openings) Reached(x *adk.Crossing) {
	if media, ok := x.Record.(*adk.Media); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.latest[media.Digest()] = x.Op
	}
}

// of returns what the reader of a media gives: the opening that the replay last reached or, before
// it reached any, the first one in the trace that did not fail.
func (o *Openings) of(media adk.Digest) (Opened, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	given, ok := o.Given[o.latest[media]]
	return given, ok
}

// reader returns the reader of a media that was read from the trace.
func (o *Openings) reader(media *adk.Media) adk.MediaReader {
	return adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		given, ok := o.of(media.Digest())
		switch {
		case !ok:
			return nil, errNotOpened(media)
		case given.Err != nil:
			return nil, given.Err
		}
		return io.NopCloser(bytes.NewReader(given.Data)), nil
	})
}

// NotHeld is the beginning of the message about something that a trace lacks.
const NotHeld = "the trace does not hold"

// errNotOpened is the error of opening a media whose bytes the trace does not hold.
func errNotOpened(media *adk.Media) error {
	return &adk.Error{Code: adk.E_NOT_A_MEDIA_READER, Message: fmt.Sprintf(
		NotHeld+" the bytes of media %.64q (%.64s, %.64q): nobody opened it through a context, as Handle.OpenMedia does",
		media.ID(), media.MIMEType(), media.Filename())}
}

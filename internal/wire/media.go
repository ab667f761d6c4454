package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// This file gives media their bytes back: those that were opened through a
// context stand in the trace, and any other media says that they do not.

// Openings are what the openings of media in a trace gave. Every media that is
// read from the trace, wherever it stands, reads its bytes from here.
type Openings struct {
	mu     sync.Mutex // live code opens media when and where it likes
	begun  map[int]adk.Digest
	Given  map[int]Opened
	latest map[adk.Digest]int // the operation whose answer a media's reader gives
}

// Opened is what one opening gave.
type Opened struct {
	Data []byte
	Err  error
}

func newOpenings() *Openings {
	return &Openings{begun: map[int]adk.Digest{}, Given: map[int]Opened{}, latest: map[adk.Digest]int{}}
}

// note takes in a line that was read.
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

// Reached tells that a replay stands at the beginning of an opening: its answer
// is the one that the media's reader gives from now on.
func (o *Openings) Reached(x *adk.Crossing) {
	if media, ok := x.Record.(*adk.Media); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.latest[media.Digest()] = x.Op
	}
}

// of is what the reader of a media gives; unless a replay is at another, what its
// first opening gave that did not fail.
func (o *Openings) of(media adk.Digest) (Opened, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	given, ok := o.Given[o.latest[media]]
	return given, ok
}

// reader is the reader of a media that was read from the trace.
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

// NotHeld is how the text begins of what lacks in a trace.
const NotHeld = "the trace does not hold"

// errNotOpened is what a media answers whose bytes the trace does not hold.
func errNotOpened(media *adk.Media) error {
	return &adk.Error{Code: adk.E_NOT_A_MEDIA_READER, Message: fmt.Sprintf(
		NotHeld+" the bytes of media %.64q (%.64s, %.64q): nobody opened it through a context, as Handle.OpenMedia does",
		media.ID(), media.MIMEType(), media.Filename())}
}

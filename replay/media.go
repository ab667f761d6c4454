package replay

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

// openings are what the openings of media in a trace gave. Every media that is
// read from the trace, wherever it stands, reads its bytes from here.
type openings struct {
	mu     sync.Mutex // live code opens media when and where it likes
	begun  map[int]adk.Digest
	given  map[int]opened
	latest map[adk.Digest]int // the operation whose answer a media's reader gives
}

// opened is what one opening gave.
type opened struct {
	data []byte
	err  error
}

func newOpenings() *openings {
	return &openings{begun: map[int]adk.Digest{}, given: map[int]opened{}, latest: map[adk.Digest]int{}}
}

// note takes in a line that was read.
func (o *openings) note(x *adk.Crossing) {
	if x.Kind != adk.KindOpenMedia {
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
	if before, ok := o.given[o.latest[media]]; !ok || before.err != nil {
		o.latest[media] = x.Op
	}
	data, _ := x.Value.([]byte)
	o.given[x.Op] = opened{data, x.Err}
}

// reached tells that a replay stands at the beginning of an opening: its answer
// is the one that the media's reader gives from now on.
func (o *openings) reached(x *adk.Crossing) {
	if media, ok := x.Record.(*adk.Media); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.latest[media.Digest()] = x.Op
	}
}

// of is what the reader of a media gives; unless a replay is at another, what its
// first opening gave that did not fail.
func (o *openings) of(media adk.Digest) (opened, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	given, ok := o.given[o.latest[media]]
	return given, ok
}

// reader is the reader of a media that was read from the trace.
func (o *openings) reader(media *adk.Media) adk.MediaReader {
	return adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		given, ok := o.of(media.Digest())
		switch {
		case !ok:
			return nil, errNotOpened(media)
		case given.err != nil:
			return nil, given.err
		}
		return io.NopCloser(bytes.NewReader(given.data)), nil
	})
}

// notHeld is how the text begins of what lacks in a trace.
const notHeld = "the trace does not hold"

// errNotOpened is what a media answers whose bytes the trace does not hold.
func errNotOpened(media *adk.Media) error {
	return &adk.Error{Code: adk.E_NOT_A_MEDIA_READER, Message: fmt.Sprintf(
		notHeld+" the bytes of media %.64q (%.64s, %.64q): nobody opened it through a context, as Handle.OpenMedia does",
		media.ID(), media.MIMEType(), media.Filename())}
}

// openMedia performs an opening: its bytes come from the trace, and no reader of
// user code runs.
func (s *stage) openMedia(ctx context.Context, h adk.Handle, x *adk.Crossing) bool {
	media, ok := x.Record.(*adk.Media)
	if !ok {
		return false
	}
	data, err := h.OpenMedia(ctx, media.WithReader(adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		data, err := s.director.opened(x)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(data)), nil
	})))
	s.director.answeredBytes(x, data, err)
	return true
}

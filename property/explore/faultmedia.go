package explore

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/forging"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file breaks the readers of media, before their content is verified.

// The reasons why a fault of a reader is not tried.
const (
	onlyMedia = "only a media that is opened has a reader"
	notMarked = "nothing says which bytes the media has"
)

// refusesMedia allows the reader of a media to fail where it is opened.
func (s *faultPoint) refusesMedia() string {
	switch {
	case !s.began() || s.step.Kind.Touches() != adk.TouchMedia || s.step.Phase != adk.Begin:
		return onlyMedia
	case s.ended:
		return aborted
	}
	return ""
}

// refusesUnmarked allows a reader to give other bytes if a mark holds the hash of the right ones.
// Without a mark the agent could not notice.
func (s *faultPoint) refusesUnmarked() string {
	if why := s.refusesMedia(); why != "" {
		return why
	}
	media, _ := s.x.Record.(*adk.Media)
	if media == nil {
		return onlyMedia
	}
	mark, _ := media.Stashed(forging.StashKey)
	if _, hashed := forging.HashOf(mark.Value); !hashed {
		return notMarked
	}
	return ""
}

// breakReading breaks the stream that is read next, if a fault requires it.
func (a *attempt) breakReading(stream io.ReadCloser) (io.ReadCloser, error) {
	f := a.reading.Swap(nil)
	if f == nil || !a.fires(f) {
		return stream, nil
	}
	whole, err := io.ReadAll(stream)
	if err := errors.Join(err, stream.Close()); err != nil {
		return nil, err
	}
	var broken io.Reader = bytes.NewReader(whole[:len(whole)/2])
	switch f.Kind {
	case turn.MediaFails:
		broken = io.MultiReader(broken, failingReader{})
	case turn.MediaOther:
		broken = bytes.NewReader(append(slices.Clone(whole), 'x'))
		if len(whole) > 0 {
			whole[0] ^= 1
			broken = bytes.NewReader(whole)
		}
	}
	return io.NopCloser(broken), nil
}

// failingReader fails.
type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errBroken }

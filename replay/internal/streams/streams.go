// Package streams finds the texts that a call streamed, each in its pieces.
package streams

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/subjects"
)

// Stream is a text in the pieces in which it was said; it has at least one piece.
type Stream []*calls.Step

// In returns the streamed texts in a list of steps, by strand, kind and id, and their keys in the
// order in which they begin.
func In(steps []*calls.Step) (streams map[string]Stream, order []string) {
	streams = map[string]Stream{}
	for _, s := range steps {
		if !wire.IsDelta(s.X) {
			continue
		}
		key := subjects.Of(s)
		if streams[key] == nil {
			order = append(order, key)
		}
		streams[key] = append(streams[key], s)
	}
	return streams, order
}

// Text is the whole text.
func (s Stream) Text() string {
	var b strings.Builder
	for _, piece := range s {
		b.WriteString(piece.X.Text)
	}
	return b.String()
}

// Same reports whether two streams have the same pieces.
func (s Stream) Same(other Stream) bool {
	return slices.EqualFunc(s, other, func(a, b *calls.Step) bool { return a.X.Text == b.X.Text && a.X.Flag == b.X.Flag })
}

// SaysTheSame reports whether two streams say the same text, in any pieces, and both end it or
// neither does.
func (s Stream) SaysTheSame(other Stream) bool {
	return s.Text() == other.Text() && s[len(s)-1].X.Flag == other[len(other)-1].X.Flag
}

// OfSomething returns the pieces that are not empty, or that end the text.
func (s Stream) OfSomething() Stream {
	return slices.DeleteFunc(slices.Clone(s), func(s *calls.Step) bool { return wire.SaysNothing(s.X) })
}

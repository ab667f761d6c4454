package redacting

import (
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/jsonpointer"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file looks for secrets that are cut over the pieces of an answer: what stands at
// one place of the JSON of one piece after the other is taken for one text.

// pieceText is a text of a piece, as a part of the stream of those at its place.
type pieceText struct {
	stream   *redactStream
	from, to int
}

// pieceStream is the texts at one place of the pieces of an ask.
type pieceStream struct {
	*redactStream
	last int // the piece that had the latest
}

// longestPause is how many pieces may come without a text at a place before the next is
// another text: meanwhile lines may wait.
const longestPause = 8

// pieceStreams are the streams of an ask that is under way, by their places.
type pieceStreams struct {
	count int
	at    map[string]*pieceStream
}

// pieces adds the texts of a piece to their streams, and ends those that do not go on.
func (r *Writer) pieces(h *toldLine, c *adk.Crossing) error {
	ask := r.asks[c.Op]
	if ask == nil {
		ask = &pieceStreams{at: map[string]*pieceStream{}}
		r.asks[c.Op] = ask
	}
	ask.count++
	members, err := wire.ScanMembers(nil, h.line)
	if err != nil {
		return err
	}
	d := wire.Decoder{Members: members} // as it is written, which need be no JSON
	err = wire.EachText(d.Member("piece"), "", func(place, text string) {
		s := ask.at[place]
		if s == nil {
			s = &pieceStream{redactStream: newRedactStream(r.redactor, namesOf(place)...)}
			ask.at[place] = s
		}
		s.last = ask.count
		from, to := s.Add(text, false)
		h.pieces = append(h.pieces, pieceText{s.redactStream, from, to})
	})
	for place, s := range ask.at { // in any order: each is decided by itself
		if ask.count-s.last >= longestPause {
			s.End()
			delete(ask.at, place)
		}
	}
	return err
}

// namesOf are the names on the way to a place of a piece, in lower case; numbers are no names.
func namesOf(place string) []string {
	names := []string{"piece"}
	for _, name := range jsonpointer.Names(strings.ToLower(place)) {
		if _, err := strconv.Atoi(name); name != "" && err != nil {
			names = append(names, name)
		}
	}
	return names
}

// endPieces ends the streams of an ask.
func (r *Writer) endPieces(op int) {
	if ask := r.asks[op]; ask != nil {
		for _, s := range ask.at {
			s.End()
		}
		delete(r.asks, op)
	}
}

// pieceText writes the next text of a piece: what its stream leaves of it, and what a
// pattern finds in that alone. A line that is learned from has no streams yet.
func (l *lineRedactor) pieceText(text string) string {
	if len(l.pieces) == 0 {
		return text
	}
	next := l.pieces[0]
	l.pieces = l.pieces[1:]
	return l.redactor.Text(next.stream.Between(next.from, next.to))
}

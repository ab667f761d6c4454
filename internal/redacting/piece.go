package redacting

import (
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/jsonpointer"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file finds secrets that are split over the pieces of an answer. The texts at the same place
// in the JSON of successive pieces are treated as one text.

// pieceText is a text of a piece, as a range of the stream of the texts at its place.
type pieceText struct {
	stream   *redactStream
	from, to int
}

// pieceStream is the stream of the texts at one place in the pieces of an ask.
type pieceStream struct {
	*redactStream
	last int // the number of the piece that had the latest text
}

// longestPause is how many pieces may lack a text at a place before the next text there starts a
// new stream. Meanwhile lines may have to wait.
const longestPause = 8

// pieceStreams are the streams of an open ask, by their places.
type pieceStreams struct {
	count int
	at    map[string]*pieceStream
}

// pieces adds the texts of a piece to their streams, and ends the streams that have not continued
// for longestPause pieces.
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
	d := wire.Decoder{Members: members} // the line as written
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
	for place, s := range ask.at { // the order does not matter: each stream is independent
		if ask.count-s.last >= longestPause {
			s.End()
			delete(ask.at, place)
		}
	}
	return err
}

// namesOf returns the names that lead to a place of a piece, in lower case, without the indexes of
// lists.
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

// pieceText redacts the next text of a piece: it returns what its stream leaves, without what a
// pattern finds in that. While learning from a line there are no streams yet.
func (l *lineRedactor) pieceText(text string) string {
	if len(l.pieces) == 0 {
		return text
	}
	next := l.pieces[0]
	l.pieces = l.pieces[1:]
	return l.redactor.Text(next.stream.Between(next.from, next.to))
}

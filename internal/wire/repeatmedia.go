package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
)

// This file lets what is asked name the media that it shows, which stand in a trace
// where they were opened. They are found as what clients send: base64 with padding, as
// in data URIs.

// repeatMedia is the one member of what stands for a media in a text: the number of its
// open-media.
const repeatMedia = "media"

// minMedia is how many bytes a media has at least that is worth a name.
const minMedia = 96

// maxMedia is how many media can be named: the latest.
const maxMedia = 64

// writtenMedia is what is held of a media that was written: enough to find it again.
type writtenMedia struct {
	op, size int    // of its base64
	begin    []byte // the beginning of that
	sum      [sha256.Size]byte
}

// spot is where in a text the base64 of a media stands.
type spot struct{ op, from, to int }

// noteMedia takes in a media that a line says, and gives the opening before that gave the
// same bytes.
func (r *repeats) noteMedia(op int, data []byte) (from int, same bool) {
	r.media = slices.DeleteFunc(r.media, func(m writtenMedia) bool { return m.op == op })
	if len(data) < minMedia {
		return 0, false
	}
	m := writtenMedia{op: op, size: base64.StdEncoding.EncodedLen(len(data)), begin: base64.StdEncoding.AppendEncode(nil, data[:minMedia])}
	hash := sha256.New()
	encode := base64.NewEncoder(base64.StdEncoding, hash)
	_, _ = encode.Write(data) // a hash never fails
	_ = encode.Close()
	hash.Sum(m.sum[:0])
	if at := slices.IndexFunc(r.media, func(one writtenMedia) bool { return one.size == m.size && one.sum == m.sum }); at >= 0 {
		m, same = r.media[at], true // which is the one to be named
		r.media = slices.Delete(r.media, at, at+1)
	}
	r.media = append(r.media, m)
	if len(r.media) > maxMedia {
		r.media = slices.Delete(r.media, 0, 1)
	}
	return m.op, same
}

// withoutMedia takes the media out of what of a text is new. Where one is in part in
// what was said before, as all images of a format begin alike, all of it is new.
func (r *repeats) withoutMedia(text []byte, by repeat) repeat {
	at, end := by.head, len(text)-by.tail
	for at > 0 && isBase64(text[at-1]) {
		at--
	}
	for len(r.media) > 0 {
		next, ok := r.nextMedia(text, at)
		if !ok || next.from >= end {
			break
		}
		if at = next.to; next.to <= by.head {
			continue
		}
		by.head, end = min(by.head, next.from), max(end, next.to)
		by.media = append(by.media, next)
	}
	by.tail = len(text) - end
	return by
}

// nextMedia is the first media in what of a text comes from a place on.
func (r *repeats) nextMedia(text []byte, at int) (first spot, ok bool) {
	for _, m := range slices.Backward(r.media) {
		for from := at; ; from = endOfBase64(text, from) {
			n := bytes.Index(text[from:], m.begin)
			if from += n; n < 0 || from+m.size > len(text) || ok && from >= first.from {
				break
			}
			if (from == 0 || !isBase64(text[from-1])) && sha256.Sum256(text[from:from+m.size]) == m.sum {
				first, ok = spot{m.op, from, from + m.size}, true
				break
			}
		}
	}
	return first, ok
}

// endOfBase64 is where base64 ends that has a place in it: each is looked at once.
func endOfBase64(text []byte, at int) int {
	for at < len(text) && isBase64(text[at]) {
		at++
	}
	return at
}

func isBase64(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

// withMedia writes what is new in a text in which media are named.
func (e *Encoder) withMedia(text []byte, by repeat) {
	e.rawKey(repeatText)
	e.Out = append(e.Out, '[')
	at := by.head
	for _, m := range by.media {
		e.comma()
		e.Text(string(text[at:m.from]))
		e.Out = append(e.Out, `,{"`+repeatMedia+`":`...)
		e.Out = append(strconv.AppendInt(e.Out, int64(m.op), 10), '}')
		at = m.to
	}
	e.comma()
	e.Text(string(text[at : len(text)-by.tail]))
	e.Out = append(e.Out, ']')
}

// newText is what is new in a text: its parts, of which some are media.
type newText []textPart

type textPart struct {
	text  string
	media []byte // whose base64 it is; nil for a text
}

func (t newText) size() (n int) {
	for _, part := range t {
		n += len(part.text) + base64.StdEncoding.EncodedLen(len(part.media))
	}
	return n
}

func (t newText) appendTo(dst []byte) []byte {
	for _, part := range t {
		dst = append(dst, part.text...)
		dst = base64.StdEncoding.AppendEncode(dst, part.media)
	}
	return dst
}

// newText reads what is new in a text.
func (d *Decoder) newText(raw []byte) (rest newText, err error) {
	if raw[0] != '[' {
		text, err := TextOfJSON(raw)
		return newText{{text: text}}, err
	}
	list, err := Elements(raw)
	if err != nil {
		return nil, err
	}
	rest = make(newText, len(list))
	for i, one := range list {
		if m, notOne := OnlyMember(one); notOne == nil && string(m.Name) == repeatMedia {
			rest[i].media, err = d.openedMedia(repeatMedia, m.Value)
		} else {
			rest[i].text, err = TextOfJSON(one)
		}
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return rest, nil
}

// openedMedia are the bytes that an open-media gave, by its number, which a member says.
func (d *Decoder) openedMedia(name string, raw []byte) ([]byte, error) {
	op, err := IntOfJSON(raw)
	if err != nil {
		return nil, err
	}
	data, ok := d.repeats.opened[op]
	if !ok {
		return nil, fmt.Errorf("%s: %d: %w", name, op, errNothingBefore)
	}
	return data, nil
}

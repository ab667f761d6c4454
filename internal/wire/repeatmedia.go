package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
)

// This file lets a request refer to the media that it contains, whose bytes are in the trace where
// they were opened. Media are recognised in the form in which clients send them: base64 with
// padding, as in data URIs.

// repeatMedia is the only member of the object that stands for a media in a text. Its value is the
// number of the operation that opened the media.
const repeatMedia = "media"

// minMedia is the smallest size, in bytes, of a media that is worth a reference.
const minMedia = 96

// maxMedia is how many media can be referred to: the latest ones.
const maxMedia = 64

// writtenMedia is what a writer holds of a media to find it in a text.
type writtenMedia struct {
	op, size int    // the opening, and the length of the base64
	begin    []byte // the beginning of the base64
	sum      [sha256.Size]byte
}

// spot is a range of a text that is the base64 of a media.
type spot struct{ op, from, to int }

// noteMedia records the media that operation op opened. It also returns an earlier opening that
// gave the same bytes, if there is one.
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
		m, same = r.media[at], true // refer to the first opening
		r.media = slices.Delete(r.media, at, at+1)
	}
	r.media = append(r.media, m)
	if len(r.media) > maxMedia {
		r.media = slices.Delete(r.media, 0, 1)
	}
	return m.op, same
}

// withoutMedia finds the media in the new part of a text. All images of a format begin alike, so a
// media can begin or end within the repeated part; the whole media then counts as new.
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

// nextMedia returns the first media in text at or after a position.
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

// endOfBase64 returns the end of the run of base64 characters at a position, so that each run is
// searched once.
func endOfBase64(text []byte, at int) int {
	for at < len(text) && isBase64(text[at]) {
		at++
	}
	return at
}

func isBase64(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

// withMedia writes the new part of a text that contains media.
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

// newText is the new part of a text: a list of parts, some of which are media.
type newText []textPart

type textPart struct {
	text  string
	media []byte // the media whose base64 it is; nil for a text
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

// newText reads the new part of a text.
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

// openedMedia returns the bytes of the media whose opening the member name refers to.
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

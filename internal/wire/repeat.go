package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/jsonscan"
)

// This file lets a trace say once what asks say again: a request that begins as an
// earlier one of the run, as a history does that is sent with each, and a piece of an
// answer that is like the piece before it.

// The members of what stands for a text of which a part was said before. The first is
// the number of the ask that said it, or 0; of that text the beginning and the end are
// taken, so many bytes each, and the text stands between them: a string, or a list of
// strings and of media that were opened.
const (
	repeatMark = "$from"
	repeatHead = "head"
	repeatText = "text"
	repeatTail = "tail"
)

// RepeatLimits bound what saying things once may cost. The zero value has nothing
// repeated: every line says all that it means.
type RepeatLimits struct {
	// Text is how long a text may be, in bytes, and all together that are held so that
	// others can name them.
	Text int64
	// Restored is how many bytes are restored, in all of a trace.
	Restored int64
}

// The errors of what is beyond a limit of RepeatLimits.
var (
	ErrTextTooLong   = errors.New("what is restored is too long")
	ErrRestoredMuch  = errors.New("more is restored than is allowed")
	errNothingBefore = errors.New("names what was not said before, or so long ago that nobody holds it")
)

// maxRequests is how many requests are held that others can name: more conversations do
// not take turns.
const maxRequests = 16

// minRepeat is how many bytes must have been said before, for less is not worth a mark.
const minRepeat = 64

// repeats are the texts that a line can name. Who writes a trace and who reads it keep
// the same ones.
type repeats struct {
	limits   RepeatLimits
	requests []saidText     // those used last at the end
	held     int64          // bytes of requests
	latest   map[int][]byte // of those that repeat what was said in their op, by that
	spare    []byte         // the room of a copy that nobody names any more
	media    []writtenMedia // of who writes
	opened   map[int][]byte // of who reads: media, by the number of their opening
	results  []saidResult   // of tools, the latest at the end
	restored int64
}

// saidText is the request of an ask.
type saidText struct {
	op   int
	text []byte
}

// repeat is a text by what of it was said before. from is 0 where that is nothing.
type repeat struct {
	from       int
	head, tail int
	media      []spot // of media, in what is new
}

// some reports whether anything of the text was said before.
func (r *repeat) some() bool { return r.from != 0 || len(r.media) > 0 }

// find looks for what of a text was said before: by another text, and by media that were
// opened.
func (r *repeats) find(x *adk.Crossing, how adk.Repetition, text []byte) repeat {
	if int64(len(text)) > min(r.limits.Text, r.limits.Restored-r.restored) {
		return repeat{}
	}
	return r.withoutMedia(text, r.findText(x, how, text))
}

// findText looks for a text that was said before: of a piece the one before it, and of a
// request the one with which it has the longest beginning in common.
func (r *repeats) findText(x *adk.Crossing, how adk.Repetition, text []byte) (found repeat) {
	var base []byte
	if how == adk.RepeatsOp {
		base = r.latest[x.Op]
		found.head = commonHead(base, text)
	} else {
		for _, said := range slices.Backward(r.requests) {
			if at := found.head; at > 0 && (at >= min(len(said.text), len(text)) || said.text[at] != text[at]) {
				continue // it has no more in common than what was found
			}
			if head := commonHead(said.text, text); base == nil || head > found.head {
				found.from, found.head, base = said.op, head, said.text
			}
		}
	}
	if base == nil {
		return repeat{}
	}
	if how == adk.RepeatsOp {
		found.from = x.Op
	}
	found.head = wholeRunes(text, found.head)
	found.tail = commonTail(base[found.head:], text[found.head:])
	if found.head+found.tail < minRepeat {
		return repeat{}
	}
	return found
}

// wholeRunes is head, or as much of it as ends neither within a character nor within an
// escape.
func wholeRunes(text []byte, head int) int {
	for head > 0 && (head < len(text) && !utf8.RuneStart(text[head]) || text[head-1] == '\\') {
		head--
	}
	return head
}

// blockSize is how many bytes are compared at a time, as long as they are the same.
const blockSize = 256

// commonHead is how many bytes two texts have in common at their beginning.
func commonHead(a, b []byte) int {
	n, most := 0, min(len(a), len(b))
	for n+blockSize <= most && bytes.Equal(a[n:n+blockSize], b[n:n+blockSize]) {
		n += blockSize
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// commonTail is how many bytes two texts have in common at their end, of whole
// characters.
func commonTail(a, b []byte) int {
	n, most := 0, min(len(a), len(b))
	last := func(text []byte) []byte { return text[len(text)-n-blockSize : len(text)-n] }
	for n+blockSize <= most && bytes.Equal(last(a), last(b)) {
		n += blockSize
	}
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(b[len(b)-n]) {
		n--
	}
	return n
}

// said is the text that a line names.
func (r *repeats) said(x *adk.Crossing, how adk.Repetition, from int) ([]byte, error) {
	if how == adk.RepeatsOp {
		if text := r.latest[from]; text != nil && from == x.Op {
			return text, nil
		}
		return nil, errNothingBefore
	}
	for _, said := range r.requests {
		if said.op == from {
			return said.text, nil
		}
	}
	return nil, errNothingBefore
}

// restore is the text that is meant where only what is new was written.
func (r *repeats) restore(x *adk.Crossing, how adk.Repetition, by repeat, rest newText) (json.RawMessage, error) {
	var base []byte
	if by.from != 0 {
		var err error
		if base, err = r.said(x, how, by.from); err != nil {
			return nil, fmt.Errorf("%s: %d: %w", repeatMark, by.from, err)
		}
	}
	if by.head < 0 || by.tail < 0 || by.head > len(base) || by.tail > len(base)-by.head {
		return nil, fmt.Errorf("%s and %s are %d and %d: there are %d bytes", repeatHead, repeatTail, by.head, by.tail, len(base))
	}
	size := by.head + rest.size() + by.tail
	if int64(size) > r.limits.Text {
		return nil, ErrTextTooLong
	}
	if r.restored += int64(size); r.restored > r.limits.Restored {
		return nil, ErrRestoredMuch
	}
	whole := append(make(json.RawMessage, 0, size), base[:by.head]...)
	whole = rest.appendTo(whole)
	return append(whole, base[len(base)-by.tail:]...), nil
}

// note takes in what a line said, so that others can name it: the text itself, or a copy.
func (r *repeats) note(x *adk.Crossing, how adk.Repetition, text []byte, by repeat, copied bool) {
	if last := r.latest[x.Op]; last != nil && x.Phase == adk.Done {
		delete(r.latest, x.Op)
		r.leave(last, copied)
	}
	switch {
	case len(text) == 0:
	case how == adk.RepeatsRun:
		r.noteRequest(x.Op, text, by, copied)
	case how == adk.RepeatsOp:
		if r.latest == nil {
			r.latest = map[int][]byte{}
		}
		if copied {
			room := r.latest[x.Op]
			if room == nil {
				room = r.room()
			}
			text = append(room[:0], text...)
		}
		r.latest[x.Op] = text
	}
}

// leave keeps the room of a text that nobody names any more, if it is a copy of ours.
func (r *repeats) leave(text []byte, copied bool) {
	if copied && cap(text) > cap(r.spare) {
		r.spare = text
	}
}

// room gives the room that was left, if there is any.
func (r *repeats) room() []byte {
	room := r.spare
	r.spare = nil
	return room[:0]
}

// noteRequest holds a request. It takes the place of the one it names where it has all
// of that: a conversation is held once, as far as it has come. Beyond the bounds those
// go that were used the longest time ago.
func (r *repeats) noteRequest(op int, text []byte, by repeat, copied bool) {
	var room []byte
	same := 0
	for i := len(r.requests) - 1; i >= 0; i-- {
		said := r.requests[i]
		switch {
		case said.op == op, said.op == by.from && len(said.text) == by.head+by.tail:
			if said.op == by.from {
				room, same = said.text, by.head
			}
			r.drop(i)
		case said.op == by.from:
			r.requests = append(slices.Delete(r.requests, i, i+1), said)
		}
	}
	if copied {
		if room == nil {
			room = r.room()
		}
		text = append(room[:same], text[same:]...)
	}
	r.requests = append(r.requests, saidText{op, text})
	r.held += int64(len(text))
	for len(r.requests) > maxRequests || r.held > r.limits.Text && len(r.requests) > 1 {
		r.leave(r.requests[0].text, copied)
		r.drop(0)
	}
}

func (r *repeats) drop(i int) {
	r.held -= int64(len(r.requests[i].text))
	r.requests = slices.Delete(r.requests, i, i+1)
}

// jsonField writes what was asked or answered: what of it was said before by naming
// that, where that is shorter.
func (e *Encoder) jsonField(name string, x *adk.Crossing) {
	line, values := jsonscan.Compact(x.JSON)
	if !hasRepeats(e.Format) {
		e.writeSchema(name, x.JSON, line, SchemaMark)
		return
	}
	if e.repeats == nil && e.Repeat != (RepeatLimits{}) {
		e.repeats = &repeats{limits: e.Repeat}
	}
	var by repeat
	if line != nil && e.repeats != nil && e.repeating != adk.RepeatsNothing {
		by = e.repeatField(name, e.repeats.find(x, e.repeating, line), line)
	}
	if !by.some() {
		e.writeSchema(name, x.JSON, line, SchemaMark, repeatMark)
	} else {
		e.repeats.restored += int64(len(line))
		e.RestoredValues = values
	}
	if e.repeats != nil {
		e.repeats.note(x, e.repeating, textHeld(x.JSON, line), by, true)
	}
}

// textHeld is a text as it is read back.
func textHeld(text, line []byte) []byte {
	if line != nil {
		return line
	}
	return text
}

// repeatField writes a text by what of it was said before, where that is shorter, and
// gives what it wrote.
func (e *Encoder) repeatField(name string, by repeat, text []byte) repeat {
	if !by.some() {
		return by
	}
	begin, extra := len(e.Out), e.extra
	e.Key(name)
	e.Out = append(e.Out, '{')
	e.rawKey(repeatMark)
	e.Out = strconv.AppendInt(e.Out, int64(by.from), 10)
	e.rawInt(repeatHead, by.head)
	if rest := text[by.head : len(text)-by.tail]; len(by.media) > 0 {
		e.withMedia(text, by)
	} else if len(rest) > 0 {
		e.always(repeatText, string(rest))
	}
	e.rawInt(repeatTail, by.tail)
	e.Out = append(e.Out, '}')
	if len(e.Out)-begin > len(text) {
		e.Out, e.extra = e.Out[:begin], extra
		return repeat{}
	}
	return by
}

// rawInt writes a member that is no field's; zero is left out.
func (e *Encoder) rawInt(name string, n int) {
	if n != 0 {
		e.rawKey(name)
		e.Out = strconv.AppendInt(e.Out, int64(n), 10)
	}
}

// readJSON reads what was asked or answered. What names another text waits until all
// of the line is known.
func (d *Decoder) readJSON(x *adk.Crossing, raw []byte) (err error) {
	if d.apart == nil && hasRepeats(d.Format) && bytes.HasPrefix(raw, []byte(`{"`+repeatMark+`"`)) {
		d.waiting = raw
		return nil
	}
	x.JSON, err = schemaOfJSON(raw)
	return err
}

// restore makes whole what waits of a line, and takes in what the line said.
func (d *Decoder) restore(x *adk.Crossing, fields []adk.FieldUse) (err error) {
	d.Restored = 0
	at := slices.IndexFunc(fields, func(use adk.FieldUse) bool { return use.Field == adk.FieldJSON })
	if at < 0 {
		return nil
	}
	use := fields[at]
	if d.repeats == nil && d.Repeat != (RepeatLimits{}) && hasRepeats(d.Format) {
		d.repeats = &repeats{limits: d.Repeat}
	}
	var by repeat
	if waiting := d.waiting; waiting != nil {
		d.waiting = nil
		if by, err = d.restored(x, use.Repeats, waiting); err != nil {
			return fmt.Errorf("%s: %w", use.Label, err)
		}
	}
	if d.repeats != nil {
		d.repeats.note(x, use.Repeats, x.JSON, by, false)
	}
	return nil
}

// restored sets the text of a crossing to what raw means.
func (d *Decoder) restored(x *adk.Crossing, how adk.Repetition, raw []byte) (by repeat, err error) {
	if d.repeats == nil || how == adk.RepeatsNothing {
		return by, fmt.Errorf("%s: %w", repeatMark, errNothingBefore)
	}
	by, rest, err := d.readRepeat(raw)
	if err != nil {
		return by, err
	}
	if x.JSON, err = d.repeats.restore(x, how, by, rest); err != nil {
		return by, err
	}
	values, err := jsonscan.Count(x.JSON)
	if err != nil {
		return by, fmt.Errorf("%s: what is restored is no JSON: %w", repeatMark, err)
	}
	d.Restored = len(x.JSON)
	d.Values += values
	return by, nil
}

// readRepeat reads what repeatField writes.
func (d *Decoder) readRepeat(raw []byte) (by repeat, rest newText, err error) {
	members, err := ScanMembers(make([]ScannedMember, 0, 4), raw)
	if err != nil {
		return by, nil, err
	}
	for _, m := range members {
		switch string(m.Name) {
		case repeatMark:
			by.from, err = IntOfJSON(m.Value)
		case repeatHead:
			by.head, err = IntOfJSON(m.Value)
		case repeatTail:
			by.tail, err = IntOfJSON(m.Value)
		case repeatText:
			rest, err = d.newText(m.Value)
		default:
			err = errors.New("is no member of what names another text")
		}
		if err != nil {
			return by, nil, fmt.Errorf("%s: %w", Clip(string(m.Name)), err)
		}
	}
	return by, rest, nil
}

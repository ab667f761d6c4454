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

// This file lets a trace write only once what asks repeat. A request often begins like an earlier
// one of the run, because each request of a conversation sends its whole history. A piece of an
// answer is often like the piece before it.

// The members of the object that stands for a text that partly repeats an earlier one. $from is the
// number of the ask with the earlier text, or 0 for none. The text begins with the first head bytes
// of the earlier text and ends with its last tail bytes. Between them is the new text: a string, or
// a list of strings and of media that were opened.
const (
	repeatMark = "$from"
	repeatHead = "head"
	repeatText = "text"
	repeatTail = "tail"
)

// RepeatLimits limits the cost of writing things only once. With the zero value nothing refers to
// an earlier text: every line is complete.
type RepeatLimits struct {
	// Text is the longest text, in bytes, that may be restored. It also limits the total size of
	// the texts that are held for later reference.
	Text int64
	// Restored is how many bytes may be restored in a whole trace.
	Restored int64
}

// The errors of exceeding a limit of RepeatLimits, and of a reference to a text that is not held.
var (
	ErrTextTooLong   = errors.New("what is restored is too long")
	ErrRestoredMuch  = errors.New("more is restored than is allowed")
	errNothingBefore = errors.New("names what was not said before, or so long ago that nobody holds it")
)

// maxRequests is how many requests are held for reference. Few runs alternate between more
// conversations.
const maxRequests = 16

// minRepeat is how many bytes must repeat to be worth a reference.
const minRepeat = 64

// repeats holds the texts that a line can refer to. The writer and the reader of a trace hold the
// same ones at every line.
type repeats struct {
	limits   RepeatLimits
	requests []saidText     // the most recently used last
	held     int64          // the bytes of requests
	latest   map[int][]byte // by operation, the text that its next piece can refer to
	spare    []byte         // the memory of a copy that is no longer referred to
	media    []writtenMedia // used by writers
	opened   map[int][]byte // used by readers: the bytes of media, by the number of their opening
	results  []saidResult   // of tools, the latest last
	restored int64
}

// saidText is the request of an ask.
type saidText struct {
	op   int
	text []byte
}

// repeat describes how a text repeats an earlier one. from is 0 if it repeats none.
type repeat struct {
	from       int
	head, tail int
	media      []spot // media in the new part
}

// some reports whether any part of the text repeats something.
func (r *repeat) some() bool { return r.from != 0 || len(r.media) > 0 }

// find looks for the parts of a text that repeat an earlier text or media that were opened.
func (r *repeats) find(x *adk.Crossing, how adk.Repetition, text []byte) repeat {
	if int64(len(text)) > min(r.limits.Text, r.limits.Restored-r.restored) {
		return repeat{}
	}
	return r.withoutMedia(text, r.findText(x, how, text))
}

// findText looks for an earlier text to refer to. For a piece, that is the piece before it; for a
// request, the request with the longest common beginning.
func (r *repeats) findText(x *adk.Crossing, how adk.Repetition, text []byte) (found repeat) {
	var base []byte
	if how == adk.RepeatsOp {
		base = r.latest[x.Op]
		found.head = commonHead(base, text)
	} else {
		for _, said := range slices.Backward(r.requests) {
			if at := found.head; at > 0 && (at >= min(len(said.text), len(text)) || said.text[at] != text[at]) {
				continue // it has no more in common than the best so far
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

// wholeRunes returns head, or the largest smaller value that splits neither a character nor an
// escape.
func wholeRunes(text []byte, head int) int {
	for head > 0 && (head < len(text) && !utf8.RuneStart(text[head]) || text[head-1] == '\\') {
		head--
	}
	return head
}

// blockSize is how many bytes are compared at a time while they are equal.
const blockSize = 256

// commonHead returns the length of the common beginning of two texts.
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

// commonTail returns the length of the common end of two texts, in whole characters.
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

// said returns the earlier text that a line refers to.
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

// restore returns the complete text for a reference to an earlier text and the new part.
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

// note records the text of a line, so that later lines can refer to it. If copied is set, it holds
// a copy, because the caller reuses the text's memory.
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

// leave keeps the memory of a text that is no longer referred to, if the text is our copy.
func (r *repeats) leave(text []byte, copied bool) {
	if copied && cap(text) > cap(r.spare) {
		r.spare = text
	}
}

// room returns the spare memory, if there is any.
func (r *repeats) room() []byte {
	room := r.spare
	r.spare = nil
	return room[:0]
}

// noteRequest holds a request for reference. A request that contains all of the request it refers
// to replaces that one, so a conversation is held once, up to its latest request. Beyond the
// limits, the least recently used requests are dropped.
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

// jsonField writes the JSON that was asked or answered. It writes a reference for the parts that
// repeat earlier ones, if that is shorter.
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

// textHeld returns a text as a reader will see it.
func textHeld(text, line []byte) []byte {
	if line != nil {
		return line
	}
	return text
}

// repeatField writes a text as a reference, if that is shorter than the text. It returns the
// reference that it wrote, or the zero value.
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

// rawInt writes a member that is not a field; zero is left out.
func (e *Encoder) rawInt(name string, n int) {
	if n != 0 {
		e.rawKey(name)
		e.Out = strconv.AppendInt(e.Out, int64(n), 10)
	}
}

// readJSON reads the JSON that was asked or answered. A reference to another text is only stored,
// and resolved once the whole line is known.
func (d *Decoder) readJSON(x *adk.Crossing, raw []byte) (err error) {
	if d.apart == nil && hasRepeats(d.Format) && bytes.HasPrefix(raw, []byte(`{"`+repeatMark+`"`)) {
		d.waiting = raw
		return nil
	}
	x.JSON, err = schemaOfJSON(raw)
	return err
}

// restore resolves the reference that readJSON stored, if any, and records what the line said.
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

// restored sets the JSON of x to the text that the reference raw stands for.
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

// readRepeat reads what repeatField wrote.
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

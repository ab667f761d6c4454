package wire

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
)

// This file lets a trace say bytes once that a media gives: those of an earlier opening,
// and those that a tool gave as its result.

// resultMark is the one member of what stands for the bytes of a tool's result: the number
// of the tool's call.
const resultMark = "$result"

// minResult is how many bytes a result has at least that can be named, and maxResults how
// many results can be: the latest.
const (
	minResult  = 1 << 10
	maxResults = 64
)

// saidResult is what is held of a tool's result: its bytes, of who reads, and their hash,
// of who writes.
type saidResult struct {
	call, size int
	data       []byte
	sum        [sha256.Size]byte
}

// heldRepeats are the repeats of who may name something; nil of who may not.
func heldRepeats(held **repeats, limits RepeatLimits, format int) *repeats {
	if limits == (RepeatLimits{}) || !hasRepeats(format) {
		return nil
	}
	if *held == nil {
		*held = &repeats{limits: limits}
	}
	return *held
}

// valueField writes a value: bytes that were said before by naming where, if the field may
// say them again.
func (e *Encoder) valueField(name string, x *adk.Crossing) {
	if data, isBytes := x.Value.([]byte); isBytes && e.repeating == adk.RepeatsBytes {
		if r := heldRepeats(&e.repeats, e.Repeat, e.Format); r != nil && e.saidBytes(name, r, x.Op, data) {
			return
		}
	}
	e.value(name, x.Value)
}

// saidBytes names where bytes were said before, if they were.
func (e *Encoder) saidBytes(name string, r *repeats, op int, data []byte) bool {
	mark := repeatMark
	from, said := r.noteMedia(op, data)
	if !said {
		mark = resultMark
		from, said = r.resultOf(data)
	}
	if !said || !r.restores(len(data)) {
		return false
	}
	e.Key(name)
	e.Out = append(e.Out, '{')
	e.rawKey(mark)
	e.Out = append(strconv.AppendInt(e.Out, int64(from), 10), '}')
	return true
}

// readValue reads a value, or the bytes that it names.
func (d *Decoder) readValue(x *adk.Crossing, raw []byte) (any, error) {
	if d.apart != nil || !hasRepeats(d.Format) || !repeatsBytes(x) {
		return d.plain(raw)
	}
	m, err := OnlyMember(raw)
	if mark := string(m.Name); err != nil || mark != repeatMark && mark != resultMark {
		return d.plain(raw)
	}
	if d.repeats == nil {
		return nil, fmt.Errorf("%s: %w", m.Name, errNothingBefore)
	}
	data, err := d.saidBytes(string(m.Name), m.Value)
	if err == nil && !d.repeats.restores(len(data)) {
		err = ErrRestoredMuch
	}
	return data, err
}

// saidBytes are the bytes that a mark names.
func (d *Decoder) saidBytes(mark string, raw []byte) ([]byte, error) {
	if mark == repeatMark {
		return d.openedMedia(mark, raw)
	}
	call, err := IntOfJSON(raw)
	if err != nil {
		return nil, err
	}
	for _, said := range d.repeats.results {
		if said.call == call {
			return said.data, nil
		}
	}
	return nil, fmt.Errorf("%s: %d: %w", mark, call, errNothingBefore)
}

// repeatsBytes reports whether the value of a crossing may be bytes that were said before.
func repeatsBytes(x *adk.Crossing) bool {
	return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool {
		return use.Field == adk.FieldValue && use.Repeats == adk.RepeatsBytes
	})
}

// restores takes in that so many bytes are restored, and reports whether that is allowed.
func (r *repeats) restores(n int) bool {
	if int64(n) > r.limits.Restored-r.restored {
		return false
	}
	r.restored += int64(n)
	return true
}

// canBeNamed reports whether a tool gave words or bytes that others can name: most are
// shorter, and nothing is made for those.
func canBeNamed(result adk.ToolResult) bool {
	switch result := result.(type) {
	case *adk.Tokenizable:
		return result != nil && len(result.String()) >= minResult
	case adk.Bytes:
		return len(result) >= minResult
	}
	return false
}

// noteResult takes in what a tool gave that can be named.
func (r *repeats) noteResult(x *adk.Crossing, reads bool) {
	data, isBytes := x.Result.(adk.Bytes)
	if !isBytes {
		data = []byte(x.Result.(*adk.Tokenizable).String())
	}
	said := saidResult{call: x.ID, size: len(data)}
	if reads {
		said.data = data
	} else {
		said.sum = sha256.Sum256(data)
	}
	r.results = slices.DeleteFunc(r.results, func(one saidResult) bool { return one.call == x.ID })
	if r.results = append(r.results, said); len(r.results) > maxResults {
		r.results = slices.Delete(r.results, 0, 1)
	}
}

// resultOf is the call of a tool that gave these bytes.
func (r *repeats) resultOf(data []byte) (call int, said bool) {
	var sum [sha256.Size]byte
	for i, one := range slices.Backward(r.results) {
		if one.size != len(data) {
			continue
		}
		if !said {
			sum, said = sha256.Sum256(data), true
		}
		if r.results[i].sum == sum {
			return one.call, true
		}
	}
	return 0, false
}

// noteSaid takes in a line that was written, whose result others may name.
func (e *Encoder) noteSaid(x *adk.Crossing) {
	if x.Kind == adk.KindReturn && canBeNamed(x.Result) {
		if r := heldRepeats(&e.repeats, e.Repeat, e.Format); r != nil {
			r.noteResult(x, false)
		}
	}
}

// noteSaid takes in a line that was read, whose result or media others may name.
func (d *Decoder) noteSaid(x *adk.Crossing) {
	bytesSaid := x.Phase == adk.Done && repeatsBytes(x)
	if !bytesSaid && (x.Kind != adk.KindReturn || !canBeNamed(x.Result)) {
		return
	}
	r := heldRepeats(&d.repeats, d.Repeat, d.Format)
	switch {
	case r == nil:
	case !bytesSaid:
		r.noteResult(x, true)
	default:
		if r.opened == nil {
			r.opened = map[int][]byte{}
		}
		r.opened[x.Op], _ = x.Value.([]byte)
	}
}

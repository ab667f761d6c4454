package wire

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
)

// This file lets a trace write the bytes of a media only once, if an earlier opening or the result
// of a tool had the same bytes.

// resultMark is the only member of the object that stands for the bytes of a tool's result. Its
// value is the number of the tool's call.
const resultMark = "$result"

// minResult is the smallest size, in bytes, of a result that can be referred to. maxResults is how
// many results can be: the latest ones.
const (
	minResult  = 1 << 10
	maxResults = 64
)

// saidResult is what is held of a tool's result: the bytes if the holder is a reader, and their
// hash if it is a writer.
type saidResult struct {
	call, size int
	data       []byte
	sum        [sha256.Size]byte
}

// heldRepeats returns *held, after creating it if necessary. It returns nil if references are not
// allowed.
func heldRepeats(held **repeats, limits RepeatLimits, format int) *repeats {
	if limits == (RepeatLimits{}) || !hasRepeats(format) {
		return nil
	}
	if *held == nil {
		*held = &repeats{limits: limits}
	}
	return *held
}

// valueField writes a value. If the field may repeat bytes and the same bytes were written before,
// it writes a reference.
func (e *Encoder) valueField(name string, x *adk.Crossing) {
	if data, isBytes := x.Value.([]byte); isBytes && e.repeating == adk.RepeatsBytes {
		if r := heldRepeats(&e.repeats, e.Repeat, e.Format); r != nil && e.saidBytes(name, r, x.Op, data) {
			return
		}
	}
	e.value(name, x.Value)
}

// saidBytes writes a reference to earlier bytes, and reports whether there were any.
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

// readValue reads a value, or the bytes that it refers to.
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

// saidBytes returns the bytes that a reference stands for.
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

// repeatsBytes reports whether the value of x may be bytes that were written before.
func repeatsBytes(x *adk.Crossing) bool {
	return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool {
		return use.Field == adk.FieldValue && use.Repeats == adk.RepeatsBytes
	})
}

// restores counts n restored bytes, and reports whether the limits allow them.
func (r *repeats) restores(n int) bool {
	if int64(n) > r.limits.Restored-r.restored {
		return false
	}
	r.restored += int64(n)
	return true
}

// canBeNamed reports whether a result is a text or bytes long enough to be referred to. Most are
// shorter, and checking first avoids any allocation for those.
func canBeNamed(result adk.ToolResult) bool {
	switch result := result.(type) {
	case *adk.Tokenizable:
		return result != nil && len(result.String()) >= minResult
	case adk.Bytes:
		return len(result) >= minResult
	}
	return false
}

// noteResult records a tool's result for later reference. canBeNamed must be true for it.
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

// resultOf returns the latest call of a tool that returned these bytes.
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

// noteSaid records a line that was written, if later lines may refer to its result.
func (e *Encoder) noteSaid(x *adk.Crossing) {
	if x.Kind == adk.KindReturn && canBeNamed(x.Result) {
		if r := heldRepeats(&e.repeats, e.Repeat, e.Format); r != nil {
			r.noteResult(x, false)
		}
	}
}

// noteSaid records a line that was read, if later lines may refer to its result or media.
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

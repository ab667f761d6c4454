package property

import (
	"errors"

	"github.com/adkreplay/adkreplay/adk"
)

// storageReceipt: an operation on storage calls its obligation once, passes on what it was given,
// and returns how the obligation ended. With write-behind, a write in a dispatch calls nothing,
// because the flush does (DEL-1, DEL-6, RUN-13).
type storageReceipt struct{}

func (w *storageReceipt) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindCall:
		if c := s.called; c.seam.Label == adk.LabelStorage && c.byUser() {
			w.called(s, x)
		}
	case x.Phase != adk.Done || s.op == nil || s.op.kind != x.Kind:
	case w.waits(s, s.op):
		if x.Err != nil {
			s.breaks(since(s.op.began), "%s %s fails before the flush: %v", x.Kind, s.op.delta.of, x.Err)
		}
	case s.op.made == nil:
		s.breaks(since(s.op.began), "%s %s is done, and its obligation was not called", x.Kind, s.op.delta.of)
	case s.op.made.ended > 0 && (s.op.made.outcome == adk.OutcomeOK) != (x.Err == nil):
		s.breaks(since(s.op.began, s.op.made.ended), "%s %s answers with %v, and its obligation ended with %q",
			x.Kind, s.op.delta.of, orNothing(x.Err), s.op.made.outcome)
	}
}

// waits reports whether the obligation is called only at the flush.
func (w *storageReceipt) waits(s *history, op *openOp) bool {
	return s.info.WriteBehind && op.writes() && op.call.dispatch != nil
}

func (w *storageReceipt) called(s *history, x *adk.Crossing) {
	op := s.op
	switch {
	case op == nil:
		s.breaks(since(s.at.began), "%s is called, and %s has no such operation open", s.called.seam, s.at.seam)
	case w.waits(s, op):
		s.breaks(since(op.began), "%s is called at once, and persistence is write-behind", s.called.seam)
	case op.writes() && !op.delta.carries(x):
		s.breaks(since(op.began), "%s is not given what is to be kept", s.called.seam)
	}
}

// carries reports whether an obligation is given the record or key of the change.
func (c delta) carries(x *adk.Crossing) bool {
	if c.record == nil || x.Record == nil {
		return c.record == nil && x.Record == nil && c.key == x.Key
	}
	return c.record == x.Record || c.record.Key() == x.Record.Key() && c.record.Digest() == x.Record.Digest()
}

// flushInOrder: with write-behind, the dispatch itself calls the obligations of all queued changes,
// in order, before the iteration or the acked dispatch ends, and none of them on a nack or an
// abort. An obligation that fails ends the flush. A dispatch that is called from another calls
// none, because it leaves its changes to that dispatch.
type flushInOrder struct{}

func (w *flushInOrder) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	switch {
	case d == nil:
	case x.Kind == adk.KindCall:
		if s.called.seam.Label == adk.LabelStorage && d.does(s.at) {
			w.persists(s, x, d)
		}
	case x.Phase == adk.Done:
		if s.info.WriteBehind && x.Err == nil && s.op != nil {
			d.unkept = append(d.unkept, s.op.delta)
		}
	case !d.does(s.at):
	case x.Kind == adk.KindIterationEnd:
		if d.nacked == 0 {
			w.ends(s, d, "the iteration ends")
		}
		d.unkept = nil
	case x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck:
		w.ends(s, d, "the dispatch ends with ack")
		d.unkept = nil
	}
}

func (w *flushInOrder) persists(s *history, x *adk.Crossing, d *dispatching) {
	if !s.info.WriteBehind {
		s.breaks(since(d.call.began), "%s is called by the dispatch itself, and persistence is write-through", x.Seam)
		return
	}
	if d.above != nil {
		s.breaks(since(d.call.began), "%s is called by the flush of a dispatch that %s will flush", x.Seam, d.above.call.seam)
	}
	if d.nacked > 0 || d.failures.count > 0 {
		s.breaks(since(d.nacked, d.failures.first), "%s is called by the flush of a dispatch that has failed", x.Seam)
	}
	if len(d.unkept) == 0 {
		s.breaks(since(d.call.began), "%s is called by the flush, and nothing is left to persist", x.Seam)
		return
	}
	next := d.unkept[0]
	if !next.carries(x) || x.Seam.Name != string(next.of)+"."+next.kind.String() {
		s.breaks(since(next.at), "%s is called by the flush, and the change of %s is the next one", x.Seam, next.of)
	}
	d.unkept = d.unkept[1:]
}

func (w *flushInOrder) ends(s *history, d *dispatching, what string) {
	switch n := len(d.unkept); {
	case n == 0 || s.cancelled > 0:
	case d.above != nil:
		d.above.unkept = append(d.above.unkept, d.unkept...)
	default:
		s.breaks(since(d.unkept[0].at), "%s, with %d of its changes not persisted", what, n)
	}
}

// setsKeyed: a set holds each key at most once, and what an add, a remove or a change of the
// registry says about what was there before is true (RUN-12, TOL-6).
type setsKeyed struct{}

func (w *setsKeyed) see(s *history, x *adk.Crossing) {
	if s.foldErr != nil && s.at.known() && s.at.ended == 0 {
		s.breaks(since(s.at.began), "%v", errors.Unwrap(s.foldErr))
	}
}

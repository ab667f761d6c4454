package session

import "context"

// Accept stores a delivery, as Deliver does first, and does not wait for its turn. It is for
// callers that have to answer at once, such as a webhook; Resume settles the delivery later, in
// this process or in another one. A delivery that came before is returned as the store has it, with
// Known set; if it is settled, its Outcome is there too, with Duplicate set. An error says that the
// delivery may not have been stored, and the caller may send it again.
//
// Errors are E_INVALID_DELIVERY, those of Store.Accept, those of the store, and the cause of ctx.
func (h *Host) Accept(ctx context.Context, d Delivery) (Accepted, error) {
	if err := h.check(d); err != nil {
		return Accepted{}, err
	}
	a, err := h.keep(ctx, d)
	if ctx.Err() == nil {
		err = named(d.DeliveryID(), err)
	}
	if err != nil {
		return Accepted{}, err
	}
	h.tellAccepted(a, !a.Known)
	a.Outcome.Duplicate = a.State.Settled()
	return a, nil
}

// keep has the store accept a delivery. If the store did not answer, keep notes that the delivery
// may have been accepted all the same.
func (h *Host) keep(ctx context.Context, d Delivery) (Accepted, error) {
	a, err := h.config.Store.Accept(ctx, d, h.now())
	if isUnanswered(err) {
		h.doubt(d.DeliveryID())
	}
	return a, err
}

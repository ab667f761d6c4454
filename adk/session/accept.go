package session

import "context"

// Accept keeps a delivery, as Deliver does first, and waits for no turn: it is for who has to
// answer at once, as to a webhook, and has Resume settle it, here or in another process. One that
// came before is given as it is, Known, and with its outcome, which is a Duplicate, if it is
// settled. An error says that it may not be kept: it may come again.
//
// Errors are E_INVALID_DELIVERY, those of Store.Accept, those of the store, and the cause of
// ctx.
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

// keep has the store accept a delivery.
func (h *Host) keep(ctx context.Context, d Delivery) (Accepted, error) {
	a, err := h.config.Store.Accept(ctx, d, h.now())
	if isUnanswered(err) {
		h.doubt(d.DeliveryID())
	}
	return a, err
}

package property_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property"
)

// An invariant has several parts. For each part there is an edit of a fixture that only this part
// notices: one is in TestEachInvariantAlone, the others are here.
func TestInvariantsSayAllOfIt(t *testing.T) {
	again := func(kind adk.Kind) func(*recording) {
		return func(r *recording) { r.insert(r.find(kind, adk.Whole, 0), *r.at(kind, adk.Whole, 0)) }
	}
	for _, c := range []struct {
		invariant, fixture, says string
		edit                     func(*recording)
	}{
		// DSP-7, EVT-8: a failed dispatch has exactly one error.
		{"one-error", "executor-panic", "the dispatch tells a second error (DSP-7)", again(adk.KindErrorEvent)},
		// ABT-4: an abort is not an error.
		{"one-error", "gates-aborted", "an abort is told as an error (ABT-4)", func(r *recording) {
			dispatch := r.lines[r.called(adk.LabelDispatch, 0)].ID
			r.insert(r.find(adk.KindDispatchEnd, adk.Whole, 0), adk.Crossing{Kind: adk.KindErrorEvent, Call: dispatch, Err: &adk.Error{Code: adk.E_TURN_ABORTED}})
		}},
		// GAT-4: a gate closes with the result that it was settled with.
		{"gates-settle-once", "gate-approved", `closes as rejected, and was resolved`, func(r *recording) {
			r.at(adk.KindTurnGateClosed, adk.Whole, 0).Status = adk.GateRejected
		}},
		// GAT-2: a gate settles once.
		{"gates-settle-once", "gate-approved", "and it is not open", again(adk.KindSettle)},
		// GAT-1: the waiter gets the value that the gate was settled with.
		{"gates-settle-once", "gate-approved", "and the gate was resolved", func(r *recording) {
			r.at(adk.KindWaitFor, adk.Done, 0).Err = adk.E_TURN_GATE_TIMEOUT
		}},
		// DET-7: a call returns only after its strands have ended.
		{"strands-joined", "parallel-tools", "returns before its strand", func(r *recording) {
			strand := r.lines[r.called(adk.LabelStrand, 0)].ID
			for i, x := range r.lines {
				if x.Kind == adk.KindReturn && x.ID == strand {
					r.drop(i)
					return
				}
			}
		}},
		// SIG-1: a second ack is refused, as a second nack is.
		{"first-signal-wins", "hello", "a second signal is accepted", func(r *recording) {
			at := r.find(adk.KindAck, adk.Done, 0) + 1
			call := r.lines[at-1].Call
			r.insert(at, adk.Crossing{Kind: adk.KindAck, Phase: adk.Begin, Op: 99, Call: call}, adk.Crossing{Kind: adk.KindAck, Phase: adk.Done, Op: 99, Call: call})
		}},
	} {
		r := recorded(t, c.fixture)
		c.edit(&r)
		found := property.Violations(r.info, r.told())
		said := ""
		for _, v := range found {
			if v.Invariant == c.invariant {
				said += v.Text + "\n"
			}
		}
		assert.Contains(t, said, c.says, "%s of %s: %v", c.invariant, c.fixture, found)
	}
}

// Text from a trace never adds a line to a report, since such a line could pretend to be a finding.
func TestTextsOfATraceStayOnTheirLine(t *testing.T) {
	const order = "\n::error::forged"
	violations, hints := 0, 0
	for _, r := range recordings(t) {
		for i := range r.lines {
			x := &r.lines[i]
			if x.Kind == adk.KindCall && x.Seam.Name != "" {
				x.Seam.Name += order
			}
			if x.Kind == adk.KindNack && x.Phase != adk.Done {
				x.Err = errors.New(order)
			}
		}
		for _, v := range property.Violations(r.info, r.told()) {
			violations++
			assert.NotContains(t, v.Seam+v.Text, "\n", r.name)
		}
		for _, h := range property.Hints(r.info, r.told()) {
			hints++
			assert.NotContains(t, h.Seam+h.Text, "\n", r.name)
		}
	}
	assert.NotZero(t, violations)
	assert.NotZero(t, hints)
}

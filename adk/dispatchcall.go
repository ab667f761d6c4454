package adk

import (
	"context"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
)

// DispatchInput describes a dispatch that user code calls, such as a summariser, a planner or a
// second opinion. It has either a Source or a Raw context (DSP-1).
type DispatchInput struct {
	// Name is required: traces and errors identify the dispatch by it.
	Name string
	// Executor is required.
	Executor Executor
	// Input and Output are the dispatch pipelines, empty by default.
	Input, Output []DispatchMiddleware
	// Source makes the dispatch part of a turn. It begins with copies of what the source sees; it
	// works with the turn's storage, clock, ids, listeners and gates; its crossings nest under the
	// seam call to which the source belongs; and it flushes to the source.
	Source Source
	// Raw makes the dispatch a run of its own, with nothing but what is given here. It flushes to
	// nowhere (DEL-5).
	Raw *RawDispatch
}

// Source is the context from which a dispatch is called: a *TurnContext, or a *DispatchContext,
// which makes the dispatch a sub-agent. There is no other Source: a type that embeds one of them is
// refused.
type Source interface{ isSource() }

func (*TurnContext) isSource()     {}
func (*DispatchContext) isSource() {}

// sourceCall returns the seam call that a source belongs to, or nil if source is not a valid one.
func sourceCall(source Source) *call {
	switch given := source.(type) {
	case *TurnContext:
		if given != nil {
			return given.call
		}
	case *DispatchContext:
		if given != nil {
			return given.call
		}
	}
	return nil
}

// Dispatch runs a dispatch and returns how it ended. The error is that of a nack, and then equals
// DispatchEnd.Error; an ack or an abort returns no error (DSP-8). So look at the status before
// using what the dispatch left.
//
// If nothing begins, the error says why, and no event fires. An invalid input is
// E_INVALID_LLM_DISPATCH_INPUT, and an invalid raw context E_INVALID_LLM_EXECUTION_CONTEXT
// (DSP-12). A source whose seam call has returned is E_CONTEXT_ENDED. In a turn that is already
// aborted, the status is StatusAborted and the error is the abort's cause (ABT-7).
//
// What runs in the dispatch is given ctx. If ctx is already done, no iteration is started: the
// status is StatusAborted, with the cause in DispatchEnd.Error (ABT-12). If ctx ends later, a stage
// that fails because of that fails the dispatch, and the turn goes on (ABT-11).
func Dispatch(ctx context.Context, in DispatchInput) (DispatchEnd, error) {
	f := in.faults()
	f.Want(ctx != nil, "", nilContext)
	if err := f.inputErr(E_INVALID_LLM_DISPATCH_INPUT); err != nil {
		return DispatchEnd{}, err
	}
	if in.Source != nil {
		return in.inTurn(ctx)
	}
	if err := in.Raw.faults().inputErr(E_INVALID_LLM_EXECUTION_CONTEXT); err != nil {
		return DispatchEnd{}, err
	}
	return in.standalone(ctx)
}

// faults lists everything that is wrong with the input.
func (in DispatchInput) faults() fieldCheck {
	var f fieldCheck
	f.Want(in.Name != "", "Name", "is empty: give the dispatch a name")
	f.executor("Executor", in.Executor)
	look := func(m DispatchMiddleware) (string, bool) { return m.Name, m.Run == nil }
	fields.Steps(&f.Check, "Input", in.Input, look)
	fields.Steps(&f.Check, "Output", in.Output, look)
	switch {
	case in.Source == nil && in.Raw == nil:
		f.Fault("", "neither Source nor Raw is given: give the context of a turn or a dispatch, or a raw one")
	case in.Source != nil && in.Raw != nil:
		f.Fault("", "both Source and Raw are given: give one of them")
	case in.Source != nil && sourceCall(in.Source) == nil:
		f.Fault("Source", "is no context of a turn or a dispatch: give the one that a seam call was given")
	}
	return f
}

// faults lists everything that is wrong with a raw context.
func (raw *RawDispatch) faults() fieldCheck {
	var f fieldCheck
	f.Prompt("SystemPrompt", raw.SystemPrompt)
	f.storage(raw.Storage)
	f.Instructions("Instructions", raw.Instructions)
	f.Tree("Stash", raw.Stash)
	f.lists(raw)
	f.TypedNil("Clock", raw.Clock)
	f.TypedNil("IDs", raw.IDs)
	f.TypedNil("Probe", raw.Probe)
	return f
}

// What is wrong with a record that has the key of an earlier one in its list.
const (
	sameID   = "has the id %[1]q of %[2]s[%[3]d]"
	sameName = "has the name %[1]q of %[2]s[%[3]d]"
)

// checkRecords checks that each record of a list is valid, and that no two have the same key.
func checkRecords[T record](f *fieldCheck, field, same string, list []T) {
	fields.EachOnce(&f.Check, field, list, func(one T) (key, fault string) {
		if fault = recordFault(one); fault == "" {
			key = one.Key()
		}
		return key, fault
	}, same)
}

// info names the seams of the dispatch.
func (in DispatchInput) info() RunInfo {
	name := func(m DispatchMiddleware) string { return m.Name }
	return RunInfo{Executor: in.Executor.Name, DispatchInput: each(in.Input, name), DispatchOutput: each(in.Output, name)}
}

// dispatch makes the dispatch that the input describes.
func (in DispatchInput) dispatch(r *run, visible *visible) *dispatch {
	return &dispatch{run: r, name: in.Name, visible: visible,
		executor: in.Executor, input: dispatchSteps(in.Input), output: dispatchSteps(in.Output)}
}

// inTurn runs the dispatch as part of the source's turn. It copies what the source sees in the step
// that reports the call, because a concurrent strand may change it (DSP-9, DET-6). It tests once
// whether ctx has ended, and reports that with the call, because no other crossing shows it.
func (in DispatchInput) inTurn(ctx context.Context) (end DispatchEnd, err error) {
	c := sourceCall(in.Source)
	d := in.dispatch(c.run, nil)
	d.above, d.parent, d.refused = c.dispatch, c.visible, c.run.endedAlone(ctx)
	begins := func() bool {
		if c.ended {
			err = c.late(KindCall)
			return false
		}
		if err = c.run.refusal(); err != nil {
			end = DispatchEnd{TurnID: c.run.turnID, Status: StatusAborted, Error: err}
			return false
		}
		d.visible = c.visible.copyOf()
		return true
	}
	info := in.info()
	d.call = c.run.openIf(begins, c, Seam{Label: LabelDispatch, Name: in.Name}, c.strand, opened{seams: &info, ended: d.refused})
	if d.call == nil {
		return end, err
	}
	return d.serve(ctx)
}

// endedAlone returns why a context has ended although the run's own context has not. It returns nil
// if both have ended, because the run is then aborted.
func (r *run) endedAlone(ctx context.Context) error {
	cause := context.Cause(ctx)
	if r.ctx.Err() != nil {
		return nil
	}
	return cause
}

// standalone runs the dispatch as a run of its own.
func (in DispatchInput) standalone(ctx context.Context) (DispatchEnd, error) {
	raw := in.Raw
	config := Config{Executor: in.Executor, Storage: raw.Storage, Clock: raw.Clock, IDs: raw.IDs,
		Probe: raw.Probe, WriteBehind: raw.WriteBehind, Outside: raw.Outside}.withDefaults()
	info := in.info()
	info.Standalone, info.WriteBehind = true, raw.WriteBehind
	r := newRun(ctx, &config, &buses{}, info)
	r.gatesRefused = !raw.Gates
	r.own.functional.Listeners, r.own.observability.Listeners = raw.Functional, raw.Observability
	defer r.cancel(nil)
	defer r.over.Store(true)
	given := raw.given()
	d := in.dispatch(r, raw.visible(given))
	d.call = r.open(nil, Seam{Label: LabelDispatch, Name: in.Name}, 0, given)
	return d.serve(r.ctx)
}

// given is what the first crossing of a standalone dispatch carries.
func (raw *RawDispatch) given() opened {
	return opened{prompt: raw.SystemPrompt, instructions: raw.Instructions, stash: raw.Stash, records: raw.records()}
}

func appendRecords[T Record](all []Record, list []T) []Record {
	for _, one := range list {
		all = append(all, one)
	}
	return all
}

// visible makes the sets, tools and stash with which a standalone dispatch begins. given is what is
// reported of them.
func (raw *RawDispatch) visible(given opened) *visible {
	v := beginning(raw.SystemPrompt, raw.Instructions, raw.Stash, raw.Tools)
	for _, record := range given.records[len(raw.Tools):] {
		v.sets[collectionAt(record.RecordKind())].Add(record.Key(), record)
	}
	return v
}

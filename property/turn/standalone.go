package turn

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// Standalone is what a standalone dispatch has in addition to what a turn has (DSP-1).
type Standalone struct {
	Name string `json:"name"`
	// Records are the initial records of its sets, each id once.
	Records []Record `json:"records,omitempty"`
	// Gates says that there is a settler for gates (DSP-10).
	Gates bool `json:"gates,omitempty"`
}

// size is what a standalone dispatch adds to the size of a turn.
func (a *Standalone) size() int {
	if a == nil {
		return 0
	}
	return 1 + len(a.Records)
}

// input makes the dispatch from the config and the raw turn of a turn. It drops the turn's
// pipelines.
func (a *Standalone) input(c adk.Config, raw adk.RawTurn) adk.DispatchInput {
	in := adk.DispatchInput{Name: a.Name, Executor: c.Executor, Input: c.DispatchInput, Output: c.DispatchOutput,
		Raw: &adk.RawDispatch{
			SystemPrompt: raw.SystemPrompt, Instructions: raw.Instructions, Stash: raw.Stash, Storage: c.Storage, Tools: c.Tools,
			Functional: raw.Functional, Observability: raw.Observability, Gates: a.Gates,
			Clock: c.Clock, IDs: c.IDs, Probe: c.Probe, WriteBehind: c.WriteBehind,
		}}
	for _, r := range a.Records {
		storages.Give(in.Raw, r.Record)
	}
	return in
}

package turn

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// Standalone is what a dispatch called alone has beside what a turn has (DSP-1).
type Standalone struct {
	Name string `json:"name"`
	// Records are those that its sets begin with, each id once.
	Records []Record `json:"records,omitempty"`
	// Gates says that somebody is there to settle gates (DSP-10).
	Gates bool `json:"gates,omitempty"`
}

// size is how much there is to read beside a turn.
func (a *Standalone) size() int {
	if a == nil {
		return 0
	}
	return 1 + len(a.Records)
}

// input is the dispatch that is made of what a turn would be made of. The
// pipelines of the turn are left out.
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
